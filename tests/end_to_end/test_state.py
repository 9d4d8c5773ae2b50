"""A local stack whose state is kept: `make up STATE=dir`."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from postroom.core.ijson import JsonValue
from postroom.demo.names import ALICE, BOB
from postroom.demo.scenes import Story
from postroom.demo.stack import BUFFER, ORDER, RECEIVER, SUBJECT, DemoStack
from postroom.local.chain.ens_names import CONTRACTS
from postroom.local.chain.evm import ChainCall
from postroom.local.checkout import template_path
from postroom.local.stack import LocalStack
from postroom.names.ens.calls import Returned, read_text, text_call
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.mail.reader import Filed

ENDPOINTS = ("https://node.example/",)

pytestmark = pytest.mark.stack


@dataclass(frozen=True)
class Restarted:
    """A stack that was started again, the stack before, a message that was sent to that, and the message as filed."""

    again: DemoStack
    before: DemoStack
    sent: dict[str, JsonValue]
    filed: Filed


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarted]:
    """What the operator changed meanwhile: see the tests."""
    folder = tmp_path_factory.mktemp("state")
    with LocalStack(template_path(), state_dir=folder) as stack:
        demo_stack = DemoStack(stack, folder / "keys")
        story = Story(demo_stack, print)
        sent = story.envelope(demo_stack.sender)
        story.post(sent)
        filed = story.find_filed(demo_stack.receiver, RECEIVER, sent)
        demo_stack.receiver.settle()
        demo_stack.receiver.operators.put_domain(Domain(RECEIVER, feedback=BUFFER))
        for subject in (SUBJECT, ORDER):
            demo_stack.receiver.operators.remove_subject(RECEIVER, subject)
        demo_stack.receiver.operators.put_dm3_mailbox(Dm3Mailbox(BOB, takes_unverified=True))
        demo_stack.receiver.storage.chain_endpoints.put(ENDPOINTS)
    with LocalStack(template_path(), state_dir=folder) as stack:
        yield Restarted(DemoStack(stack, folder / "keys"), demo_stack, sent, filed)


def test_mail_keys_and_operator_settings_survive_a_restart(restarted: Restarted) -> None:
    again, before = restarted.again, restarted.before
    assert again.sender.key.public == before.sender.key.public
    assert list(again.receiver.filed(RECEIVER)) == [restarted.filed]
    directory = again.receiver.deployment.outputs["DirectoryTable"]
    rows = again.receiver.deployment.client("dynamodb").scan(TableName=directory)["Items"]
    [row] = [row for row in rows if row["pk"]["S"].startswith("domain#")]
    assert (row["sk"]["S"], row["feedback"]["S"]) == ("!", BUFFER)
    assert again.names.users == before.names.users
    assert again.receiver.operators.dm3_mailboxes() == [Dm3Mailbox(BOB, takes_unverified=True)]
    assert again.receiver.storage.chain_endpoints.get() == ENDPOINTS


def test_a_message_repeated_after_a_restart_is_not_filed_again(restarted: Restarted) -> None:
    again = restarted.again
    again.receiver.operators.put_subject(RECEIVER, SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER))
    assert Story(again, print).post(restarted.sent)[0] == 200
    again.receiver.settle()
    assert list(again.receiver.filed(RECEIVER)) == [restarted.filed]


def test_names_on_the_chain_survive_a_restart(restarted: Restarted) -> None:
    again, before = restarted.again.ethereum.chain, restarted.before.ethereum.chain
    call = text_call(CONTRACTS.resolver, ALICE, PROFILE_KEY)
    found = [chain.call(ChainCall(call.to, call.data)) for chain in (again, before)]
    assert found[0] == found[1] == Returned(found[0].data)
    assert read_text(found[0].data)[0].startswith("data:application/json,")
