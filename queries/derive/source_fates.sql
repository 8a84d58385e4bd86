-- table: one row per input file or archive member: whether what was read from it counts
-- column path varchar: as given or found
-- column source_id varchar: first 16 hex digits of the digest
-- column status varchar: used, unused or failed
-- column reason varchar: why it is unused or failed, or what was cut
-- column whole_id varchar: longer source of the same log, whose beginning it is
with named as (
    select path as name, source_id, bytes, heads, false as is_rotated from intake.sources where status = 'used'
    union all
    -- `a.log.1` was `a.log`, if that is there no more, or holds something else
    select
        left(path, unnest(list_filter(range(1, length(path)), lambda n: path[n + 1] in ('.', '-', '_')))),
        source_id, bytes, heads, true
    from intake.sources
    where status = 'used' and is_found and exists (select 1 from intake.sources where not is_found)
),

-- one log at two times: it has grown since, or was cut, and begins as it did
pairs as (
    select o.path, o.source_id, o.lines, n.source_id as whole_id, n.bytes
    from intake.sources as o
    inner join named as n on o.path = n.name and o.heads[1] = n.heads[1]
    where
        o.status = 'used' and o.bytes < n.bytes and o.heads[-1] = n.heads[len(o.heads)]
        and not (n.is_rotated and o.is_found)
),

involved as (
    select source_id from pairs
    union
    select whole_id from pairs
),

rows_of as (
    select
        source_id,
        line_no + coalesce(line_count, 1) - 1 as last_line,
        concat_ws('|', 'event', coalesce(alike, line_no || ' ' || message)) as what,
        message as words,
        coalesce(repeat_count, 1) as times
    from intake.events
    where source_id in (select source_id from involved)
    union all
    select source_id, line_no, concat_ws('|', 'job', job_id, step, submit_ts), job_id, 1
    from intake.job_records
    where source_id in (select source_id from involved)
    union all
    select source_id, line_no, concat_ws('|', 'mark', line_no, kind, step), kind, 1
    from intake.progress
    where source_id in (select source_id from involved)
),

said as (
    select source_id, what, min(last_line) as last_line, min(words) as words, sum(times) as times
    from rows_of
    group by source_id, what
),

-- a beginning is not proved by its first bytes alone: the longer source must say all that the shorter one says
unsaid as (
    select p.*, s.last_line, s.words
    from pairs as p
    inner join said as s using (source_id)
    anti join said as w on p.whole_id = w.source_id and s.what = w.what and s.times <= w.times
),

-- the last line may have been cut
refuted as (
    select distinct path, source_id, whole_id
    from unsaid as u
    where
        u.last_line < u.lines
        or not exists (select 1 from said as w where w.source_id = u.whole_id and starts_with(w.words, u.words))
),

wholes as (
    select path, source_id, arg_max(whole_id, (bytes, whole_id)) as whole_id
    from pairs
    anti join refuted using (path, source_id, whole_id)
    group by path, source_id
),

firsts as (
    select s.source_id, min(s.path) as path
    from intake.sources as s
    anti join wholes using (path, source_id)
    where s.status = 'used'
    group by s.source_id
)

select
    s.path,
    s.source_id,
    case when s.status = 'used' and (w.whole_id is not null or s.path <> f.path) then 'unused' else s.status end
        as status,
    case
        when w.whole_id is not null then 'the beginning of a longer reading of the same log'
        when s.status = 'used' and s.path <> f.path then 'same content as ' || f.path
        else s.reason
    end as reason,
    w.whole_id
from intake.sources as s
left join wholes as w using (path, source_id)
left join firsts as f on s.source_id = f.source_id
order by s.path, s.source_id
