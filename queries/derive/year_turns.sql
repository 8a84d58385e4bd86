-- table: one row per source with stamps that carry no year: the last of them, and the lines at which a year turns
-- column source_id varchar: the source
-- column last_ts timestamp: last stamp without a year (in the placeholder year 2000)
-- column turn_lines bigint[]: lines whose stamp jumps back by more than half a year: New Year lies before each
with stamps as (
    select source_id, line_no, local_ts from intake.events where not has_year and local_ts is not null
    union all
    select source_id, line_no, local_ts from intake.progress where not has_year and local_ts is not null
    union all
    -- chatter is not kept, but the first and last stamp of a file are
    select source_id, 0, first_local_ts from intake.sources where first_local_ts >= timestamp '2000-01-01' and first_local_ts < timestamp '2001-01-01'
    union all
    select source_id, lines + 1, last_local_ts from intake.sources where last_local_ts >= timestamp '2000-01-01' and last_local_ts < timestamp '2001-01-01'
),

ordered as (
    select
        *,
        month(local_ts) < lag(month(local_ts)) over (partition by source_id order by line_no, local_ts) - 6 as turns
    from stamps
)

select
    source_id,
    arg_max(local_ts, (line_no, local_ts)) as last_ts,
    coalesce(list(line_no order by line_no) filter (where turns), []) as turn_lines
from ordered
group by source_id
order by source_id
