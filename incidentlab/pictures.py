"""A Vega-Lite specification -> the picture that needs no script; and the scripts that draw it in the page."""

import json
import re
from typing import Any

import vl_convert

VEGA_LITE = "6.4"
"""The Vega-Lite version that Altair writes and vl-convert bundles."""

_LONG_NUMBER = re.compile(r"(?<![\w.])\d+\.\d{3,}(?![\w.])(?=[^<>]*>)")
"""Within a tag: a text such as 0.001 stays as it is."""

_CLIP = re.compile(r"\bclip\d+\b")
_EXPORT = "window.vegaEmbed = vegaEmbed;"
_WIDTH = 1040


def svg(specification: dict[str, Any]) -> str:
    """The chart as SVG without scripts, for readers without JavaScript and for print."""
    # The reader's font may be wider than the one that was measured here: leave room at both sides.
    padding = {**specification["padding"], "left": 28, "right": specification["padding"]["right"] + 28}
    fixed = {**specification, "width": _WIDTH, "padding": padding}
    return _tidied(
        str(vl_convert.vegalite_to_svg(json.dumps(fixed), vl_version=VEGA_LITE)), specification["data"]["name"]
    )


def _tidied(picture: str, name: str) -> str:
    """The picture with clip ids of its own (Vega counts them through a process) and hundredths of a pixel."""
    picture = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", picture)
    ids = list(dict.fromkeys(_CLIP.findall(picture)))
    return _CLIP.sub(lambda found: f"{name}-clip{ids.index(found[0])}", picture)


def bundle() -> str:
    """The JavaScript of Vega, Vega-Lite and Vega-Embed (about 0.9 MB); it defines `vegaEmbed`."""
    return str(vl_convert.javascript_bundle(_EXPORT, vl_version=VEGA_LITE))
