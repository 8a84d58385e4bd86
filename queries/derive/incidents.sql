-- table: one row per fault chain: one cause, the interruptions it made, the faults of one place and time
-- column incident_id varchar: INC-date-hash
-- column first_fault_ts timestamptz: first fault
-- column component varchar: the part accused
-- column cause_group varchar: one of eight groups
-- column node varchar: where; null if several or unknown
-- column gpu_index integer: which GPU
-- column event_count bigint: faults in it
-- column interruption_count bigint: interruptions it made; 0 if it hit no job
-- column confidence varchar: confirmed, suspected or unattributed
select
    m.incident_id,
    min(m.ts) as first_fault_ts,
    min(m.component) as component,
    min(c.cause_group) as cause_group,
    case when count(distinct m.node) = 1 then min(m.node) end as node,
    case when count(distinct m.node) = 1 then min(m.gpu_index) end as gpu_index,
    sum(m.event_count)::bigint as event_count,
    count(m.attempt_id) as interruption_count,
    case
        when bool_or(m.confidence = 'confirmed') then 'confirmed'
        when bool_or(m.confidence = 'suspected') then 'suspected'
        else 'unattributed'
    end as confidence
from incident_members as m
inner join components as c using (component)
group by m.incident_id
order by first_fault_ts nulls last, m.incident_id
