"""docs/reference/dcp.md, whose commands for a mailbox a shell runs at the local post office; what is refused there."""

import json
import re
from pathlib import Path

import pytest
from tests.end_to_end.shells import Shell, open_shell

from postroom.cli.exits import Exit
from postroom.demo.stack import RECEIVER, DemoStack

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "dcp.md").read_text(encoding="utf-8")
AT_A_BANK, AT_A_MAILBOX = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
"""The first of them runs in tests/cli/test_dcp_connections.py."""
URL = f"https://nlweb.{RECEIVER}/dcp"


@pytest.fixture
def shell(demo_stack: DemoStack, tmp_path: Path) -> Shell:
    """A shell in which `postroom` finds the local stack, in a folder with the keys of Bob, Wes and Jack."""
    environment = {"POSTROOM_KEY_PASSPHRASE": "geheim"}
    run = open_shell(demo_stack, tmp_path, **environment)
    made = {name: json.loads(run(f"postroom dcp keygen {name}-key.json --json")) for name in ("bob", "wes", "jack")}
    return open_shell(
        demo_stack, tmp_path, **environment, BOB=made["bob"]["public_key"], WES=made["wes"]["address"]
    )  # fmt: skip


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


def test_a_key_that_the_mailbox_does_not_have_is_not_its_owners(shell: Shell) -> None:
    send = f"postroom dcp send {URL} status --mailbox bob.{RECEIVER} --key wes-key.json"
    assert refused(shell, send) == "NotTheOwner"
