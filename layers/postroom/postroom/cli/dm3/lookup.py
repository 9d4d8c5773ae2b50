"""`postroom dm3 lookup`: the profile of a name, and how it was found."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postroom.cli.dm3.inputs import dm3_name
from postroom.cli.dm3.names import NameOptions
from postroom.cli.exits import Exit
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.names.registries import DNS, ENS, PINNED

if TYPE_CHECKING:
    from postroom.cli.dm3.noted_look_ups import NotedSources, RegistryAnswer

_REGISTRIES: Final = {PINNED: "the pinned document", DNS: "DNS", ENS: "ENS"}
_EXITS: Final = {
    "found": Exit.GOOD,
    "wrong": Exit.REFUSED,
    "unknown": Exit.UNAVAILABLE,
    "absent": Exit.NOT_FOUND,
}


@dataclass(frozen=True, slots=True)
class _NameResult:
    """What was found at a name. `status`: a key of `_EXITS`; `profile`: if it was found."""

    status: str
    profile: dict[str, JsonValue] | None = None
    error: TheirError | NotNowError | None = None


def lookup(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name.", parser=dm3_name)],
    names: NameOptions,
    service: Annotated[
        bool, typer.Option("--service", help="Look up the profile of a delivery service, not of a user.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each registry said.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look up the profile of a name, as a delivery service does.

    First in the pinned document, then in DNS under DNSSEC, then in ENS, where several endpoints must say the same. Exit
    code 0: found; 1: what is published is wrong; 3: it could not be found out; 5: there is no such name, or no profile.
    """
    from postroom.cli.dm3.noted_look_ups import NotedSources

    with ExitStack() as undo:
        sources = NotedSources(names, names.network(), undo)
        result = _look_up(sources, name, service=service)
    if as_json:
        print_json(_as_json(name, result, sources))
    else:
        for line in _lines(result, sources, explain=explain):
            print_line(line)
    raise typer.Exit(_EXITS[result.status])


def _look_up(sources: "NotedSources", name: str, *, service: bool) -> _NameResult:
    from postroom.protocols.dm3.reasons import PROFILE_UNKNOWN, PROFILE_URI_UNSUPPORTED

    profiles = sources.profiles()
    try:
        profile = profiles.service(name) if service else profiles.user(name)
    except NotNowError as error:
        return _NameResult("unknown", error=error)
    except TheirError as error:
        if error.reason == PROFILE_UNKNOWN:
            return _NameResult("absent", error=error)
        cannot_read = error.reason == PROFILE_URI_UNSUPPORTED and not sources.gateway_urls
        return _NameResult("unknown" if cannot_read else "wrong", error=error)
    return _NameResult("found", profile.as_json())


def _as_json(name: str, result: _NameResult, sources: "NotedSources") -> JsonValue:
    from postroom.cli.dm3.explanation import leads_to, registry_json, why

    now, last = time.time(), _decided(sources)
    text = last.text if last and last.text and last.text.value else None
    return {
        "name": name,
        "status": result.status,
        "registry": last.kind if last else None,
        "text": text.value if text else None,
        "profile": result.profile,
        "ttl": round(text.seconds) if text else None,
        "evidence": {
            "registries": [registry_json(answer, now) for answer in sources.registries],
            "uri": leads_to(text.value or "", sources.files) if text else None,
        },
        "reason": why(result.error) if result.error else None,
    }


def _lines(result: _NameResult, sources: "NotedSources", *, explain: bool) -> Iterator[str]:
    from postroom.cli.dm3.explanation import registry_lines, text_lines, why

    last = _decided(sources)
    if result.error:
        yield f"{result.status}: {why(result.error)}"
    elif last and last.text:
        yield f"found in {_REGISTRIES[last.kind]}, for {last.text.seconds:.0f} s"
        yield from json.dumps(result.profile, indent=2, ensure_ascii=False).split("\n")
    if not explain:
        return
    now = time.time()
    for answer in sources.registries:
        yield from registry_lines(answer, now)
    if last and last.text and last.text.value:
        yield from text_lines(last.text.value, sources.files, is_found=result.profile is not None)


def _decided(sources: "NotedSources") -> "RegistryAnswer | None":
    """The registry that the name is in, or that could not find it out; None: it is in none."""
    last = sources.registries[-1]
    return None if last.text and last.text.value is None else last
