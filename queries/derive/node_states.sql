-- table: one row per state of a node that the controller or an operator set, until the next one
-- column node varchar: host
-- column state varchar: DOWN, DRAIN, NOT_RESPONDING, REBOOT, INVAL or UP
-- column reason varchar: last reason that was set
-- column start_ts timestamptz: begin
-- column end_ts timestamptz: begin of the next state; null if it is the last known
-- column set_by varchar: controller or update (a person or script)
-- column is_planned boolean: the reason speaks of maintenance, or a reboot was asked for
with marks as (
    select
        node,
        ts,
        event_id,
        case mark
            when 'node_down' then 'DOWN'
            when 'node_not_responding' then 'NOT_RESPONDING'
            when 'node_drain' then 'DRAIN'
            when 'node_drained' then 'DRAIN'
            when 'node_reboot_requested' then 'REBOOT'
            when 'node_invalid' then 'INVAL'
            when 'node_up' then 'UP'
            when 'node_resume' then 'UP'
        end as state,
        case when mark = 'node_reason' then coalesce(fields ->> 'reason', message) end as reason,
        mark,
        message
    from events
    where mark like 'node\_%' escape '\' and node is not null and duplicate_of is null and ts is not null
),

explained as (
    select
        *,
        last_value(reason ignore nulls) over (partition by node order by ts, event_id rows unbounded preceding) as last_reason
    from marks
),

changes_only as (
    select *, lag(state) over (partition by node order by ts, event_id) as previous
    from explained
    where state is not null
),

kept as (
    select * from changes_only where state is distinct from previous
)

select
    node,
    state,
    case when state <> 'UP' then last_reason end as reason,
    ts as start_ts,
    lead(ts) over (partition by node order by ts, event_id) as end_ts,
    case when message like '%update_node%' then 'update' else 'controller' end as set_by,
    state = 'REBOOT'
    or (state <> 'UP' and is_maintenance(coalesce(last_reason, ''))) as is_planned
from kept
order by node, ts, event_id
