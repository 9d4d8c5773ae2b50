"""`postroom audit` on a deployed store: zeros and exit code 0, or what is wrong, where, what to do, and exit code 4."""

import json
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom, StorageStack, code_of, create_storage_stack

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.emulator import Emulator
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.storage.audit.problems import AuditProblem
from postroom.storage.layout import RowKey, row_key, seen_key_nlweb, segment_name
from postroom.storage.mail.inbox_log import LedgerEntry, text_of
from postroom.storage.mail.segments import Line, lay_out

pytestmark = pytest.mark.xdist_group("cli-storage")

DAY = 86_400
KEY = PrivateKey.generate("ed25519")
_accounts = count(700_000_000_100)


class Store:
    """A deployment of its own, and what stands in it."""

    def __init__(self, storage_stack: StorageStack) -> None:
        self.storage_stack = storage_stack
        self.register = storage_stack.storage.register
        self.seen = storage_stack.storage.seen
        self.objects = storage_stack.storage.objects
        self.now = int(time.time())

    def accepted(self, claim: str) -> LedgerEntry:
        seen = seen_key_nlweb("shop.example", "a.example", correlation_of(claim))
        return LedgerEntry(claim, "shop.example", self.now * 1000, seen, text_of(self.envelope(claim)["Hash"]))

    def envelope(self, claim: str) -> Any:
        return sign(Draft("a.example", "shop.example", "Hello@Host", correlation_of(claim), self.now * 1000), KEY)

    def row(self, claim: str) -> RowKey:
        return row_key("shop.example", 1, self.now * 1000, claim)

    def file(self, claim: str) -> LedgerEntry:
        key, name = self.row(claim), segment_name(self.now * 1000, claim)
        accepted, envelope = self.accepted(claim), self.envelope(claim)
        self.seen.claim_home(accepted.seen, envelope["Hash"], key, now=self.now, forget_at=self.now + DAY)
        data, [place] = lay_out([Line(key, "a.example", json.dumps(envelope), {"protocol": "nlweb"})], name)
        self.objects.put(name, data)
        self.register.file(key, place, "a.example")
        return accepted

    def discard(self, claim: str) -> LedgerEntry:
        self.register.discard(self.row(claim), SIGNATURE_INVALID, self.now + DAY)
        return self.accepted(claim)


def correlation_of(claim: str) -> str:
    return str(UUID(int=ord(claim)))


def log(*accepted: LedgerEntry) -> list[str]:
    return [json.dumps({"level": "INFO", "message": "queued", **each.as_log()}) for each in accepted]


@pytest.fixture
def store(emulator: Emulator, tmp_path: Path) -> Store:
    return Store(create_storage_stack(emulator, str(next(_accounts)), tmp_path))


@pytest.fixture
def audited(postroom: Postroom, store: Store) -> Callable[..., Result]:
    return lambda *options, **more: postroom("audit", *options, *store.storage_stack.options, **more)


def described(result: Result) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(result.stdout)
    return said


def test_a_consistent_store_has_no_problems(store: Store, audited: Callable[..., Result], tmp_path: Path) -> None:
    lines = log(store.file("a"), store.discard("b"))
    (tmp_path / "inbox.log").write_text("START RequestId: 1\n" + "\n".join(lines))
    shown = audited("--ledger", "inbox.log")
    assert shown.exit_code == 0, shown.output
    words = [line.split() for line in shown.stdout.splitlines()]
    assert ["filed", "1", "1"] in [line[:3] for line in words]
    assert ["discarded,", "SignatureInvalid:", "1"] in words
    assert "rows that are not in the ledger: 0, 0 of them from its time" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "nothing is wrong"
    for problem in AuditProblem:
        assert [str(problem), "0", *problem.sentence.split()] in words
    said = described(audited("--ledger", "-", "--json", input="\n".join(lines)))
    assert said["clean"]
    assert {end: n for end, n in said["accepted"].items() if n} == {"filed": 1, "discarded": 1}
    assert {end: n for end, n in said["rows"].items() if n} == {"filed": 1, "discarded": 1}
    assert set(said["problems"]) == {str(problem) for problem in AuditProblem}
    assert (set(said["problems"].values()), said["findings"]) == ({0}, [])


def test_a_note_is_shown_and_is_not_a_problem(store: Store, audited: Callable[..., Result]) -> None:
    printed = [store.file("a")]
    store.now += 60
    stranger = store.row("b")
    store.file("b")
    store.now += 60
    printed.append(store.file("c"))
    lines = "\n".join(log(*printed))
    shown = audited("--ledger", "-", input=lines)
    assert shown.exit_code == 0, shown.output
    assert "rows that are not in the ledger: 1, 1 of them from its time" in shown.stdout
    assert f"row {stranger.pk} {stranger.sk}" in shown.stdout
    said = described(audited("--ledger", "-", "--json", input=lines))
    assert (said["clean"], said["not_in_ledger"], said["problems"]["NotInLedger"]) == (True, 1, 1)


