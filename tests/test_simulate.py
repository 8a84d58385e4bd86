"""The simulator writes what its scenario asks for, reproducibly, and its answer key is true."""

import csv
import gzip
import lzma
import random
import re
import sys
import tarfile
from collections import Counter
from datetime import datetime
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from incidentlab.assets import folder
from incidentlab.errors import UsageError
from incidentlab.simulate import find_scenario, load_scenario, simulate, stamps
from incidentlab.simulate.faults import load_faults
from incidentlab.simulate.plan import draw_times
from incidentlab.simulate.timeline import Director

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SMALL = ("first_hour", "healthy", "small_mixed", "two_jobs", "no_duplicates", "journals")
OPENERS = {".gz": gzip.decompress, ".xz": lzma.decompress, ".zst": zstd.decompress}


def contents(root: Path) -> dict[str, bytes]:
    """Every file below `root`, decompressed, archives taken apart."""
    found = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root).as_posix()
        data = OPENERS.get(path.suffix, bytes)(path.read_bytes())
        if ".tar" not in name:
            found[name] = data
            continue
        with tarfile.open(fileobj=BytesIO(data)) as archive:
            for member in archive.getmembers():
                found[f"{name}!{member.name}"] = archive.extractfile(member).read()
    return found


def rows(root: Path) -> list[dict[str, str]]:
    """The rows of truth.csv."""
    with (root / "truth.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def needle(template: str) -> str:
    """The longest piece of a template that no word changes."""
    return max(re.split(r"\{\w+\}", template.replace("{{", "{").replace("}}", "}")), key=len)


@pytest.fixture(scope="module", params=SMALL)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A simulated story: the name of its scenario, and its folder."""
    out = tmp_path_factory.mktemp("stories") / request.param
    simulate(find_scenario(request.param), out)
    return request.param, out


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """A copy of a scenario that a test may spoil."""
    path = tmp_path / "scenario.toml"
    path.write_text(find_scenario("first_hour").read_text(encoding="utf-8"), encoding="utf-8")
    return path


def spoil(path: Path, old: str, new: str) -> Path:
    """Change one text of a scenario file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    """Two runs of one scenario write the same files with the same bytes, compressed ones included."""
    first, second = tmp_path / "first", tmp_path / "second"
    for out in (first, second):
        simulate(find_scenario("journals"), out)

    names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_other_seed_other_logs_same_counts(tmp_path: Path) -> None:
    """Another seed moves faults to other times and nodes; how many there are of each cause stays."""
    truths = {seed: simulate(find_scenario("small_mixed"), tmp_path / str(seed), seed) for seed in (1, 2)}

    assert truths[1].components == truths[2].components
    assert [row.ts for row in truths[1].rows] != [row.ts for row in truths[2].rows]
    heads = {(tmp_path / str(seed) / "truth.csv").read_text(encoding="utf-8").splitlines()[0] for seed in truths}
    assert len(heads) == 1


def test_truth_has_what_the_scenario_asks_for(story: tuple[str, Path]) -> None:
    """Each cause and each harmless fault occurs as often as the scenario file says."""
    name, out = story
    scenario = load_scenario(find_scenario(name))
    asked = Counter(scenario.harmless)
    causes = Counter()
    for job in scenario.jobs:
        causes.update(job.causes)
    faults = load_faults()
    for place in scenario.placed:
        causes[faults[place.fault].cause] += len(place.jobs)

    found = rows(out)
    assert +asked == Counter(row["note"] for row in found if row["what"] == "harmless")
    assert +causes == Counter(faults[row["note"]].cause for row in found if row["what"] == "interruption")


def test_accounting_agrees_with_truth(story: tuple[str, Path]) -> None:
    """Every attempt that the truth says was interrupted has its row in sacct, unless duplicates are hidden."""
    name, out = story
    scenario = load_scenario(find_scenario(name))
    zone = ZoneInfo(scenario.zone)
    lines = (out / "logs/sacct.txt").read_text(encoding="utf-8").splitlines()
    table = list(csv.DictReader(lines, delimiter="|"))
    shown = {(row["JobID"], row["End"]) for row in table if row["State"] not in ("COMPLETED", "RUNNING")}
    ends = {
        (row["job_id"], datetime.fromisoformat(row["end_ts"]).astimezone(zone).strftime("%Y-%m-%dT%H:%M:%S"))
        for row in rows(out)
        if row["what"] == "interruption"
    }

    jobs = {pair for pair in shown if "." not in pair[0]}
    assert jobs == ends if scenario.logs.has_duplicates else jobs < ends


def test_direct_evidence_is_in_the_logs(story: tuple[str, Path]) -> None:
    """Of each fault with direct evidence, the words of one of its lines or its exception stand in the logs."""
    _, out = story
    faults = load_faults()
    logs = b"\n".join(contents(out / "logs").values()).decode()
    logs = logs.replace('\\"', '"')
    for row in rows(out):
        fault = faults[row["note"]]
        if row["evidence"] != "direct" or fault.bucket != "unplanned":
            continue
        texts = [trace.text for trace in fault.lines if not trace.text.startswith("{")] or [fault.error]
        assert any(needle(text) in logs for text in texts), row


def test_silent_end_leaves_no_word(tmp_path: Path) -> None:
    """An attempt that ends without evidence has no traceback, warning or time-out in its output."""
    simulate(find_scenario("small_mixed"), tmp_path / "out")
    silent = [row for row in rows(tmp_path / "out") if row["note"] == "exits-silently"]
    assert len(silent) == 1

    number = int(silent[0]["attempt_no"]) - 1
    name = f"jobs/moe-8x7b/moe-8x7b-{silent[0]['job_id']}.{number}.out.gz"
    output = contents(tmp_path / "out/logs")[name].decode()
    assert not re.search("Traceback|WARN|Watchdog|exitcode|OOM", output)


def test_shared_fault_is_one_fault_with_two_interruptions(tmp_path: Path) -> None:
    """A switch that two jobs use ends an attempt of each; its own lines are written once."""
    simulate(find_scenario("two_jobs"), tmp_path / "out")
    hit = [row for row in rows(tmp_path / "out") if row["note"] == "leaf-switch-down"]
    assert len(hit) == 2
    assert len({row["fault_ts"] for row in hit}) == 1
    assert len({row["job_id"] for row in hit}) == 2

    syslog = b"".join(data for name, data in contents(tmp_path / "out/logs").items() if "syslog" in name)
    assert syslog.count(b"is not responding, 32 ports lost") == 1


def test_drained_node_is_not_used_before_it_is_back() -> None:
    """No attempt starts on a node that is out of service, and no two attempts share a node at a time."""
    world = Director(load_scenario(find_scenario("two_jobs")), 3).direct()
    for attempt in world.attempts:
        out = {outage.node for outage in world.outages if outage.start <= attempt.start < outage.end}
        assert not out.intersection(attempt.nodes)
    for first in world.attempts:
        for second in world.attempts:
            if first is not second and first.start <= second.start < (first.end or world.scenario.end_s):
                assert not set(first.nodes).intersection(second.nodes)


def test_all_faults_can_be_told(tmp_path: Path) -> None:
    """Every fault of the library finds all the words that its lines need."""
    text = find_scenario("journals").read_text(encoding="utf-8")
    ends = [fault.name for fault in load_faults().values() if fault.death != "none"]
    calm = [fault.name for fault in load_faults().values() if fault.death == "none"]
    placed = ", ".join(
        f'{{ fault = "{name}", at_h = {2 * number + 2}.0, jobs = ["dense-30b"] }}' for number, name in enumerate(ends)
    )
    text = re.sub(r"placed = .*", f"placed = [{placed}]", text)
    text = re.sub(r"hours = .*", f"hours = {2 * len(ends) + 10}.0", text)
    text = re.sub(r"\[jobs\.causes\](.|\n)*?\n\n", "", text)
    text = re.sub(r"\[harmless\](.|\n)*", "[harmless]\n" + "\n".join(f"{name} = 1" for name in calm), text)
    path = tmp_path / "all.toml"
    path.write_text(text, encoding="utf-8")

    truth = simulate(path, tmp_path / "out")
    assert sorted(row.note for row in truth.rows) == sorted(ends + calm)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("hours = 1.0", "hours = -1.0", r"\$\.hours"),
        ("[fleet]", "[fleet]\nracks = 3", "racks"),
        ('stamp = "rfc3339"', 'stamp = "iso"', r"\$\.logs"),
        ("Europe/Berlin", "Europe/Atlantis", r"\$\.zone"),
        ("nodes = 5", "nodes = 3", r"\$\.fleet\.nodes"),
        ('["pretrain-7b"]', '["pretrain-8b"]', "pretrain-8b"),
        ("13:00:00Z", "13:00:00+02:00", r"\$\.start"),
        ("at_h = 0.37", "at_h = 9.0", "at_h"),
        ('fault = "gpu-lost"', 'fault = "gpu-on-fire"', "gpu-on-fire"),
        ('fault = "gpu-lost"', 'fault = "row-remap-recorded"', "row-remap-recorded"),
    ],
)
def test_wrong_scenario_is_refused_by_key(
    scenario_file: Path, tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    """A scenario that does not fit is a usage error that names the key or the value, and nothing is written."""
    with pytest.raises(UsageError, match=complaint):
        simulate(spoil(scenario_file, old, new), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unknown_scenario_lists_the_known() -> None:
    """A wrong name is answered with the names there are."""
    with pytest.raises(UsageError, match="first_hour"):
        find_scenario("last_hour")


def test_full_folder_is_left_alone(tmp_path: Path) -> None:
    """A folder that holds something is not written into."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="not empty"):
        simulate(find_scenario("first_hour"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_times_keep_their_distance() -> None:
    """Drawn times lie in the span, apart from each other and from the fixed ones; too many are refused."""
    fixed = [500.0]
    times = draw_times(random.Random(1), 20, (0.0, 1000.0), 20.0, fixed)
    together = sorted(times + fixed)
    assert len(times) == 20
    assert all(later - earlier >= 20.0 for earlier, later in pairwise(together))
    with pytest.raises(UsageError, match="do not fit"):
        draw_times(random.Random(1), 60, (0.0, 1000.0), 20.0, [])


def test_glog_stamp_is_not_padded() -> None:
    """5 March is E305 for the C++ log and E0305 for the Python log; 30 November is E1130 for both."""
    march = datetime(2026, 3, 5, 14, 3, 22, 123456, ZoneInfo("UTC"))
    november = march.replace(month=11, day=30)
    assert stamps.glog(march, "E").startswith("E305 14:03:22.123456")
    assert stamps.padded_glog(march, "E") == "E0305 14:03:22.123000"
    assert stamps.glog(november, "E").startswith("E1130 ")


def test_every_cause_of_the_large_campaign_has_two_shapes() -> None:
    """A component that the large campaign breaks can break in two ways at least, a mere time-out excepted."""
    causes = load_scenario(find_scenario("llama3_54d")).jobs[0].causes
    shapes = Counter(fault.cause for fault in load_faults().values())
    assert {cause for cause in causes if shapes[cause] < 2} == {"unknown.collective_timeout"}


@pytest.mark.parametrize("name", ["first_hour", "healthy", "llama3_54d"])
def test_sample_is_what_the_simulator_writes(name: str, tmp_path: Path) -> None:
    """A committed sample story is the output of its scenario, file by file."""
    simulate(find_scenario(name), tmp_path / name)
    written, committed = contents(tmp_path / name), contents(folder("sample_logs") / name)
    assert sorted(committed) == sorted(written)
    assert [path for path, data in written.items() if committed[path] != data] == []


def test_first_hour_can_be_read_by_eye() -> None:
    """The first story has fewer than 400 lines in all, none compressed."""
    files = [path for path in (folder("sample_logs") / "first_hour").rglob("*") if path.is_file()]
    assert all(path.suffix not in OPENERS for path in files)
    assert sum(len(path.read_bytes().splitlines()) for path in files) < 400


def test_large_campaign_has_the_published_counts() -> None:
    """466 interruptions, 47 planned; of 419 unplanned 126 faulty GPUs (30.1%), 72 HBM3 (17.2%), 22 without evidence."""
    found = [row for row in rows(folder("sample_logs") / "llama3_54d") if row["what"] == "interruption"]
    unplanned = Counter(row["component"] for row in found if row["bucket"] == "unplanned")
    assert len(found) == 466
    assert sum(row["bucket"] == "planned" for row in found) == 47
    assert sum(unplanned.values()) == 419
    assert unplanned["gpu.device"] + unplanned["gpu.nvlink"] == 126
    assert unplanned["gpu.hbm"] == 72
    assert unplanned["unattributed"] == 22
    assert sum(number for component, number in unplanned.items() if component.startswith("gpu.")) == 246


def test_large_campaign_lasts_54_days_and_is_small() -> None:
    """From first start to last end it is 54 days to the second; the sample takes at most 8 MB."""
    root = folder("sample_logs") / "llama3_54d"
    lines = (root / "logs/sacct.txt").read_text(encoding="utf-8").splitlines()
    table = list(csv.DictReader(lines, delimiter="|"))
    first = min(datetime.fromisoformat(row["Start"]) for row in table)
    last = max(datetime.fromisoformat(row["End"]) for row in table)
    assert (last - first).total_seconds() == 54 * 86400
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) <= 8_000_000
