-- table: one row per job output whose stamps fit its job only if they are UTC: containers keep UTC wherever the hosts stand
-- column source_id varchar: the output
-- column zone varchar: UTC
-- column basis varchar: how it was found
with spans as (
    select cluster, job_id, min(ts) as first_ts, max(ts) as last_ts
    from (
        select
            k.cluster,
            r.job_id,
            unnest([
                instant_of(r.start_ts, r.utc_offset_s, z.timezone, 0), instant_of(r.end_ts, r.utc_offset_s, z.timezone, 0)
            ]) as ts
        from intake.job_records as r
        inner join source_clusters as k using (source_id)
        inner join site_zone as z on k.cluster = z.cluster
        where r.step is null and r.start_ts is not null
        union all
        select k.cluster, e.job_id, instant_of(e.local_ts, e.utc_offset_s, z.timezone, 0)
        from intake.events as e
        inner join signatures as s on e.signature = s.name
        inner join source_clusters as k using (source_id)
        inner join site_zone as z using (cluster)
        where e.channel = 'slurm' and e.has_year and s.mark like 'job_%' and s.mark <> 'job_submitted'
    )
    where ts is not null
    group by cluster, job_id
),

-- a step daemon's banner is in the host's zone, whatever the container says; unstamped lines after it took over its time
banners as (
    select distinct source_id, local_ts
    from intake.events
    where is_banner(channel, signature)
),

stamps as (
    select source_id, local_ts, has_year
    from intake.events
    where local_ts is not null and utc_offset_s is null
    union all
    select source_id, local_ts, has_year
    from intake.progress
    where local_ts is not null and utc_offset_s is null
),

readings as (
    select
        t.source_id,
        o.cluster,
        o.job_id,
        case when t.has_year then t.local_ts else with_year(t.local_ts, year(p.first_ts)) end as local_ts,
        z.timezone,
        -- two minutes for clocks, fifteen for late words
        p.first_ts - to_minutes(2) as from_ts,
        p.last_ts + to_minutes(15) as to_ts
    from stamps as t
    anti join banners as b on t.source_id = b.source_id and t.local_ts = b.local_ts
    inner join source_jobs as o using (source_id)
    inner join spans as p on o.cluster = p.cluster and o.job_id = p.job_id
    inner join site_zone as z on o.cluster = z.cluster
    where z.timezone <> 'UTC'
),

misfits as (
    select
        source_id,
        cluster,
        job_id,
        count(*) filter (where instant_of(local_ts, null, timezone, 0) not between from_ts and to_ts) as by_site,
        count(*) filter (where instant_of(local_ts, null, 'UTC', 0) not between from_ts and to_ts) as by_utc
    from readings
    group by source_id, cluster, job_id
),

-- torn and copied lines may stand anywhere; one stray among twenty decides nothing
judged as (
    select
        *,
        by_site > 0 and by_utc * 20 <= by_site as is_utc,
        by_utc > 0 and by_site * 20 <= by_utc as is_local
    from misfits
)

select
    source_id,
    'UTC' as zone,
    case
        when is_utc then 'inferred: only as UTC do its stamps fit its job'
        else 'inferred: other outputs of its job are in UTC'
    end as basis
from judged
qualify
    is_utc or (
        not is_local
        and bool_or(is_utc) over (partition by cluster, job_id) and not bool_or(is_local) over (partition by cluster, job_id)
    )
order by source_id
