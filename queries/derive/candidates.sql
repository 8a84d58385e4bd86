-- table: one row per unplanned interruption and event (or set of events) that may be its cause
-- column attempt_id varchar: the run that was interrupted
-- column event_id varchar: the event that speaks for the cause
-- column component varchar: the part that it accuses
-- column node varchar: where
-- column gpu_index integer: which GPU, if known
-- column pci_bdf varchar: its PCI address, if known
-- column code varchar: error code in the line, if it has one
-- column strength varchar: direct or suggestive
-- column tier integer: precedence among rivals
-- column is_own_word boolean: the kernel or another program of the host says it, not the job that felt it
-- column ts timestamptz: when
-- column basis varchar: how the event belongs to the run
-- column is_before_symptom boolean: it began before the first complaint, as far as the clocks tell
-- column is_in_place boolean: work stopped with it: no progress after it, and it is not later than the end
-- column rule varchar: what makes it a candidate
-- column against varchar: what speaks against it
with broken as (
    select n.attempt_id, a.start_ts, e.end_ts, e.last_progress_ts, e.step_gap_s, e.first_symptom_ts, e.stopped_ts
    from endings as n
    inner join attempt_ends as e using (attempt_id)
    inner join attempts as a using (attempt_id)
    where n.bucket = 'unplanned'
),

near as (
    select
        b.*,
        m.basis,
        m.delta_s,
        e.event_id, e.component, e.node, e.gpu_index, e.pci_bdf, e.strength, e.tier, e.ts, e.onset_ts, e.signature, e.code,
        e.mark, e.kind, e.channel, e.message, e.ts_uncertainty_s, e.fields,
        s.lookback_s
    from broken as b
    inner join event_attempts as m using (attempt_id)
    inner join events as e using (event_id)
    inner join signatures as s on e.signature = s.name
    -- what broke a job that stood still came as it stopped, however long it then stood
    where
        m.delta_s is null
        or m.delta_s between
        least(0, coalesce(epoch(b.last_progress_ts) - epoch(b.end_ts), 0)) - coalesce(s.lookback_s, 2700) and 600
),

-- ports are down while their host boots
booting as (
    select n.attempt_id, n.event_id
    from near as n
    inner join events as o on o.mark = 'boot' and o.node = n.node and n.ts between o.ts and o.ts + to_minutes(10)
    where n.mark = 'link_down'
),

single as (
    select attempt_id, event_id, component, tier, strength, node, pci_bdf, 'its own line' as rule
    from near as n
    where
        kind = 'fault' and tier > 0 and component not in ('', 'unattributed')
        and (attempt_id, event_id) not in (from booting)
        -- a server that was back within two minutes held the job up; it did not stop it
        and not exists (
            select 1
            from near as o
            where
                o.attempt_id = n.attempt_id and o.node = n.node and o.kind = 'recovery' and o.component = n.component
                and n.component = 'dependency.filesystem' and n.strength = 'suggestive'
                and o.fields ->> 'server' = n.fields ->> 'server'
                and o.ts between n.ts and least(n.ts + to_minutes(2), n.end_ts - to_seconds(30))
        )
),

-- GPUs of one node that vanish in the same ten seconds share a switch or riser
lost_together as (
    select
        n.attempt_id, n.event_id, 'host.io_board' as component, 2 as tier, 'direct' as strength, n.node, n.pci_bdf,
        'several GPUs of one node lost within 10 s' as rule
    from near as n
    where
        n.code = '79' and n.kind = 'fault'
        and (
            select count(distinct o.pci_bdf)
            from near as o
            where
                o.attempt_id = n.attempt_id and o.node = n.node and o.code = '79'
                and abs(epoch(o.ts) - epoch(n.ts)) <= 10
        ) >= 2
),

-- a unit that met bad data while a row of device memory was taken out of use met the data of that row
remapped as (
    select
        n.attempt_id, n.event_id, 'gpu.hbm' as component, 4 as tier, n.strength, n.node, n.pci_bdf,
        'the GPU took a row of its memory out of use within 10 s' as rule
    from near as n
    where
        n.mark = 'poison_consumed' and n.kind = 'fault'
        and exists (
            select 1
            from near as o
            where
                o.attempt_id = n.attempt_id and o.node = n.node and o.pci_bdf = n.pci_bdf and o.code in ('63', '64')
                and abs(epoch(o.ts) - epoch(n.ts)) <= 10
        )
),

-- the link broke before the GPU was gone
link_first as (
    select
        n.attempt_id, n.event_id, n.component, 2 as tier, 'direct' as strength, n.node, n.pci_bdf,
        'PCIe error on the node within 5 min before a GPU was lost' as rule
    from near as n
    where
        n.mark = 'pcie_error'
        and exists (
            select 1
            from near as o
            where
                o.attempt_id = n.attempt_id and o.node = n.node and o.code = '79'
                and epoch(o.ts) - epoch(n.ts) between 0 and 300
        )
),

