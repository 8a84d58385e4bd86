-- table: one row per interruption and event around it
-- column interruption_id varchar: the interruption
-- column event_id varchar: the event
-- column role varchar: trigger (the verdict rests on it), contributing, symptom, teardown or context
-- column delta_s double: seconds from the end of the attempt; negative before it
with related as (
    select
        i.interruption_id,
        m.event_id,
        m.delta_s,
        v.event_id as verdict_id,
        n.decided_by,
        v.component,
        v.node
    from interruptions as i
    inner join event_attempts as m using (attempt_id)
    inner join endings as n using (attempt_id)
    left join verdicts as v using (attempt_id)
    where m.delta_s is null or m.delta_s between -2700 and 900 or m.event_id in (n.decided_by, v.event_id)
)

select
    r.interruption_id,
    r.event_id,
    case
        when r.event_id in (r.verdict_id, r.decided_by) then 'trigger'
        when e.kind = 'fault' and e.tier > 0 and e.component = r.component and e.node is not distinct from r.node
            then 'contributing'
        when e.kind = 'symptom' and coalesce(r.delta_s > 30, false) then 'teardown'
        when e.kind = 'symptom' then 'symptom'
        when e.kind = 'lifecycle' and coalesce(r.delta_s >= 0, false) then 'teardown'
        when e.kind = 'fault' and e.tier > 0 then 'contributing'
        else 'context'
    end as role,
    r.delta_s
from related as r
inner join events as e using (event_id)
order by r.interruption_id, r.delta_s nulls last, r.event_id
