"""The signatures keep their contract: samples, vocabulary, engines, and silence over healthy logs."""

import re
from functools import cache
from pathlib import Path

import pytest
import re2

from incidentlab.errors import DefinitionError
from incidentlab.signatures import (
    CATALOG,
    EVENT_MARKS,
    PROGRESS_MARKS,
    Signature,
    load_signatures,
    pattern_faults,
    winner,
)

SHARED = Path(__file__).parents[1].parent / "shared"

VALID = """
[[signature]]
name = "{name}"
channels = ["job"]
pattern = '{pattern}'
kind = "{kind}"
severity = "error"
scope = "rank"
meaning = "A test."
catches = ["spanner fell into the works"]
ignores = ["spanner is in its box"]
"""


@cache
def signatures() -> tuple[Signature, ...]:
    """The shipped signatures, loaded once."""
    return load_signatures()


@cache
def compiled() -> tuple[tuple[Signature, re.Pattern[str]], ...]:
    """Every signature with its pattern as the intake compiles it."""
    return tuple((signature, re.compile(signature.pattern, re.ASCII)) for signature in signatures())


def matching(line: str) -> list[Signature]:
    """The signatures that match anywhere in `line`."""
    return [signature for signature, pattern in compiled() if pattern.search(line)]


def unrefined(line: str) -> list[str]:
    """Names of those that match `line` and that no other matching one refines."""
    found = matching(line)
    refined = {name for signature in found for name in signature.refines}
    return [signature.name for signature in found if signature.name not in refined]


def definition(tmp_path: Path, **values: str) -> Path:
    """A file with one signature, right unless `values` spoil it."""
    path = tmp_path / "own.toml"
    fields = {"name": "spanner", "pattern": "spanner fell into", "kind": "fault"} | values
    path.write_text(VALID.format(**fields), encoding="utf-8")
    return path


def shared(*parts: str) -> Path:
    """A path in the collection of real logs beside the checkout; skips where that is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the collection of real logs is not here ({'/'.join(parts)})")
    return path


def test_every_caught_line_is_won_by_its_signature():
    """Of the signatures that match a `catches` line, exactly one is left that no other refines: its own."""
    wrong = {
        (signature.name, line): left
        for signature in signatures()
        for line in signature.catches
        if (left := unrefined(line)) != [signature.name]
    }
    assert wrong == {}


def test_no_ignored_line_is_caught():
    """A near miss stays a miss."""
    wrong = [
        (signature.name, line)
        for signature, pattern in compiled()
        for line in signature.ignores
        if pattern.search(line)
    ]
    assert wrong == []


def test_engines_agree_on_every_sample():
    """hyperscan, RE2 and Python's `re` find the same signatures on every sample line."""
    hyperscan = pytest.importorskip("hyperscan")
    patterns = [signature.pattern.encode() for signature in signatures()]
    database = hyperscan.Database()
    database.compile(
        expressions=patterns, ids=list(range(len(patterns))), elements=len(patterns), flags=[0] * len(patterns)
    )
    by_re2 = [re2.compile(signature.pattern) for signature in signatures()]
    differing = []
    for line in (line for signature in signatures() for line in (*signature.catches, *signature.ignores)):
        hits: set[int] = set()
        database.scan(line.encode(), match_event_handler=lambda number, *_rest, hits=hits: hits.add(number))
        names = [signature.name for signature in matching(line)]
        if names != [signatures()[number].name for number in sorted(hits)]:
            differing.append(("hyperscan", line))
        if names != [s.name for s, pattern in zip(signatures(), by_re2, strict=True) if pattern.search(line)]:
            differing.append(("re2", line))
    assert differing == []


def test_signatures_are_sorted_and_many():
    """The families together hold a few hundred signatures, in the order of their names."""
    names = [signature.name for signature in signatures()]
    assert names == sorted(set(names))
    assert len(names) > 300


