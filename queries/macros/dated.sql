-- macro: a stamp with its year: as written, or, where none was written, the year of the last stamp less the turns after it
-- param local_ts timestamp: local time, in the placeholder year 2000 if none was written
-- param last_year integer: year of the source's last stamp
-- param turn_lines bigint[]: lines before which a New Year lies
-- param at_line bigint: line of the stamp
case
    when year(local_ts) <> 2000 then local_ts
    else with_year(local_ts, last_year - len(list_filter(coalesce(turn_lines, []), lambda line: line > at_line))::integer)
end
