-- macro: the instant that a local time means: by its own offset if it has one, else by the zone plus a shift
-- param local_ts timestamp: local time
-- param own_offset_s integer: seconds east of UTC written beside it, or null
-- param zone varchar: zone for stamps without an offset
-- param shift_s bigint: correction for stamps without an offset
timezone('UTC', case
    when own_offset_s is not null then local_ts - to_seconds(own_offset_s)
    else local_ts - to_seconds(utc_offset_of(zone, local_ts)) + to_seconds(shift_s)
end)
