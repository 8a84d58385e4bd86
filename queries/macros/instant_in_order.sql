-- macro: the instant that a local time means, given whether its source goes back in local time after it
-- param local_ts timestamp: local time
-- param own_offset_s integer: seconds east of UTC written beside it, or null
-- param zone varchar: zone for stamps without an offset
-- param shift_s bigint: correction for stamps without an offset
-- param goes_back boolean: a later line of the source has an earlier local time, so of an hour that comes twice it is the first
case
    when goes_back and own_offset_s is null and zone[1] not in ('+', '-')
        then least(
            instant_of(local_ts, null, zone, shift_s),
            instant_of(local_ts - to_hours(1), null, zone, shift_s) + to_hours(1)
        )
    else instant_of(local_ts, own_offset_s, zone, shift_s)
end
