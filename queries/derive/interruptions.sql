-- table: one row per attempt that ended before its run was done
-- column interruption_id varchar: INT- and the attempt
-- column attempt_id varchar: the attempt
-- column run_id varchar: its run
-- column job_id varchar: scheduler's job id
-- column ts timestamptz: when the attempt ended
-- column bucket varchar: unplanned, planned or policy
-- column is_planned boolean: bucket is planned
-- column kind varchar: fault, hang, node_fail, cancel, preempt, time_limit or maintenance
-- column component varchar: the part it is charged to; null unless unplanned
-- column category varchar: Llama 3's category
-- column cause_group varchar: one of eight groups
-- column confidence varchar: confirmed, suspected or unattributed; null unless unplanned
-- column silence varchar: silent or no_data, where it is unattributed
-- column incident_id varchar: the fault chain it belongs to
-- column node varchar: where the cause sits
-- column gpu_index integer: which GPU
-- column pci_bdf varchar: its PCI address
-- column first_fault_ts timestamptz: when the cause first spoke
-- column detected_ts timestamptz: when anybody noticed: first symptom or the end
-- column next_start_ts timestamptz: start of the next attempt
-- column gpu_count integer: GPUs that stopped
-- column node_count integer: nodes that stopped
-- column lost_gpu_h double: GPU-hours lost; null if an input is missing
-- column lost_gpu_h_lo double: at least (GPU-hours)
-- column lost_gpu_h_hi double: at most (GPU-hours); null if nothing bounds it
-- column grade varchar: A exact, B bounded, - not computed
-- column rule varchar: the rule that decided
-- column why varchar: one sentence
with lost as (
    select
        interruption_id,
        case when bool_and(gpu_h is not null) then fsum(gpu_h) end as lost_gpu_h,
        fsum(gpu_h_lo) as lost_gpu_h_lo,
        case when bool_and(gpu_h_hi is not null) then fsum(gpu_h_hi) end as lost_gpu_h_hi,
        case
            when bool_and(grade = 'A') then 'A'
            when bool_or(grade = '-') then '-'
            else 'B'
        end as grade
    from losses
    group by interruption_id
)

select
    'INT-' || a.attempt_id as interruption_id,
    a.attempt_id,
    a.run_id,
    a.job_id,
    a.end_ts as ts,
    n.bucket,
    n.bucket = 'planned' as is_planned,
    n.kind,
    v.component,
    c.category,
    c.cause_group,
    v.confidence,
    v.silence,
    m.incident_id,
    v.node,
    v.gpu_index,
    v.pci_bdf,
    v.first_fault_ts,
    case when n.bucket = 'unplanned' then least(coalesce(e.first_symptom_ts, a.end_ts), a.end_ts) end as detected_ts,
    e.next_start_ts,
    a.gpu_count,
    a.node_count,
    l.lost_gpu_h,
    l.lost_gpu_h_lo,
    l.lost_gpu_h_hi,
    coalesce(l.grade, '-') as grade,
    case when v.rule is null then n.rule else n.rule || ' / ' || v.rule end as rule,
    coalesce(v.why, n.rule) as why
from endings as n
inner join attempts as a using (attempt_id)
inner join attempt_ends as e using (attempt_id)
left join verdicts as v using (attempt_id)
left join components as c using (component)
left join incident_members as m using (attempt_id)
left join lost as l on l.interruption_id = 'INT-' || a.attempt_id
order by ts nulls last, a.attempt_id
