-- table: one row per job output that no scheduler record claims, with the run it belongs to
-- column source_id varchar: the output
-- column attempt_id varchar: the run: outputs of one folder tree that were written at the same time
-- column first_ts timestamptz: first stamp of the output
-- column last_ts timestamptz: last stamp of the output
-- column job_id varchar: job id that the output names, if any
with claimed as (
    select j.source_id
    from source_jobs as j
    where
        (j.cluster, j.job_id) in (select (cluster, job_id) from attempts_accounted)
        or (j.cluster, j.job_id) in (select (cluster, job_id) from attempts_logged)
),

spans as (
    select
        s.source_id,
        j.job_id,
        regexp_replace(s.path, '[^/]*$', '') as folder,
        instant_of(s.first_local_ts, s.utc_offset_s, c.timezone, c.shift_s) as written_first_ts,
        min(e.ts) as first_event_ts,
        max(e.ts) as last_event_ts,
        instant_of(s.last_local_ts, s.utc_offset_s, c.timezone, c.shift_s) as written_last_ts,
        s.has_year,
        s.format
    from intake.sources as s
    inner join source_fates as f using (path, source_id)
    inner join clocks as c using (source_id)
    left join source_jobs as j using (source_id)
    left join events as e using (source_id)
    where
        s.channel = 'job' and f.status = 'used' and s.matched_lines > 0
        and s.source_id not in (select source_id from claimed)
    group by all
),

dated as (
    select
        source_id,
        job_id,
        folder,
        -- an error file beside a log is no run of its own, and its clock need not be the log's
        case
            when format <> 'torchelastic-error'
                then coalesce(least(case when has_year then written_first_ts end, first_event_ts), first_event_ts)
        end as first_ts,
        case
            when format <> 'torchelastic-error'
                then coalesce(greatest(case when has_year then written_last_ts end, last_event_ts), last_event_ts)
        end as last_ts
    from spans
),

-- a launcher's output and the per-rank files below its folder are one tree; a note without a date gathers nothing below it
trees as (
    select d.*, min(o.folder) as root
    from dated as d
    inner join dated as o
        on
            starts_with(d.folder, o.folder) and o.job_id is not distinct from d.job_id
            and (o.first_ts is not null or o.folder = d.folder)
    group by all
),

ordered as (
    select
        *,
        first_ts > max(last_ts) over (
            partition by root, job_id order by first_ts nulls first, source_id rows between unbounded preceding and 1 preceding
        ) + to_minutes(5) as opens
    from trees
),

islands as (
    select
        *,
        count(*) filter (where opens)
            over (partition by root, job_id order by first_ts nulls first, source_id rows unbounded preceding) as island
    from ordered
)

select
    source_id,
    sha256(min(source_id) over (partition by root, job_id, island))[:12] as attempt_id,
    first_ts,
    last_ts,
    job_id
from islands
order by source_id
