-- table: one row per run that only its own output tells of
-- column attempt_id varchar: content hash of the outputs
-- column job_id varchar: job id that the output names, if any
-- column start_ts timestamptz: first stamp
-- column end_ts timestamptz: last stamp
-- column state varchar: how it ended, in the accounting's words; UNKNOWN if the output does not say
-- column nodes varchar[]: hosts that wrote to it
with groups as (
    select
        g.attempt_id,
        min(g.job_id) as job_id,
        min(g.first_ts) as start_ts,
        max(g.last_ts) as end_ts,
        case
            when bool_or(e.mark = 'job_time_limit') then 'TIMEOUT'
            when bool_or(e.mark = 'job_preempted') then 'PREEMPTED'
            when bool_or(e.mark = 'job_killed_node_fail') then 'NODE_FAIL'
            -- srun cancels what is left of a job that lost a rank; then the cancel is no reason
            when bool_or(e.kind in ('fault', 'symptom') and e.mark not in ('step_failed', 'job_cancelled')) then 'FAILED'
            when bool_or(e.mark = 'job_cancelled') then 'CANCELLED'
            when bool_or(e.mark in ('job_oom', 'job_failed', 'step_failed', 'task_failed')) then 'FAILED'
            else 'UNKNOWN'
        end as state,
        list_sort(list_distinct(list(e.reporter) filter (where e.reporter is not null))) as nodes,
        list_distinct(list(e.node) filter (where e.node is not null)) as named
    from output_groups as g
    left join events as e on g.source_id = e.source_id and e.duplicate_of is null
    group by g.attempt_id
),

scheduled as (
    select start_ts, coalesce(end_ts, timestamptz 'infinity') as end_ts, nodes from attempts_accounted
    union all
    select start_ts, coalesce(end_ts, timestamptz 'infinity'), nodes from attempts_logged
)

-- an output whose hosts the scheduler had given to a job at that time is of that job, although nothing says which
select g.attempt_id, g.job_id, g.start_ts, g.end_ts, g.state, g.nodes
from groups as g
where
    not exists (
        select 1
        from scheduled as s
        where
            s.start_ts <= g.end_ts and s.end_ts >= g.start_ts
            and (list_has_any(s.nodes, g.nodes) or list_has_any(s.nodes, g.named))
    )
    and (g.start_ts is not null or not exists (select 1 from scheduled))
order by g.attempt_id
