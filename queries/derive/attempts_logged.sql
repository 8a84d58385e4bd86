-- table: one row per run that only the controller's log tells of: no accounting record covers its start
-- column attempt_id varchar: content hash of job and start
-- column cluster varchar: cluster; '' if none is named
-- column job_id varchar: job id as printed
-- column start_ts timestamptz: allocated
-- column end_ts timestamptz: first line that ends it; null while running
-- column state varchar: state in the accounting's words
-- column exit_code integer: exit code of the batch script, if logged
-- column has_ended boolean: the run is over
-- column nodes varchar[]: allocated nodes
with marks as (
    select e.*, k.cluster
    from events as e
    inner join source_clusters as k using (source_id)
    where
        e.job_id is not null and e.mark is not null and e.duplicate_of is null and e.channel = 'slurm' and e.ts is not null
),

starts as (
    select
        cluster,
        job_id,
        min(ts) as start_ts,
        list_sort(list_distinct(flatten(list(
            coalesce(from_json(fields -> 'nodes', '["VARCHAR"]'), [node])
        ) filter (where (fields -> 'nodes') is not null or node is not null)))) as nodes,
        lead(min(ts)) over (partition by cluster, job_id order by min(ts)) as next_start_ts
    from marks
    where mark = 'job_started'
    group by cluster, job_id, source_id, line_no
),

ends as (
    select
        s.cluster,
        s.job_id,
        s.start_ts,
        min(m.ts) as end_ts,
        case
            when bool_or(m.mark in ('job_requeued_node_fail', 'job_killed_node_fail')) then 'NODE_FAIL'
            when bool_or(m.mark = 'job_time_limit') then 'TIMEOUT'
            when bool_or(m.mark = 'job_preempted') then 'PREEMPTED'
            when bool_or(m.mark = 'job_oom') then 'OUT_OF_MEMORY'
            when bool_or(m.mark in ('job_cancelled', 'job_cancel_requested')) then 'CANCELLED'
            when bool_or(m.mark = 'job_requeued') then 'REQUEUED'
            when max(try_cast(m.fields ->> 'exit_code' as integer)) > 0 or bool_or(m.mark = 'job_failed') then 'FAILED'
            else 'COMPLETED'
        end as state,
        max(try_cast(m.fields ->> 'exit_code' as integer)) as exit_code
    from starts as s
    inner join marks as m
        on
            m.cluster = s.cluster and m.job_id = s.job_id and m.ts >= s.start_ts and m.ts < coalesce(s.next_start_ts, timestamptz 'infinity')
            and m.mark in (
                'job_requeued_node_fail', 'job_killed_node_fail', 'job_time_limit', 'job_preempted', 'job_oom', 'job_cancelled',
                'job_cancel_requested', 'job_requeued', 'job_failed', 'job_completed'
            )
    group by s.cluster, s.job_id, s.start_ts
)

select
    sha256(s.cluster || '|' || s.job_id || '|' || epoch_us(s.start_ts))[:12] as attempt_id,
    s.cluster,
    s.job_id,
    s.start_ts,
    coalesce(e.end_ts, s.next_start_ts) as end_ts,
    coalesce(e.state, case when s.next_start_ts is null then 'RUNNING' else 'REQUEUED' end) as state,
    e.exit_code,
    e.state is not null or s.next_start_ts is not null as has_ended,
    s.nodes
from starts as s
left join ends as e using (cluster, job_id, start_ts)
where
    not exists (
        select 1
        from attempts_accounted as a
        where
            a.cluster = s.cluster and a.job_id = s.job_id
            -- records have whole seconds
            and (
                s.start_ts between a.start_ts - to_minutes(2) and coalesce(a.end_ts + to_seconds(1), timestamptz 'infinity')
                -- a log read in the wrong zone is off by whole quarters of an hour
                or (
                    abs(epoch(s.start_ts) - epoch(a.start_ts)) < 14 * 3600
                    and (abs(epoch(s.start_ts) - epoch(a.start_ts)) + 2) % 900 <= 4
                    and abs((epoch(e.end_ts) - epoch(s.start_ts)) - (epoch(a.end_ts) - epoch(a.start_ts))) <= 5
                )
            )
    )
order by s.cluster, s.job_id, s.start_ts
