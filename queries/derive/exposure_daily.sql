-- table: one row per day and node that was given to a run: what rates divide by
-- column day date: UTC day
-- column node varchar: host
-- column gpu_count double: most GPUs given to one run; null if unknown
-- column allocated_h double: hours given (h)
-- column allocated_gpu_h double: GPU-hours given to runs whose GPUs are known (GPU-h); null if none is
-- column is_kernel_log_covered boolean: a kernel log that may speak for the node covers part of the day
-- an attempt of more than 1,000 days has a wrong stamp: no node runs that long, and it would outweigh all others
with plausible as (
    select attempt_id, start_ts, end_ts from attempts
    where start_ts is null or end_ts is null or end_ts < start_ts + to_days(1000)
),

spans as (
    select attempt_id, start_ts, coalesce(end_ts, least(last_ts, start_ts + to_days(1000))) as end_ts
    from plausible
    cross join (select max(coalesce(end_ts, start_ts)) as last_ts from plausible) as l
    where start_ts is not null
),

days as (
    select
        attempt_id,
        unnest(generate_series(date_trunc('day', start_ts), date_trunc('day', end_ts - to_microseconds(1)), to_days(1))) as day_ts,
        start_ts,
        end_ts
    from spans
),

slices as (
    select
        attempt_id,
        day_ts,
        epoch_us(least(end_ts, day_ts + to_days(1))) - epoch_us(greatest(start_ts, day_ts)) as us
    from days
),

given as (
    select s.day_ts, n.node, n.gpu_count, sum(s.us) as us
    from slices as s
    inner join attempt_nodes as n using (attempt_id)
    group by all
),

daily as (
    select
        day_ts,
        node,
        max(gpu_count) as gpu_count,
        sum(us) / 3.6e9 as allocated_h,
        fsum(us * gpu_count) / 3.6e9 as allocated_gpu_h
    from given
    group by day_ts, node
),

kernel_logs as (
    select node, date_trunc('day', first_ts) as first_day, last_ts
    from coverage
    where channel = 'kernel' and first_ts is not null and last_ts >= first_ts
),

-- days with a kernel log of the node
watched as (
    select distinct d.day_ts, d.node
    from daily as d
    inner join kernel_logs as k on d.node = k.node and d.day_ts between k.first_day and k.last_ts
),

-- a source that speaks for many hosts speaks for all
watched_all as (
    select d.day_ts
    from (select distinct day_ts from daily) as d
    semi join (select first_day, last_ts from kernel_logs where node is null) as k on d.day_ts between k.first_day and k.last_ts
)

select
    d.day_ts::date as day,
    d.node,
    d.gpu_count,
    d.allocated_h,
    d.allocated_gpu_h,
    w.node is not null or d.day_ts in (select a.day_ts from watched_all as a) as is_kernel_log_covered
from daily as d
left join watched as w on d.node = w.node and d.day_ts = w.day_ts
order by d.day_ts, d.node
