-- table: one row per run and node it was given
-- column attempt_id varchar: the run
-- column node varchar: short host name
-- column gpu_count double: GPUs of the run per node, if known
with given as (
    select attempt_id, unnest(nodes) as node from attempts_accounted
    union all
    select attempt_id, unnest(nodes) from attempts_logged
    union all
    select attempt_id, unnest(nodes) from attempts_printed
)

select g.attempt_id, g.node, (a.gpu_count / a.node_count)::double as gpu_count
from given as g
inner join attempts as a using (attempt_id)
order by g.attempt_id, g.node
