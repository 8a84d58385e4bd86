"""The knowledge tables of the warehouse: what faults, components, zones, windows and published fleets are.

Their rows come from data files (signatures, catalogues, components, baselines) and from the configuration.
"""

from incidentlab.model import Table

SIGNATURES = Table.of(
    "signatures",
    "one pattern for something worth noticing",
    """
    name        VARCHAR    unique name
    channels    VARCHAR[]  where such a line is evidence; elsewhere it is quoted text
    pattern     VARCHAR    regular expression
    kind        VARCHAR    fault, symptom, lifecycle, recovery, context or progress
    component   VARCHAR    component it speaks about; "catalog" where the code decides
    strength    VARCHAR    direct, suggestive, symptom or none
    severity    VARCHAR    info, warning, error or fatal
    tier        INTEGER    precedence among rivals, 1 first; 0 is never a candidate
    scope       VARCHAR    gpu, node, rank, job or shared
    mark        VARCHAR    what it means for jobs and nodes
    lookback_s  INTEGER    how long before an end it may be the cause
    refines     VARCHAR    the signature it beats where both match
    meaning     VARCHAR    one sentence for the reader
    action      VARCHAR    what to do
    origin      VARCHAR    file it is defined in
    """,
)

COMPONENTS = Table.of(
    "components",
    "one part of the system that a loss can be charged to",
    """
    component   VARCHAR  two-level id
    label       VARCHAR  name for people; where Llama 3's Table 5 has the row, its name
    category    VARCHAR  Llama 3's category
    cause_group VARCHAR  one of eight groups, for colour and lanes
    llama3_row  VARCHAR  row of Llama 3's Table 5 it is compared with
    domain      VARCHAR  hardware, software, dependency, maintenance or unknown
    """,
)


def _catalog(name: str, doc: str) -> Table:
    return Table.of(
        name,
        doc,
        """
    code          INTEGER  number in the log line
    symbol        VARCHAR  name in the driver's source
    name          VARCHAR  short name
    meaning       VARCHAR  one sentence
    component     VARCHAR  component it points to
    alt_component VARCHAR  other component it may point to
    alt_condition VARCHAR  when the other one is meant
    severity      VARCHAR  info, warning, error, fatal or depends
    impact        VARCHAR  what it stops: none, process, gpu, node, fabric ...
    role          VARCHAR  root, app, cascade, context or noise
    kind          VARCHAR  kind of the event
    strength      VARCHAR  strength of the event
    tier          INTEGER  precedence among rivals; 0 is never a candidate
    action        VARCHAR  what to do
    """,
    )


XID_CATALOG = _catalog("xid_catalog", "one Xid code of the NVIDIA driver")
SXID_CATALOG = _catalog("sxid_catalog", "one SXid code of the NVSwitch driver")

BASELINES = Table.of(
    "baselines",
    "one published fleet to compare with",
    """
    baseline       VARCHAR  short name
    label          VARCHAR  name for people
    gpu_count      BIGINT   GPUs
    node_count     BIGINT   nodes
    days           DOUBLE   length of the period
    interruptions  BIGINT   unplanned interruptions (or what the definition counts)
    planned        BIGINT   planned interruptions
    exposure_gpu_h DOUBLE   GPU-hours that the rate divides by
    definition     VARCHAR  what is counted
    source         VARCHAR  where it is published
    certainty      VARCHAR  how well the figure was checked
    """,
)

BASELINE_CAUSES = Table.of(
    "baseline_causes",
    "one row of a published breakdown",
    """
    baseline        VARCHAR  fleet
    row_no          INTEGER  order in the source
    label           VARCHAR  name in the source
    category        VARCHAR  category in the source
    component       VARCHAR  our component, if one fits
    count_printed   BIGINT   count as printed
    percent_printed DOUBLE   percentage as printed
    count_lo        BIGINT   lowest count that the source allows
    count_hi        BIGINT   highest count that the source allows
    notes           VARCHAR  what to know
    """,
)

POISSON_LIMITS = Table.of(
    "poisson_limits",
    "exact 95 % limits of a Poisson mean (Garwood 1936)",
    """
    events BIGINT  events seen
    lo     DOUBLE  lower limit
    hi     DOUBLE  upper limit
    """,
)

TIME_ZONES = Table.of(
    "time_zones",
    "one rule that says in which zone a path's stamps are written",
    """
    priority INTEGER  lower wins
    pattern  VARCHAR  glob over the path
    timezone VARCHAR  IANA name or +HH:MM
    basis    VARCHAR  option or configuration
    """,
)

MAINTENANCE_WINDOWS = Table.of(
    "maintenance_windows",
    "one announced window",
    """
    scope    VARCHAR      host, or "cluster"
    start_ts TIMESTAMPTZ  begin
    end_ts   TIMESTAMPTZ  end
    reason   VARCHAR      announced reason
    """,
)

CHANGES = Table.of(
    "changes",
    "one announced change",
    """
    ts           TIMESTAMPTZ  when it took effect
    scope        VARCHAR      host, or "cluster"
    item         VARCHAR      what changed
    from_version VARCHAR      before
    to_version   VARCHAR      after
    """,
)

META = Table.of(
    "meta",
    "one fact about this file: versions, command, assumptions",
    """
    key   VARCHAR  name
    value VARCHAR  value as text
    """,
)

KNOWLEDGE = (
    SIGNATURES,
    COMPONENTS,
    XID_CATALOG,
    SXID_CATALOG,
    BASELINES,
    BASELINE_CAUSES,
    POISSON_LIMITS,
    TIME_ZONES,
    MAINTENANCE_WINDOWS,
    CHANGES,
    META,
)
"""All of them, in the order they are filled."""

SETTINGS = (TIME_ZONES, MAINTENANCE_WINDOWS, CHANGES, META)
"""Those that hold what a site says about itself."""
