-- table: one row per cluster, day and UTC offset that zoned lines carry: the site's own testimony about its zone
-- column cluster varchar: cluster; '' if none is named
-- column day date: local day
-- column utc_offset_s integer: seconds east of UTC
-- column lines bigint: zoned lines of that day with that offset (lines)
with stamped as (
    select c.cluster, e.local_ts, e.utc_offset_s
    from intake.events as e
    inner join source_clusters as c using (source_id)
    where e.local_ts is not null and e.utc_offset_s is not null
)

select
    cluster,
    local_ts::date as day,
    utc_offset_s,
    count(*) as lines
from stamped as t
where
    -- containers and Kubernetes write Z whatever the site's zone; it counts only where nobody writes another offset
    utc_offset_s <> 0
    or not exists (select 1 from stamped as s where s.cluster = t.cluster and s.utc_offset_s <> 0)
group by all
order by all
