-- table: one row per interruption and cause that was considered, best first
-- column interruption_id varchar: the interruption
-- column attempt_id varchar: the run
-- column rank bigint: place, 1 is the verdict
-- column component varchar: the part accused
-- column score double: strength (direct 2, suggestive 1) in place of 100, less its tier; only for comparison within one interruption
-- column rule varchar: what speaks for it
-- column is_selected boolean: the verdict
-- column against varchar: what speaks against it, or why another one won
-- column event_id varchar: the event that speaks for it; null if there is none
-- column node varchar: where
-- column gpu_index integer: which GPU
-- column pci_bdf varchar: its PCI address
-- column strength varchar: direct, suggestive or none
-- column tier integer: precedence among rivals
-- column ts timestamptz: when
-- column is_before_symptom boolean: before the first complaint
-- column basis varchar: how the event belongs to the run
-- column is_in_place boolean: work stopped with it
with broken as (
    select n.attempt_id, e.collective_timeouts, a.state
    from endings as n
    inner join attempt_ends as e using (attempt_id)
    inner join attempts as a using (attempt_id)
    where n.bucket = 'unplanned'
),

-- an exception that comes before every other complaint, with no hardware fault in place, speaks for itself
spoken as (
    select
        c.* replace (
            case
                when
                    e.mark = 'exception' and c.strength = 'suggestive' and c.is_in_place and c.is_before_symptom
                    and not exists (
                        select 1
                        from candidates as o
                        where
                            o.attempt_id = c.attempt_id and o.is_in_place and o.component not like 'software.%'
                            and (o.tier <= c.tier or o.strength = 'direct')
                    )
                    then 'direct'
                else c.strength
            end as strength
        )
    from candidates as c
    inner join events as e using (event_id)
),

-- one row per accused part: its best event
best as (
    select *
    from spoken
    qualify row_number() over (
        partition by attempt_id, component, node, pci_bdf
        order by
            is_in_place desc, strength = 'direct' desc, tier, is_own_word desc, is_before_symptom desc, ts nulls last,
            -- of two lines about one thing, the one with the number says more
            code is null, event_id
    ) = 1
),

said as (
    select b.attempt_id, b.collective_timeouts, m.delta_s, e.event_id, e.mark, e.component, e.node, e.ts, e.onset_ts, e.rank,
        e.fields
    from broken as b
    inner join event_attempts as m using (attempt_id)
    inner join events as e using (event_id)
    where e.mark is not null
),

lost_node as (
    select
        attempt_id,
        arg_min(event_id, (mark <> 'node_down', ts, event_id)) as event_id,
        arg_min(node, (mark <> 'node_down', ts, event_id)) as node,
        arg_min(ts, (mark <> 'node_down', ts, event_id)) as ts
    from said
    where
        mark in ('node_down', 'job_requeued_node_fail', 'job_killed_node_fail', 'node_rebooted')
        and node is not null and coalesce(delta_s between -900 and 600, true)
        -- who prints that a job was killed need not be the one that was lost
        and fields ->> 'reported_by' is null
    group by attempt_id
),

watchdog as (
    select attempt_id, arg_min(event_id, (onset_ts, event_id)) as event_id, min(onset_ts) as ts
    from said
    where mark = 'collective_timeout' and coalesce(delta_s between -2700 and 600, true)
    group by attempt_id
),

-- an error that a client tries again, and that nothing came after: this time it may not have come through
gave_up as (
    select attempt_id, component, arg_max(event_id, (ts, event_id)) as event_id, max(ts) as ts
    from said
    where mark = 'retried_error' and collective_timeouts = 0 and delta_s between -300 and 60
    group by attempt_id, component
),

-- ranks that lost a peer: what took it is not said
deserted as (
    select attempt_id, arg_min(event_id, (ts, event_id)) as event_id, min(ts) as ts
    from said
    where mark = 'peer_lost' and coalesce(delta_s between -2700 and 600, true)
    group by attempt_id
),

