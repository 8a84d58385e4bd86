-- table: one row per allocation that started: one try of a run
-- column attempt_id varchar: content hash of job and start
-- column run_id varchar: chain of tries it belongs to
-- column cluster varchar: cluster; '' if none is named
-- column job_id varchar: scheduler's job id; null if only its output is known
-- column restart_count bigint: earlier tries under the same job id; null without one
-- column attempt_no bigint: place in the run, from 1
-- column name varchar: job name
-- column user_name varchar: owner
-- column partition varchar: partition
-- column state varchar: last known state in the scheduler's words
-- column exit_code integer: exit code
-- column exit_signal integer: signal
-- column submit_ts timestamptz: submitted
-- column start_ts timestamptz: started
-- column end_ts timestamptz: ended; null while running; where nobody logged it, when one of its nodes was given on
-- column elapsed_s double: run time (s)
-- column time_limit_s bigint: time limit (s)
-- column node_count integer: nodes
-- column gpu_count integer: GPUs; null if nothing tells
-- column reason varchar: reason in the record
-- column work_dir varchar: working directory
-- column has_ended boolean: the try is over
-- column basis varchar: accounting, controller log or job output
with gpus as (
    select max(try_cast(value as integer)) as per_node from meta where key = 'gpus_per_node'
),

accounted as (
    select
        a.attempt_id, a.cluster, a.job_id, r.name, r.user_name, r.partition, a.state, r.exit_code, r.exit_signal,
        a.submit_ts, a.start_ts, a.end_ts, r.elapsed_s::double as elapsed_s, r.timelimit_s as time_limit_s,
        coalesce(r.node_count, len(a.nodes))::integer as node_count,
        coalesce(r.gpu_count, len(a.nodes) * g.per_node)::integer as gpu_count,
        r.reason, r.work_dir, a.has_ended, 'accounting' as basis
    from attempts_accounted as a
    inner join intake.job_records as r using (record_id)
    cross join gpus as g
),

starts as (
    select cluster, unnest(nodes) as node, start_ts from attempts_accounted
    union all
    select cluster, unnest(nodes), start_ts from attempts_logged
),

-- a run whose end nobody logged was over when one of its nodes was given to the next
given_on as (
    select l.attempt_id, min(s.start_ts) as ts
    from (select attempt_id, cluster, start_ts, unnest(nodes) as node from attempts_logged where not has_ended) as l
    inner join starts as s on l.cluster = s.cluster and l.node = s.node and s.start_ts > l.start_ts
    group by l.attempt_id
),

logged as (
    select
        l.attempt_id, l.cluster, l.job_id, null as name, null as user_name, null as partition,
        case when o.ts is null then l.state else 'UNKNOWN' end as state, l.exit_code, null as exit_signal,
        null as submit_ts, l.start_ts, coalesce(l.end_ts, o.ts) as end_ts, epoch(l.end_ts) - epoch(l.start_ts) as elapsed_s,
        null as time_limit_s,
        len(l.nodes)::integer as node_count, (len(l.nodes) * g.per_node)::integer as gpu_count,
        null as reason, null as work_dir, l.has_ended, 'controller log' as basis
    from attempts_logged as l
    cross join gpus as g
    left join given_on as o using (attempt_id)
),

printed as (
    select
        p.attempt_id, '' as cluster, p.job_id, null as name, null as user_name, null as partition,
        p.state, null as exit_code, null as exit_signal,
        null as submit_ts, p.start_ts, p.end_ts, epoch(p.end_ts) - epoch(p.start_ts) as elapsed_s, null as time_limit_s,
        nullif(len(p.nodes), 0)::integer as node_count, (nullif(len(p.nodes), 0) * g.per_node)::integer as gpu_count,
        null as reason, null as work_dir, p.state <> 'UNKNOWN' as has_ended, 'job output' as basis
    from attempts_printed as p
    cross join gpus as g
),

-- what the controller's log and one dump of a job leave out, a record of another of its tries may say
tries as (
    select
        * replace (
            coalesce(name, max(name) over of_job) as name,
            coalesce(user_name, max(user_name) over of_job) as user_name,
            coalesce(partition, max(partition) over of_job) as partition,
            coalesce(work_dir, max(work_dir) over of_job) as work_dir
        )
    from (
        from accounted
        union all by name
        from logged
        union all by name
        from printed
    )
    window of_job as (partition by cluster, job_id)
),

settings as (
    select
        coalesce(
            string_split(max(value) filter (where key = 'run_group_by'), ','), ['name', 'user_name', 'work_dir', 'node_count']
        ) as group_by,
        coalesce(max(try_cast(value as bigint)) filter (where key = 'run_max_gap_s'), 172800) as max_gap_s
    from meta
),

-- what tries of one run have in common; tasks of an array, and jobs without a name, are runs of their own
described as (
    select
        t.*,
        s.max_gap_s,
        {
            'cluster': t.cluster,
            'name': case when list_contains(s.group_by, 'name') then t.name end,
            'user_name': case when list_contains(s.group_by, 'user_name') then t.user_name end,
            'partition': case when list_contains(s.group_by, 'partition') then t.partition end,
            'work_dir': case when list_contains(s.group_by, 'work_dir') then t.work_dir end,
            'node_count': case when list_contains(s.group_by, 'node_count') then t.node_count end,
            'output': case when t.name is null and t.job_id is null then t.attempt_id end,
            'job_id': case when t.name is null or t.job_id like '%\_%' escape '\' then t.job_id end
        } as work
    from tries as t
    cross join settings as s
),

-- one run: the same job requeued, or the same work submitted again soon after it broke off
chained as (
    select
        *,
        coalesce(
            lag(state) over same_work = 'COMPLETED'
            or start_ts < lag(end_ts) over same_work
            or start_ts > lag(end_ts) over same_work + to_seconds(max_gap_s)
            or (name is null and job_id is distinct from lag(job_id) over same_work),
            true
        ) as opens
    from described
    window same_work as (partition by work order by start_ts, attempt_id)
),

numbered as (
    select *, count(*) filter (where opens) over (partition by work order by start_ts, attempt_id) as chain
    from chained
)

select
    attempt_id,
    first_value(attempt_id) over run as run_id,
    cluster,
    job_id,
    case
        when job_id is not null
            then row_number() over (partition by cluster, job_id order by start_ts, attempt_id) - 1
    end as restart_count,
    row_number() over run as attempt_no,
    name,
    user_name,
    partition,
    state,
    exit_code,
    exit_signal,
    submit_ts,
    start_ts,
    end_ts,
    elapsed_s,
    time_limit_s,
    node_count,
    gpu_count,
    reason,
    work_dir,
    has_ended,
    basis
from numbered
window run as (partition by work, chain order by start_ts, attempt_id)
order by start_ts, attempt_id
