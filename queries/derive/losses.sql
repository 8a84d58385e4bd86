-- table: one row per interruption and part of what it cost
-- column interruption_id varchar: the interruption
-- column part varchar: hang (stood still before the end), rework (progress thrown away), restart (allocated, not yet stepping), idle_wait (until the next start; only on a dedicated cluster)
-- column gpu_h double: GPU-hours, if all inputs are there
-- column gpu_h_lo double: lower bound (GPU-hours)
-- column gpu_h_hi double: upper bound (GPU-hours); null if nothing bounds it
-- column grade varchar: A exact, B bounded, C rests on an assumption, - not computed
with settings as (
    select
        coalesce(max(try_cast(value as boolean)) filter (where key = 'dedicated'), false) as is_dedicated
    from meta
),

marks as (
    select attempt_id, min(ts) as first_step_ts
    from progress
    where attempt_id is not null and kind = 'step' and is_timed
    group by attempt_id
),

facts as (
    select
        'INT-' || n.attempt_id as interruption_id,
        a.gpu_count / 3600.0 as gpus_per_s,
        following.gpu_count / 3600.0 as next_gpus_per_s,
        a.start_ts,
        a.end_ts,
        e.next_start_ts,
        m.first_step_ts,
        -- LEAST skips nulls, and a missing mark must stay missing
        case when e.last_progress_ts is not null then least(e.last_progress_ts, a.end_ts) end as last_step_ts,
        p.state_ts,
        p.state_lo_ts,
        p.state_hi_ts,
        p.is_assumed,
        f.first_step_ts as next_first_step_ts,
        following.end_ts as next_end_ts,
        s.is_dedicated
    from endings as n
    inner join attempts as a using (attempt_id)
    inner join attempt_ends as e using (attempt_id)
    cross join settings as s
    left join marks as m using (attempt_id)
    left join saved_states as p using (attempt_id)
    left join attempts as following on following.run_id = a.run_id and following.attempt_no = a.attempt_no + 1
    left join marks as f on f.attempt_id = following.attempt_id
),

seconds as (
    select
        interruption_id, 'hang' as part, gpus_per_s as rate,
        epoch(end_ts) - epoch(last_step_ts) as s,
        coalesce(epoch(end_ts) - epoch(last_step_ts), 0) as s_lo,
        coalesce(epoch(end_ts) - epoch(last_step_ts), epoch(end_ts) - epoch(start_ts)) as s_hi,
        false as is_assumed
    from facts
    union all
    select
        interruption_id, 'rework', gpus_per_s,
        epoch(last_step_ts) - epoch(state_ts),
        coalesce(epoch(last_step_ts) - epoch(state_hi_ts), 0),
        -- without a checkpoint in sight all steps of the run may be lost; without steps, hang already bounds it
        case
            when last_step_ts is null then 0
            else epoch(last_step_ts) - epoch(coalesce(state_lo_ts, first_step_ts))
        end,
        coalesce(is_assumed, false)
    from facts
    union all
    select
        interruption_id, 'restart', next_gpus_per_s,
        epoch(next_first_step_ts) - epoch(next_start_ts),
        coalesce(epoch(next_first_step_ts) - epoch(next_start_ts), 0),
        coalesce(epoch(next_first_step_ts) - epoch(next_start_ts), epoch(next_end_ts) - epoch(next_start_ts)),
        false
    from facts
    where next_start_ts is not null
    union all
    select
        interruption_id, 'idle_wait', gpus_per_s,
        epoch(next_start_ts) - epoch(end_ts), epoch(next_start_ts) - epoch(end_ts), epoch(next_start_ts) - epoch(end_ts),
        false
    from facts
    where is_dedicated and next_start_ts >= end_ts
),

-- clocks of two writers may cross by a second; time lost is never negative
bounded as (
    select
        interruption_id,
        part,
        rate,
        is_assumed,
        case when s is not null then greatest(s, 0) end as s,
        case when s_lo is not null then greatest(s_lo, 0) end as s_lo,
        case when s_hi is not null then greatest(s_hi, 0) end as s_hi
    from seconds
)

select
    interruption_id,
    part,
    s * rate as gpu_h,
    s_lo * rate as gpu_h_lo,
    s_hi * rate as gpu_h_hi,
    case
        when rate is null then '-'
        when is_assumed then 'C'
        when s is not null then 'A'
        else 'B'
    end as grade
from bounded
order by interruption_id, part
