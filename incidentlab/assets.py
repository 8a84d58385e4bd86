"""Where queries, templates and sample logs lie: beside the package in a checkout, inside it in a wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_SHIPPED = _PACKAGE / "_shipped"


def folder(name: str) -> Path:
    """The folder `queries`, `templates` or `sample_logs`."""
    root = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent
    return root / name


def knowledge(name: str) -> Path:
    """A data file that lives in the package itself, such as `signatures/xid_catalog.csv`."""
    return _PACKAGE / name
