-- table: one row per source whose zone-less job times contradict other sources by whole quarters of an hour
-- column source_id varchar: the source
-- column shift_s bigint: seconds to add to its stamps
-- column anchors bigint: job starts that agree on the shift
with starts as (
    select distinct
        r.source_id,
        k.cluster || '|' || r.job_id as job_id,
        r.elapsed_s,
        r.state,
        r.start_ts,
        r.utc_offset_s is not null as is_zoned,
        epoch(r.start_ts) - coalesce(r.utc_offset_s, 0) as start_s
    from intake.job_records as r
    inner join source_clusters as k using (source_id)
    where r.step is null and r.start_ts is not null and r.end_ts is not null and r.elapsed_s > 0
),

-- the reading that most sources share is the reference for a job; a zone in the record outvotes
sources_of as (
    select job_id, elapsed_s, state, start_s, count(distinct source_id) as votes from starts where not is_zoned group by all
),

reference as (
    select job_id, elapsed_s, state, arg_max(start_s, (votes, -start_s)) as start_s
    from sources_of
    group by job_id, elapsed_s, state
    having count(*) > 1
),

differences as (
    select s.source_id, (round((r.start_s - s.start_s) / 900) * 900)::bigint as shift_s, count(*) as anchors
    from starts as s
    inner join reference as r using (job_id, elapsed_s, state)
    where not s.is_zoned and abs((r.start_s - s.start_s) - round((r.start_s - s.start_s) / 900) * 900) < 2
    group by all
),

agreed as (
    from differences
    qualify row_number() over (partition by source_id order by anchors desc, abs(shift_s), shift_s) = 1
)

select source_id, shift_s, anchors
from agreed
where shift_s <> 0 and anchors >= 3 and abs(shift_s) <= 14 * 3600
order by source_id
