-- title: Against a published fleet
-- asks: is this mix, and this rate, like what others have printed?
-- param baseline varchar = 'llama3': name of the published fleet, one from table baseline_causes
-- column baseline_label varchar: the published fleet
-- column row_no integer: row of the published table; rows that it lacks follow
-- column label varchar: row
-- column category varchar: its category in that table
-- column interruptions bigint: own unplanned interruptions in the row; NULL if no own component answers to it
-- column share_pct double: of all own unplanned interruptions (percent)
-- column share_lo_pct double: lower 95 % limit, Wilson (percent)
-- column share_hi_pct double: upper 95 % limit (percent)
-- column per_1000_gpu_days double: own interruptions per 1,000 allocated GPU-days
-- column per_1000_gpu_days_lo double: lower 95 % limit, exact Poisson
-- column per_1000_gpu_days_hi double: upper 95 % limit
-- column baseline_count bigint: count as printed; NULL if the table lacks the row
-- column baseline_count_lo bigint: smallest count that the source supports
-- column baseline_count_hi bigint: largest count that the source supports
-- column baseline_percent_printed double: share as printed (percent)
-- column baseline_per_1000_gpu_days double: printed count per 1,000 GPU-days of that fleet
-- column baseline_per_1000_gpu_days_lo double: lower 95 % limit, exact Poisson, of the printed count
-- column baseline_per_1000_gpu_days_hi double: upper 95 % limit
-- column is_disputed boolean: true if the source contradicts itself about the row
-- column note varchar: what to know about the row
with published as (
    select bc.*, b.label as baseline_label, c.llama3_row, b.exposure_gpu_h / 24000 as published_kgpu_days
    from baseline_causes as bc
    inner join baselines as b on b.baseline = bc.baseline
    left join components as c on c.component = bc.component
    where bc.baseline = $baseline
),

-- An own component answers to the row that names it, else to the row that shares its place in Table 5.
answering as (
    select c.component, p.row_no
    from components as c
    left join published as p on p.component = c.component or p.llama3_row = c.llama3_row
    where exists (from published)
    qualify row_number() over (partition by c.component order by p.component <> c.component, p.row_no) = 1
),

own_components as (
    select
        a.row_no,
        if(a.row_no is null, coalesce(c.llama3_row, c.label), null) as missing_label,
        if(a.row_no is null, c.category, null) as missing_category,
        count(i.interruption_id) as interruptions
    from answering as a
    inner join components as c on c.component = a.component
    left join interruptions as i on coalesce(i.component, 'unattributed') = a.component and i.bucket = 'unplanned'
    where (select count(*) from attempts) > 0
    group by all
),

own_total as (
    select count(*) as total
    from interruptions
    where bucket = 'unplanned'
),

own_exposure as (
    select nullif(sum(allocated_gpu_h::decimal(30, 6)), 0)::double / 24000 as own_kgpu_days
    from exposure_daily
),

both_sides as (
    select
        p.row_no,
        p.label,
        p.category,
        o.interruptions,
        p.count_printed,
        p.count_lo,
        p.count_hi,
        p.percent_printed,
        p.published_kgpu_days,
        p.notes
    from published as p
    left join own_components as o on o.row_no = p.row_no
    union all by name
    select
        ((select max(row_no) from published)
            + row_number() over (order by interruptions desc, missing_label))::integer as row_no,
        missing_label as label,
        missing_category as category,
        interruptions,
        'the published table has no such row' as notes
    from own_components
    where row_no is null and interruptions > 0
)

select
    (select any_value(baseline_label) from published) as baseline_label,
    row_no,
    label,
    category,
    interruptions,
    100.0 * interruptions / nullif(total, 0) as share_pct,
    100 * wilson_lo(interruptions, total) as share_lo_pct,
    100 * wilson_hi(interruptions, total) as share_hi_pct,
    interruptions / own_kgpu_days as per_1000_gpu_days,
    poisson_lo(interruptions) / own_kgpu_days as per_1000_gpu_days_lo,
    poisson_hi(interruptions) / own_kgpu_days as per_1000_gpu_days_hi,
    count_printed as baseline_count,
    count_lo as baseline_count_lo,
    count_hi as baseline_count_hi,
    percent_printed as baseline_percent_printed,
    count_printed / published_kgpu_days as baseline_per_1000_gpu_days,
    poisson_lo(count_printed) / published_kgpu_days as baseline_per_1000_gpu_days_lo,
    poisson_hi(count_printed) / published_kgpu_days as baseline_per_1000_gpu_days_hi,
    coalesce(count_lo <> count_hi, false) as is_disputed,
    notes as note
from both_sides, own_total, own_exposure
order by row_no
