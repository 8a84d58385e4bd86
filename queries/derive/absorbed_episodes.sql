-- table: one row per fault episode that belongs to the chain of an interruption's cause
-- column episode_id varchar: the episode
-- column attempt_id varchar: the interrupted run whose cause it shows
with causes as (
    select v.attempt_id, v.component, v.node, v.first_fault_ts, v.event_id, a.end_ts
    from verdicts as v
    inner join attempts as a using (attempt_id)
    where v.confidence <> 'unattributed'
),

found as (
    -- its own
    select m.episode_id, c.attempt_id, 0.0 as distance_s
    from causes as c
    inner join episode_events as m using (event_id)
    union all
    -- what else the accused host says in that quarter of an hour
    select p.episode_id, c.attempt_id, abs(epoch(p.first_ts) - epoch(c.first_fault_ts))
    from causes as c
    inner join episodes as p on p.node = c.node
    where p.first_ts between c.first_fault_ts - to_minutes(15) and c.end_ts + to_minutes(15)
    union all
    -- the same trouble of a switch or a service, seen from another host
    select p.episode_id, c.attempt_id, abs(epoch(p.first_ts) - epoch(c.first_fault_ts))
    from causes as c
    inner join episodes as p on p.component = c.component
    where
        (c.component = 'network.link_switch' or c.component like 'dependency.%')
        and p.first_ts between c.first_fault_ts - to_minutes(15) and c.end_ts + to_minutes(15)
)

select episode_id, arg_min(attempt_id, (distance_s, attempt_id)) as attempt_id
from found
group by episode_id
order by episode_id
