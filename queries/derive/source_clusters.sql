-- table: one row per source: the cluster it belongs to, because job ids and host names are unique only within one
-- column source_id varchar: the source
-- column cluster varchar: name in its records, else the only one named in the nearest folder around it, else the only one named at all, else the configured one; '' if none is
with said as (
    select source_id, mode(cluster order by cluster) as cluster
    from (
        select source_id, cluster from intake.job_records
        union all
        select source_id, fields ->> 'cluster' from intake.events where channel = 'slurm'
    )
    where cluster is not null
    group by source_id
),

-- every folder around a source, by how deep it lies
around as (
    select source_id, unnest(range(1, len(parts))) as depth, array_to_string(parts[:depth], '/') as folder
    from (select source_id, string_split(path, '/') as parts from intake.sources)
),

naming as (
    select a.folder, min(s.cluster) as cluster, count(distinct s.cluster) as clusters
    from around as a
    inner join said as s using (source_id)
    group by a.folder
),

nearest as (
    select a.source_id, arg_max(case when n.clusters = 1 then n.cluster end, a.depth) as cluster, max(a.depth) as depth,
        arg_max(n.clusters, a.depth) as clusters
    from around as a
    inner join naming as n using (folder)
    group by a.source_id
)

select
    s.source_id,
    coalesce(
        d.cluster,
        case when n.clusters = 1 then n.cluster end,
        (select case when count(distinct cluster) = 1 then min(cluster) end from said),
        (select max(value) from meta where key = 'cluster'),
        ''
    ) as cluster
from (select distinct source_id from intake.sources) as s
left join said as d using (source_id)
left join nearest as n using (source_id)
order by s.source_id
