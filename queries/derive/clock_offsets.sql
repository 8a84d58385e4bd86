-- table: one row per source whose copies of kernel records tell how far its clock is from the other copies
-- column host varchar: host
-- column source_id varchar: source
-- column offset_s double: median of its stamps minus those of the other copy (s)
-- column uncertainty_s double: half the spread of the middle half (s)
-- column anchors bigint: records in both
-- column method varchar: how it was found
select
    e.node as host,
    e.source_id,
    median(epoch(e.ts) - epoch(o.ts)) as offset_s,
    (quantile_cont(epoch(e.ts) - epoch(o.ts), 0.75) - quantile_cont(epoch(e.ts) - epoch(o.ts), 0.25)) / 2 as uncertainty_s,
    count(*) as anchors,
    'copies of one kernel record' as method
from events as e
inner join events as o on e.duplicate_of = o.event_id
where e.ts is not null and o.ts is not null and e.source_id <> o.source_id
group by e.node, e.source_id
order by e.node, e.source_id
