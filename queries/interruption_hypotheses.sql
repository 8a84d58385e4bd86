-- title: Causes that were considered
-- asks: what else could have stopped the attempt, and why was it not chosen?
-- column interruption_id varchar: the interruption
-- column rank bigint: 1 is the strongest
-- column component varchar: component that is suspected
-- column label varchar: its name
-- column score double: strength of the case; only its order matters
-- column rule varchar: what speaks for it: the meaning of its line, or the rule
-- column is_selected boolean: true if it was chosen
-- column against varchar: what speaks against it
-- column node varchar: node that is suspected
-- column gpu_index integer: GPU that is suspected
with verdict as (
    select interruption_id, component, node, pci_bdf
    from hypotheses
    where is_selected
)

select
    h.interruption_id,
    h.rank,
    h.component,
    c.label,
    h.score,
    coalesce(case when h.rule = 'its own line' then rtrim(e.meaning, '.') end, h.rule) as rule,
    h.is_selected,
    case
        when not h.is_selected and h.strength = 'none' and v.component like 'unknown.%' then 'it says less than ' || v.component
        else h.against
    end as against,
    h.node,
    h.gpu_index
from hypotheses as h
inner join verdict as v on v.interruption_id = h.interruption_id
left join components as c on c.component = h.component
left join events as e on e.event_id = h.event_id
-- neither the lack of a cause nor a second sign of the verdict is another cause
where
    h.is_selected
    or (
        h.component <> 'unattributed'
        and not (
            h.component = v.component and coalesce(h.node = v.node, true) and coalesce(h.pci_bdf = v.pci_bdf, true)
        )
    )
order by h.interruption_id, h.rank, h.component, h.node
