-- title: Every interruption in order
-- asks: what stopped which attempt when, why was it judged so, and where is the proof?
-- column interruption_id varchar: the interruption
-- column ts timestamptz: end of the attempt
-- column bucket varchar: unplanned, planned or policy
-- column kind varchar: fault, hang, node_fail, cancel, preempt, time_limit or maintenance
-- column component varchar: component it is charged to
-- column label varchar: its row of the breakdown
-- column category varchar: its category
-- column cause_group varchar: group it is coloured by
-- column confidence varchar: confirmed, suspected or unattributed
-- column silence varchar: silent (logs are there, nothing in them), no_data (no logs), else NULL
-- column node varchar: node that is accused
-- column gpu_index integer: GPU that is accused
-- column job_id varchar: job of the attempt
-- column run_id varchar: run of the attempt
-- column attempt_id varchar: the attempt
-- column gpu_count integer: GPUs of the attempt
-- column lost_gpu_h double: GPU time lost (GPU-hours)
-- column lost_gpu_h_lo double: lower bound (GPU-hours)
-- column lost_gpu_h_hi double: upper bound (GPU-hours)
-- column grade varchar: how the loss is known
-- column first_fault_ts timestamptz: first sign of the fault
-- column detected_ts timestamptz: when something noticed
-- column next_start_ts timestamptz: when the run went on
-- column incident_id varchar: fault chain it belongs to
-- column rule varchar: rule that decided
-- column why varchar: the decision in words
-- column evidence varchar: file:line of the first trigger
with triggers as (
    select
        ie.interruption_id,
        first(s.path || ':' || e.line_no order by e.ts nulls last, s.path, e.line_no) as evidence
    from interruption_events as ie
    inner join events as e on e.event_id = ie.event_id
    inner join sources as s on s.source_id = e.source_id
    where ie.role = 'trigger'
    group by ie.interruption_id
)

select
    i.interruption_id,
    i.ts,
    i.bucket,
    i.kind,
    i.component,
    coalesce(c.llama3_row, c.label) as label,
    i.category,
    i.cause_group,
    i.confidence,
    i.silence,
    i.node,
    i.gpu_index,
    i.job_id,
    i.run_id,
    i.attempt_id,
    i.gpu_count,
    i.lost_gpu_h,
    i.lost_gpu_h_lo,
    i.lost_gpu_h_hi,
    i.grade,
    i.first_fault_ts,
    i.detected_ts,
    i.next_start_ts,
    i.incident_id,
    i.rule,
    i.why,
    t.evidence
from interruptions as i
left join components as c on c.component = i.component
left join triggers as t on t.interruption_id = i.interruption_id
order by i.ts, i.interruption_id
