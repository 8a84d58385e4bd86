-- table: one row per board and place that lines identify
-- column gpu_uuid varchar: identity
-- column serial varchar: serial number of the board
-- column node varchar: host
-- column gpu_index integer: index on the host, if a line gives it
-- column pci_bdf varchar: PCI address
-- column model varchar: model, if known
-- column valid_from_ts timestamptz: first seen there
-- column valid_to_ts timestamptz: last seen there
select
    max(gpu_uuid) as gpu_uuid,
    max(gpu_serial) as serial,
    node,
    max(gpu_index)::integer as gpu_index,
    pci_bdf,
    null::varchar as model,
    min(ts) as valid_from_ts,
    max(ts) as valid_to_ts
from events
where pci_bdf is not null and node is not null and (gpu_uuid is not null or gpu_serial is not null or gpu_index is not null)
group by node, pci_bdf
order by node, pci_bdf
