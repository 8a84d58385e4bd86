-- table: one row per recognised log record
-- column event_id varchar: content hash of source, line, signature and node
-- column ts timestamptz: when it was written (UTC); null if only seconds since boot are known and nothing anchors them
-- column onset_ts timestamptz: when the condition began: a watchdog's line minus the time it waited
-- column ts_uncertainty_s double: resolution of the stamp, or distance to the neighbour it was taken from (s)
-- column uptime_s double: seconds since boot, if the line carries the kernel's clock (s)
-- column node varchar: short host name that the record is about
-- column reporter varchar: short host name that wrote it
-- column gpu_index integer: index of the GPU on its node
-- column pci_bdf varchar: PCI address as dddd:bb:dd
-- column gpu_uuid varchar: identity of the GPU
-- column gpu_serial varchar: serial number of the board
-- column job_id varchar: scheduler's job id
-- column rank integer: global rank
-- column signature varchar: what caught it
-- column kind varchar: fault, symptom, lifecycle, recovery or context
-- column component varchar: component it speaks about
-- column strength varchar: direct, suggestive, symptom or none
-- column severity varchar: info, warning, error or fatal
-- column tier integer: precedence among rivals, 1 first; 0 is never a candidate
-- column scope varchar: gpu, node, rank, job or shared
-- column mark varchar: what it means for jobs and nodes
-- column code varchar: error code in the signature's family
-- column repeat_count bigint: how many times the record stands for
-- column message varchar: the text without its prefixes
-- column meaning varchar: what it says, in a sentence
-- column fields json: what else the record says
-- column channel varchar: who wrote it
-- column source_id varchar: the file it stands in
-- column line_no bigint: its first line
-- column line_count integer: how many lines it spans
-- column duplicate_of varchar: the event that reports the same record from another source
with known as materialized (
    select
        e.* exclude (local_ts, utc_offset_s, has_year, node, uptime_s, job_id, ts_uncertainty_s),
        t.ts,
        t.ts_uncertainty_s,
        -- whoever writes about himself is the place; a launcher or controller that reports is only a messenger
        coalesce(
            e.node,
            case
                when
                    e.channel in ('kernel', 'daemon', 'bmc')
                    or (e.channel = 'slurm' and h.is_compute)
                    or (s.kind = 'fault' and s.scope in ('gpu', 'rank', 'node'))
                    then t.host
            end
        ) as node,
        t.uptime_s,
        coalesce(n.job_id, e.job_id, j.job_id) as job_id,
        s.mark,
        s.scope,
        case when s.component = 'catalog' then coalesce(x.component, w.component, 'unattributed') else s.component end
            as component,
        case when s.component = 'catalog' then coalesce(x.kind, w.kind, 'context') else s.kind end as kind,
        case when s.component = 'catalog' then coalesce(x.strength, w.strength, 'none') else s.strength end as strength,
        case when s.component = 'catalog' then coalesce(x.severity, w.severity, 'warning') else s.severity end
            as severity,
        case when s.component = 'catalog' then coalesce(x.tier, w.tier, 0) else s.tier end as tier,
        case
            when x.code is not null then 'Xid ' || x.code || ': ' || x.meaning
            when w.code is not null then 'SXid ' || w.code || ': ' || w.meaning
            else s.meaning
        end as meaning,
        list_contains(s.channels, e.channel) as is_evidence,
        -- what two jobs or ranks print in one second is two facts; what one host writes twice is one
        case when e.channel = 'job' then concat_ws('|', 'job', k.cluster, coalesce(n.job_id, e.job_id, j.job_id), e.rank) else k.cluster end
            as speaker
    from intake.events as e
    inner join event_stamps as t using (event_id)
    inner join signatures as s on e.signature = s.name
    inner join source_clusters as k using (source_id)
    left join job_numbers as n on e.job_id = n.number and k.cluster = n.cluster
    left join source_jobs as j using (source_id)
    left join known_nodes as h on t.host = h.node
    left join xid_catalog as x on s.component = 'catalog' and s.scope = 'gpu' and x.code = try_cast(e.code as integer)
    left join sxid_catalog as w
        on s.component = 'catalog' and s.scope <> 'gpu' and w.code = try_cast(e.code as integer)
),

-- only a record with another of its text beside it has a copy; a number for the text sorts quickly, and may stand for two texts
beside as (
    select event_id
    from (
        select event_id, least(ts - lag(ts) over same_text, lead(ts) over same_text - ts) <= to_seconds(3) as is_beside
        from (select event_id, ts, hash(node, signature, message, speaker) as text from known where ts is not null)
        window same_text as (partition by text order by ts)
    )
    where is_beside
),

-- the k-th occurrence of one text within a few seconds is the same record in every source that carries it
gaps as (
    select
        event_id, ts, uptime_s, source_id, line_no, node, signature, message, speaker,
        coalesce(ts - lag(ts) over same_text > to_seconds(3), true) as opens
    from known
    semi join beside using (event_id)
    window same_text as (partition by node, signature, message, speaker order by ts, source_id, line_no)
),

clusters as (
    select
        *,
        count(*) filter (where opens)
            over (partition by node, signature, message, speaker order by ts, source_id, line_no rows unbounded preceding)
            as cluster
    from gaps
),

numbered as (
    select
        *,
        row_number()
            over (partition by node, signature, message, speaker, cluster, source_id order by line_no, event_id)
            as occurrence
    from clusters
),

occurring as (
    select
        event_id, uptime_s, node,
        first_value(event_id) over (
            partition by node, signature, message, speaker, cluster, occurrence
            order by uptime_s nulls last, ts, source_id, line_no
        ) as first_id
    from numbered
),

-- the kernel's own clock and text identify a record exactly
clocked as (
    select *, hash(node, signature, message, speaker, uptime_s) as record
    from known
    where uptime_s is not null and node is not null
),

firsts as (
    select event_id, first_id from occurring where uptime_s is null or node is null
    union all
    select
        event_id,
        first_value(event_id) over (
            partition by node, signature, message, speaker, uptime_s order by ts nulls last, source_id, line_no
        )
    from clocked
    where record in (select record from clocked group by record having count(*) > 1)
)

select
    k.event_id,
    k.ts,
    k.ts - to_milliseconds(coalesce(try_cast(fields ->> 'ran_for_ms' as bigint), 0)) as onset_ts,
    ts_uncertainty_s,
    k.uptime_s,
    k.node,
    reporter,
    gpu_index,
    pci_bdf,
    gpu_uuid,
    gpu_serial,
    job_id,
    rank,
    k.signature,
    case when is_evidence then kind else 'context' end as kind,
    component,
    case when is_evidence then strength else 'none' end as strength,
    severity,
    case when is_evidence then tier else 0 end as tier,
    scope,
    case when is_evidence then mark end as mark,
    code,
    repeat_count,
    k.message,
    meaning,
    fields,
    channel,
    k.source_id,
    k.line_no,
    line_count,
    case when f.first_id <> k.event_id then f.first_id end as duplicate_of
from known as k
left join firsts as f using (event_id)
order by k.ts nulls last, k.source_id, k.line_no, k.event_id
