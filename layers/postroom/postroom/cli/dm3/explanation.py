"""The explanation of a look-up of a name, as lines and as JSON: what each registry said, and where the text leads."""

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from postroom.cli.dm3.explained_ens import with_host
from postroom.cli.dm3.gateway_answers import GatewayAnswer
from postroom.cli.dm3.noted_look_ups import EnsStep, RegistryAnswer
from postroom.cli.proof import proof_lines
from postroom.core.errors import NotNowError, TheirError, detail_with_causes
from postroom.core.ijson import JsonValue
from postroom.crypto.encodings import write_hex
from postroom.names.ens.lookup import Found
from postroom.names.ens.rpc import Block
from postroom.names.ipfs.errors import UnreadableFileError
from postroom.names.ipfs.uri import IpfsUri
from postroom.names.registries import ENS
from postroom.names.uris import scheme_of
from postroom.protocols.dm3.profile_hash import read_profile_hash

_LONGEST_SHOWN: Final = 100
_KINDS: Final = ("data", "https", "ipfs")
_NOT_LOOKED_UP: Final = "it is not looked up there"
_DNSSEC: Final = {
    "not looked up": _NOT_LOOKED_UP,
    "absent": "it is proven not to be there",
    "insecure": "its zone is proven not to be signed",
}


def why(error: TheirError | NotNowError) -> str:
    """The reason of an error, and what is known of its causes."""
    return ": ".join(filter(None, (str(error.reason), detail_with_causes(error))))


def registry_lines(answer: RegistryAnswer, now: float) -> Iterator[str]:
    """What a registry said. `now`: seconds since the epoch."""
    yield f"{answer.kind}: {_said(answer)}"
    if answer.proof:
        for line in proof_lines(answer.proof):
            yield f"  {line}"
    for step in answer.steps:
        yield from _step_lines(step, now)
    if answer.found:
        yield from _found_lines(answer.found)


def text_lines(text: str, files: Sequence[GatewayAnswer], *, is_found: bool) -> Iterator[str]:
    """The text, and where it leads. `files`: the answers of gateways of IPFS; `is_found`: a profile was found there."""
    yield f"text: {text if len(text) <= _LONGEST_SHOWN else f'{text[:_LONGEST_SHOWN]}… ({len(text)} characters)'}"
    leads, proven = leads_to(text, files), "proven by" if is_found else "must be proven by"
    if "dm3_hash" in leads:
        yield f"  at {leads['host']}, {proven} dm3Hash {leads['dm3_hash']}"
    if "cid" in leads:
        blocks = f", in {leads['blocks']} {'block' if leads['blocks'] == 1 else 'blocks'}" if leads["blocks"] else ""
        yield f"  {proven} CID {leads['cid']}{blocks}"
        for file in files:
            yield f"    {_marked(file.host, file.fault)}"


def registry_json(answer: RegistryAnswer, now: float) -> dict[str, JsonValue]:
    """What a registry said, for programs."""
    shown: dict[str, JsonValue] = {"registry": answer.kind, "error": why(answer.error) if answer.error else None}
    if answer.text:
        shown |= answer.text.evidence
    if answer.proof:
        shown["proof"] = dict(answer.proof.as_json())
    if answer.steps:
        shown["steps"] = [_step_json(step, now) for step in answer.steps]
    if answer.found:
        found = answer.found
        shown |= {
            "resolver": write_hex(found.resolver) if found.resolver else None,
            "ttl": found.ttl or None,
            "rounds": found.rounds,
            "absent": found.absent or None,
        }
    return shown


def leads_to(text: str, files: Sequence[GatewayAnswer]) -> dict[str, JsonValue]:
    """Where a text leads, for programs: the kind of its URI (None: it is none of dm3), and what proves the document."""
    kind = scheme_of(text)
    try:
        if kind == "https":
            return {"kind": kind, "host": urlsplit(text).hostname, "dm3_hash": read_profile_hash(text).hex()}
        if kind == "ipfs":
            gateways: list[JsonValue] = [{"host": file.host, "fault": file.fault or None} for file in files]
            blocks = files[-1].blocks if files else 0
            return {"kind": kind, "cid": str(IpfsUri.parse(text).cid), "blocks": blocks, "gateways": gateways}
    except (TheirError, UnreadableFileError, ValueError):
        pass  # the profile's own error says what is wrong with it
    return {"kind": kind if kind in _KINDS else None}


def _said(answer: RegistryAnswer) -> str:
    if answer.text is None:
        return why(answer.error) if answer.error else ""
    if answer.text.value:
        return f"found, for {answer.text.seconds:.0f} s"
    if answer.text.value is not None:
        return "it is there, without this text"
    if not answer.is_there:
        return "there is no document"
    if answer.kind == ENS and "block" not in answer.text.evidence:
        return _NOT_LOOKED_UP
    return _DNSSEC.get(str(answer.text.evidence.get("dnssec")), "it is not there")


def _step_lines(step: EnsStep, now: float) -> Iterator[str]:
    if isinstance(step, GatewayAnswer):
        yield f"  gateway {_marked(step.host, step.fault)}"
        return
    if step.block:
        yield f"  endpoints agreed, {_age(step.block, now)}"
    elif any(verdict.differs for verdict in step.verdicts):
        yield "  endpoints did not agree"
    else:
        yield "  too few endpoints answered"
    for verdict in step.verdicts:
        at = f", {_age(verdict.block, now)}" if verdict.block else ""
        yield f"    {_marked(verdict.host + at, verdict.why)}"


def _found_lines(found: Found) -> Iterator[str]:
    if found.absent:
        yield f"  no text: {found.absent}"
    if found.resolver:
        yield f"  resolver {write_hex(found.resolver)}"
    if found.rounds:
        yield f"  off chain, in {found.rounds} {'round' if found.rounds == 1 else 'rounds'}"
    yield f"  TTL {found.ttl} s" if found.ttl else "  no TTL is set"


def _step_json(step: EnsStep, now: float) -> dict[str, JsonValue]:
    if isinstance(step, GatewayAnswer):
        return {"gateway": step.host, "fault": step.fault or None}
    verdicts: list[JsonValue] = [
        {"host": verdict.host, **_block_json(verdict.block, now), "fault": verdict.why or None}
        for verdict in step.verdicts
    ]
    return {**_block_json(step.block, now), "endpoints": verdicts}


def _block_json(block: Block | None, now: float) -> dict[str, JsonValue]:
    return {"block": block.number if block else None, "age": _seconds_old(block, now) if block else None}


def _age(block: Block, now: float) -> str:
    return f"block {block.number}, {_seconds_old(block, now)} s old"


def _seconds_old(block: Block, now: float) -> int:
    # The clock of a chain may be a little ahead of ours.
    return max(0, round(now - block.time))


def _marked(who: str, fault: str) -> str:
    return f"✗ {with_host(who, fault)}" if fault else f"✓ {who}"
