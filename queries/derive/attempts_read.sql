-- table: one row per accounting record of a job that started, with instants; the same run may come from several dumps
-- column record_id varchar: accounting record
-- column source_id varchar: dump
-- column cluster varchar: cluster, if written
-- column job_id varchar: job id as printed
-- column start_ts timestamptz: started
-- column end_ts timestamptz: ended; null while running
-- column submit_ts timestamptz: submitted
-- column state varchar: state
-- column is_final boolean: the state is an end
-- column last_seen_ts timestamptz: latest instant in the dump
with resolved as (
    select
        r.record_id,
        r.source_id,
        r.cluster,
        r.job_id,
        instant_of(r.start_ts, r.utc_offset_s, c.timezone, c.shift_s) as start_ts,
        instant_of(r.end_ts, r.utc_offset_s, c.timezone, c.shift_s) as end_ts,
        instant_of(r.submit_ts, r.utc_offset_s, c.timezone, c.shift_s) as submit_ts,
        r.state
    from intake.job_records as r
    inner join clocks as c using (source_id)
    where
        r.step is null and r.start_ts is not null and r.state not in ('PENDING', 'CONFIGURING')
        -- a job cancelled while it waited is recorded as if it had started at its end, on no node
        and not (r.start_ts = r.end_ts and coalesce(len(r.nodes), 0) = 0)
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
    max(coalesce(end_ts, start_ts)) over (partition by source_id) as last_seen_ts
from resolved
order by job_id, start_ts, record_id
