-- macro: upper 95 % limit of a share of k in n, as a fraction (Wilson 1927)
-- param k bigint: events that count
-- param n bigint: events in all
case when n > 0 then least(1.0,
    (k + 1.920729 + 1.959964 * sqrt(k * (n - k) / n::double + 0.960365)) / (n + 3.841459))
end
