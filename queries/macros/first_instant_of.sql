-- macro: the instant that a local time means before clocks are put back: of an hour that comes twice, the first
-- param local_ts timestamp: local time
-- param zone varchar: zone of the stamp
-- param shift_s bigint: correction for stamps without an offset
least(instant_of(local_ts, null, zone, shift_s), instant_of(local_ts - to_hours(1), null, zone, shift_s) + to_hours(1))
