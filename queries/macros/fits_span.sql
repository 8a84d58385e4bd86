-- macro: whether a local time, read in a zone, lies in a span of time (two minutes before it, fifteen after it for late words)
-- param local_ts timestamp: local time
-- param zone varchar: zone of the stamp
-- param first_ts timestamptz: begin of the span
-- param last_ts timestamptz: end of the span
instant_of(local_ts, null, zone, 0) between first_ts - to_minutes(2) and last_ts + to_minutes(15)
