-- macro: whether a local time comes twice, because clocks were put back by an hour; it is read as the second
-- param zone varchar: zone of the stamp
-- param local_ts timestamp: local time
utc_offset_of(zone, local_ts) + 3600 = utc_offset_of(zone, local_ts - to_hours(1))
