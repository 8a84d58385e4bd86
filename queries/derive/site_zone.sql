-- table: one row per cluster: the zone assumed for stamps that carry none
-- column cluster varchar: cluster; '' if none is named
-- column timezone varchar: IANA name or +HH:MM
-- column basis varchar: how it was found
with clusters as (
    select distinct cluster from source_clusters
),

-- a cluster whose own lines carry no offset is read like its neighbours
testimony as (
    select c.cluster, w.day, w.utc_offset_s, w.lines, c.cluster = w.cluster as is_own
    from clusters as c
    inner join written_offsets as w on c.cluster = w.cluster or c.cluster not in (select cluster from written_offsets)
),

observed as (
    select cluster, utc_offset_s, sum(lines) as lines, bool_or(is_own) as is_own from testimony group by cluster, utc_offset_s
),

-- one well-known name for each pair of winter and summer rules; only asked where the lines show both offsets
well_known as (
    select unnest([
        'America/Los_Angeles', 'America/Denver', 'America/Chicago', 'America/New_York', 'America/Halifax',
        'America/Santiago', 'Europe/London', 'Europe/Berlin', 'Europe/Helsinki', 'Asia/Jerusalem',
        'Australia/Adelaide', 'Australia/Sydney', 'Pacific/Auckland'
    ]) as timezone
),

fitting as (
    select c.cluster, k.timezone
    from (select cluster from observed group by cluster having count(*) = 2) as c
    cross join well_known as k
    where
        not exists (
            select 1
            from testimony as w
            where
                w.cluster = c.cluster
                and w.utc_offset_s not in (
                    utc_offset_of(k.timezone, w.day::timestamp), utc_offset_of(k.timezone, w.day + time '23:59')
                )
        )
),

fixed as (
    select
        cluster,
        case when utc_offset_s < 0 then '-' else '+' end
        || lpad((abs(utc_offset_s) // 3600)::varchar, 2, '0') || ':'
        || lpad((abs(utc_offset_s) % 3600 // 60)::varchar, 2, '0') as timezone,
        is_own
    from observed
    qualify row_number() over (partition by cluster order by lines desc, utc_offset_s) = 1
),

answers as (
    select c.cluster, z.priority, z.timezone, z.basis
    from time_zones as z
    cross join clusters as c
    where z.pattern = '*'
    union all
    select f.cluster, 1001, f.timezone, 'inferred: other sources show both its offsets' from fitting as f
    union all
    select
        f.cluster, 1002, f.timezone,
        case when f.is_own then 'inferred: offset written in other sources' else 'inferred: offset written by another cluster' end
    from fixed as f
    union all
    select c.cluster, 1003, 'UTC', 'assumed: nothing tells' from clusters as c
)

select cluster, timezone, basis
from answers
qualify row_number() over (partition by cluster order by priority, timezone) = 1
order by cluster
