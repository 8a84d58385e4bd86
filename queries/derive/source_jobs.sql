-- table: one row per job output that is known to belong to one job
-- column source_id varchar: the source
-- column job_id varchar: scheduler's job id
-- column basis varchar: how it is known
with known_jobs as (
    select distinct job_id from intake.job_records
    union
    select distinct job_id from intake.events where channel = 'slurm' and job_id is not null
),

-- the first component of a heterogeneous job answers for the job's number
components as (
    select split_part(job_id, '+', 1) as word, min(job_id) as job_id from known_jobs where job_id like '%+%' group by word
),

outputs as (
    select source_id, path from intake.sources where channel = 'job' and status = 'used'
),

-- a banner or variable in the output itself
said as (
    select o.source_id, mode(e.job_id order by e.job_id) as job_id
    from outputs as o
    inner join intake.events as e using (source_id)
    where e.job_id is not null
    group by o.source_id
),

numbers as (
    select source_id, unnest(ids) as word, generate_subscripts(ids, 1) as place
    from (
        select source_id, regexp_extract_all(path, '\d+(?:[_+]\d+)?') as ids from outputs
    )
),

-- a number in the path counts only if it is the id of a job that is known; the last one is the most specific
pathed as (
    select n.source_id, arg_max(n.word, n.place) as job_id
    from numbers as n
    inner join known_jobs as k on n.word = k.job_id
    group by n.source_id
)

select
    o.source_id,
    coalesce(c.job_id, s.job_id, p.job_id) as job_id,
    case when s.job_id is not null then 'written in the output' else 'number in the path' end as basis
from outputs as o
left join said as s using (source_id)
left join pathed as p using (source_id)
left join components as c on coalesce(s.job_id, p.job_id) = c.word
where coalesce(s.job_id, p.job_id) is not null
order by o.source_id
