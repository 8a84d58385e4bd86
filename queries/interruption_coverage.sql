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

covered as (
    select a.interruption_id, c.channel, n.node
    from asked as a
    inner join attempt_nodes as n using (attempt_id)
    inner join coverage as c
        on
            (c.node is null or c.node = n.node)
            and c.first_ts < (a.day + 1)::timestamp at time zone 'UTC'
            and c.last_ts >= (a.day - 1)::timestamp at time zone 'UTC'
    union
    -- accounting speaks of jobs, not of nodes
    select a.interruption_id, 'accounting' as channel, n.node
    from asked as a
    inner join attempts as t using (attempt_id)
    inner join attempt_nodes as n using (attempt_id)
    where t.basis = 'accounting'
)

select
    a.interruption_id,
    h.channel,
    (select count(*) from attempt_nodes as n where n.attempt_id = a.attempt_id) as nodes,
    count(c.node) as covered_nodes
from asked as a
cross join channels as h
left join covered as c on a.interruption_id = c.interruption_id and h.channel = c.channel
group by a.interruption_id, a.attempt_id, h.channel
order by a.interruption_id, h.channel
