from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from tests.aws import Deployed
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE

from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.runtime.system import System
from postroom.storage.directory.domains import Directory, Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import Mailboxes, MailboxRecord
from postroom.storage.directory.operators import Operators


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1000)


@pytest.fixture
def operators(deployed: Deployed) -> Operators:
    return deployed.storage.operators


@pytest.fixture
def mailboxes(deployed: Deployed) -> Mailboxes:
    return deployed.storage.mailboxes


@pytest.fixture
def directory(deployed: Deployed, clock: FakeClock) -> Directory:
    return deployed.parts(system=System(clock=clock)).storage.directory


RULES = (SubjectRule("*@Shop", Treatment.MAILBOX, "shop"), SubjectRule("Order@Shop", Treatment.FORWARD, "arn:x"))


def test_a_domain_is_read_back_with_its_subjects(operators: Operators, directory: Directory) -> None:
    operators.put_domain(Domain("a.com", inbox=True, buffer=True, feedback="buffer.a.com"))
    for rule in RULES:
        operators.put_subject("a.com", rule)
    assert directory.domain("a.com") == Domain("a.com", True, True, "buffer.a.com", RULES)


def test_a_domain_that_was_not_added_is_not_there_whatever_subjects_it_has(
    operators: Operators, directory: Directory
) -> None:
    operators.put_subject("a.com", RULES[0])
    assert directory.domain("a.com") is None
    assert directory.domain("b.com") is None


def test_changing_a_domain_leaves_its_subjects(operators: Operators, directory: Directory) -> None:
    operators.put_domain(Domain("a.com", feedback="buffer.a.com"))
    operators.put_subject("a.com", RULES[0])
    operators.put_domain(Domain("a.com", buffer=True))
    assert directory.domain("a.com") == Domain("a.com", buffer=True, subjects=RULES[:1])


def test_a_change_is_seen_when_the_cache_expires_and_not_read_before(
    operators: Operators, directory: Directory, clock: FakeClock
) -> None:
    assert directory.domain("a.com") is None
    operators.put_domain(Domain("a.com"))
    clock.now += 29.9
    assert directory.domain("a.com") is None
    clock.now += 0.1
    assert directory.domain("a.com") == Domain("a.com")
    operators.remove_domain("a.com")
    clock.now += 29.9
    assert directory.domain("a.com") == Domain("a.com")
    clock.now += 0.1
    assert directory.domain("a.com") is None


