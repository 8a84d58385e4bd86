-- table: one row per event and run it may concern
-- column event_id varchar: the event
-- column attempt_id varchar: the run
-- column basis varchar: output (the run's own output), job (the line names the job), node (a node of the run), shared (infrastructure)
-- column delta_s double: seconds from the run's end to the event; negative before it
with live as (
    select
        e.*, k.cluster,
        -- a time lent by the last stamp before the line, with none after it, bounds it on one side only
        case when e.channel <> 'job' or e.ts_uncertainty_s is not null then e.ts end as known_ts
    from events as e
    inner join source_clusters as k using (source_id)
    where e.duplicate_of is null
),

windows as (
    select
        attempt_id,
        cluster,
        job_id,
        start_ts,
        coalesce(end_ts, timestamptz 'infinity') as end_ts,
        lead(start_ts, 1, timestamptz 'infinity') over (partition by run_id order by start_ts) as next_start_ts,
        count(*) over (partition by cluster, job_id) as tries,
        state
    from attempts
    where start_ts is not null
),

-- a requeued job writes on behind the banner of the run that was killed: what is new there, and all behind it
fresh as (
    select event_id
    from (
        select
            event_id,
            ts,
            ts_uncertainty_s,
            last_value(case when is_banner then {'line_no': line_no, 'ts': ts} end ignore nulls) over in_source as banner,
            max(case when not is_banner and kind <> 'symptom' then line_no end) over in_source as new_line
        from (select *, is_banner(channel, signature) as is_banner from live where channel = 'job')
        window in_source as (partition by source_id order by line_no, event_id rows unbounded preceding)
    )
    where new_line > banner.line_no and ts = banner.ts and coalesce(ts_uncertainty_s > 1, true)
),

begun as (
    select event_id, min(w.start_ts) as start_ts
    from fresh
    inner join live as e using (event_id)
    inner join windows as w using (cluster, job_id)
    where w.start_ts between e.ts and coalesce(e.ts + to_seconds(e.ts_uncertainty_s), timestamptz 'infinity')
    group by event_id
),

-- the output of a run that no scheduler record claims
printed as (
    select e.event_id, g.attempt_id, e.channel, e.kind, e.component, e.ts, e.known_ts, e.ts_uncertainty_s
    from live as e
    inner join output_groups as g using (source_id)
),

-- the last run of the job that had started; a job with one run needs no time
named as (
    select e.event_id, w.attempt_id, e.channel, e.kind, e.component, e.ts, e.known_ts, e.ts_uncertainty_s
    from live as e
    left join begun as b using (event_id)
    inner join windows as w using (cluster, job_id)
    where
        w.job_id is not null and e.source_id not in (select source_id from output_groups)
        and (
            (
                coalesce(b.start_ts, e.ts) >= w.start_ts - to_seconds(2)
                and coalesce(b.start_ts, e.ts) < w.next_start_ts - to_seconds(2)
            )
            or (e.ts is null and w.tries = 1)
        )
),

own as (
    select
        f.event_id,
        f.attempt_id,
        f.kind,
        f.component,
        case when f.channel = 'job' then 'output' else 'job' end as basis,
        -- between distant stamps a line may be as late as the second of them, or the end of its run
        case
            when f.channel = 'job' and f.ts_uncertainty_s > 60
                then greatest(f.ts, least(f.ts + to_seconds(f.ts_uncertainty_s), w.end_ts))
            else f.known_ts
        end as ts
    from (from printed union all from named) as f
    inner join windows as w using (attempt_id)
),

-- runs whose own output complains of a GPU
complaining as (
    select distinct attempt_id from own where basis = 'output' and kind = 'fault' and component like 'gpu.%'
),

on_node as (
    select
        e.event_id, n.attempt_id, 'node' as basis, e.ts, e.component, epoch(e.ts) - epoch(w.end_ts) as delta_s,
        -- of several jobs that hold GPUs of one node, a GPU that fails had one; it is the broken one that ended next
        e.scope = 'gpu' and e.kind = 'fault' and e.ts between w.start_ts and w.end_ts + to_seconds(90)
        and w.state not in ('COMPLETED', 'RUNNING') as may_hold_gpu,
        n.attempt_id in (select attempt_id from complaining) as is_complaining
    from live as e
    inner join attempt_nodes as n using (node)
    inner join windows as w using (attempt_id)
    where
        e.job_id is null and w.job_id is not null and e.cluster in (w.cluster, '')
        -- what comes after the next try began is no longer this one's
        and e.ts between w.start_ts - to_seconds(2) and least(w.end_ts + to_minutes(15), w.next_start_ts)
),

-- a user's program at fault on a node that several jobs share is that of the job whose end is nearest
on_shared_node as (
    select event_id, attempt_id, basis, ts
    from on_node
    where component <> 'software.user_code'
    qualify
        count(*) filter (where may_hold_gpu) over (partition by event_id) < 2
        or (may_hold_gpu and rank() over (partition by event_id, may_hold_gpu order by is_complaining desc, abs(delta_s)) = 1)
    union all
    select event_id, attempt_id, basis, ts
    from on_node
    where component = 'software.user_code' and abs(delta_s) < 120
    qualify
        rank() over (partition by event_id order by abs(delta_s)) = 1
        and count(*) over (partition by event_id, abs(delta_s)) = 1
),

-- a switch, a file system or the scheduler speaks for nobody's node: it may concern whoever runs
shared as (
    select e.event_id, w.attempt_id, 'shared' as basis, e.ts
    from live as e
    inner join windows as w on e.ts between w.start_ts and w.end_ts + to_minutes(10)
    where
        e.scope = 'shared' and e.cluster = w.cluster and e.job_id is null and e.kind = 'fault' and w.job_id is not null
        and (e.node is null or e.node not in (select node from attempt_nodes))
),

-- kernel lines without a host or time, beside the output of a run that only its output tells of
alone as (
    select e.event_id, a.attempt_id, 'node' as basis, e.ts
    from live as e
    cross join attempts as a
    where
        e.channel <> 'job' and e.job_id is null and a.basis = 'job output'
        and (e.node is null or list_contains((select list(node) from attempt_nodes as n where n.attempt_id = a.attempt_id), e.node))
        and (select count(*) from attempts) = 1
        and (e.ts is null or e.ts between a.start_ts - to_hours(1) and a.end_ts + to_hours(1))
),

found as (
    select event_id, attempt_id, basis, ts from own
    union all
    from on_shared_node
    union all
    from shared
    union all
    from alone
)

select
    f.event_id,
    f.attempt_id,
    arg_min(f.basis, list_position(['output', 'job', 'node', 'shared'], f.basis)) as basis,
    arg_min(epoch(f.ts) - epoch(a.end_ts), list_position(['output', 'job', 'node', 'shared'], f.basis)) as delta_s
from found as f
inner join attempts as a using (attempt_id)
group by f.event_id, f.attempt_id
order by f.event_id, f.attempt_id
