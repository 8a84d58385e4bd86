-- table: one row per job output that is known to belong to one job
-- column source_id varchar: the source
-- column cluster varchar: cluster of the job
-- column job_id varchar: scheduler's job id
-- column basis varchar: how it is known
with known_jobs as (
    select coalesce(r.cluster, c.cluster) as cluster, r.job_id
    from intake.job_records as r
    inner join source_clusters as c using (source_id)
    union
    select c.cluster, e.job_id
    from intake.events as e
    inner join source_clusters as c using (source_id)
    where e.channel = 'slurm' and e.job_id is not null
    union
    select cluster, number from job_numbers
),

-- nodes and outputs use the plain number of an array's task; the first component of a heterogeneous job answers for the job's
components as (
    select cluster, word, min(job_id) as job_id
    from (
        select cluster, number as word, job_id from job_numbers
        union all
        select cluster, split_part(job_id, '+', 1), job_id from known_jobs where job_id like '%+%'
    )
    group by cluster, word
),

outputs as (
    select s.source_id, s.path, c.cluster
    from intake.sources as s
    inner join source_fates as f using (path, source_id)
    inner join source_clusters as c using (source_id)
    where s.channel = 'job' and f.status = 'used'
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
    select source_id, cluster, unnest(ids) as word, generate_subscripts(ids, 1) as place
    from (
        select source_id, cluster, regexp_extract_all(path, '\d+(?:[_+]\d+)?') as ids from outputs
    )
),

-- a number in the path counts only if it is the id of a job that is known; the last one is the most specific
pathed as (
    select n.source_id, arg_max(n.word, n.place) as job_id
    from numbers as n
    inner join known_jobs as k on n.word = k.job_id and n.cluster = k.cluster
    group by n.source_id
)

select
    o.source_id,
    o.cluster,
    coalesce(c.job_id, s.job_id, p.job_id) as job_id,
    case when s.job_id is not null then 'written in the output' else 'number in the path' end as basis
from outputs as o
left join said as s using (source_id)
left join pathed as p using (source_id)
left join components as c on coalesce(s.job_id, p.job_id) = c.word and o.cluster = c.cluster
where coalesce(s.job_id, p.job_id) is not null
order by o.source_id