def test_only_faults_and_fallbacks_are_candidates():
    """A tier belongs to faults, and to symptoms of the `unknown.*` kind that stand in where nothing else is found."""
    wrong = [
        signature.name
        for signature in signatures()
        if signature.tier
        and signature.kind != "fault"
        and not signature.component.startswith("unknown.")
        and signature.origin != "records.toml"
    ]
    assert wrong == []


def test_symptoms_and_recoveries_never_accuse():
    """What is no fault has no strength of evidence; what is a fault has one."""
    accusing = {"direct", "suggestive"}
    wrong = [s.name for s in signatures() if (s.strength in accusing) != (s.kind == "fault")]
    assert wrong == []


def test_progress_lines_use_progress_marks():
    """The marks of training logs and those of events are kept apart."""
    wrong = [
        s.name
        for s in signatures()
        if (s.mark not in PROGRESS_MARKS if s.kind == "progress" else s.mark and s.mark not in EVENT_MARKS)
    ]
    assert wrong == []


def test_catalogued_components_belong_to_the_two_families():
    """Only the two general signatures leave their meaning to a catalogue."""
    assert [s.name for s in signatures() if s.component == CATALOG] == ["nvidia-sxid", "nvidia-xid"]


def test_refining_signature_beats_the_refined_one():
    """`refines` decides before strength and tier do."""
    by_name = {signature.name: signature for signature in signatures()}
    weak, strong = by_name["nvidia-xid-memory-channel"], by_name["nvidia-xid"]
    assert winner([strong, weak]) is weak
    assert winner([weak, strong]) is weak


def test_unforeseen_ties_go_to_the_stronger_evidence():
    """Where no signature refines the other, direct beats suggestive beats symptom, whatever the order."""
    by_name = {signature.name: signature for signature in signatures()}
    direct, suggestive, symptom = by_name["edac-uncorrected"], by_name["soft-lockup"], by_name["hung-task"]
    assert winner([symptom, suggestive, direct]) is direct
    assert winner([suggestive, symptom]) is suggestive


@pytest.mark.parametrize(
    "line",
    [
        "amdgpu 0000:4e:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
        "[1.0] mlx5_core 0000:5e:00.0: ACCESS_REG(0x805) op_mod(0x1) failed, status bad resource(0x5), err(-22)",
        "It is possible that dataloader's workers are out of shared memory.",
        "This may be caused by an uncorrectable ECC error or a failing cable; please check the hardware.",
        "CUDA kernel errors might be asynchronously reported at some other API call",
        '    raise RuntimeError("CUDA error: uncorrectable ECC error encountered")',
        "grep -c 'error' train.log",
        "retrying after timeout, reset the counter",
        "# torch.distributed.elastic: max_restarts=3",
        "NCCL INFO transport/net.cc:1298 -> 6",
        "WARNING: caught ValueError: bad sample, skipping",
        "INFO unit test passed: test_handles 'RuntimeError: CUDA error: uncorrectable ECC error encountered'",
        'assert "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution" in text',
        "wandb: Run history:",
        "slurmstepd: error: pyxis:     [INFO] Querying registry for permission grant",
        "Mar  5 14:03:22 gpu0412 chronyd[1201]: Selected source 192.0.2.1",
    ],
)
def test_advice_and_chatter_are_not_evidence(line):
    """All-clear lines, advice inside error texts, source lines and ordinary chatter catch nothing."""
    assert unrefined(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
        "amdgpu 0000:4e:00.0: amdgpu: ring comp_1.2.0 timeout, but soft recovered",
        "[1.0] mlx5_core 0000:5e:00.0 ens5f0np0: Link up",
        "[1.0] nfs: server nas-02 OK",
        "Lustre: work-OST0003-osc-ffff8a0b1c2d: Connection restored to 192.0.2.40@o2ib (at 192.0.2.40@o2ib)",
        "  1c | 03/05/2026 | 13:09:58 | Power Supply PSU2 Status | Power Supply AC lost | Deasserted",
        "[2026-03-05T15:05:10.007] Node gpu0412 now responding",
    ],
)
def test_all_is_well_again_is_a_recovery(line):
    """Lines that end a trouble are recoveries."""
    assert winner(matching(line)).kind == "recovery"


