-- table: one row: the span of all stamps that carry a year, to place those that do not
-- column first_day date: first local day written with a year
-- column last_day date: last local day written with a year
with dated as (
    select min(local_ts) as first_ts, max(local_ts) as last_ts from intake.events where has_year
    union all
    select min(start_ts), max(coalesce(end_ts, start_ts)) from intake.job_records
    union all
    select min(local_ts), max(local_ts) from intake.progress where has_year
)

select min(first_ts)::date as first_day, max(last_ts)::date as last_day from dated
