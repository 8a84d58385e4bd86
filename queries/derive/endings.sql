-- table: one row per run that ended before its work was done: why, in the scheduler's and the operators' terms
-- column attempt_id varchar: the run
-- column bucket varchar: unplanned, planned or policy
-- column kind varchar: fault, hang, node_fail, cancel, preempt, time_limit or maintenance
-- column rule varchar: the rule that decided
-- column decided_by varchar: the event that the rule rests on, if one
with ended as (
    select a.*, e.last_progress_ts, e.step_gap_s, e.first_symptom_ts, e.collective_timeouts, e.fault_events
    from attempts as a
    inner join attempt_ends as e using (attempt_id)
    where
        a.state not in ('COMPLETED', 'RUNNING', 'PENDING', 'RESIZING', 'SUSPENDED', 'COMPLETING')
        -- of a heterogeneous job, the first component speaks for all
        and (a.job_id is null or not regexp_matches(a.job_id, '\+[1-9]'))
),

-- people and the scheduler, shortly before and at the end
signs as (
    select
        a.attempt_id,
        arg_min(e.event_id, (e.ts, e.event_id)) filter (
            where e.mark in ('node_reason', 'node_drain') and e.ts < a.end_ts and e.ts > a.end_ts - to_days(1)
            and is_maintenance(coalesce(e.fields ->> 'reason', e.message))
        ) as drain_id,
        -- parts are also changed after a fault: such a reason is a plan only while nothing was wrong
        arg_min(e.event_id, (e.ts, e.event_id)) filter (
            where e.mark in ('node_reason', 'node_drain') and e.ts < a.end_ts and e.ts > a.end_ts - to_days(1)
            and regexp_matches(coalesce(e.fields ->> 'reason', e.message), '(?i)\b(swap|replac|rma\b|repair|mov(e|ing)\b|vendor\b)')
        ) as repair_id,
        arg_min(e.event_id, (e.ts, e.event_id)) filter (
            where e.mark = 'node_reboot_requested' and e.ts < a.end_ts + to_seconds(5) and e.ts > a.end_ts - to_days(1)
        ) as reboot_id,
        arg_max(e.event_id, (e.ts, e.event_id)) filter (
            where e.mark = 'job_preempted' and abs(epoch(e.ts) - epoch(a.end_ts)) < 180
        ) as preempt_id,
        arg_max(e.event_id, (e.ts, e.event_id)) filter (
            where e.mark in ('job_cancel_requested', 'job_cancelled') and abs(epoch(e.ts) - epoch(a.end_ts)) < 300
        ) as cancel_id,
        max(e.fields ->> 'uid') filter (
            where e.mark in ('job_cancel_requested') and abs(epoch(e.ts) - epoch(a.end_ts)) < 300
        ) as cancel_uid,
        max(e.ts) filter (
            where e.kind = 'fault' and e.strength = 'direct' and e.component not like 'software.%' and e.ts <= a.end_ts
        ) as hardware_fault_ts,
        coalesce(bool_or(e.mark = 'shutdown_orderly' and m.delta_s > -3600), false) as is_shut_down
    from ended as a
    inner join event_attempts as m using (attempt_id)
    inner join events as e using (event_id)
    where e.kind <> 'context'
    group by a.attempt_id
),

-- logs that would show that a node was shut down in good order; a source that speaks for many hosts speaks for all
logged as (
    select distinct a.attempt_id
    from ended as a
    inner join attempt_nodes as n using (attempt_id)
    inner join coverage as v
        on v.channel in ('kernel', 'daemon') and coalesce(v.node = n.node, true) and a.end_ts between v.first_ts and v.last_ts
),

windows as (
    select a.attempt_id, min(w.event_id) as reservation_id
    from ended as a
    inner join planned_windows as w
        -- jobs are sent away as the window opens, a little before or after
        on a.end_ts between w.start_ts - to_minutes(5) and w.end_ts + to_minutes(10) and coalesce(w.announced_ts < a.end_ts, true)
    where
        w.scope = 'cluster'
        or exists (select 1 from attempt_nodes as n where n.attempt_id = a.attempt_id and n.node = w.scope)
    group by a.attempt_id
),

