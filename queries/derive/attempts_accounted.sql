-- table: one row per run of a job that the accounting knows, taken from the dump that saw it last
-- column attempt_id varchar: content hash of job and start
-- column record_id varchar: the accounting record it is taken from
-- column job_id varchar: job id as printed
-- column cluster varchar: cluster; '' if none is named
-- column start_ts timestamptz: started
-- column end_ts timestamptz: ended; null while running
-- column submit_ts timestamptz: submitted
-- column state varchar: last known state
-- column has_ended boolean: the run is over
-- column nodes varchar[]: allocated nodes
with seen as (
    select
        a.*,
        r.nodes,
        -- a start read in the wrong zone is off by whole quarters of an hour; what is left of it stays
        epoch(a.start_ts)::bigint % 900 as quarter_s,
        case
            when a.is_final
                then coalesce(
                    case when a.elapsed_s >= 0 then a.elapsed_s end,
                    case when a.end_ts >= a.start_ts then epoch(a.end_ts)::bigint - epoch(a.start_ts)::bigint end
                )
        end as length_s
    from attempts_read as a
    inner join intake.job_records as r using (record_id)
),

-- a run that some dump saw at its end is known by its length as well
ended as (
    select distinct cluster, job_id, quarter_s from seen where length_s is not null
),

keyed as (
    select
        s.*,
        -- two records of one dump are never the same run
        row_number() over (
            partition by s.source_id, s.cluster, s.job_id, s.quarter_s, s.length_s order by s.start_ts, s.record_id
        ) as occurrence
    from seen as s
    left join ended as e using (cluster, job_id, quarter_s)
    where s.length_s is not null or e.job_id is null
),

voted as (
    select *, count(distinct source_id) over (partition by cluster, job_id, quarter_s, length_s, occurrence, start_ts) as votes
    from keyed
),

ranked as (
    select
        *,
        first_value(start_ts) over agreed as agreed_start_ts,
        first_value(end_ts) over agreed as agreed_end_ts,
        row_number() over (
            partition by cluster, job_id, quarter_s, length_s, occurrence
            order by is_final desc, last_seen_ts desc, len(nodes) desc nulls last, record_id
        ) as place
    from voted
    window agreed as (
        partition by cluster, job_id, quarter_s, length_s, occurrence
        order by is_zoned desc, votes desc, is_final desc, last_seen_ts desc, record_id
    )
)

select
    sha256(cluster || '|' || job_id || '|' || epoch_us(agreed_start_ts))[:12] as attempt_id,
    record_id,
    job_id,
    cluster,
    agreed_start_ts as start_ts,
    case when is_final then agreed_end_ts else end_ts end as end_ts,
    submit_ts,
    state,
    is_final as has_ended,
    nodes
from ranked
where place = 1
-- a suspended run is longer by its stamps than by its run time: a dump without the run time tells of the same run
qualify row_number() over (partition by cluster, job_id, agreed_start_ts order by is_final desc, votes desc, record_id) = 1
order by cluster, job_id, start_ts
