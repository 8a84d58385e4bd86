-- table: one row per fault chain: one cause, the interruptions it made, the faults of one place and time
-- column incident_id varchar: INC-date-hash
-- column first_fault_ts timestamptz: first fault
-- column component varchar: the part accused
-- column cause_group varchar: one of eight groups
-- column node varchar: where; null if several or unknown
-- column gpu_index integer: which GPU
-- column event_count bigint: faults in it
-- column interruption_count bigint: interruptions it made
-- column confidence varchar: confirmed, suspected or unattributed
with parts as (
    select incident_id, episode_id from incident_members where episode_id is not null
    union
    select m.incident_id, b.episode_id
    from absorbed_episodes as b
    inner join incident_members as m using (attempt_id)
),

counted as (
    select p.incident_id, sum(e.event_count)::bigint as event_count
    from parts as p
    inner join episodes as e using (episode_id)
    group by p.incident_id
)

select
    m.incident_id,
    min(m.ts) as first_fault_ts,
    min(m.component) as component,
    min(c.cause_group) as cause_group,
    case when count(distinct m.node) = 1 then min(m.node) end as node,
    case when count(distinct m.node) = 1 then min(m.gpu_index) end as gpu_index,
    coalesce(min(n.event_count), 0) as event_count,
    count(m.attempt_id) as interruption_count,
    case
        when bool_or(m.confidence = 'confirmed') then 'confirmed'
        when bool_or(m.confidence = 'suspected') then 'suspected'
        else 'unattributed'
    end as confidence
from incident_members as m
inner join components as c using (component)
left join counted as n using (incident_id)
group by m.incident_id
order by first_fault_ts nulls last, m.incident_id
