-- title: Does a published table agree with itself?
-- asks: which counts do not fit their printed percentage, and by how many events? (GRIM test, Brown and Heathers 2017)
-- param baseline varchar = 'llama3': name of the published fleet, one from table baseline_causes
-- column row_no integer: row of the table; 0 is the sum of all rows
-- column label varchar: row
-- column count_printed bigint: count as printed
-- column percent_printed double: share as printed (percent)
-- column total bigint: base of the percentages: the sum of the printed counts
-- column percent_of_total double: share that the count really has (percent)
-- column implied_count bigint: count nearest to the printed one whose share prints as the printed percentage
-- column difference bigint: printed count minus implied count
-- column verdict varchar: agrees, disagrees, impossible (no count prints so) or untestable (no count or no percentage)
with printed as (
    select row_no, label, count_printed, percent_printed
    from baseline_causes
    where baseline_causes.baseline = $baseline
),

-- A table rounds all its percentages to the places that its finest one shows.
base as (
    select
        sum(count_printed)::bigint as total,
        0.5 * pow(10, -max(case
            when round(percent_printed, 0) = percent_printed then 0
            when round(percent_printed, 1) = percent_printed then 1
            else 2
        end)) + 1e-9 as half_a_place
    from printed
),

possible as (
    select
        *,
        ceil((percent_printed - half_a_place) * total / 100)::bigint as fewest,
        floor((percent_printed + half_a_place) * total / 100)::bigint as most
    from printed, base
),

implied as (
    select
        row_no,
        label,
        count_printed,
        percent_printed,
        total,
        case when fewest <= most then least(greatest(count_printed, fewest), most) end as implied_count,
        case
            when count_printed is null or percent_printed is null then 'untestable'
            when fewest > most then 'impossible'
            when count_printed between fewest and most then 'agrees'
            else 'disagrees'
        end as verdict
    from possible
),

summed as (
    select
        0::integer as row_no,
        'Sum of the rows' as label,
        sum(count_printed)::bigint as count_printed,
        sum(percent_printed::decimal(9, 4))::double as percent_printed,
        any_value(total) as total,
        sum(implied_count) filter (count_printed is not null)::bigint as implied_count,
        case
            when bool_or(verdict = 'untestable') then 'untestable'
            when bool_or(verdict <> 'agrees') then 'disagrees'
            else 'agrees'
        end as verdict
    from implied
    having count(*) > 0
),

checked as (
    from implied
    union all by name
    from summed
)

select
    row_no,
    label,
    count_printed,
    percent_printed,
    total,
    100.0 * count_printed / total as percent_of_total,
    if(count_printed is null, null, implied_count) as implied_count,
    count_printed - implied_count as difference,
    verdict
from checked
order by row_no
