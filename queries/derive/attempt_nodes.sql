-- table: one row per run and node it was given
-- column attempt_id varchar: the run
-- column node varchar: short host name
-- column gpu_count double: GPUs of the run per node, if known
with given as (
    select a.attempt_id, unnest(a.nodes) as node, r.gpu_count / len(a.nodes) as gpu_count
    from attempts_accounted as a
    inner join intake.job_records as r using (record_id)
    union all
    select attempt_id, unnest(nodes), null from attempts_logged
    union all
    select attempt_id, unnest(nodes), null from attempts_printed
)

select attempt_id, node, gpu_count::double as gpu_count
from given
order by attempt_id, node