-- ports of three hosts in one minute: the far end
links_together as (
    select
        n.attempt_id, n.event_id, 'network.link_switch' as component, 5 as tier, 'direct' as strength, null as node, null as pci_bdf,
        'links of several hosts down within 60 s' as rule
    from near as n
    where
        n.mark = 'link_down'
        and (
            select count(distinct o.node)
            from near as o
            where
                o.attempt_id = n.attempt_id and o.mark = 'link_down' and abs(epoch(o.ts) - epoch(n.ts)) <= 60
        ) >= 3
),

-- a node that shuts down in good order, or gets a new driver, under a running job was taken by people
taken as (
    select
        n.attempt_id, n.event_id, 'maintenance.unplanned' as component, 12 as tier, 'direct' as strength, n.node, n.pci_bdf,
        'a node was shut down or given a new driver under the running job' as rule
    from near as n
    where
        n.mark in ('shutdown_orderly', 'driver_loaded') and n.basis = 'node'
        -- every boot loads the driver, after a crash as well
        and not (
            n.mark = 'driver_loaded'
            and exists (
                select 1
                from near as o
                where
                    o.attempt_id = n.attempt_id and o.node = n.node and o.mark = 'boot'
                    and o.ts between n.ts - to_minutes(15) and n.ts
            )
        )
        and n.ts between greatest(n.stopped_ts - to_minutes(10), n.start_ts + to_minutes(5)) and n.end_ts + to_seconds(90)
),

-- people gave a reason for the node only when the job was gone; the job's own last word counts more
taken_later as (
    select
        n.attempt_id, n.event_id, 'maintenance.unplanned' as component, 12 as tier, 'suggestive' as strength, n.node, n.pci_bdf,
        'a node was taken for maintenance as the job ended' as rule
    from near as n
    where
        n.mark = 'node_reason' and n.delta_s >= 0
        and is_maintenance(coalesce(n.fields ->> 'reason', n.message))
),

-- people took a node away with a word of their own, and then the job
sent_away as (
    select
        n.attempt_id, n.event_id, 'maintenance.unplanned' as component, 12 as tier, 'suggestive' as strength, n.node, n.pci_bdf,
        'an operator drained a node, gave a reason and cancelled the job' as rule
    from near as n
    inner join endings as d using (attempt_id)
    where
        d.kind = 'cancel'
        and n.mark in ('node_reason', 'node_drain') and n.fields ->> 'reason' is not null and n.delta_s between -900 and 0
),

-- an operator or a health check names the Xid in the reason
told as (
    select
        n.attempt_id, n.event_id, x.component, x.tier, 'suggestive' as strength, n.node, n.pci_bdf,
        'the reason set for the node names Xid ' || x.code as rule
    from near as n
    inner join xid_catalog as x
        on x.code = try_cast(regexp_extract(coalesce(n.fields ->> 'reason', n.message), '(?i)\bxid[ :#]*(\d+)', 1) as integer)
    where n.mark = 'node_reason' and n.delta_s <= 120 and x.tier > 0 and x.component <> 'unattributed'
),

gathered as (
    from single
    union all
    from lost_together
    union all
    from remapped
    union all
    from link_first
    union all
    from links_together
    union all
    from taken
    union all
    from taken_later
    union all
    from sent_away
    union all
    from told
),

weighed as (
    select
        g.*,
        n.gpu_index,
        n.code,
        n.channel,
        n.ts,
        n.basis,
        -- an unknown instant, or one lent from more than five minutes away, is before nothing; 2 s is what clocks may differ
        case
            when onset_ts is null or coalesce(ts_uncertainty_s, 300) >= 300 then false
            when first_symptom_ts is null then true
            else onset_ts <= first_symptom_ts + to_seconds(ts_uncertainty_s + 2)
        end as is_before_symptom,
        epoch(last_progress_ts) - epoch(ts) as went_on_s,
        greatest(120, 5 * coalesce(step_gap_s, 0)) as patience_s,
        epoch(ts) - epoch(end_ts) as late_s,
        -- people explain afterwards; a dying host may speak late, but infrastructure for all is at fault only if it broke before
        case
            when mark = 'node_reason' then 'infinity'::double
            when basis = 'shared' then 2 + coalesce(ts_uncertainty_s, 0)
            else 90
        end as grace_s
    from gathered as g
    inner join near as n using (attempt_id, event_id)
)

select
    attempt_id,
    event_id,
    component,
    node,
    gpu_index,
    pci_bdf,
    code,
    strength,
    tier,
    channel <> 'job' as is_own_word,
    ts,
    basis,
    is_before_symptom,
    coalesce(went_on_s <= patience_s, true) and coalesce(late_s <= grace_s, true) as is_in_place,
    rule,
    case
        when went_on_s > patience_s
            then 'training went on for ' || round(went_on_s / 60, 1) || ' min after it'
        when late_s > grace_s then 'it came ' || round(late_s)::bigint || ' s after the end'
        when not is_before_symptom then 'it is not certain that it came before the first symptom'
    end as against
from weighed
-- one event can be a candidate by several rules
order by all
