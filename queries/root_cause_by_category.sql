-- title: Root causes by category
-- asks: how do the unplanned interruptions fall on GPU, host, network and the rest?
-- column category varchar: category of Table 5 of the Llama 3 paper
-- column interruptions bigint: unplanned interruptions charged to it
-- column total bigint: all unplanned interruptions
-- column share_pct double: interruptions in total (percent)
-- column share_lo_pct double: lower 95 % limit, Wilson (percent)
-- column share_hi_pct double: upper 95 % limit (percent)
-- column lost_gpu_h double: GPU time lost (GPU-hours); NULL if one part is not known
-- column lost_gpu_h_lo double: at least (GPU-hours)
-- column lost_gpu_h_hi double: at most (GPU-hours); NULL if nothing bounds one part
-- column components varchar: its rows, each with its count
with by_row as (
    select
        c.category,
        coalesce(c.llama3_row, c.label) as label,
        count(*) as interruptions,
        case when bool_and(i.lost_gpu_h is not null) then sum(i.lost_gpu_h::decimal(30, 6)) end as lost_gpu_h,
        sum(i.lost_gpu_h_lo::decimal(30, 6)) as lost_gpu_h_lo,
        case when bool_and(i.lost_gpu_h_hi is not null) then sum(i.lost_gpu_h_hi::decimal(30, 6)) end as lost_gpu_h_hi
    from interruptions as i
    inner join components as c on c.component = coalesce(i.component, 'unattributed')
    where i.bucket = 'unplanned'
    group by all
),

by_category as (
    select
        category,
        sum(interruptions)::bigint as interruptions,
        case when bool_and(lost_gpu_h is not null) then sum(lost_gpu_h) end::double as lost_gpu_h,
        sum(lost_gpu_h_lo)::double as lost_gpu_h_lo,
        case when bool_and(lost_gpu_h_hi is not null) then sum(lost_gpu_h_hi) end::double as lost_gpu_h_hi,
        string_agg(label || ' ' || interruptions, ', ' order by interruptions desc, label) as components
    from by_row
    group by category
),

totalled as (
    select *, (sum(interruptions) over ())::bigint as total
    from by_category
)

select
    category,
    interruptions,
    total,
    100.0 * interruptions / total as share_pct,
    100 * wilson_lo(interruptions, total) as share_lo_pct,
    100 * wilson_hi(interruptions, total) as share_hi_pct,
    lost_gpu_h,
    lost_gpu_h_lo,
    lost_gpu_h_hi,
    components
from totalled
order by interruptions desc, category
