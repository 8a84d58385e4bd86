-- table: one row: the zone assumed for stamps that carry none
-- column timezone varchar: IANA name or +HH:MM
-- column basis varchar: how it was found
with observed as (
    select utc_offset_s, sum(lines) as lines from written_offsets group by utc_offset_s
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
    select k.timezone
    from well_known as k
    where
        (select count(*) from observed) = 2
        and not exists (
            select 1
            from written_offsets as w
            where w.utc_offset_s not in (
                utc_offset_of(k.timezone, w.day::timestamp), utc_offset_of(k.timezone, w.day + time '23:59')
            )
        )
),

fixed as (
    select
        case when utc_offset_s < 0 then '-' else '+' end
        || lpad((abs(utc_offset_s) // 3600)::varchar, 2, '0') || ':'
        || lpad((abs(utc_offset_s) % 3600 // 60)::varchar, 2, '0') as timezone
    from observed
    order by lines desc, utc_offset_s
    limit 1
),

answers as (
    select z.priority, z.timezone, z.basis from time_zones as z where z.pattern = '*'
    union all
    select 1001, f.timezone, 'inferred: other sources show both its offsets' from fitting as f
    union all
    select 1002, f.timezone, 'inferred: offset written in other sources' from fixed as f
    union all
    select 1003, 'UTC', 'assumed: nothing tells'
)

select timezone, basis
from answers
order by priority, timezone
limit 1
