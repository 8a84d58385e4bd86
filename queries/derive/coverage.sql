-- table: one row per source and host whose log is there, with the span that it covers
-- column source_id varchar: the source
-- column node varchar: host; null if the source speaks for many
-- column channel varchar: who writes it
-- column first_ts timestamptz: first stamp
-- column last_ts timestamptz: last stamp
with spans as (
    select
        s.source_id,
        n.node,
        s.channel,
        dated(s.first_local_ts, c.year, c.turn_lines, 0) as first_local_ts,
        dated(s.last_local_ts, c.year, c.turn_lines, s.lines + 1) as last_local_ts,
        s.utc_offset_s,
        c.timezone,
        c.shift_s
    from intake.sources as s
    inner join source_fates as f using (path, source_id)
    inner join clocks as c using (source_id)
    left join source_nodes as n using (source_id)
    where f.status = 'used'
)

select
    source_id,
    node,
    channel,
    instant_of(first_local_ts, utc_offset_s, timezone, shift_s) as first_ts,
    instant_of(last_local_ts, utc_offset_s, timezone, shift_s) as last_ts
from spans
order by source_id, node
