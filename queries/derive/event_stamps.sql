-- table: one row per event: its instant, resolved over all sources
-- column event_id varchar: the event
-- column ts timestamptz: when it was written; null if nothing tells
-- column ts_uncertainty_s double: resolution of the stamp, or distance to the neighbour it was taken from (s)
-- column host varchar: host that wrote it, if the line, its source or a twin of the line names one
-- column uptime_s double: seconds since boot, if known
with placed as (
    select
        e.event_id,
        e.source_id,
        e.line_no,
        is_banner(e.channel, e.signature) as is_banner,
        e.channel = 'job' and coalesce(e.ts_uncertainty_s > 60, true) as is_lent,
        e.ts_uncertainty_s,
        e.uptime_s,
        case when e.uptime_s is not null then e.message end as message,
        coalesce(e.reporter, n.node) as host,
        dated(e.local_ts, c.year, c.turn_lines, e.line_no) as local_ts,
        e.utc_offset_s,
        case when e.local_ts = e.banner_ts then z.timezone else c.timezone end as timezone,
        c.shift_s,
        e.earliest_later_ts < e.local_ts - to_minutes(20) as goes_back
    from (
        select
            *,
            min(local_ts) over (partition by source_id order by line_no, event_id rows between 1 following and unbounded following)
                as earliest_later_ts,
            -- a step daemon writes the host's zone into a container's output; unstamped lines after it took over its time
            last_value(case when is_banner(channel, signature) then local_ts end ignore nulls)
                over (partition by source_id order by line_no, event_id rows unbounded preceding) as banner_ts
        from intake.events
    ) as e
    inner join clocks as c using (source_id)
    inner join source_clusters as k using (source_id)
    inner join site_zone as z using (cluster)
    left join source_nodes as n using (source_id)
),

resolved as (
    select
        event_id,
        source_id,
        line_no,
        is_banner,
        is_lent,
        ts_uncertainty_s,
        host,
        uptime_s,
        message,
        instant_in_order(local_ts, utc_offset_s, timezone, shift_s, goes_back) as ts
    from placed
),

-- a banner says when it was printed: what stands behind it is not earlier, what stands before it not later
banners as (
    select distinct source_id from resolved where is_banner
),

fenced as (
    select
        *,
        last_value(case when is_banner then ts end ignore nulls)
            over (partition by source_id order by line_no, event_id rows between unbounded preceding and 1 preceding) as after_ts,
        first_value(case when is_banner then ts end ignore nulls)
            over (partition by source_id order by line_no, event_id rows between 1 following and unbounded following) as before_ts
    from resolved
    where source_id in (from banners)
    union all
    select *, null, null
    from resolved
    where source_id not in (from banners)
),

bounded as (
    -- GREATEST and LEAST skip nulls
    select
        * replace (
            case when is_lent then coalesce(greatest(ts, after_ts), before_ts) else ts end as ts,
            case
                when not is_lent or coalesce(after_ts, before_ts) is null then ts_uncertainty_s
                when width_s is not null then greatest(1, width_s)
            end as ts_uncertainty_s
        )
    from (
        select *, epoch(least(ts + to_seconds(ts_uncertainty_s), before_ts)) - epoch(greatest(ts, after_ts)) as width_s
        from fenced
    )
),

-- the same kernel record in a source that has wall time as well; the kernel's clock and text identify it
twins as (
    select uptime_s, message, min(ts) as ts, min(host) as host
    from bounded
    where uptime_s is not null and ts is not null
    group by uptime_s, message
    having count(distinct host) = 1
)

select
    r.event_id,
    coalesce(r.ts, t.ts) as ts,
    r.ts_uncertainty_s,
    coalesce(r.host, t.host) as host,
    r.uptime_s
from bounded as r
left join twins as t on r.ts is null and r.uptime_s = t.uptime_s and r.message = t.message
order by r.event_id
