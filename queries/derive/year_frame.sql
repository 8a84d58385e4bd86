-- table: one row per cluster: the span of all stamps that carry a year, to place those that do not
-- column cluster varchar: cluster; '' if none is named
-- column first_day date: first local day written with a year
-- column last_day date: last local day written with a year
with dated as (
    select source_id, local_ts as first_ts, local_ts as last_ts from intake.events where has_year
    union all
    select source_id, start_ts, coalesce(end_ts, start_ts) from intake.job_records
    union all
    select source_id, local_ts, local_ts from intake.progress where has_year
)

select c.cluster, min(d.first_ts)::date as first_day, max(d.last_ts)::date as last_day
from dated as d
inner join source_clusters as c using (source_id)
group by c.cluster
order by c.cluster