def test_accepted_messages_are_read_from_the_logs_of_both_inboxes(store: Store, audited: Callable[..., Result]) -> None:
    logs = store.storage_stack.clients("logs")
    for function, message in (("inbox", store.file("a")), ("dm3", store.accepted("b"))):
        group = f"/aws/lambda/{function}"
        logs.create_log_group(logGroupName=group)
        logs.create_log_stream(logGroupName=group, logStreamName="1")
        lines = ("START RequestId: 1", *log(message))
        events = [{"timestamp": store.now * 1000 - 1000, "message": line} for line in lines]
        logs.put_log_events(logGroupName=group, logStreamName="1", logEvents=events)  # type: ignore[arg-type]
    result = audited("--since", "1", "--json")
    assert result.exit_code == 4
    assert {end: n for end, n in described(result)["accepted"].items() if n} == {"filed": 1, "lost": 1}
    # Before that hour began, or with a log level that is too quiet, there is nothing to go by, and that is said.
    nothing = audited("--since", "0.0001", "--json")
    assert nothing.exit_code == 0
    assert "has no messages of that time" in nothing.stderr


def test_a_problem_is_shown_with_its_place_and_next_step(
    store: Store, audited: Callable[..., Result], tmp_path: Path
) -> None:
    lines = log(store.file("a"), store.accepted("b"))
    (tmp_path / "inbox.log").write_text("\n".join(lines))
    for entry in store.storage_stack.clients("s3").list_objects_v2(Bucket=store.storage_stack.outputs["Bucket"])[
        "Contents"
    ]:
        store.storage_stack.clients("s3").delete_object(Bucket=store.storage_stack.outputs["Bucket"], Key=entry["Key"])
    shown = audited("--ledger", "inbox.log")
    assert shown.exit_code == 4
    key = store.row("a")
    for printed in (f"row {key.pk} {key.sk}: it points to", "claim b: received at", AuditProblem.BYTES_MISSING.remedy):
        assert printed in shown.stdout
    assert shown.stdout.splitlines()[-1] == "2 problems"
    said = described(audited("--ledger", "inbox.log", "--json", "--quick"))
    assert [finding["problem"] for finding in said["findings"]] == ["BytesMissing", "Lost"]
    assert {problem for problem, n in said["problems"].items() if n} == {"BytesMissing", "Lost"}


def test_without_a_ledger_only_the_store_is_audited_and_the_output_says_so(
    store: Store, audited: Callable[..., Result]
) -> None:
    for claim in "abc":
        store.file(claim)
    assert described(audited("--json"))["accepted"] is None
    shown = audited()
    assert (shown.exit_code, "--since HOURS" in shown.stdout) == (0, True)


def test_only_some_of_many_findings_are_shown_and_the_rest_are_counted(
    store: Store, audited: Callable[..., Result]
) -> None:
    for number in range(22):
        store.seen.claim_home(f"n#{number}", None, store.row(f"{number}"), now=store.now, forget_at=store.now + DAY)
    shown = audited()
    assert (shown.exit_code, shown.stdout.count("received at")) == (4, 20)
    assert "and 2 more; --json shows all" in shown.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--ledger", "inbox.log", "--since", "1"), "use one of them"),
        (("--ledger", "none.log"), "none.log: No such file"),
        (("--since", "-1"), "greater than or equal to 0"),
        (("--since", "inf"), "less than or equal to 88000"),
    ],
)
def test_options_that_do_not_go_together_are_a_usage_error(
    postroom: Postroom, storage_stack: StorageStack, options: tuple[str, ...], sentence: str
) -> None:
    result = postroom("audit", *options, *storage_stack.options)
    assert (result.exit_code, sentence in result.stderr) == (code_of(sentence), True), result.stderr


def test_a_ledger_without_messages_is_reported(store: Store, audited: Callable[..., Result]) -> None:
    # As tools for logs write a line: with the time before it, so that it is JSON no longer.
    lines = "\n".join(f"2026-11-21T09:00:00 {line}" for line in log(store.accepted("a")))
    result = audited("--ledger", "-", "--json", input=lines)
    assert "the ledger has no message" in result.stderr


def test_a_ledger_of_another_release_cannot_be_judged(
    postroom: Postroom, storage_stack: StorageStack, tmp_path: Path
) -> None:
    (tmp_path / "inbox.log").write_text('{"message": "queued", "claim": "a"}')
    result = postroom("audit", "--ledger", "inbox.log", *storage_stack.options)
    assert (result.exit_code, "line 1 of the ledger" in result.stderr) == (3, True)
