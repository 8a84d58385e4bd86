-- title: Nodes against chance
-- asks: which nodes stop training more often than their share of the work explains?
-- column node varchar: the node
-- column interruptions bigint: unplanned interruptions that accuse it; software that failed on it does not
-- column confirmed bigint: of these, with direct evidence
-- column suspected bigint: of these, with indirect or contested evidence
-- column episodes bigint: fault episodes seen on it, storms folded; NULL without its logs
-- column allocated_gpu_days double: its allocated GPU time (days)
-- column expected double: interruptions that the rate of all other nodes predicts for its time
-- column p_value double: chance of as many or more, Poisson; NULL if the others had none
-- column q_value double: the same after Benjamini and Hochberg 1995 over all allocated nodes
-- column verdict varchar: lemon (q below 0.05, two or more confirmed), watch (fewer confirmed, or untestable), one-off, chance
-- column causes varchar: rows of the breakdown it is accused of, each with its count
-- column last_ts timestamptz: its last interruption
with exposed as (
    select node, sum(allocated_gpu_h::decimal(30, 6)) as gpu_h
    from exposure_daily
    group by node
),

accused as (
    select
        i.node,
        coalesce(c.llama3_row, c.label) as label,
        count(*) as interruptions,
        count(*) filter (i.confidence = 'confirmed') as confirmed,
        count(*) filter (i.confidence = 'suspected') as suspected,
        max(i.ts) as last_ts
    from interruptions as i
    inner join components as c on c.component = i.component
    where i.bucket = 'unplanned' and i.node is not null and c.domain not in ('software', 'dependency')
    group by all
),

charged as (
    select
        node,
        sum(interruptions)::bigint as interruptions,
        sum(confirmed)::bigint as confirmed,
        sum(suspected)::bigint as suspected,
        string_agg(label || ' ' || interruptions, ', ' order by interruptions desc, label) as causes,
        max(last_ts) as last_ts
    from accused
    group by node
),

logged as (
    select node, count(e.episode_id) as episodes
    from (select distinct node from coverage union select distinct node from episodes) as seen
    left join episodes as e using (node)
    group by node
),

counted as (
    select
        node,
        coalesce(interruptions, 0) as interruptions,
        coalesce(confirmed, 0) as confirmed,
        coalesce(suspected, 0) as suspected,
        episodes,
        gpu_h,
        causes,
        last_ts
    from exposed
    full join charged using (node)
    left join logged using (node)
),

predicted as (
    select
        *,
        -- sums of integers and decimals, so their order does not matter
        ((sum(interruptions) over () - interruptions)
            / nullif(sum(gpu_h) over () - gpu_h, 0) * gpu_h)::double as expected
    from counted
),

tested as (
    select
        *,
        case
            when interruptions = 0 and expected is not null then 1.0
            -- The upper tail itself, because 1 minus the lower one is 0 for the worst; what follows the range is
            -- more than ten standard deviations away.
            when expected > 0 then least(1.0, list_sum(list_transform(
                range(interruptions, 2 * greatest(interruptions, ceil(expected)::bigint) + 100),
                lambda n: exp(n * ln(expected) - expected - lgamma(n + 1.0)))))
        end as p_value
    from predicted
),

ranked as (
    select
        *,
        count(p_value) over () as tests,
        row_number() over (order by p_value nulls last, node) as place
    from tested
),

adjusted as (
    select
        *,
        case when p_value is not null then
            least(1.0, min(p_value * tests / place) over (order by place desc))
        end as q_value
    from ranked
)

select
    node,
    interruptions,
    confirmed,
    suspected,
    episodes,
    gpu_h::double / 24 as allocated_gpu_days,
    expected,
    p_value,
    q_value,
    case
        when q_value < 0.05 and confirmed >= 2 then 'lemon'
        when interruptions = 1 then 'one-off'
        when interruptions > 1 and coalesce(q_value, 0) < 0.05 then 'watch'
        else 'chance'
    end as verdict,
    causes,
    last_ts
from adjusted
where interruptions > 0 or episodes > 0
order by interruptions desc, confirmed desc, p_value nulls last, node
