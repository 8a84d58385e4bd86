"""The catalogues of numbered errors are complete, consistent and in our own words."""

import csv
from pathlib import Path

import pytest

from incidentlab.signatures import load_catalog, load_components

REFERENCE = Path(__file__).parents[1].parent / "shared" / "reference"

XID_CODES = 176
SXID_CODES = 400


def test_catalogues_are_complete():
    """Every Xid from 1 to 176 and every SXid of the header has one row."""
    assert [row["code"] for row in load_catalog("xid")] == [str(code) for code in range(1, XID_CODES + 1)]
    codes = [row["code"] for row in load_catalog("sxid")]
    assert len(codes) == SXID_CODES
    assert codes == sorted(set(codes))


@pytest.mark.parametrize("name", ["xid", "sxid"])
def test_catalogue_uses_the_words_of_the_house(name):
    """Components exist, roles and kinds fit together, and only faults have a tier."""
    components = {row["component"] for row in load_components()}
    kinds = {"root": "fault", "app": "fault", "cascade": "symptom", "context": "context", "noise": "context"}
    for row in load_catalog(name):
        assert row["component"] in components, row
        assert row["alt_component"] in components | {None}, row
        assert row["kind"] == kinds[row["role"]], row
        assert (row["strength"] in {"direct", "suggestive"}) == (row["kind"] == "fault"), row
        assert (row["tier"] != "0") == (row["kind"] == "fault"), row
        assert row["severity"] in {"info", "warning", "error", "fatal"}, row
        assert all(row[column] for column in ("name", "meaning", "impact", "action")), row


@pytest.mark.parametrize(
    ("code", "component", "kind", "strength"),
    [
        ("13", "software.user_code", "fault", "suggestive"),
        ("43", "software.user_code", "fault", "suggestive"),
        ("45", "unattributed", "symptom", "none"),
        ("48", "gpu.hbm", "fault", "direct"),
        ("63", "gpu.hbm", "context", "none"),
        ("74", "gpu.nvlink", "fault", "direct"),
        ("79", "gpu.device", "fault", "direct"),
        ("119", "gpu.gsp", "fault", "direct"),
        ("154", "unattributed", "context", "none"),
        ("163", "host.psu", "context", "none"),
        ("172", "gpu.sram", "fault", "direct"),
        ("175", "gpu.hbm", "fault", "direct"),
    ],
)
def test_catalogue_knows_the_codes_that_decide(code, component, kind, strength):
    """The codes that most reports hang on mean what the vendor's catalogue says."""
    row = next(row for row in load_catalog("xid") if row["code"] == code)
    assert (row["component"], row["kind"], row["strength"]) == (component, kind, strength)


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the reference that the codes were checked against is not here")
def test_catalogue_sentences_are_our_own():
    """No meaning is taken over from the reference that the codes were checked against."""
    for name in ("xid", "sxid"):
        with (REFERENCE / f"{name}_catalog.csv").open(encoding="utf-8", newline="") as file:
            theirs = {row["code"]: row["meaning"] for row in csv.DictReader(file)}
        ours = {row["code"]: row["meaning"] for row in load_catalog(name)}
        assert list(ours) == list(theirs)
        assert [code for code, meaning in ours.items() if meaning == theirs[code]] == []
