"""A town whose state is kept: `make up STATE=dir`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroom.cli.checkout import template_path
from postroom.cli.story.names import BOB
from postroom.cli.story.scenes import Story
from postroom.cli.story.town import BUFFER, ORDER, RECEIVER, SUBJECT, Town
from postroom.ijson import JsonValue
from postroom.local.stack import LocalStack
from postroom.store.directory import Dm3Mailbox, Domain
from postroom.store.reader import Filed

pytestmark = pytest.mark.xdist_group("town")


@contextmanager
def town_with_mail(folder: Path) -> Iterator[tuple[Town, dict[str, JsonValue], Filed]]:
    """A town, a message that was sent in it, and that message as it was filed."""
    with LocalStack(template_path(), state_dir=folder) as stack:
        town = Town(stack, folder / "keys")
        story = Story(town, print)
        sent = story.envelope(town.sender)
        story.post(sent)
        filed = story.find_filed(town.receiver, RECEIVER, sent)
        town.receiver.settle()
        yield town, sent, filed


def test_mail_keys_and_what_the_operator_set_survive_a_restart(tmp_path: Path) -> None:
    with town_with_mail(tmp_path) as (town, _, filed):
        town.receiver.operators.put_domain(Domain(RECEIVER, feedback=BUFFER))
        for subject in (SUBJECT, ORDER):
            town.receiver.operators.remove_subject(RECEIVER, subject)
        town.receiver.operators.put_dm3_mailbox(Dm3Mailbox(BOB, takes_unverified=True))
    with LocalStack(template_path(), state_dir=tmp_path) as stack:
        again = Town(stack, tmp_path / "keys")
        assert again.sender.key.public == town.sender.key.public
        assert list(again.receiver.filed(RECEIVER)) == [filed]
        directory = again.receiver.deployment.outputs["DirectoryTable"]
        rows = again.receiver.deployment.client("dynamodb").scan(TableName=directory)["Items"]
        [row] = [row for row in rows if row["pk"]["S"].startswith("domain#")]
        assert (row["sk"]["S"], row["feedback"]["S"]) == ("!", BUFFER)
        assert again.names.users == town.names.users
        assert again.receiver.operators.dm3_mailboxes() == [Dm3Mailbox(BOB, takes_unverified=True)]


def test_what_is_sent_again_after_a_restart_is_not_filed_again(tmp_path: Path) -> None:
    with town_with_mail(tmp_path) as (_, sent, filed):
        pass
    with LocalStack(template_path(), state_dir=tmp_path) as stack:
        again = Town(stack, tmp_path / "keys")
        status, _ = Story(again, print).post(sent)
        assert status == 200
        again.receiver.settle()
        assert list(again.receiver.filed(RECEIVER)) == [filed]
