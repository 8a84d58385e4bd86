-- table: one row per host that an accounting record or a log line names
-- column node varchar: short, lower-case name
select distinct node
from (
    select unnest(nodes) as node from intake.job_records where step is null
    union all
    select node from intake.events
    union all
    select reporter from intake.events
)
where node is not null
order by node