def test_concurrent_look_ups_share_one_read(
    directory: Directory, mailboxes: Mailboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker judges a batch side by side: it would ask as often as it has threads, each half minute."""
    mailboxes.set_keys("a.com", ["key"])
    read, reads, began, asked = directory._read_mailbox, [], Event(), Event()

    def slowly(name: str) -> MailboxRecord:
        reads.append(name)
        began.set()
        assert asked.wait(PATIENCE)
        return read(name)

    monkeypatch.setattr(directory, "_read_mailbox", slowly)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(directory.mailbox, "a.com")
        assert began.wait(PATIENCE)
        others = [pool.submit(directory.mailbox, "a.com") for _ in range(6)]
        asked.set()
        assert {each.result(PATIENCE) for each in (first, *others)} == {MailboxRecord("a.com", ("key",))}
    assert reads == ["a.com"]
    assert directory._mailboxes._loading == {}


def test_a_failed_read_is_repeated_by_the_next_look_up(
    directory: Directory, mailboxes: Mailboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailboxes.set_keys("a.com", ["key"])
    with monkeypatch.context() as broken:
        broken.setattr(directory, "_read_mailbox", lambda _: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            directory.mailbox("a.com")
    assert directory.mailbox("a.com").keys == ("key",)


def test_removing_a_domain_removes_its_subjects(operators: Operators, deployed: Deployed) -> None:
    operators.put_domain(Domain("a.com"))
    operators.put_subject("a.com", RULES[0])
    operators.put_domain(Domain("b.com"))
    assert operators.remove_domain("a.com")
    assert [item["pk"]["S"] for item in deployed.rows("DirectoryTable")] == ["domain#b.com"]
    assert not operators.remove_domain("a.com")


def test_subjects_can_be_replaced_and_removed(operators: Operators, directory: Directory, clock: FakeClock) -> None:
    operators.put_domain(Domain("a.com"))
    operators.put_subject("a.com", SubjectRule("*", Treatment.MAILBOX, "one"))
    operators.put_subject("a.com", SubjectRule("*", Treatment.MAILBOX, "two"))
    assert directory.domain("a.com") == Domain("a.com", subjects=(SubjectRule("*", Treatment.MAILBOX, "two"),))
    operators.remove_subject("a.com", "*")
    clock.now += 30
    assert directory.domain("a.com") == Domain("a.com")


def test_domains_are_listed_by_name(operators: Operators) -> None:
    for name in ("b.com", "a.com"):
        operators.put_domain(Domain(name))
    operators.put_wallet("125a5c75-cb72-43d2-9695-37026dfcaa48", b"spki")
    assert operators.domains() == ["a.com", "b.com"]


def test_a_wallet_is_found_by_its_uuid(operators: Operators, directory: Directory) -> None:
    uuid = "125a5c75-cb72-43d2-9695-37026dfcaa48"
    operators.put_wallet(uuid, b"\x00spki\xff")
    assert directory.wallet(uuid) == b"\x00spki\xff"
    assert directory.wallet("325a5c75-cb72-43d2-9695-37026dfcaa48") is None


def test_a_mailbox_has_one_shard_unless_it_was_raised_and_the_count_never_falls(
    mailboxes: Mailboxes, directory: Directory, clock: FakeClock
) -> None:
    assert directory.shards("a.com") == 1
    assert mailboxes.raise_shards("a.com", 8)
    assert not mailboxes.raise_shards("a.com", 8)
    assert not mailboxes.raise_shards("a.com", 4)
    clock.now += 30
    assert directory.shards("a.com") == 8


# --- mailboxes of the dm3 delivery service ---------------------------------------------------------------------------

RULED = ProfileExtension(message_types=("NEW", "EDIT"), rules=FilterRules(min_balance=10**20, block=("mallory.eth",)))


def test_a_mailbox_is_read_back_with_its_settings(operators: Operators, directory: Directory) -> None:
    for mailbox in (Dm3Mailbox("bob.eth"), Dm3Mailbox("eve.eth", RULED, takes_unverified=True)):
        operators.put_dm3_mailbox(mailbox)
        assert directory.dm3_mailbox(mailbox.name) == mailbox
    assert operators.dm3_mailboxes() == [Dm3Mailbox("bob.eth"), Dm3Mailbox("eve.eth", RULED, takes_unverified=True)]


def test_a_closed_mailbox_is_removed_and_other_rows_of_its_name_stay(
    operators: Operators, mailboxes: Mailboxes, directory: Directory
) -> None:
    operators.put_dm3_mailbox(Dm3Mailbox("bob.eth"))
    mailboxes.raise_shards("bob.eth", 3)
    assert operators.remove_dm3_mailbox("bob.eth")
    assert not operators.remove_dm3_mailbox("bob.eth")
    assert directory.dm3_mailbox("bob.eth") is None
    assert directory.shards("bob.eth") == 3


@pytest.mark.parametrize("before", [0, 2])
def test_signing_out_counts_once_although_its_request_is_sent_again(
    mailboxes: Mailboxes, deployed: Deployed, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    really = deployed.clients.dynamodb.update_item

    def send_again(**request: Any) -> Any:
        """As the SDK does with a request whose answer was lost."""
        really(**request)
        return really(**request)

    for _ in range(before):
        mailboxes.revoke_tokens("a.com", 900)
    with monkeypatch.context() as losing:
        losing.setattr(deployed.clients.dynamodb, "update_item", send_again)
        mailboxes.revoke_tokens("a.com", 1000)
    assert (mailboxes.find("a.com").sign_outs, mailboxes.find("a.com").signed_out_at) == (before + 1, 1000)
    mailboxes.revoke_tokens("a.com", 1001)
    assert (mailboxes.find("a.com").sign_outs, mailboxes.find("a.com").signed_out_at) == (before + 2, 1001)


def test_of_two_who_sign_out_at_once_both_revoke_the_tokens_from_before(
    mailboxes: Mailboxes, deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = deployed.clients.dynamodb.update_item

    def second(**request: Any) -> Any:
        """Another sign-out comes first."""
        with monkeypatch.context() as alone:
            alone.setattr(deployed.clients.dynamodb, "update_item", really)
            mailboxes.revoke_tokens("a.com", 1000)
        return really(**request)

    with monkeypatch.context() as racing:
        racing.setattr(deployed.clients.dynamodb, "update_item", second)
        mailboxes.revoke_tokens("a.com", 1000)
    assert (mailboxes.sign_outs("a.com") > 0, mailboxes.find("a.com").signed_out_at) == (True, 1000)
