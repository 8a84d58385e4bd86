-- table: one row per source that is about one host
-- column source_id varchar: the source
-- column node varchar: the host that all its lines name, else a known host that its path names
with pieces as (
    select source_id, string_split(unnest(string_split_regex(lower(path), '[/._!]+')), '-') as parts
    from intake.sources
    where host is null
),

-- a host's name may hold hyphens, and stand between some: `volta-08-sel`
words as (
    select p.source_id, array_to_string(p.parts[b.first_part:e.last_part], '-') as word
    from pieces as p
    cross join lateral (select unnest(range(1, len(p.parts) + 1)) as first_part) as b
    cross join lateral (select unnest(range(b.first_part, least(len(p.parts), b.first_part + 7) + 1)) as last_part) as e
),

named as (
    select w.source_id, n.node
    from words as w
    inner join known_nodes as n on w.word = n.node
    qualify count(distinct n.node) over (partition by w.source_id) = 1
)

select source_id, host as node from intake.sources where host is not null and status = 'used'
union
select source_id, node from named
order by source_id
