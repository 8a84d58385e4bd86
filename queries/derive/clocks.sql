-- table: one row per used source: how its stamps become instants
-- column source_id varchar: the source
-- column timezone varchar: IANA name or +HH:MM of stamps without a zone
-- column shift_s bigint: seconds to add to the source's zone-less stamps, found from anchors shared with other sources
-- column year integer: year of the last stamp, where the lines carry none
-- column turn_lines bigint[]: lines before which a New Year lies
-- column is_year_assumed boolean: true if nothing but the file's date tells the year
-- column basis varchar: where the zone comes from
with used as (
    select s.*
    from intake.sources as s
    inner join source_fates as f using (path, source_id)
    where f.status = 'used'
),

ruled as (
    select u.source_id, arg_min(z.timezone, z.priority) as timezone, arg_min(z.basis, z.priority) as basis
    from used as u
    inner join time_zones as z on u.path glob z.pattern
    group by u.source_id
),

-- a source that writes an offset in some lines means it in all
own as (
    select
        source_id,
        case when utc_offset_s < 0 then '-' else '+' end
        || lpad((abs(utc_offset_s) // 3600)::varchar, 2, '0') || ':'
        || lpad((abs(utc_offset_s) % 3600 // 60)::varchar, 2, '0') as timezone
    from used
    where utc_offset_s is not null
),

yearless as (
    select l.source_id, k.cluster, l.last_ts::date as last_day, u.modified_ts::date as file_day
    from year_turns as l
    inner join used as u using (source_id)
    inner join source_clusters as k using (source_id)
),

-- the year in which the last stamp falls into the span of dated stamps, else the latest that the file's date allows;
-- asked once for all sources with the same days
framed as (
    select
        l.cluster,
        l.last_day,
        l.file_day,
        max(y.year) filter (
            where try_cast(y.year || strftime(l.last_day, '-%m-%d') as date) between f.first_day - 2 and f.last_day + 2
        ) as in_frame,
        max(y.year) filter (
            where try_cast(y.year || strftime(l.last_day, '-%m-%d') as date) <= l.file_day + 1
        ) as by_file_date
    from (select distinct cluster, last_day, file_day from yearless) as l
    left join year_frame as f using (cluster)
    cross join (select unnest(range(1990, 2100)) as year) as y
    group by l.cluster, l.last_day, l.file_day
),

configured as (
    select max(try_cast(value as integer)) as year from meta where key = 'year'
)

select
    u.source_id,
    coalesce(r.timezone, o.timezone, z.zone, s.timezone) as timezone,
    case when r.timezone is null and o.timezone is null then coalesce(a.shift_s, 0) else 0 end as shift_s,
    coalesce(c.year, f.in_frame, f.by_file_date)::integer as year,
    y.turn_lines,
    y.source_id is not null and c.year is null and f.in_frame is null as is_year_assumed,
    case
        when r.timezone is not null then r.basis
        when o.timezone is not null then 'written in the lines'
        when z.zone is not null then z.basis
        when coalesce(a.shift_s, 0) <> 0 then s.basis || '; shifted to agree with jobs in other sources'
        else s.basis
    end as basis
from used as u
inner join source_clusters as k using (source_id)
inner join site_zone as s using (cluster)
cross join configured as c
left join ruled as r using (source_id)
left join own as o using (source_id)
left join output_zones as z using (source_id)
left join yearless as l using (source_id)
left join framed as f
    on l.cluster = f.cluster and l.last_day is not distinct from f.last_day and l.file_day is not distinct from f.file_day
left join year_turns as y using (source_id)
left join zone_shifts as a using (source_id)
order by u.source_id