IMAGE = "slurmstepd: error: pyxis:     [ERROR] URL https://registry.example/v2/ml/train/manifests/26.01"
OOM = "[7711.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,oom_memcg={0},task_memcg={0}"


@pytest.mark.parametrize(
    ("line", "kind", "component"),
    [
        (f"{IMAGE} returned error code: 503 Service Unavailable", "fault", "dependency.service"),
        (f"{IMAGE} returned error code: 429 Too Many Requests", "fault", "dependency.service"),
        (f"{IMAGE} returned error code: 404 Not Found", "fault", "software.user_code"),
        (f"{IMAGE} returned error code: 401 Unauthorized", "fault", "software.user_code"),
        ("slurmstepd: error: pyxis: couldn't start container", "fault", "software.system"),
        (
            "slurmstepd: error: pyxis:     zstd: error 70 : Write error : cannot write block : No space left on device",
            "fault",
            "software.system",
        ),
        (
            OOM.format("/system.slice/node_exporter.service") + ",task=node_exporter,pid=31",
            "context",
            "software.system",
        ),
        (OOM.format("/system.slice/slurmd.service") + ",task=slurmd,pid=31", "fault", "software.system"),
        (
            OOM.format("/system.slice/slurmstepd.scope/job_88123/step_0/user/task_3") + ",task=python3,pid=31",
            "fault",
            "software.user_code",
        ),
        (OOM.format("/slurm/uid_1007/job_88123/step_0/task_3") + ",task=python3,pid=31", "fault", "software.user_code"),
        ("slurmd: error: Munge decode failed: Rewound credential", "fault", "software.system"),
        ("slurmd: error: Munge decode failed: Invalid credential", "fault", "dependency.service"),
        ("[rank9]: RuntimeError: Broken pipe", "symptom", ""),
        ("[rank9]: RuntimeError: Broken pipe in my parser", "fault", "software.user_code"),
        (
            "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='api.wandb.ai', port=443): Read timed out.",
            "symptom",
            "dependency.service",
        ),
        (
            "slurm_script: line 12: 71821 Segmentation fault      (core dumped) python train.py",
            "fault",
            "software.user_code",
        ),
        ("slurm_script: line 12: 71821 Aborted                 (core dumped) python train.py", "symptom", ""),
        (
            "RuntimeError: Error 803: system has unsupported display driver / cuda driver combination",
            "fault",
            "software.system",
        ),
        ("[2026-03-05T10:00:00.000] error: [job 38155] prolog failed status=1:0", "fault", "software.system"),
        ("[2026-03-05T10:00:00.000] error: [job 38155] epilog failed status=1:0", "symptom", ""),
    ],
)
def test_launch_node_and_peer_troubles_go_to_whom_they_belong(line, kind, component):
    """What kept a job from starting, or took it along, is told apart from what its own program did."""
    chosen = winner(matching(line))
    assert (chosen.kind, chosen.component) == (kind, component)


