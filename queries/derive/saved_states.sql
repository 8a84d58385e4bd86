-- table: one row per run whose checkpoints are known: when the state that outlived it was reached
-- column attempt_id varchar: the run
-- column step bigint: training step of the state; null if no line says it
-- column state_ts timestamptz: when the state was reached; null if only the bounds are known
-- column state_lo_ts timestamptz: not before this
-- column state_hi_ts timestamptz: not after this
-- column is_assumed boolean: no line says which step was saved: taken for the one at the line's time
with marks as (
    select attempt_id, kind, step, ts as written_ts, case when is_timed then ts end as ts
    from progress
    where attempt_id is not null
),

reach as (
    select attempt_id, min(ts) as first_ts, min(step) as first_step, max(step) as last_step
    from marks
    where kind = 'step' and ts is not null
    group by attempt_id
),

done as (
    select *, lag(ts) over (partition by attempt_id order by ts, step) as before_ts
    from (from marks where kind = 'checkpoint_done')
),

-- a line that names its step says more than a later one that does not
saved as (
    select d.attempt_id, d.step, d.written_ts, d.ts, max(s.ts) as begun_ts
    from done as d
    left join marks as s
        on s.attempt_id = d.attempt_id and s.kind = 'checkpoint_start' and s.ts between coalesce(d.before_ts, s.ts) and d.ts
    where coalesce(d.step, epoch(d.ts)) is not null
    group by d.attempt_id, d.step, d.written_ts, d.ts
    qualify row_number() over (partition by d.attempt_id order by d.step is null, d.written_ts desc nulls last, d.step desc) = 1
),

-- what the next run goes on from, if it lies on the way of this one
loaded as (
    select a.attempt_id, min(m.step) as step
    from attempts as a
    inner join attempts as following on following.run_id = a.run_id and following.attempt_no = a.attempt_no + 1
    inner join marks as m on m.attempt_id = following.attempt_id and m.kind = 'checkpoint_load'
    inner join reach as r on r.attempt_id = a.attempt_id and m.step between r.first_step - 1 and r.last_step
    group by a.attempt_id
),

kept as (
    select
        r.attempt_id,
        r.first_ts,
        r.first_step,
        s.ts as saved_ts,
        s.begun_ts,
        coalesce(l.step, s.step) as step,
        case when l.step is null then s.ts end as until_ts
    from reach as r
    left join saved as s using (attempt_id)
    left join loaded as l using (attempt_id)
    where s.attempt_id is not null or l.attempt_id is not null
),

steps as (
    select attempt_id, step, ts, lead(ts) over (partition by attempt_id order by ts, step) as next_ts
    from (from marks where kind = 'step' and ts is not null)
),

placed as (
    select
        any_value(k) as k,
        arg_max({'step': m.step, 'ts': m.ts, 'next_ts': m.next_ts}, (m.ts, m.step)) as reached
    from kept as k
    left join steps as m
        on m.attempt_id = k.attempt_id and m.step <= k.step and (k.until_ts is null or m.ts <= k.until_ts)
    group by k.attempt_id
),

bounded as (
    select
        k.attempt_id,
        k.step,
        case
            when reached.step = k.step then reached.ts
            -- saved before the first step that is seen: every step of this run is lost
            when k.step < k.first_step then k.first_ts
            when reached.ts is null then coalesce(k.begun_ts, k.saved_ts)
        end as state_ts,
        reached.ts as lo_ts,
        -- LEAST skips nulls
        least(reached.next_ts, k.until_ts) as hi_ts,
        reached.ts is null and k.begun_ts is null and coalesce(k.step >= k.first_step, true) as is_assumed
    from placed
)

select
    attempt_id,
    step,
    state_ts,
    coalesce(state_ts, lo_ts) as state_lo_ts,
    coalesce(state_ts, hi_ts) as state_hi_ts,
    is_assumed
from bounded
order by attempt_id
