-- table: one row per run that is over: what its end looked like
-- column attempt_id varchar: the run
-- column end_ts timestamptz: end in the scheduler's record
-- column last_progress_ts timestamptz: last step that its log shows
-- column step_gap_s double: usual time between two marks of progress (s)
-- column first_symptom_ts timestamptz: earliest onset among its symptoms near the end
-- column collective_timeouts bigint: watchdog reports
-- column fault_events bigint: faults on it or its nodes near the end
-- column stopped_ts timestamptz: when work stopped, as far as anything tells
-- column next_start_ts timestamptz: start of the next try of the run
with steps as (
    select
        attempt_id,
        -- a step without a stamp of its own cannot say that work went on; nor can the last stamp say that work stopped
        -- with it, where later steps have none
        case
            when not coalesce(max(step) filter (where not is_timed) > max(step) filter (where is_timed), false)
                then max(ts) filter (where is_timed)
        end as last_progress_ts,
        (epoch(max(ts) filter (where is_timed)) - epoch(min(ts) filter (where is_timed)))
        / nullif(count(distinct ts) filter (where is_timed) - 1, 0) as step_gap_s
    from progress
    where attempt_id is not null and kind = 'step'
    group by attempt_id
),

near_end as (
    select
        m.attempt_id,
        -- a line without a stamp of its own cannot say what came first; at best it says the latest it can have been
        coalesce(
            min(e.onset_ts) filter (where e.kind = 'symptom' and e.ts_uncertainty_s <= 10),
            min(e.onset_ts + to_seconds(e.ts_uncertainty_s)) filter (where e.kind = 'symptom')
        ) as first_symptom_ts,
        count(*) filter (where e.mark = 'collective_timeout') as collective_timeouts,
        count(*) filter (where e.kind = 'fault' and e.tier > 0) as fault_events
    from event_attempts as m
    inner join events as e using (event_id)
    where m.delta_s is null or m.delta_s between -2700 and 600
    group by m.attempt_id
),

following as (
    select
        attempt_id,
        lead(start_ts) over (partition by run_id order by start_ts, attempt_id) as next_start_ts
    from attempts
)

select
    a.attempt_id,
    a.end_ts,
    s.last_progress_ts,
    s.step_gap_s,
    n.first_symptom_ts,
    coalesce(n.collective_timeouts, 0) as collective_timeouts,
    coalesce(n.fault_events, 0) as fault_events,
    -- a step after the first complaint means that work went on; LEAST skips nulls, and no complaint is no instant
    coalesce(
        greatest(s.last_progress_ts, case when n.first_symptom_ts is not null then least(n.first_symptom_ts, a.end_ts) end),
        a.end_ts
    )
        as stopped_ts,
    f.next_start_ts
from attempts as a
left join steps as s using (attempt_id)
left join near_end as n using (attempt_id)
left join following as f using (attempt_id)
where a.has_ended
order by a.attempt_id