def test_what_names_the_place_of_a_memory_error_goes_before_who_met_it():
    """Device memory named by Xid 48 beats the unit that consumed bad data, and both beat the program's word."""
    by_name = {signature.name: signature for signature in signatures()}
    order = ("nvidia-xid-48-dram", "nvidia-xid-memory-consumer", "cuda-ecc")
    tiers = [by_name[name].tier for name in order]
    assert tiers == sorted(set(tiers))
    assert by_name["nvidia-xid-memory-sram"].tier == tiers[0]


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        (
            "NVRM: Xid (PCI:0000:4e:00 GPU-I:05 GPU-CI:00): 31, pid=811, name=train, Ch 0000000a",
            {"pci": "0000:4e:00", "code": "31", "pid": "811", "process": "train"},
        ),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 28 LTSSM Fault Up (First)",
            {"pci": "0000:86:00", "code": "20034", "link": "28", "switch": "3"},
        ),
        (
            "[2026-03-05T14:08:22.128] error: Nodes gpu[0412,0417-0418],cpu2 not responding, setting DOWN",
            {"node": "gpu[0412,0417-0418],cpu2"},
        ),
        (
            "[2026-03-05T14:08:22.130] requeue job JobId=88200_7(88207) due to failure of node gpu0412",
            {"job": "88200_7", "node": "gpu0412"},
        ),
        (
            "slurmstepd: error: *** STEP 88123.0 ON gpu0412 CANCELLED AT 2026-03-05T14:03:22 DUE TO TIME LIMIT ***",
            {"job": "88123", "step": "0", "reported_by": "gpu0412", "stamp": "2026-03-05T14:03:22"},
        ),
        (
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8812, OpType=SEND) ran for 42 milliseconds",
            {"seq": "8812", "op": "SEND", "ran_for_ms": "42"},
        ),
        (
            "NET/IB: Got completion from peer 192.0.2.1 with status=IBV_WC_RETRY_EXC_ERR(12) vendor_err=1 hca mlx5_5",
            {"peer": "192.0.2.1", "code": "12", "vendor_err": "1", "link": "mlx5_5"},
        ),
        (
            " iteration  2001/ 10000 | elapsed time per iteration (ms): 4813.2 | lm loss: 2.104E+00 | loss scale: 1 |",
            {"step": "2001", "step_time_ms": "4813.2", "loss": "2.104E+00"},
        ),
    ],
)
def test_groups_hold_what_the_line_says(line, groups):
    """The named groups of the winning signature carry the facts of the line."""
    chosen = winner(matching(line))
    found = re.search(chosen.pattern, line)
    assert found
    assert {name: value for name, value in found.groupdict().items() if value and name in groups} == groups


def test_blocks_find_the_following_lines():
    """The launcher's report gives host, rank and time from the lines below its heading."""
    block = next(signature for signature in signatures() if signature.name == "elastic-root-cause")
    assert block.block
    text = """Root Cause (first observed failure):
[0]:
  time      : 2026-03-05_14:03:25
  host      : gpu0412.cluster.example
  rank      : 3293 (local_rank: 5)
  exitcode  : -6 (pid: 4571)
  error_file: <N/A>"""
    assert len(text.splitlines()) == block.block_lines
    found = re.search(block.block, text)
    assert found
    assert found.groupdict() == {
        "stamp": "2026-03-05_14:03:25",
        "node": "gpu0412.cluster.example",
        "rank": "3293",
        "local_rank": "5",
        "exit_code": "-6",
        "pid": "4571",
    }


def test_own_signature_joins_the_shipped_ones(tmp_path):
    """A file given by the user is loaded with the rest and keeps its file name as origin."""
    added = [s for s in load_signatures([definition(tmp_path)]) if s.name == "spanner"]
    assert [signature.origin for signature in added] == ["own.toml"]


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"pattern": "("}, "is no regular expression"),
        ({"pattern": "(?=spanner)"}, "is no regular expression"),
        ({"pattern": ".*"}, "matches the empty string"),
        ({"pattern": "^spanner fell"}, "has ^, but whole pages are searched"),
        ({"pattern": "into the works$"}, "has $, but whole pages are searched"),
        ({"pattern": "hammer"}, "does not catch: spanner fell"),
        ({"pattern": "spanner"}, "does not ignore: spanner is in its box"),
        ({"kind": "bug"}, "'bug' is none of"),
        ({"kind": "progress"}, "None is none of checkpoint_done"),
        ({"name": "Big Spanner"}, "not kebab-case"),
        ({"name": "nvidia-xid"}, "nvidia-xid: defined 2 times"),
        ({"kind": 'fault"\nrefines = ["hammer"]\ncolour = "red'}, "unknown key colour"),
        ({"kind": 'fault"\nrefines = ["hammer'}, "own.toml"),
        ({"kind": 'fault"\nrefines = ["hammer"]\naction = "'}, "refines hammer, which is no other signature"),
        ({"kind": 'fault"\ntier = "1'}, "Expected `int`"),
    ],
)
def test_faulty_definition_is_explained(tmp_path, values, complaint):
    """A wrong file ends in one DefinitionError that says where and what."""
    with pytest.raises(DefinitionError, match=r"own\.toml|nvidia-xid") as raised:
        load_signatures([definition(tmp_path, **values)])
    assert complaint in str(raised.value)


