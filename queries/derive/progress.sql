-- table: one row per mark of a training log
-- column source_id varchar: the file
-- column line_no bigint: its line
-- column attempt_id varchar: the try it belongs to, if known
-- column job_id varchar: job id, if known
-- column ts timestamptz: when it was written
-- column ts_uncertainty_s double: resolution of the stamp, or distance to the neighbour it was taken from; null if unknown (s)
-- column is_timed boolean: whether ts is within a minute of when the line was written
-- column kind varchar: step, checkpoint_start, checkpoint_done, checkpoint_load or run_start
-- column step bigint: training step
-- column step_time_s double: seconds a step
-- column loss double: loss
-- column rank integer: global rank
-- column node varchar: host
with placed as (
    select
        p.* replace (dated(p.local_ts, c.year, c.turn_lines, p.line_no) as local_ts),
        coalesce(p.job_id, j.job_id) as any_job_id,
        k.cluster,
        g.attempt_id as group_attempt_id,
        c.timezone,
        c.shift_s,
        p.has_year and p.earliest_later_ts < p.local_ts - to_minutes(20) as goes_back
    from (
        select
            *,
            min(local_ts) over (partition by source_id order by line_no rows between 1 following and unbounded following)
                as earliest_later_ts
        from intake.progress
    ) as p
    inner join clocks as c using (source_id)
    inner join source_clusters as k using (source_id)
    left join source_jobs as j using (source_id)
    left join output_groups as g using (source_id)
),

-- the last try of the job that had started by then
matched as (
    select p.*, a.attempt_id
    from (select *, instant_in_order(local_ts, utc_offset_s, timezone, shift_s, goes_back) as ts from placed) as p
    asof left join (
        select cluster, job_id, start_ts, attempt_id from attempts where job_id is not null and start_ts is not null
    ) as a on p.cluster = a.cluster and p.any_job_id = a.job_id and p.ts + to_seconds(60) >= a.start_ts
)

select
    source_id,
    line_no,
    coalesce(group_attempt_id, attempt_id) as attempt_id,
    any_job_id as job_id,
    ts,
    ts_uncertainty_s,
    ts is not null and coalesce(ts_uncertainty_s <= 60, false) as is_timed,
    kind,
    step,
    step_time_s,
    loss,
    rank,
    node
from matched
order by source_id, line_no
