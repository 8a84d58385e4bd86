-- macro: lower 95 % limit of a Poisson mean when n events were seen (Garwood 1936; Byar's approximation beyond the table)
-- param n bigint: events seen
case
    when n is null then null
    when n = 0 then 0.0
    else coalesce(
        (select any_value(l.lo) from poisson_limits as l where l.events = n),
        n * pow(1 - 1 / (9.0 * n) - 1.959964 / (3 * sqrt(n)), 3))
end
