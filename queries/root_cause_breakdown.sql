-- title: Root causes of unplanned interruptions
-- asks: which component stopped training how often, how sure is that, and what did it cost?
-- column component varchar: most frequent component of the row
-- column label varchar: row, as fine as Table 5 of the Llama 3 paper
-- column category varchar: category of the row in that table
-- column cause_group varchar: group it is coloured by
-- column interruptions bigint: unplanned interruptions charged to the row
-- column total bigint: all unplanned interruptions
-- column share_pct double: interruptions in total (percent)
-- column share_lo_pct double: lower 95 % limit, Wilson (percent)
-- column share_hi_pct double: upper 95 % limit (percent)
-- column confirmed bigint: of the interruptions, with direct evidence
-- column suspected bigint: of the interruptions, with indirect or contested evidence
-- column unattributed bigint: of the interruptions, without a cause
-- column lost_gpu_h double: GPU time lost (GPU-hours); NULL if one part is not known
-- column lost_gpu_h_lo double: at least (GPU-hours)
-- column lost_gpu_h_hi double: at most (GPU-hours); NULL if nothing bounds one part
-- column mtti_h double: hours of the period per interruption of this row
-- column mtti_h_lo double: lower 95 % limit, exact Poisson (hours)
-- column mtti_h_hi double: upper 95 % limit (hours)
with observed as (
    select
        (epoch_ms(max(coalesce(end_ts, (select max(last_ts) from sources)))) - epoch_ms(min(start_ts))) / 3.6e6 as wall_h
    from attempts
),

labelled as (
    select
        i.*,
        c.component as row_component,
        coalesce(c.llama3_row, c.label) as label,
        count(*) over (partition by c.component) as frequency
    from interruptions as i
    inner join components as c on c.component = coalesce(i.component, 'unattributed')
    where i.bucket = 'unplanned'
),

by_row as (
    select
        first(row_component order by frequency desc, row_component) as component,
        label,
        count(*) as interruptions,
        count(*) filter (confidence = 'confirmed') as confirmed,
        count(*) filter (confidence = 'suspected') as suspected,
        count(*) filter (confidence = 'unattributed') as unattributed,
        case when bool_and(lost_gpu_h is not null) then sum(lost_gpu_h::decimal(30, 6)) end::double as lost_gpu_h,
        sum(lost_gpu_h_lo::decimal(30, 6))::double as lost_gpu_h_lo,
        case when bool_and(lost_gpu_h_hi is not null) then sum(lost_gpu_h_hi::decimal(30, 6)) end::double as lost_gpu_h_hi
    from labelled
    group by label
),

totalled as (
    select r.*, c.category, c.cause_group, (sum(r.interruptions) over ())::bigint as total
    from by_row as r
    inner join components as c on c.component = r.component
)

select
    component,
    label,
    category,
    cause_group,
    interruptions,
    total,
    100.0 * interruptions / total as share_pct,
    100 * wilson_lo(interruptions, total) as share_lo_pct,
    100 * wilson_hi(interruptions, total) as share_hi_pct,
    confirmed,
    suspected,
    unattributed,
    lost_gpu_h,
    lost_gpu_h_lo,
    lost_gpu_h_hi,
    wall_h / interruptions as mtti_h,
    wall_h / poisson_hi(interruptions) as mtti_h_lo,
    wall_h / poisson_lo(interruptions) as mtti_h_hi
from totalled, observed
order by interruptions desc, label
