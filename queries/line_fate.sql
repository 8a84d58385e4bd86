-- title: What became of a line
-- asks: which signature caught a line of a log, and in which interruption does it play a part?
-- param of_file varchar = null: path of the source as listed in sources; null for all
-- param of_line bigint = null: line number, counted from 1; null for all
-- column path varchar: source of the line
-- column line_no bigint: first line of the record
-- column event_id varchar: event that the line became; null for a progress mark
-- column signature varchar: signature that caught it, or the kind of progress mark
-- column kind varchar: fault, symptom, lifecycle, recovery, context or progress
-- column component varchar: component that it speaks about
-- column strength varchar: direct, suggestive, symptom or none
-- column message varchar: the text without its prefixes
-- column duplicate_of varchar: event that says the same and counts instead
-- column interruption_id varchar: interruption in which it plays a part
-- column role varchar: trigger, contributing, symptom, teardown or context
-- column delta_s double: time from the event to the interruption (seconds)
-- column source_id varchar: which content of the path, if several days have one name
with caught as (
    select
        e.source_id, e.line_no, coalesce(e.line_count, 1) as line_count, e.event_id, e.signature, e.kind, e.component,
        e.strength, e.message, e.duplicate_of
    from events as e
    union all
    select p.source_id, p.line_no, 1, null, p.kind, 'progress', null, null, null, null
    from progress as p
)

select
    s.path, c.line_no, c.event_id, c.signature, c.kind, c.component, c.strength, c.message, c.duplicate_of,
    i.interruption_id, i.role, i.delta_s, s.source_id
from caught as c
inner join sources as s using (source_id)
left join interruption_events as i on coalesce(c.duplicate_of, c.event_id) = i.event_id
where
    ($of_file is null or s.path = $of_file)
    and ($of_line is null or $of_line between c.line_no and c.line_no + c.line_count - 1)
order by s.path, s.source_id, c.line_no, c.event_id, c.signature, i.interruption_id, i.role, i.delta_s
