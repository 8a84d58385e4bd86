-- table: one row per source that is about one host
-- column source_id varchar: the source
-- column node varchar: the host that all its lines name, else a known host that its path names
with words as (
    select source_id, unnest(string_split_regex(lower(path), '[/._!]+')) as word from intake.sources where host is null
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
