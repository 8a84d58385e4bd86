-- table: one row per accounting record of a job that started, with instants; the same run may come from several dumps
-- column record_id varchar: accounting record
-- column source_id varchar: dump
-- column cluster varchar: cluster; '' if none is named
-- column job_id varchar: job id as printed
-- column start_ts timestamptz: started
-- column end_ts timestamptz: ended; null while running
-- column submit_ts timestamptz: submitted
-- column state varchar: state
-- column is_final boolean: the state is an end
-- column is_zoned boolean: the record itself gives the offset of its stamps
-- column elapsed_s bigint: run time (s)
-- column last_seen_ts timestamptz: latest instant in the dump
with resolved as (
    select
        r.record_id,
        r.source_id,
        coalesce(r.cluster, k.cluster) as cluster,
        r.job_id,
        instant_of(r.start_ts, r.utc_offset_s, c.timezone, c.shift_s) as start_ts,
        instant_of(r.end_ts, r.utc_offset_s, c.timezone, c.shift_s) as written_end_ts,
        r.elapsed_s,
        instant_of(r.submit_ts, r.utc_offset_s, c.timezone, c.shift_s) as submit_ts,
        coalesce(r.state, 'UNKNOWN') as state,
        r.utc_offset_s is not null as is_zoned,
        r.utc_offset_s is null and is_twice(c.timezone, r.start_ts) as is_twice_start,
        r.utc_offset_s is null and is_twice(c.timezone, r.end_ts) as is_twice_end
    from intake.job_records as r
    inner join clocks as c using (source_id)
    inner join source_clusters as k using (source_id)
    where
        r.step is null and r.start_ts is not null and coalesce(r.state, '') not in ('PENDING', 'CONFIGURING')
        -- a job cancelled while it waited is recorded as if it had started at its end, on no node
        and not (r.start_ts = r.end_ts and coalesce(len(r.nodes), 0) = 0)
),

-- where the clock went back between start and end, the run time tells which of the two equal hours is meant
mended as (
    select
        * exclude (start_ts, written_end_ts),
        case
            when is_twice_start and abs(epoch(written_end_ts) - epoch(start_ts) + 3600 - elapsed_s) <= 2 then start_ts - to_hours(1)
            else start_ts
        end as start_ts,
        case
            when written_end_ts < start_ts then start_ts + to_seconds(elapsed_s)
            when is_twice_end and abs(epoch(written_end_ts) - epoch(start_ts) - 3600 - elapsed_s) <= 2
                then written_end_ts - to_hours(1)
            else written_end_ts
        end as end_ts
    from resolved
)

select
    record_id,
    source_id,
    cluster,
    job_id,
    start_ts,
    end_ts,
    submit_ts,
    state,
    end_ts is not null and state not in ('RUNNING', 'COMPLETING', 'SUSPENDED', 'RESIZING') as is_final,
    is_zoned,
    elapsed_s,
    max(coalesce(end_ts, start_ts)) over (partition by source_id) as last_seen_ts
from mended
order by job_id, start_ts, record_id
