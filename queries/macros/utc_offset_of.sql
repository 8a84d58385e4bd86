-- macro: seconds east of UTC of a zone (IANA name or +HH:MM) at a local time
-- param zone varchar: zone
-- param local_ts timestamp: local time
case
    when zone[1] in ('+', '-') then
        (case zone[1] when '-' then -1 else 1 end) * (zone[2:3]::integer * 3600 + zone[5:6]::integer * 60)
    else (epoch(timezone('UTC', local_ts)) - epoch(timezone(zone, local_ts)))::integer
end
