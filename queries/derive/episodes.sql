-- table: one row per signal on one component, with its storm folded: repeats less than ten minutes apart
-- column episode_id varchar: its first event
-- column node varchar: host
-- column gpu_index integer: index of the GPU
-- column pci_bdf varchar: PCI address of the GPU or device
-- column signature varchar: what caught it
-- column code varchar: error code
-- column component varchar: component it speaks about
-- column first_ts timestamptz: first record; null if no record has an instant
-- column last_ts timestamptz: last record
-- column event_count bigint: records, each counted once
-- column line_count bigint: lines that those records stand for, repeats included
select
    m.episode_id,
    min(e.node) as node,
    min(e.gpu_index) as gpu_index,
    min(e.pci_bdf) as pci_bdf,
    min(e.signature) as signature,
    min(e.code) as code,
    min(e.component) as component,
    min(e.ts) as first_ts,
    max(e.ts) as last_ts,
    count(*) as event_count,
    sum(greatest(coalesce(e.repeat_count, 1), 1))::bigint as line_count
from episode_events as m
inner join events as e using (event_id)
group by m.episode_id
order by first_ts nulls first, m.episode_id
