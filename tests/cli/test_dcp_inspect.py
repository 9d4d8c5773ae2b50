"""`postroom dcp inspect`: each check of a message or of a cheque, for people and for programs."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Postroom
from tests.protocols.dcp.known import AUTH, MESSAGES

from postroom.cli.exits import Exit
from postroom.core.settings import DeploymentSettings

WIRE = MESSAGES["seed_request"]["wire"]
NOW = ("--now", "1578683060")
"""Within the ttl of the reference's messages."""


def test_each_check_is_a_line_with_what_was_found_and_its_section(postroom: Postroom) -> None:
    result = postroom("dcp", "inspect", "-", *NOW, input=AUTH[0]["wire"])
    *lines, verdict = result.stdout.splitlines()
    assert (result.exit_code, verdict) == (Exit.GOOD, "accepted")
    assert {line[:5] for line in lines} == {"ok   "}
    accessor, guardian, resource = (AUTH[0][name] for name in ("accessor", "guardian", "resource"))
    assert lines[-1] == (
        f"ok    allow[0]: {accessor} (the sender) may request transfer of {resource} at {guardian}: signed by "
        f"{resource}; expected a signature of the payload by the resource in auth; DCP: Allow and Auth; "
        "Request Authentication Algorithm"
    )


def test_what_fails_ends_with_its_reason_and_exit_code(postroom: Postroom, tmp_path: Path) -> None:
    (tmp_path / "message.json").write_text(WIRE.replace('"operation":"add"', '"operation":"del"'))
    result = postroom("dcp", "inspect", "message.json", *NOW)
    assert result.exit_code == Exit.REFUSED
    assert "FAIL  signature: signed by 0x" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("refused: DcpSignatureInvalid. The message is not signed by")


@pytest.mark.parametrize(
    ("options", "exit_", "until"),
    [
        (NOW, Exit.GOOD, "19:04:36.500Z: its ttl of 15.5 s"),
        ((), Exit.REFUSED, "19:04:36.500Z: its ttl of 15.5 s"),
        ((*NOW, "--slop", "1m"), Exit.GOOD, "19:05:26.500Z: its ttl of 15.5 s"),
        ((*NOW, "--max-ttl", "15s"), Exit.GOOD, "19:04:36.000Z: 15 s instead of its ttl of 15.5 s"),
    ],
    ids=["in time", "now", "slop", "max-ttl"],
)
def test_the_receivers_clock_and_limits_are_options(
    postroom: Postroom, options: tuple[str, ...], exit_: Exit, until: str
) -> None:
    result = postroom("dcp", "inspect", "-", "--json", *options, input=WIRE)
    found = json.loads(result.stdout)
    (time,) = (check for check in found["checks"] if check["name"] == "time")
    assert result.exit_code == exit_
    assert (found["verdict"], found["reason"]) == (
        ("accepted", None) if exit_ is Exit.GOOD else ("refused", "DcpExpired")
    )
    assert time["expected"].endswith(f"{until}, and clocks that differ by {'60' if '--slop' in options else '10'} s")


def test_without_options_the_limits_are_those_of_a_post_office(postroom: Postroom) -> None:
    payload = {"operation": "status", "validity": {"time": 1578683060, "ttl": 10**9, "stamp": "s"}}
    result = postroom("dcp", "inspect", "-", "--json", *NOW, input=json.dumps({"payload": payload}))
    (time,) = (check for check in json.loads(result.stdout)["checks"] if check["name"] == "time")
    settings = DeploymentSettings()
    assert time["expected"].endswith(
        f"{settings.dcp_max_ttl_seconds} s instead of its ttl of 1000000000 s, and clocks that differ by "
        f"{settings.dcp_slop_milliseconds // 1000} s"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--now", "-1"), "--now is -1.0; it must be seconds since 1970"),
        (("--max-ttl", "2 days"), "'2 days' is not a duration such as 90s, 10m, 2h or 1d"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_option_is_a_usage_error(postroom: Postroom, options: tuple[str, ...], sentence: str) -> None:
    result = postroom("dcp", "inspect", "-", *options, input=WIRE)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert sentence in " ".join(result.stderr.split())
