-- title: Week by week
-- asks: does it get better or worse?
-- column week_start date: Monday of the week (UTC)
-- column unplanned bigint: unplanned interruptions in it
-- column planned bigint: planned ones
-- column policy bigint: time limits, preemptions and owners' cancels
-- column running_h double: hours of running attempts in it
-- column gpu_days double: allocated GPU time in it (days); NULL where nothing is known
-- column mtti_h double: running hours per unplanned interruption; NULL if none happened
-- column mtti_h_lo double: lower 95 % limit, exact Poisson (hours)
-- column mtti_h_hi double: upper 95 % limit (hours); NULL if none happened
-- column per_1000_gpu_days double: unplanned interruptions per 1,000 allocated GPU-days
-- column per_1000_gpu_days_lo double: lower 95 % limit, exact Poisson
-- column per_1000_gpu_days_hi double: upper 95 % limit
with observed as (
    select
        min(start_ts) as from_ts,
        max(coalesce(end_ts, (select max(last_ts) from sources))) as to_ts
    from attempts
),

weeks as (
    select unnest(generate_series(
        date_trunc('week', from_ts at time zone 'UTC')::timestamp,
        to_ts at time zone 'UTC' - interval 1 microsecond,
        interval 7 day
    )) as week
    from observed
),

ran as (
    select
        week,
        sum(greatest(0,
            least(epoch_ms(coalesce(end_ts, to_ts)), epoch_ms(week + interval 7 day))
            - greatest(epoch_ms(start_ts), epoch_ms(week))
        )) / 3.6e6 as running_h
    from weeks, attempts, observed
    where start_ts is not null
    group by week
),

exposed as (
    select date_trunc('week', day)::timestamp as week, sum(allocated_gpu_h::decimal(30, 6))::double / 24 as gpu_days
    from exposure_daily
    group by all
),

stopped as (
    select
        date_trunc('week', ts at time zone 'UTC')::timestamp as week,
        count(*) filter (bucket = 'unplanned') as unplanned,
        count(*) filter (bucket = 'planned') as planned,
        count(*) filter (bucket = 'policy') as policy
    from interruptions
    group by all
),

joined as (
    select
        week,
        coalesce(unplanned, 0) as unplanned,
        coalesce(planned, 0) as planned,
        coalesce(policy, 0) as policy,
        running_h,
        gpu_days
    from weeks
    left join ran using (week)
    left join exposed using (week)
    left join stopped using (week)
)

select
    week::date as week_start,
    unplanned,
    planned,
    policy,
    running_h,
    gpu_days,
    running_h / nullif(unplanned, 0) as mtti_h,
    running_h / poisson_hi(unplanned) as mtti_h_lo,
    running_h / nullif(poisson_lo(unplanned), 0) as mtti_h_hi,
    1000 * unplanned / nullif(gpu_days, 0) as per_1000_gpu_days,
    1000 * poisson_lo(unplanned) / nullif(gpu_days, 0) as per_1000_gpu_days_lo,
    1000 * poisson_hi(unplanned) / nullif(gpu_days, 0) as per_1000_gpu_days_hi
from joined
order by week_start
