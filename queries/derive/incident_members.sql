-- table: one row per interruption, or per fault episode that made none, with the incident it belongs to
-- column attempt_id varchar: the run, if it was interrupted
-- column episode_id varchar: the episode, if a fault is known
-- column incident_id varchar: INC-date-hash
-- column ts timestamptz: first fault, or the end of the run
-- column component varchar: the part accused
-- column node varchar: where
-- column gpu_index integer: which GPU
-- column confidence varchar: confirmed, suspected or unattributed
with blamed as (
    select
        v.attempt_id,
        m.episode_id,
        coalesce(v.first_fault_ts, a.end_ts) as ts,
        v.component,
        v.node,
        v.gpu_index,
        v.confidence,
        -- what many nodes share breaks once for all of them
        v.component = 'network.link_switch' or v.component like 'dependency.%' as is_shared
    from verdicts as v
    inner join attempts as a using (attempt_id)
    left join episode_events as m using (event_id)
),

harmless as (
    select
        null as attempt_id, p.episode_id, p.first_ts as ts, p.component, p.node, p.gpu_index, 'suspected' as confidence,
        false as is_shared
    from episodes as p
    where
        p.component not in ('', 'unattributed') and coalesce(p.node, p.first_ts::varchar) is not null
        and p.episode_id not in (select episode_id from absorbed_episodes)
),

members as (
    select
        *,
        case
            when is_shared then component
            else concat_ws('|', component, coalesce(node, attempt_id, episode_id), gpu_index)
        end as place
    from (from blamed union all from harmless)
),

opened as (
    select *, coalesce(ts > lag(ts) over same_place + to_minutes(10), true) as opens
    from members
    window same_place as (partition by place order by ts nulls first, attempt_id, episode_id)
),

numbered as (
    select
        *,
        count(*) filter (where opens)
            over (partition by place order by ts nulls first, attempt_id, episode_id rows unbounded preceding) as chain
    from opened
)

select
    attempt_id,
    episode_id,
    'INC-' || coalesce(strftime(min(ts) over (partition by place, chain), '%y%m%d'), 'undated') || '-'
    || sha256(place || '|' || min(coalesce(episode_id, attempt_id)) over (partition by place, chain))[:12] as incident_id,
    ts,
    component,
    node,
    gpu_index,
    confidence
from numbered
order by ts nulls last, attempt_id, episode_id
