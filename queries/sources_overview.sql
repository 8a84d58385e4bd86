-- title: What was read
-- asks: what became of each input file?
-- column path varchar: as given or found; a member of an archive follows a "!"
-- column format varchar: format that its content was recognised as
-- column channel varchar: who writes this format
-- column host varchar: the one host that its lines name, if just one
-- column status varchar: used, unused or failed
-- column reason varchar: why it is unused or failed, or what was cut
-- column lines bigint: physical lines
-- column matched_lines bigint: lines that became an event, a record or a progress mark
-- column unmatched_lines bigint: lines that nothing asks for
-- column unparsed_lines bigint: lines that should have been understood
-- column first_ts timestamptz: first time in it
-- column last_ts timestamptz: last time in it
-- column timezone varchar: zone that its times were read in
-- column timezone_basis varchar: where that zone comes from
-- column source_id varchar: beginning of the digest of its content
select
    path,
    format,
    channel,
    host,
    status,
    reason,
    lines,
    matched_lines,
    unmatched_lines,
    unparsed_lines,
    first_ts,
    last_ts,
    timezone,
    timezone_basis,
    source_id
from sources
order by path, source_id
