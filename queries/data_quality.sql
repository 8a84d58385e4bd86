-- title: How far can these answers be trusted?
-- asks: what was not read, not understood, assumed or missing?
-- column check_name varchar: what is checked
-- column status varchar: ok, warning or error
-- column value double: the figure that decides; NULL if it cannot be known
-- column detail varchar: what the figure counts
with inputs as (
    select
        count(*) as inputs,
        count(*) filter (status = 'used') as used,
        count(*) filter (status = 'unused') as unused,
        count(*) filter (status = 'failed') as failed,
        coalesce(sum(lines), 0) as lines,
        coalesce(sum(unparsed_lines), 0) as unparsed,
        count(*) filter (lines <> matched_lines + unmatched_lines + unparsed_lines) as unbalanced,
        count(*) filter (status = 'used' and timezone_basis like 'assumed%') as zone_assumed,
        count(*) filter (status = 'used' and timezone_basis like 'inferred%') as zone_inferred,
        count(*) filter (status = 'used' and year_assumed) as year_assumed
    from sources
),

stopped as (
    select
        count(*) filter (bucket = 'unplanned') as unplanned,
        count(*) filter (bucket = 'unplanned' and confidence = 'unattributed') as unattributed,
        count(*) filter (bucket = 'unplanned' and silence = 'no_data') as without_logs,
        count(*) filter (bucket = 'unplanned' and lost_gpu_h_hi is null) as without_bound,
        count(*) filter (bucket = 'unplanned'
            and coalesce(component, 'unattributed') not in (select c.component from components as c)) as outside
    from interruptions
),

started as (
    select
        count(*) as attempts,
        count(*) filter (coalesce(gpu_count, 0) = 0) as without_gpus
    from attempts
),

exposed as (
    select count(*) as node_days, count(*) filter (not coalesce(is_kernel_log_covered, false)) as uncovered
    from exposure_daily
),

dated as (
    select
        count(*) as events,
        count(*) filter (ts is null) as undated,
        count(*) filter (ts_uncertainty_s > 60) as vague
    from events
),

checks as (
    select 1 as place, 'inputs used' as check_name, used > 0 as is_ok, used = 0 as is_bad, used as value,
        format('of {} inputs; {} hold nothing recognisable', inputs, unused) as detail
    from inputs
    union all
    select 2, 'inputs failed', failed = 0, failed > 0, failed, 'inputs that could not be read'
    from inputs
    union all
    select 3, 'lines add up', unbalanced = 0, unbalanced > 0, unbalanced,
        'inputs where matched, unmatched and unparsed lines are not all lines'
    from inputs
    union all
    select 4, 'unparsed lines', unparsed = 0, unparsed > 0.01 * lines, unparsed,
        format('of {} lines should have been understood and were not', lines)
    from inputs
    union all
    select 5, 'time zone assumed', zone_assumed = 0, false, zone_assumed,
        format('inputs whose time zone nothing tells; {} more take it from other inputs', zone_inferred)
    from inputs
    union all
    select 6, 'year assumed', year_assumed = 0, false, year_assumed, 'inputs whose stamps carry no year'
    from inputs
    union all
    select 7, 'events without a time', undated = 0, false, undated, format('of {} events', events)
    from dated
    union all
    select 8, 'events of vague time', vague = 0, false, vague,
        format('of {} events are known to no better than a minute', events)
    from dated
    union all
    select 9, 'attempts known', attempts > 0, attempts = 0, attempts,
        'attempts that accounting or scheduler logs show; without any there is nothing to interrupt'
    from started
    union all
    select 10, 'attempts without GPUs', without_gpus = 0, false, without_gpus,
        'attempts whose number of GPUs is unknown or none'
    from started
    union all
    select 11, 'node-days without kernel log', uncovered = 0, uncovered > 0.5 * node_days,
        if(node_days > 0, uncovered, null), format('of {} allocated node-days; a fault there leaves no trace', node_days)
    from exposed
    union all
    select 12, 'unattributed', unattributed = 0, unattributed > 0.5 * unplanned, unattributed,
        format('of {} unplanned interruptions; for {} of them the logs are missing', unplanned, without_logs)
    from stopped
    union all
    select 13, 'losses without upper bound', without_bound = 0, false, without_bound,
        format('of {} unplanned interruptions; with one of them, the sum of lost time is a lower bound', unplanned)
    from stopped
    union all
    select 14, 'breakdown adds up', outside = 0, outside > 0, outside,
        format('of {} unplanned interruptions are charged to no row of the breakdown', unplanned)
    from stopped
)

select
    check_name,
    case when is_bad then 'error' when is_ok then 'ok' else 'warning' end as status,
    value::double as value,
    detail
from checks
order by place
