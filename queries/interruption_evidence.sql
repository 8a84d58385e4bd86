-- title: Evidence of each interruption
-- asks: which log lines speak for the cause, which are consequences, and where do they stand?
-- column interruption_id varchar: the interruption
-- column seq bigint: place in time within the interruption, from 1
-- column role varchar: trigger, contributing, symptom, teardown or context
-- column delta_s double: seconds from the end of the attempt; negative is before
-- column ts timestamptz: time of the line
-- column ts_uncertainty_s double: how far off that may be (seconds)
-- column node varchar: node the line is about
-- column gpu_index integer: GPU the line is about
-- column signature varchar: signature that caught it
-- column kind varchar: fault, symptom, lifecycle, recovery or context
-- column component varchar: component it speaks of
-- column message varchar: the line without its prefixes
-- column path varchar: file it stands in
-- column line_no bigint: its line in the file
-- column channel varchar: who wrote it
select
    ie.interruption_id,
    row_number() over (
        partition by ie.interruption_id
        order by ie.delta_s nulls last, s.path, e.line_no, e.event_id
    ) as seq,
    ie.role,
    ie.delta_s,
    e.ts,
    e.ts_uncertainty_s,
    e.node,
    e.gpu_index,
    e.signature,
    e.kind,
    e.component,
    e.message,
    s.path,
    e.line_no,
    e.channel
from interruption_events as ie
inner join events as e on e.event_id = ie.event_id
left join sources as s on s.source_id = e.source_id
order by ie.interruption_id, seq
