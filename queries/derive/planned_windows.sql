-- table: one row per host (or the whole cluster) and time that was set aside for maintenance before it came
-- column scope varchar: host, or "cluster"
-- column start_ts timestamptz: begin
-- column end_ts timestamptz: end
-- column announced_ts timestamptz: when it was announced; null if a file says so
-- column reason varchar: reason, or name of the reservation
-- column event_id varchar: the record of the reservation, if that is the source
select scope, start_ts, end_ts, null::timestamptz as announced_ts, reason, null::varchar as event_id
from maintenance_windows
union all
-- a reservation for users is not maintenance; one for the administrator is
select
    e.node,
    instant_of(try_cast(e.fields ->> 'window_start' as timestamp), null, c.timezone, c.shift_s),
    instant_of(try_cast(e.fields ->> 'window_end' as timestamp), null, c.timezone, c.shift_s),
    e.ts,
    e.fields ->> 'reservation',
    e.event_id
from events as e
inner join clocks as c using (source_id)
where
    e.mark = 'maintenance_window' and e.duplicate_of is null and e.node is not null
    and (list_has_any(string_split(e.fields ->> 'users', ','), ['root', 'slurm']) or is_maintenance(e.fields ->> 'reservation'))
order by scope, start_ts, end_ts, event_id
