-- title: Incidents
-- asks: which faults stopped training, each counted once however many attempts it hit?
-- column incident_id varchar: the incident
-- column first_fault_ts timestamptz: its first sign
-- column component varchar: component at fault
-- column label varchar: its row of the breakdown
-- column cause_group varchar: group it is coloured by
-- column confidence varchar: confirmed, suspected or unattributed
-- column node varchar: node at fault
-- column gpu_index integer: GPU at fault
-- column interruption_count bigint: interruptions it caused
-- column event_count bigint: log records that belong to it
-- column lost_gpu_h double: GPU time these interruptions lost (GPU-hours); NULL if one part is not known
-- column lost_gpu_h_lo double: at least (GPU-hours)
-- column lost_gpu_h_hi double: at most (GPU-hours); NULL if nothing bounds one part
with lost as (
    select
        incident_id,
        case when bool_and(lost_gpu_h is not null) then sum(lost_gpu_h::decimal(30, 6)) end::double as lost_gpu_h,
        sum(lost_gpu_h_lo::decimal(30, 6))::double as lost_gpu_h_lo,
        case when bool_and(lost_gpu_h_hi is not null) then sum(lost_gpu_h_hi::decimal(30, 6)) end::double as lost_gpu_h_hi
    from interruptions
    group by incident_id
)

select
    n.incident_id,
    n.first_fault_ts,
    n.component,
    coalesce(c.llama3_row, c.label) as label,
    n.cause_group,
    n.confidence,
    n.node,
    n.gpu_index,
    n.interruption_count,
    n.event_count,
    lost.lost_gpu_h,
    lost.lost_gpu_h_lo,
    lost.lost_gpu_h_hi
from incidents as n
left join components as c on c.component = n.component
left join lost on lost.incident_id = n.incident_id
order by n.first_fault_ts, n.incident_id