def test_all_faults_are_collected(tmp_path):
    """Two wrong files are both named in the one error."""
    missing = tmp_path / "missing.toml"
    with pytest.raises(DefinitionError) as raised:
        load_signatures([definition(tmp_path, kind="bug"), missing])
    assert "'bug'" in str(raised.value)
    assert "missing.toml" in str(raised.value)


@pytest.mark.parametrize(
    "parts",
    [
        ("corpus", "loghub", "Thunderbird"),
        ("corpus", "superbenchmark"),
        ("corpus", "bigscience"),
        ("corpus", "lnav"),
        ("corpus", "gpud", "kmsg.1.log"),
        ("corpus", "gke-nccl-faults", "survivor_set_rerun_16gpu.txt"),
        ("corpus", "real-torchrun", "19-clean-run"),
    ],
    ids=lambda parts: parts[-1],
)
def test_healthy_logs_stay_silent(parts):
    """Over real logs of machines and jobs without a fault, nothing accuses a component."""
    path = shared(*parts)
    files = [file for file in sorted(path.rglob("*")) if file.is_file()] if path.is_dir() else [path]
    accused = [s for s in compiled() if s[0].kind == "fault"]
    wrong = []
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        wrong.extend((signature.name, found[0]) for signature, pattern in accused if (found := pattern.search(text)))
    assert wrong == []


@pytest.mark.parametrize(
    ("case", "line_no", "name"),
    [
        ("02-fallen-off-bus-no-xid", 1, "nvidia-gpu-not-responding"),
        ("04-gsp-timeout-talos", 2, "nvidia-xid-119"),
        ("06-row-remap-wrapped-syslog", 2, "nvidia-xid"),
        ("08-ib-err129-agent-oom", 10, "oom-service"),
        ("10-nccl-alloc-oom", 9, "cuda-oom"),
        ("12-flight-recorder-mismatch", 9, "flight-recorder-mismatch"),
        ("14-slurm-oom-kill", 16, "slurm-oom-event"),
        ("16-submitit-preemption", 4, "slurm-banner-preempted"),
        ("18-slurm-node-fail", 8, "slurm-node-down"),
        ("20-prolog-failure", 2, "slurm-prolog-failed-client"),
        ("22-amdgpu-page-fault", 2, "amdgpu-page-fault"),
        ("24-xid13-burst", 2, "nvidia-xid-13"),
        ("26-efa-cloudwatch", 3, "nccl-ofi-failed"),
        ("28-mlx5-health-job-marker", 2, "mlx5-health-compromised"),
        ("30-fabric-manager-802", 7, "fabricmanager-failed"),
        ("32-ray-dedup", 1, "ray-worker-died"),
        ("34-ras-mismatch", 22, "ras-count-mismatch"),
    ],
)
def test_case_is_recognised_by_the_line_that_decides(case, line_no, name):
    """In each collected case the decisive line is caught by the signature that says what happened."""
    lines = shared("cases", f"{case}.log").read_bytes().decode().split("\n")
    assert winner(matching(lines[line_no - 1])).name == name


def test_every_shipped_pattern_does_what_its_samples_say():
    """Patterns are valid for all engines, catch what they should, and let the rest pass."""
    assert {s.name: list(pattern_faults(s)) for s in load_signatures() if list(pattern_faults(s))} == {}
