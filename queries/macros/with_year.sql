-- macro: a stamp that was written without a year, put into one (29 February of a common year becomes 1 March)
-- param local_ts timestamp: local time in the placeholder year
-- param wanted integer: the year
coalesce(
    try_cast(wanted || strftime(local_ts, '-%m-%d %H:%M:%S.%f') as timestamp),
    try_cast(wanted || strftime(local_ts, '-03-01 %H:%M:%S.%f') as timestamp))
