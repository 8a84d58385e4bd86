"""The contract of every envelope, over its own samples, and how layers are peeled."""

import pytest
from msgspec.structs import fields

from incidentlab import envelopes
from incidentlab.envelopes import _records
from incidentlab.model import CHANNELS, Prefix, Stamp

SAMPLES = [(envelope, raw, said) for envelope in envelopes.load_envelopes() for raw, said in envelope.samples]
STAMP_FIELDS = {field.name for field in fields(Stamp)}


def _line(envelope, raw):
    """The sample as the scan sees it: records that span lines are rewritten to one line."""
    if not envelope.rewriter:
        return raw
    rewritten = envelope.rewriter()(raw.encode(), True).decode()
    assert rewritten.count("\n") == raw.count("\n")
    return next(line for line in rewritten.split("\n") if envelope.peel(line))


@pytest.mark.parametrize(("envelope", "raw", "said"), SAMPLES, ids=lambda value: getattr(value, "name", None))
def test_a_sample_says_what_it_must(envelope, raw, said):
    """Each sample, peeled as a line of a file with that head, gives the values beside it."""
    prefix = envelopes.peel(_line(envelope, raw), envelope)
    for key, value in said.items():
        owner = prefix.stamp if key in STAMP_FIELDS else prefix
        assert getattr(owner, key) == value, key


@pytest.mark.parametrize("envelope", envelopes.load_envelopes(), ids=lambda envelope: envelope.name)
def test_an_envelope_has_samples_and_known_words(envelope):
    """An envelope shows at least one line, names a known channel, and leaves other text alone."""
    assert envelope.samples
    assert envelope.channel in (None, *CHANNELS)
    assert envelope.peel("hello world, nothing stands in front of me") is None
    assert envelope.peel("") is None


@pytest.mark.parametrize(("envelope", "raw", "said"), SAMPLES, ids=lambda value: getattr(value, "name", None))
def test_a_file_of_samples_is_recognised(envelope, raw, said):  # noqa: ARG001 - one list for both tests
    """A file made of one sample is recognised as a format that reads it as the envelope itself does."""
    if not envelope.outer:
        pytest.skip("never heads a file")
    text = (raw + ("\n\n" if envelope.name == "journal-export" else "\n")) * 5
    head = envelopes.recognise(text)
    assert head is not None
    as_recognised = envelopes.peel(_line(head, raw), head)
    assert as_recognised.text == envelopes.peel(_line(envelope, raw), envelope).text


def test_names_are_unique():
    """No two envelopes share a name."""
    names = [envelope.name for envelope in envelopes.load_envelopes()]
    assert len(names) == len(set(names))


def test_text_without_any_prefix_is_not_recognised():
    """Prose is no log format."""
    assert envelopes.recognise("once upon a time\nthere was a node\n" * 20) is None


def test_a_prefix_glued_behind_a_progress_bar_is_found():
    """What stands between a bar and the message is peeled, for the bar has no end of its own."""
    line = " 50%|#####     | 5/10 [rank7]:[E305 14:03:22.123456789 ProcessGroupNCCL.cpp:616] Watchdog caught"
    prefix = envelopes.peel(line, None, hit=line.index("Watchdog"))
    assert (prefix.text, prefix.rank, prefix.stamp.local_ts.month) == ("Watchdog caught", 7, 3)


def test_a_quoted_kernel_line_keeps_the_channel_of_who_quotes_it():
    """A daemon that repeats a kernel line does not become the kernel."""
    line = "Mar  5 14:03:22 gpu0412 monitor[7]: saw Mar  5 14:03:20 gpu0411 kernel: [12.000001] NVRM: Xid (PCI:"
    prefix = envelopes.peel(line, None, hit=line.index("NVRM"))
    assert (prefix.channel, prefix.host, prefix.text) == ("daemon", "gpu0412", "NVRM: Xid (PCI:")


