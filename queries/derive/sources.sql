-- table: one row per input file or archive member
-- column source_id varchar: first 16 hex digits of the digest
-- column path varchar: as given or found
-- column format varchar: envelope or parser that recognised it
-- column channel varchar: who writes it
-- column host varchar: the one host it is about
-- column bytes bigint: decompressed size (bytes)
-- column lines bigint: physical lines
-- column matched_lines bigint: lines that became an event, a record or a mark
-- column unmatched_lines bigint: lines that no signature asks for
-- column unparsed_lines bigint: lines that should have been understood
-- column first_ts timestamptz: first stamp
-- column last_ts timestamptz: last stamp
-- column timezone varchar: zone of stamps without one
-- column timezone_basis varchar: where the zone comes from
-- column year_assumed boolean: true if only the file's date tells the year
-- column status varchar: used, unused or failed
-- column reason varchar: why it is unused or failed, or what was cut
-- column digest varchar: BLAKE3 of the decompressed bytes; beyond 256 KiB the digests of its blocks, chained
select
    s.source_id,
    s.path,
    s.format,
    s.channel,
    n.node as host,
    s.bytes,
    s.lines,
    case when s.status = f.status then s.matched_lines else 0 end as matched_lines,
    case when s.status = f.status then s.unmatched_lines else s.lines - s.unparsed_lines end as unmatched_lines,
    s.unparsed_lines,
    v.first_ts,
    v.last_ts,
    c.timezone,
    c.basis as timezone_basis,
    coalesce(c.is_year_assumed, false) as year_assumed,
    f.status,
    f.reason,
    s.digest
from intake.sources as s
inner join source_fates as f using (path, source_id)
left join clocks as c on s.source_id = c.source_id and f.status = 'used'
left join coverage as v on s.source_id = v.source_id and f.status = 'used'
left join source_nodes as n on s.source_id = n.source_id and f.status = 'used'
order by s.path, s.source_id