facts as (
    select
        a.*,
        s.drain_id,
        s.repair_id,
        s.reboot_id,
        s.preempt_id,
        s.cancel_id,
        w.reservation_id,
        w.attempt_id is not null as is_in_window,
        -- a drained node waits for its jobs: one that vanishes under them, and says no word of a shutdown, broke
        a.state = 'NODE_FAIL' and not s.is_shut_down and l.attempt_id is not null as is_node_lost,
        coalesce(s.cancel_uid, r.state_by) as cancelled_by,
        coalesce(s.cancel_uid, r.state_by) in ('0', 'root', 'slurm') as is_by_operator,
        -- a hung job that somebody or the limit ends was not healthy
        a.collective_timeouts > 0
        or (
            a.last_progress_ts is not null
            and epoch(a.end_ts) - epoch(a.last_progress_ts) > greatest(600, 3 * coalesce(a.step_gap_s, 0))
        ) as is_hung,
        -- nor was one that made no step since its hardware failed
        coalesce(
            s.hardware_fault_ts >= a.last_progress_ts - to_seconds(60)
            and epoch(a.end_ts) - epoch(a.last_progress_ts) > greatest(60, 1.5 * coalesce(a.step_gap_s, 0)),
            false
        ) as is_stopped_by_fault,
        -- who is sent away was well until then
        a.fault_events > 0 and coalesce(a.first_symptom_ts < a.end_ts - to_seconds(15), false) as is_broken_before
    from ended as a
    left join signs as s using (attempt_id)
    left join windows as w using (attempt_id)
    left join logged as l using (attempt_id)
    left join attempts_accounted as c using (attempt_id)
    left join intake.job_records as r using (record_id)
),

judged as (
    select
        *,
        case
            when state = 'PREEMPTED' then ['policy', 'preempt', 'state PREEMPTED']
            when preempt_id is not null then ['policy', 'preempt', 'the scheduler preempted it']
            when state in ('TIMEOUT', 'DEADLINE') and is_hung then ['unplanned', 'hang', 'it stood still until its time limit']
            when state in ('TIMEOUT', 'DEADLINE') then ['policy', 'time_limit', 'state ' || state]
            when
                is_in_window and fault_events = 0
                and (
                    state in ('REQUEUED', 'NODE_FAIL') or (state = 'FAILED' and reservation_id is null)
                    or (state = 'CANCELLED' and coalesce(is_by_operator, true))
                )
                then ['planned', 'maintenance', 'inside an announced window']
            when reboot_id is not null then ['planned', 'maintenance', 'reboot requested before the end']
            when
                drain_id is not null and collective_timeouts = 0
                and (
                    (state in ('REQUEUED', 'CANCELLED') and not is_broken_before)
                    or (state in ('NODE_FAIL', 'FAILED') and fault_events = 0 and not is_node_lost)
                )
                then ['planned', 'maintenance', 'a node was drained for maintenance before the end']
            when
                repair_id is not null and fault_events = 0 and not is_hung
                and (state = 'REQUEUED' or (state = 'CANCELLED' and is_by_operator))
                then ['planned', 'maintenance', 'a node was drained for repair before the end']
            when state = 'CANCELLED' and is_hung then ['unplanned', 'hang', 'cancelled while it stood still']
            when state = 'CANCELLED' and is_stopped_by_fault
                then ['unplanned', 'hang', 'cancelled when it had stood still since a fault']
            when state = 'CANCELLED' and fault_events > 0 and coalesce(is_by_operator, true)
                then ['unplanned', 'cancel', 'cancelled after a fault']
            when state = 'CANCELLED' and is_by_operator then ['unplanned', 'cancel', 'cancelled by an operator without a reason']
            when state = 'CANCELLED' then ['policy', 'cancel', 'cancelled by its owner']
            when state = 'FAILED' and cancel_id is not null and cancelled_by is not null and not is_by_operator
                then ['policy', 'cancel', 'ended by a signal from its owner']
            when state in ('NODE_FAIL', 'BOOT_FAIL') then ['unplanned', 'node_fail', 'state ' || state]
            when collective_timeouts > 0 then ['unplanned', 'hang', 'a collective timed out']
            else ['unplanned', 'fault', 'state ' || state]
        end as verdict
    from facts
)

select
    attempt_id,
    verdict[1] as bucket,
    verdict[2] as kind,
    verdict[3] as rule,
    case
        when verdict[2] = 'preempt' then preempt_id
        when verdict[3] like 'reboot%' then reboot_id
        when verdict[3] like 'a node was drained%' then coalesce(drain_id, repair_id)
        when verdict[3] like 'inside%' then reservation_id
        when verdict[2] = 'cancel' then cancel_id
    end as decided_by
from judged
order by attempt_id
