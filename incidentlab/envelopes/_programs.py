"""Who wrote a syslog or journal line: the kernel, a Slurm daemon or another program; not an envelope itself."""

import re

from incidentlab.model import Prefix, Stamp

# host, then `tag: ` or `tag[pid]: `; a line without a tag (`last message repeated 3 times`) is text as a whole.
HOST_TAG = (
    r"(?P<host>[^\s:]+(?::[^\s:]+)*) "
    r"(?:(?P<tag>[^\s:\[\]]{1,64})(?:\[(?P<pid>[^\]\s]{0,32})\])?: ?)?"
)
"""The part between stamp and text, as a pattern."""

_SLURM = {"slurmctld", "slurmd", "slurmdbd", "slurmstepd", "slurmrestd"}

# A program that writes into the ring buffer: `systemd[1]: ...`; but `python3[4567]: segfault at ...` is the kernel's.
_IN_RING_BUFFER = re.compile(r"[\w.@-]{1,64}\[\d{1,10}\]: (?!segfault at)")

# A line of the kernel that holds other people's words: `audit: type=1327 ... proctitle="grep NVRM: Xid"`. The GPU
# driver begins what it says by its name; a label or the end of a glued line may stand before that, but no sentence.
_QUOTING = re.compile(r"audit: type=\d|(?!\W{0,20}NVRM)\S{1,4000}\s.{0,4000}?[^\s:>\]]\s?NVRM: Xid ")

_CLOCK = re.compile(r"\[ *(\d{1,12}\.\d{6})\] ?(?:\[ *[TC]\d+\] )?")
_NAMELESS = "unknown"  # what the journal shows where it finds no name

# Programs that write without a process id, so that their lines are not taken for the kernel's.
_DAEMONS = frozenset(
    (
        *("anacron", "audispd", "audit", "auditd", "chronyd", "cloud-init", "containerd", "cron"),
        *("crond", "dbus-daemon", "dhclient", "dnsmasq", "docker", "dockerd", "fabricmanager"),
        *("healthcheck", "influxd", "ipmievd", "ipmitool", "irqbalance", "kubelet", "lightdm", "logger"),
        *("logrotate", "mcelog", "munged", "networkmanager", "nfsd", "nhc", "node_exporter", "nslcd"),
        *("ntpd", "nv-fabricmanager", "nv-hostengine", "nvidia-fabricmanager", "nvidia-persistenced"),
        *("nvidia-smi", "opensm", "polkitd", "postfix", "prometheus", "python", "python3", "rasdaemon"),
        *("rngd", "root", "rsyslogd", "smartd", "snmpd", "sshd", "sssd", "su", "sudo", "syslog-ng"),
        *("syslogd", "systemd", "systemd-journald", "systemd-logind", "telegraf", "tuned", "udevd", "wpa_supplicant"),
    ),
)


def from_program(stamp: Stamp | None, found: re.Match[str], text: str) -> Prefix:
    """The prefix of a line with HOST_TAG in `found`.

    The journal takes the first word of what reaches it through /dev/kmsg for the program's name (`NVRM`), so a tag
    without a process id that is no known program is put back into the text, and the line is the kernel's.
    """
    host, tag, pid = found["host"], found["tag"], found["pid"]
    name = (tag or "").lower().removesuffix(".service")
    if name in _SLURM:
        return Prefix(text, stamp, "slurm", host, name)
    if tag is None or pid is not None or name in _DAEMONS or "." in name or "/" in name:
        return Prefix(text, stamp, "daemon", host, tag)
    if tag == "kernel":
        return _from_kernel(stamp, host, text)
    whole = text if tag == _NAMELESS else f"{tag}: {text}"
    return Prefix(whole, stamp, kernel_or_daemon(whole), host)


def _from_kernel(stamp: Stamp | None, host: str, text: str) -> Prefix:
    """Syslog's header and the kernel's own clock, which most collectors leave in the text."""
    if clock := _CLOCK.match(text):
        text = text[clock.end() :]
        stamp = _with_uptime(stamp, float(clock[1]))
    return Prefix(text, stamp, kernel_or_daemon(text), host, "kernel")


def _with_uptime(stamp: Stamp | None, uptime_s: float) -> Stamp:
    if stamp is None:
        return Stamp(uptime_s=uptime_s)
    return Stamp(stamp.local_ts, stamp.utc_offset_s, stamp.has_year, uptime_s, stamp.uncertainty_s)


def kernel_or_daemon(text: str) -> str:
    """The channel of a line of the ring buffer.

    Any program may write there, and signs with name and process id; what is only quoted there is not the kernel's word.
    """
    return "daemon" if _IN_RING_BUFFER.match(text) or _QUOTING.match(text) else "kernel"
