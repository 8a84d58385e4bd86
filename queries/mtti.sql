-- title: Mean time to interruption
-- asks: how long does training run before something stops it, on each basis that is in use?
-- column basis varchar: which hours over which interruptions
-- column description varchar: the same in words
-- column interruptions bigint: interruptions counted; NULL without any attempt
-- column hours double: hours they are spread over
-- column mtti_h double: mean time to interruption (hours); NULL if nothing happened
-- column mtti_h_lo double: lower 95 % limit, exact Poisson (hours)
-- column mtti_h_hi double: upper 95 % limit (hours); NULL if nothing happened
with observed as (
    select
        min(start_ts) as from_ts,
        max(coalesce(end_ts, (select max(last_ts) from sources))) as to_ts
    from attempts
),

spent as (
    select
        any_value(epoch_ms(to_ts) - epoch_ms(from_ts)) / 3.6e6 as wall_h,
        sum(epoch_ms(coalesce(end_ts, to_ts)) - epoch_ms(start_ts)) / 3.6e6 as running_h
    from attempts, observed
),

counted as (
    select count(*) as interruptions, count(*) filter (bucket = 'unplanned') as unplanned
    from interruptions
    having (select count(*) from attempts) > 0
),

bases as (
    select choice.*
    from spent
    left join counted on true
    cross join lateral (values
        ('running/unplanned', 'hours of running attempts per unplanned interruption', unplanned, running_h),
        ('wall/unplanned', 'hours of the period per unplanned interruption', unplanned, wall_h),
        ('running/all', 'hours of running attempts per interruption of any kind', counted.interruptions, running_h),
        ('wall/all', 'hours of the period per interruption of any kind', counted.interruptions, wall_h)
    ) as choice (basis, description, interruptions, hours)
)

select
    basis,
    description,
    interruptions,
    hours,
    hours / nullif(interruptions, 0) as mtti_h,
    hours / poisson_hi(interruptions) as mtti_h_lo,
    hours / nullif(poisson_lo(interruptions), 0) as mtti_h_hi
from bases
order by basis
