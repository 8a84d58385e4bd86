-- table: one row per run: a chain of tries to do the same work
-- column run_id varchar: id of the first try
-- column name varchar: job name
-- column user_name varchar: owner
-- column attempts bigint: tries
-- column first_start_ts timestamptz: first start
-- column last_end_ts timestamptz: last end; null while running
-- column gpu_count integer: most GPUs of a try
-- column grouping varchar: what joins the tries
select
    run_id,
    min(name) as name,
    min(user_name) as user_name,
    count(*) as attempts,
    min(start_ts) as first_start_ts,
    case when bool_and(end_ts is not null) then max(end_ts) end as last_end_ts,
    max(gpu_count) as gpu_count,
    case
        when count(*) = 1 then 'single try'
        when count(distinct job_id) = 1 then 'same job id'
        else 'same name, owner, size and folder'
    end as grouping
from attempts
group by run_id
order by first_start_ts, run_id
