-- table: one row per task of an array or component of a heterogeneous job: the plain number that its nodes know it by
-- column cluster varchar: cluster; '' if none is named
-- column number varchar: the scheduler's own number, as steps, banners and outputs print it
-- column job_id varchar: job id as the accounting prints it
with pairs as (
    select coalesce(r.cluster, c.cluster) as cluster, r.job_number as number, r.job_id
    from intake.job_records as r
    inner join source_clusters as c using (source_id)
    where r.job_number <> r.job_id
    union
    -- the controller prints both: `JobId=7302_4(7306)`
    select c.cluster, regexp_extract(e.message, '\d+[_+]\d+\((\d+)\)', 1), regexp_extract(e.message, '(\d+[_+]\d+)\(\d+\)', 1)
    from intake.events as e
    inner join source_clusters as c using (source_id)
    where e.channel = 'slurm' and regexp_matches(e.message, '\b[Jj]ob(?:_?[Ii][Dd])?[= ]\d+[_+]\d+\(\d+\)')
)

select cluster, number, min(job_id) as job_id
from pairs
group by cluster, number
-- numbers are used again after a while
having count(*) = 1
order by cluster, number