@pytest.mark.parametrize(
    "text",
    [
        'audit: type=1327 audit(1772719402.123:88): proctitle="grep NVRM: Xid (PCI:0000:1b:00): 79, pid=1"',
        "lab-note: the line was NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",
    ],
)
@pytest.mark.parametrize(
    "header",
    [
        "[412345.678901] ",
        "Mar  5 14:03:22 gpu0412 kernel: [412345.678901] ",
        "2026-03-05T14:03:22+01:00 gpu0412 kernel: ",
        "2026-03-05T14:03:22+01:00 gpu0412 ",
        "4,1072,5245304902,-;",
    ],
)
def test_what_the_kernel_only_quotes_is_not_its_word(header, text):
    """Audit records and notes written into the ring buffer hold other people's text."""
    assert envelopes.peel(header + text).channel == "daemon"


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:1b:00): 79, lost",
        "NVRM: note NVRM: Xid (PCI:0000:1b:00): 79, lost",
        "eth0: link [412345.678902] NVRM: Xid (PCI:0000:1b:00): 79, lost",
        "node-7: NVRM: Xid (PCI:0000:1b:00): 79, lost",
    ],
)
def test_what_the_driver_begins_by_its_name_is_the_kernels_word(text):
    """A label before it, or another line glued before it, does not make it a quotation."""
    assert envelopes.peel(f"Mar  5 14:03:22 gpu0412 kernel: [412345.678901] {text}").channel == "kernel"


def test_two_stamps_of_one_line_are_both_kept():
    """The wall clock of the collector and the kernel's own clock stand side by side."""
    stamp = envelopes.peel("Mar  5 14:03:22 gpu0412 kernel: [412345.678901] NVRM: x").stamp
    assert (stamp.local_ts.second, stamp.uptime_s, stamp.has_year) == (22, 412345.678901, False)


@pytest.mark.parametrize("line", ["Feb 30 10:00:00 gpu1 kernel: x", "[E1399 25:00:00.000000001 a.cpp:1] x"])
def test_an_impossible_date_is_no_stamp(line):
    """A day that no calendar has is left as text or without a stamp, never an error."""
    assert envelopes.peel(line).stamp is None


def test_a_line_without_layers_is_its_own_text():
    """Peeling plain text changes nothing."""
    assert envelopes.peel("hello") == Prefix("hello")


@pytest.mark.parametrize(
    "line",
    [
        "gpu" + "0" * 65_000,
        "{" + "\n" * 65_000,
        '{ "dmesg": [\n{\n' + '"time": 1,\n' * 5_000,
        "2026-03-05T13:03:22Z st" + "0" * 65_000,
        "[412345.678901] " + "x NVRM: " * 8_000,
    ],
)
def test_a_line_made_to_be_slow_is_not(line):
    """Each of these took from ten seconds to for ever with a pattern that goes back and forth."""
    head = envelopes.recognise(line)
    rewritten = head.rewriter()(line.encode(), True).decode() if head and head.rewriter else line
    assert envelopes.peel(rewritten, head).text


def test_a_record_without_an_end_takes_bounded_memory(monkeypatch):
    """A line of an export that is longer than any record is given back as it comes, and the next record is read."""
    monkeypatch.setattr(_records, "MAX_RECORD_BYTES", 300)
    (export,) = (envelope for envelope in envelopes.load_envelopes() if envelope.name == "journal-export")
    rewrite = export.rewriter()
    parts = [b"__CURSOR=1\nMESSAGE=" + b"x" * 400, b"y" * 400, b"z\n\n" + export.samples[0][0].encode() + b"\n", b""]
    out = [rewrite(part, part == b"") for part in parts]
    assert (out[0], out[1]) == (parts[0], parts[1])
    assert b"".join(out).count(b"\n") == b"".join(parts).count(b"\n")
    assert any(line.startswith(b"1772719402.123456 gpu0412 kernel: ") for line in b"".join(out).split(b"\n"))


def test_only_a_format_without_open_records_is_cuttable() -> None:
    """One that gives back each line at once may be cut at any line; one that holds a record back may not."""
    for envelope in envelopes.load_envelopes():
        if envelope.rewriter:
            first = envelope.samples[0][0].split("\n")[0].encode() + b"\n"
            assert envelope.is_cuttable == (envelope.rewriter()(first, False).count(b"\n") == 1), envelope.name
        else:
            assert envelope.is_cuttable