-- a rank that ends by an exit code or signal of its own, while nobody waits for anybody, left no other word
left_alone as (
    select
        attempt_id,
        arg_min(event_id, (ts, event_id)) as event_id,
        min(ts) as ts,
        'a rank ended with ' || arg_min(fields ->> 'exit_code', (ts, event_id)) || ' and printed no reason' as rule
    from said
    where
        mark = 'root_cause_rank' and collective_timeouts = 0
        -- 1 is what an exception gives, -9 and -15 come from outside
        and try_cast(fields ->> 'exit_code' as integer) not in (0, 1, -9, -15)
        -- NCCL's watchdog aborts its own process when a peer is gone, and prints so
        and not (
            fields ->> 'exit_code' = '-6'
            and exists (
                select 1
                from said as o
                where o.attempt_id = said.attempt_id and o.mark = 'watchdog_abort' and o.rank = said.rank
            )
        )
    group by attempt_id
),

fallbacks as (
    select
        b.attempt_id, 'unknown.node_unresponsive' as component, 'the controller lost the node and no log says why' as rule,
        l.event_id, l.node, l.ts, 40 as tier
    from broken as b
    inner join lost_node as l using (attempt_id)
    union all
    select
        b.attempt_id, 'unknown.node_unresponsive', 'the scheduler lost a node and no log says which or why', null, null, null, 41
    from broken as b
    where b.state = 'NODE_FAIL'
    union all
    select
        b.attempt_id, 'unknown.collective_timeout', 'nothing but collective time-outs', w.event_id, null, w.ts, 50
    from broken as b
    inner join watchdog as w using (attempt_id)
    union all
    select b.attempt_id, 'software.user_code', r.rule, r.event_id, null, r.ts, 44
    from broken as b
    inner join left_alone as r using (attempt_id)
    union all
    select
        b.attempt_id, 'software.user_code', 'the scheduler says out of memory; no line says more', null, null, null, 45
    from broken as b
    where b.state = 'OUT_OF_MEMORY'
    union all
    select b.attempt_id, g.component, 'the last error before the end, if its client gave up', g.event_id, null, g.ts, 46
    from broken as b
    inner join gave_up as g using (attempt_id)
    union all
    select b.attempt_id, 'unattributed', 'ranks lost the connection to a peer and no log says why', d.event_id, null, d.ts, 55
    from broken as b
    inner join deserted as d using (attempt_id)
    union all
    select b.attempt_id, 'unattributed', 'nothing in the logs speaks for a cause', null, null, null, 60 from broken as b
),

all_of_them as (
    select
        attempt_id, component, rule, event_id, node, gpu_index, pci_bdf, strength, tier, is_own_word, ts, is_before_symptom,
        basis, against, is_in_place
    from best
    union all
    select
        attempt_id, component, rule, event_id, node, null, null, 'none', tier, true, ts, null, 'fallback', null, true
    from fallbacks
),

placed as (
    select
        *,
        row_number() over (
            partition by attempt_id
            order by
                is_in_place desc,
                case strength when 'direct' then 0 when 'suggestive' then 1 else 2 end,
                tier, is_own_word desc, is_before_symptom desc nulls last, ts nulls last, component, node, event_id
        ) as rank
    from all_of_them
)

select
    'INT-' || p.attempt_id as interruption_id,
    p.attempt_id,
    p.rank,
    p.component,
    case p.strength when 'direct' then 200.0 when 'suggestive' then 100.0 else 60.0 end
    - p.tier - case when p.is_in_place then 0 else 50 end as score,
    p.rule,
    p.rank = 1 as is_selected,
    case
        when p.rank = 1 then null
        when p.against is not null then p.against
        when p.strength = 'none' then 'a cause was found'
        when p.strength <> w.strength then 'only ' || p.strength || ' evidence; the verdict has ' || w.strength
        when p.tier > w.tier then 'usually a consequence of, or weaker than, ' || w.component
        else 'later than the verdict'
    end as against,
    p.event_id,
    p.node,
    p.gpu_index,
    p.pci_bdf,
    p.strength,
    p.tier,
    p.ts,
    p.is_before_symptom,
    p.basis,
    p.is_in_place
from placed as p
inner join placed as w on p.attempt_id = w.attempt_id and w.rank = 1
order by p.attempt_id, p.rank
