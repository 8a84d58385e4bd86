-- table: one row per run of a job that the accounting knows, taken from the dump that saw it last
-- column attempt_id varchar: content hash of job and start
-- column record_id varchar: the accounting record it is taken from
-- column job_id varchar: job id as printed
-- column cluster varchar: cluster, if any dump names it
-- column start_ts timestamptz: started
-- column end_ts timestamptz: ended; null while running
-- column submit_ts timestamptz: submitted
-- column state varchar: last known state
-- column has_ended boolean: the run is over
-- column nodes varchar[]: allocated nodes
with ranked as (
    select
        a.*,
        max(a.cluster) over same_run as any_cluster,
        row_number() over (same_run order by a.is_final desc, a.last_seen_ts desc, len(r.nodes) desc nulls last, a.record_id)
            as place,
        r.nodes
    from attempts_read as a
    inner join intake.job_records as r using (record_id)
    window same_run as (partition by a.job_id, a.start_ts)
)

select
    sha256(job_id || '|' || epoch_us(start_ts))[:12] as attempt_id,
    record_id,
    job_id,
    any_cluster as cluster,
    start_ts,
    end_ts,
    submit_ts,
    state,
    is_final as has_ended,
    nodes
from ranked
where place = 1
order by job_id, start_ts
