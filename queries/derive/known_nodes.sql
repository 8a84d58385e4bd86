-- table: one row per host that an accounting record or a log line names
-- column node varchar: short, lower-case name
-- column is_compute boolean: jobs run on it, or the scheduler speaks about it
with named as (
    select unnest(nodes) as node, true as is_compute from intake.job_records where step is null
    union all
    select unnest(from_json(fields -> 'nodes', '["VARCHAR"]')), true from intake.events where (fields -> 'nodes') is not null
    union all
    select node, channel = 'slurm' from intake.events
    union all
    select reporter, false from intake.events
)

select node, bool_or(is_compute) as is_compute
from named
where node is not null
group by node
order by node
