-- table: one row per run that only its own output tells of
-- column attempt_id varchar: content hash of the outputs
-- column job_id varchar: job id that the output names, if any
-- column start_ts timestamptz: first stamp
-- column end_ts timestamptz: last stamp
-- column has_failed boolean: the output says that the run broke off
-- column nodes varchar[]: hosts that wrote to it
with groups as (
    select
        g.attempt_id,
        min(g.job_id) as job_id,
        min(g.first_ts) as start_ts,
        max(g.last_ts) as end_ts,
        coalesce(bool_or(e.kind in ('fault', 'symptom') and e.mark is not null or e.mark in (
            'job_cancelled', 'job_time_limit', 'job_preempted', 'job_oom', 'job_failed', 'step_failed', 'task_failed'
        )), false) as has_failed,
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
select g.attempt_id, g.job_id, g.start_ts, g.end_ts, g.has_failed, g.nodes
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
