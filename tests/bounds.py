"""All limits: `bounds.md` beside this module is the page docs/reference/bounds.md with names instead of figures.

A name in braces is of a constant below `postroom`, a parameter or resource of the template, or in `CALCULATED`.
"""

import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from tests.aws import function, resources, template

from postroom.core.settings import DeploymentSettings
from postroom.http.waits import most_waits
from postroom.outbound.feedback_sender import DOMAINS_OF_A_BUFFER
from postroom.pipeline.look_ups import most_look_ups
from postroom.protocols.status.clock import CLOCK_LIMIT, MOST_AHEAD_MS
from postroom.runtime.function_clients import AWS_CONNECT_SECONDS, AWS_READ_SECONDS
from postroom.storage.limits.held_runs import most_of_a_name

_AT = DeploymentSettings()
_WAITS = most_waits(_AT.mailbox_api_reserved_concurrency)
_LOOK_UPS = most_look_ups(_AT.inbox_reserved_concurrency)
_DCP_WAITS = most_waits(_AT.dcp_reserved_concurrency)
_DM3_LOOK_UPS = most_look_ups(_AT.dm3_reserved_concurrency)
_OWNERS_LOOK_UPS = most_look_ups(_AT.mailbox_api_reserved_concurrency)
CALCULATED = {
    "bits of a clock": CLOCK_LIMIT.bit_length() - 1,
    "most look-ups": _LOOK_UPS,
    "most look-ups of a domain in dm3": most_of_a_name(_DM3_LOOK_UPS),
    "most look-ups of a name": most_of_a_name(_LOOK_UPS),
    "most look-ups of dm3": _DM3_LOOK_UPS,
    "most look-ups of owners": _OWNERS_LOOK_UPS,
    "most look-ups of owners over DCP": most_look_ups(_AT.dcp_reserved_concurrency),
    "most look-ups, unreserved": most_look_ups(0),
    "most waits": _WAITS,
    "most waits of a name": most_of_a_name(_WAITS),
    "most waits of a name over DCP": most_of_a_name(_DCP_WAITS),
    "most waits over DCP": _DCP_WAITS,
    "notices of a buffer an hour": DOMAINS_OF_A_BUFFER * _AT.feedback_per_domain_and_hour,
    "seconds ahead": MOST_AHEAD_MS / 1000,
    "seconds of a try": AWS_CONNECT_SECONDS + AWS_READ_SECONDS,
}


class Bound(NamedTuple):
    """A row. `most`: with figures; `beyond`: a reason, or what happens; `test`: `<file>::<function>` below tests/."""

    what: str
    most: str
    why: str
    beyond: str
    precedent: str
    test: str


def page() -> str:
    """The page with figures, without its list of contents."""
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    return re.sub(r"\{([^}]+)\}", lambda found: _written(_figure(found[1])), text)


def sections() -> dict[str, list[Bound]]:
    """All bounds, by the section of the page."""
    found = {}
    for section in page().split("\n## ")[1:]:
        head, *rows = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
        assert head.count(" | ") == len(Bound._fields) - 1
        cells = [row.split(" | ") for row in rows]
        found[section.partition("\n")[0]] = [Bound(*most, test.strip("`")) for *most, test in cells]
    return found


def _figure(name: str) -> Any:
    if name in CALCULATED:
        return CALCULATED[name]
    first, _, rest = name.partition(".")
    if first in template()["Parameters"]:
        return template()["Parameters"][first]["Default"]
    if first[0].isupper():
        value = function(first) if first.endswith("Function") else resources("AWS::SQS::Queue")[first]
        for key in rest.split("."):
            value = value[key]
        return value
    place, called, member = name.partition("().")
    found = resolve_name(place if place.startswith("httpcore.") else f"postroom.{place}")
    return getattr(found(), member) if called else found


def _written(figure: Any) -> str:
    if isinstance(figure, str):
        return figure if not figure.isdecimal() else f"{int(figure):,}"
    return f"{figure:,g}" if isinstance(figure, float) else f"{figure:,}"
