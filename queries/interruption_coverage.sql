-- title: What could be checked
-- asks: of which channels are there lines from the nodes of an interruption on its day?
-- param of_interruption varchar = null: interruption; null for all
-- column interruption_id varchar: interruption
-- column channel varchar: kernel, daemon, slurm, job, accounting or bmc
-- column nodes bigint: nodes of the attempt (nodes)
-- column covered_nodes bigint: those with lines of this channel on the day of the end or the day before; all if accounting has the attempt (nodes)
with asked as (
    select i.interruption_id, i.attempt_id, (i.ts at time zone 'UTC')::date as day
    from interruptions as i
    where $of_interruption is null or i.interruption_id = $of_interruption
),

channels as (
    select unnest(['kernel', 'daemon', 'slurm', 'job', 'accounting', 'bmc']) as channel
),

-- few days and few nodes a source: what was heard each day is found once for all interruptions
heard as (
    select distinct d.day, c.channel, c.node
    from (select distinct day from asked) as d
    inner join coverage as c
        on
            c.first_ts < (d.day + 1)::timestamp at time zone 'UTC'
            and c.last_ts >= (d.day - 1)::timestamp at time zone 'UTC'
),

everywhere as (
    select a.interruption_id, h.channel
    from asked as a
    inner join heard as h using (day)
    where h.node is null
    union
    -- accounting speaks of jobs, not of nodes
    select a.interruption_id, 'accounting' as channel
    from asked as a
    inner join attempts as t using (attempt_id)
    where t.basis = 'accounting'
),

in_places as (
    select a.interruption_id, h.channel, count(*) as nodes
    from asked as a
    inner join attempt_nodes as n using (attempt_id)
    inner join heard as h on a.day = h.day and n.node = h.node
    group by a.interruption_id, h.channel
),

sizes as (
    select a.interruption_id, count(n.node) as nodes
    from asked as a
    left join attempt_nodes as n using (attempt_id)
    group by a.interruption_id
)

select
    s.interruption_id,
    c.channel,
    s.nodes,
    case when e.channel is not null then s.nodes else coalesce(p.nodes, 0) end as covered_nodes
from sizes as s
cross join channels as c
left join everywhere as e on s.interruption_id = e.interruption_id and c.channel = e.channel
left join in_places as p on s.interruption_id = p.interruption_id and c.channel = p.channel
order by s.interruption_id, c.channel
