-- table: one row per unplanned interruption: the selected cause and how sure it is
-- column attempt_id varchar: the run
-- column interruption_id varchar: the interruption
-- column component varchar: the part accused
-- column confidence varchar: confirmed, suspected or unattributed
-- column silence varchar: silent (logs are there and say nothing), no_data (logs are missing); null if there is a cause
-- column node varchar: where
-- column gpu_index integer: which GPU
-- column pci_bdf varchar: its PCI address
-- column first_fault_ts timestamptz: when the accused part first spoke
-- column event_id varchar: the event that speaks for it
-- column rule varchar: the rule that made the verdict
-- column why varchar: one sentence
with rivals as (
    select w.attempt_id, count(o.rank) as rival_count
    from hypotheses as w
    left join hypotheses as o
        on
            o.attempt_id = w.attempt_id and o.rank > 1 and o.is_in_place and o.is_before_symptom
            and o.strength = w.strength and o.tier = w.tier
            and (
                o.component <> w.component
                -- one kind of hardware fault on two nodes at the same moment: no clock tells which was first
                or (
                    w.component not like 'software.%' and w.component not like 'dependency.%'
                    and o.node <> w.node and abs(epoch(o.ts) - epoch(w.ts)) <= 2
                )
            )
    where w.rank = 1
    group by w.attempt_id
),

-- logs that would have shown a fault of the hosts, had there been one
watched as (
    select h.attempt_id
    from hypotheses as h
    inner join attempts as a using (attempt_id)
    inner join coverage as v on v.node is null and v.first_ts <= a.end_ts and v.last_ts >= a.start_ts
    where h.rank = 1 and h.strength = 'none' and v.channel in ('kernel', 'daemon')
    union
    select h.attempt_id
    from hypotheses as h
    inner join attempts as a using (attempt_id)
    inner join attempt_nodes as n using (attempt_id)
    inner join coverage as v on v.node = n.node and v.first_ts <= a.end_ts and v.last_ts >= a.start_ts
    where h.rank = 1 and h.strength = 'none' and v.channel in ('kernel', 'daemon')
),

judged as (
    select
        h.*,
        r.rival_count,
        h.attempt_id in (select attempt_id from watched) as has_kernel_log,
        case
            when h.component = 'unattributed' or h.component like 'unknown.%' then 'unattributed'
            when h.strength = 'direct' and h.basis <> 'shared' and h.is_before_symptom and r.rival_count = 0 then 'confirmed'
            else 'suspected'
        end as confidence
    from hypotheses as h
    inner join rivals as r using (attempt_id)
    where h.rank = 1
)

select
    j.attempt_id,
    j.interruption_id,
    j.component,
    j.confidence,
    case when j.confidence = 'unattributed' then case when j.has_kernel_log then 'silent' else 'no_data' end end as silence,
    j.node,
    coalesce(j.gpu_index, g.gpu_index) as gpu_index,
    j.pci_bdf,
    j.ts as first_fault_ts,
    j.event_id,
    coalesce(e.signature, 'none') || ': ' || j.rule as rule,
    case
        when j.confidence = 'unattributed' then j.rule
        else
            rtrim(e.meaning, '.') || case when j.node is not null then ', on ' || j.node else '' end
            || case when j.rule <> 'its own line' then '; ' || j.rule else '' end
            || case
                when j.confidence = 'suspected' and j.strength = 'suggestive' then '; the line fits other causes too'
                when j.confidence = 'suspected' and not j.is_before_symptom then '; not certainly before the first symptom'
                when j.confidence = 'suspected' and j.rival_count > 0 then '; ' || j.rival_count || if(j.rival_count = 1, ' rival', ' rivals') || ' of equal rank'
                when j.confidence = 'suspected' then '; shared infrastructure'
                else ''
            end || '.'
    end as why
from judged as j
left join events as e using (event_id)
left join gpus as g on g.node = j.node and g.pci_bdf = j.pci_bdf
order by j.attempt_id
