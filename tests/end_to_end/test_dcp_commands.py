"""docs/reference/dcp.md, whose commands for a mailbox a shell runs at the local post office; what is refused there."""

import json
import re
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.client.dcp.keystores import PASSPHRASE, keystore_of
from tests.end_to_end.shells import Shell, open_shell
from tests.patience import PATIENCE

from postroom.cli.exits import Exit
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.demo.scenes import Story
from postroom.demo.stack import RECEIVER, DemoStack
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "dcp.md").read_text(encoding="utf-8")
AT_A_BANK, AT_A_MAILBOX, WATCH = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
"""The first of them runs in tests/cli/test_dcp_connections.py."""
URL = f"https://nlweb.{RECEIVER}/dcp"


@pytest.fixture
def shell(demo_stack: DemoStack, tmp_path: Path) -> Shell:
    """A shell in which `postroom` finds the local stack, in a folder with the keys of Bob, Wes and Jack.

    Jack's is as `postroom dcp keygen` writes it. It takes a second to open such a file, which the others' does not.
    """
    bob, wes = EthereumKey.generate(), EthereumKey.generate()
    for name, key in (("bob", bob), ("wes", wes)):
        (tmp_path / f"{name}-key.json").write_text(keystore_of(key))
    run = open_shell(
        demo_stack, tmp_path, POSTROOM_KEY_PASSPHRASE=PASSPHRASE, BOB=b64encode(bob.spki()).decode(),
        WES=f"0x{wes.address}",
    )  # fmt: skip
    run("postroom dcp keygen jack-key.json")
    return run


def refused(shell: Shell, command: str) -> str:
    """The code of the refusal that a command ends with."""
    said = shell(f"{command} --json 2>&1 || test $? = {int(Exit.REFUSED)}")
    return str(json.loads(said.splitlines()[-1])["error"]["reason"])


def test_the_commands_of_the_page_list_messages_by_a_cheque_which_counts_once_and_for_its_holder(shell: Shell) -> None:
    *before, present, revoke = AT_A_MAILBOX.splitlines()
    opened, status = shell("\n".join(before)).split("\n", 1)
    assert opened.startswith(f"bob.{RECEIVER}: nlweb, the owner signs in by SHA256:")
    assert json.loads(status.partition("cheque.json: ")[0])["body"]["waiting"] == 0
    assert refused(shell, present.replace("wes-key", "jack-key")) == "NotTheOwner"
    assert json.loads(shell(present))["body"]["messages"] == []
    assert refused(shell, present) == "EDUP"
    assert refused(shell, revoke) == "EDUP"
    [write] = [line for line in before if line.startswith("postroom dcp cheque ")]
    shell(write.replace("cheque.json", "other.json"))
    assert shell(revoke.replace("cheque.json", "other.json")) == "revoked\n"
    assert refused(shell, present.replace("cheque.json", "other.json")) == "EDUP"
    by_wes = revoke.replace("bob-key", "wes-key")
    assert "was written by the key of 0x" in shell(f"{by_wes} 2>&1 || test $? = {int(Exit.USAGE)}")


def test_the_command_of_the_page_waits_until_there_is_a_message(
    shell: Shell, story: Story, demo_stack: DemoStack
) -> None:
    bob = f"bob.{RECEIVER}"
    shell(AT_A_MAILBOX.splitlines()[0])
    demo_stack.receiver.operators.put_subject(RECEIVER, SubjectRule("Hello@Bob", Treatment.MAILBOX, bob))
    demo_stack.receiver.end_instances("InboxFunction")  # they may have read the other subjects a moment ago
    assert json.loads(shell(f"{WATCH.strip()} --seconds 0.1"))["body"]["messages"] == []
    waits = {target.id for target in demo_stack.receiver.storage.targets.of(bob)}
    with ThreadPoolExecutor(1) as pool:
        listed = pool.submit(shell, WATCH)
        while not {target.id for target in demo_stack.receiver.storage.targets.of(bob)} - waits:
            time.sleep(0.1)
        sent = story.envelope(demo_stack.sender, {"Text": "Good morning"}, to=RECEIVER, subject="Hello@Bob")
        assert story.post(sent, NLWEB.inbox_url(RECEIVER))[0] == 200
        [message] = json.loads(listed.result(PATIENCE))["body"]["messages"]
    assert json.loads(message["envelope"]) == sent
    assert refused(shell, WATCH.strip().replace("bob-key", "wes-key")) == "NotTheOwner"


def test_a_key_that_the_mailbox_does_not_have_is_not_its_owners(shell: Shell) -> None:
    send = f"postroom dcp send {URL} status --mailbox bob.{RECEIVER} --key wes-key.json"
    assert refused(shell, send) == "NotTheOwner"
