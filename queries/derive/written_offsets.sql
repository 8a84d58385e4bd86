-- table: one row per day and UTC offset that zoned lines carry: the site's own testimony about its zone
-- column day date: local day
-- column utc_offset_s integer: seconds east of UTC
-- column lines bigint: zoned lines of that day with that offset (lines)
with stamped as (
    select local_ts, utc_offset_s, channel from intake.events where local_ts is not null and utc_offset_s is not null
)

select
    local_ts::date as day,
    utc_offset_s,
    count(*) as lines
from stamped
where
    -- containers and Kubernetes write Z whatever the site's zone; it counts only where nobody writes another offset
    utc_offset_s <> 0
    or not exists (select 1 from stamped as s where s.utc_offset_s <> 0)
group by all
order by all
