-- table: one row per fault and the episode it is part of
-- column event_id varchar: the fault
-- column episode_id varchar: first event of its episode
with faults as (
    select
        event_id, node, pci_bdf, signature, code, job_id, ts,
        coalesce(ts - lag(ts) over same_place > to_minutes(10), lag(event_id) over same_place is null) as opens
    from events
    where kind = 'fault' and duplicate_of is null
    window same_place as (partition by node, pci_bdf, signature, code, job_id order by ts nulls first, event_id)
),

numbered as (
    select
        *,
        count(*) filter (where opens) over (
            partition by node, pci_bdf, signature, code, job_id order by ts nulls first, event_id rows unbounded preceding
        ) as episode
    from faults
)

select
    event_id,
    first_value(event_id) over (
        partition by node, pci_bdf, signature, code, job_id, episode order by ts nulls first, event_id
    ) as episode_id
from numbered
order by event_id
