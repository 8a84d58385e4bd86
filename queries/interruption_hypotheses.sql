-- title: Causes that were considered
-- asks: what else could have stopped the attempt, and why was it not chosen?
-- column interruption_id varchar: the interruption
-- column rank bigint: 1 is the strongest
-- column component varchar: component that is suspected
-- column label varchar: its name
-- column score double: strength of the case; only its order matters
-- column rule varchar: rule that speaks for it
-- column is_selected boolean: true if it was chosen
-- column against varchar: what speaks against it
-- column node varchar: node that is suspected
select
    h.interruption_id,
    h.rank,
    h.component,
    c.label,
    h.score,
    h.rule,
    h.is_selected,
    h.against,
    h.node
from hypotheses as h
left join components as c on c.component = h.component
order by h.interruption_id, h.rank, h.component, h.node
