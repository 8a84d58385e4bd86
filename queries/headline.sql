-- title: The period in one row
-- asks: how often was training stopped, how sure is the cause, and what did it cost?
-- column from_ts timestamptz: start of the first attempt
-- column to_ts timestamptz: end of the last attempt; the last log line if one still runs
-- column window_days double: days between the two
-- column runs bigint: runs that had an attempt
-- column attempts bigint: attempts that started
-- column nodes bigint: nodes that were ever allocated; NULL if unknown
-- column gpu_count bigint: most GPUs in use at the same time; NULL if unknown
-- column interruptions bigint: attempts that ended before their run was done; NULL without any attempt
-- column unplanned bigint: of these, nobody wanted
-- column planned bigint: of these, maintenance or an operator's doing
-- column policy bigint: of these, time limit, preemption or the owner's own cancel
-- column confirmed bigint: unplanned ones with direct evidence
-- column suspected bigint: unplanned ones with indirect or contested evidence
-- column unattributed bigint: unplanned ones without a cause
-- column running_h double: hours of all attempts together
-- column mtti_h double: mean time to an unplanned interruption (hours)
-- column mtti_h_lo double: lower 95 % limit, exact Poisson (hours)
-- column mtti_h_hi double: upper 95 % limit (hours); NULL if nothing happened
-- column mtti_basis varchar: hours and interruptions that the mean is made of; a row of mtti
-- column gpu_days double: allocated GPU time (days)
-- column gpu_days_grade varchar: A if the GPUs of all attempts are known; B if this is less than was allocated
-- column per_1000_gpu_days double: unplanned interruptions per 1,000 allocated GPU-days
-- column per_1000_gpu_days_lo double: lower 95 % limit, exact Poisson
-- column per_1000_gpu_days_hi double: upper 95 % limit
-- column lost_gpu_h double: GPU time lost to unplanned interruptions (GPU-hours); NULL if one of them is not known
-- column lost_gpu_h_lo double: at least (GPU-hours)
-- column lost_gpu_h_hi double: at most (GPU-hours); NULL if nothing bounds one of them
-- column lost_grade varchar: weakest grade among these losses
-- column top_component varchar: component with most unplanned interruptions
-- column top_label varchar: its row of the breakdown
-- column top_interruptions bigint: how many
-- column sources_used bigint: inputs that were read
-- column sources_unused bigint: inputs without anything recognisable
-- column sources_failed bigint: inputs that could not be read
-- column unparsed_lines bigint: lines that should have been understood
with observed as (
    select
        min(start_ts) as from_ts,
        max(coalesce(end_ts, (select max(last_ts) from sources))) as to_ts
    from attempts
),

spans as (
    select *, (epoch_ms(to_ts) - epoch_ms(from_ts)) / 3.6e6 as wall_h
    from observed
),

ran as (
    select
        count(distinct run_id) as runs,
        count(*) as attempts,
        case when bool_and(gpu_count is not null) then 'A' else 'B' end as gpu_days_grade,
        sum(epoch_ms(coalesce(end_ts, to_ts)) - epoch_ms(start_ts)) / 3.6e6 as running_h
    from attempts, observed
),

fleet as (
    select
        nullif(count(distinct node), 0) as nodes,
        sum(allocated_gpu_h::decimal(30, 6))::double / 24 as gpu_days
    from exposure_daily
),

-- an attempt that begins in the second in which another ends takes its GPUs over
changes as (
    select start_ts as ts, gpu_count as change from attempts
    union all
    select end_ts, -gpu_count from attempts where end_ts is not null
),

peak as (
    select max(in_use)::bigint as gpu_count
    from (select sum(change) over (order by ts, change rows unbounded preceding) as in_use from changes where ts is not null)
),

counted as (
    select
        count(*) as interruptions,
        count(*) filter (bucket = 'unplanned') as unplanned,
        count(*) filter (bucket = 'planned') as planned,
        count(*) filter (bucket = 'policy') as policy,
        count(*) filter (bucket = 'unplanned' and confidence = 'confirmed') as confirmed,
        count(*) filter (bucket = 'unplanned' and confidence = 'suspected') as suspected,
        count(*) filter (bucket = 'unplanned' and confidence = 'unattributed') as unattributed
    from interruptions
    having (select count(*) from attempts) > 0
),

lost as (
    select
        case when bool_and(lost_gpu_h is not null) then sum(lost_gpu_h::decimal(30, 6)) end::double as lost_gpu_h,
        sum(lost_gpu_h_lo::decimal(30, 6))::double as lost_gpu_h_lo,
        case when bool_and(lost_gpu_h_hi is not null) then sum(lost_gpu_h_hi::decimal(30, 6)) end::double as lost_gpu_h_hi,
        case when bool_or(grade = '-') then '-' else max(grade) end as lost_grade
    from interruptions
    where bucket = 'unplanned'
),

causes as (
    select
        first(i.component order by i.component) as component,
        coalesce(c.llama3_row, c.label) as label,
        count(*) as interruptions
    from interruptions as i
    inner join components as c on c.component = i.component
    where i.bucket = 'unplanned' and i.confidence <> 'unattributed'
    group by coalesce(c.llama3_row, c.label)
),

top as (
    select component as top_component, label as top_label, interruptions as top_interruptions
    from causes
    order by interruptions desc, label
    limit 1
),

inputs as (
    select
        count(*) filter (status = 'used') as sources_used,
        count(*) filter (status = 'unused') as sources_unused,
        count(*) filter (status = 'failed') as sources_failed,
        coalesce(sum(unparsed_lines), 0)::bigint as unparsed_lines
    from sources
)

select
    from_ts,
    to_ts,
    wall_h / 24 as window_days,
    runs,
    attempts,
    nodes,
    gpu_count,
    interruptions,
    unplanned,
    planned,
    policy,
    confirmed,
    suspected,
    unattributed,
    running_h,
    wall_h / nullif(unplanned, 0) as mtti_h,
    wall_h / poisson_hi(unplanned) as mtti_h_lo,
    wall_h / nullif(poisson_lo(unplanned), 0) as mtti_h_hi,
    'wall/unplanned' as mtti_basis,
    gpu_days,
    gpu_days_grade,
    1000 * unplanned / nullif(gpu_days, 0) as per_1000_gpu_days,
    1000 * poisson_lo(unplanned) / nullif(gpu_days, 0) as per_1000_gpu_days_lo,
    1000 * poisson_hi(unplanned) / nullif(gpu_days, 0) as per_1000_gpu_days_hi,
    lost_gpu_h,
    lost_gpu_h_lo,
    lost_gpu_h_hi,
    lost_grade,
    top_component,
    top_label,
    top_interruptions,
    sources_used,
    sources_unused,
    sources_failed,
    unparsed_lines
from spans, ran, fleet, peak, lost, inputs
left join counted on true
left join top on true
order by from_ts
