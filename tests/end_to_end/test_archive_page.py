"""docs/receive/archive.md, followed by a shell: mail from the local post office is pulled home, and kept there."""

import json
import re
from pathlib import Path

import pytest
from tests.end_to_end.shells import Shell, open_shell
from tests.end_to_end.test_dm3 import call, find, https, write

from postroom.client.dm3 import Dm3Sent
from postroom.demo.names import ALICE, BOB, MALLORY, SERVICE
from postroom.demo.scenes import Story, now_ms
from postroom.demo.stack import RECEIVER, DemoStack
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.envelope import DeliveryInformation, write_envelope
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.sign import sign_message
from postroom.storage.directory.domains import Dm3Mailbox

__all__ = ["https"]

# One stack serves all of these: they run in one process.
pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.tools]

PAGE = (Path(__file__).parents[2] / "docs" / "receive" / "archive.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PULL, DOMAIN, READ, ASIDE, SEND, RESEND, SEARCH, WITHOUT, FILE, MOVE, THERE, VERIFY = BLOCKS


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def run(demo_stack: DemoStack, own_pem: Path, home: Path) -> Shell:
    """A shell in a folder with what the page speaks of: keys, a registry; and the key of the domain's owner is set."""
    (home / f"{BOB}.json").write_bytes(demo_stack.names.key_file(BOB).read_bytes())
    (home / "names.json").write_bytes(demo_stack.names.registry_file.read_bytes())
    shell = open_shell(demo_stack, home, HOME=str(home), XDG_CACHE_HOME=str(home / "cache"))
    shell(
        f"cp {own_pem} own.pem\n"
        "openssl pkey -in own.pem -pubout -out own.pub.pem\n"
        f"postroom mailbox open {RECEIVER} --public-key own.pub.pem\n",
    )
    return shell


def test_the_commands_of_the_page_pull_and_store_mail(
    story: Story, demo_stack: DemoStack, https: HttpsClient, home: Path, run: Shell
) -> None:
    find(demo_stack, write(demo_stack, https, "Good morning, Bob, at home"))
    envelope = story.envelope(demo_stack.sender, {"Text": "for the archive"})
    assert story.post(envelope)[0] == 200
    story.find_filed(demo_stack.receiver, RECEIVER, envelope)

    assert "messages were stored" in run(PULL)
    assert demo_stack.receiver.filed(BOB) == []
    run(DOMAIN)
    assert demo_stack.receiver.filed(RECEIVER) == []
    kept = json.loads(run("postroom archive show sender.example --key own.pem --home company --json"))
    whole = run("postroom archive verify --key own.pem --home company --json")
    assert json.loads(whole)["unproven"] < json.loads(whole)["messages"]
    assert envelope in [json.loads(it["received"]["envelope"]) for it in kept["messages"]]

    printed = run(READ)
    assert "alice.eth" in printed
    assert "    Good morning, Bob, at home\n" in printed
    assert json.loads((home / "alice.json").read_text())["partner"] == "alice.eth"
    operators = demo_stack.receiver.operators
    operators.put_dm3_mailbox(Dm3Mailbox(ALICE))
    try:
        [sent] = re.findall("message hash (.*)", run(SEND))
        assert "Good evening, Alice" in run(READ)
        assert run(RESEND.replace("$HASH", sent)).startswith("taken: ")
    finally:
        operators.remove_dm3_mailbox(ALICE)
    assert "Good morning, Bob, at home" in run(SEARCH)
    assert "Good morning, Bob, at home" in run(WITHOUT)
    assert list((home / "cache" / "postroom" / "archive").iterdir()) == []
    run(FILE)
    lists = [run(f"postroom archive list --key {BOB}.json --home {each}") for each in ("mail", "elsewhere")]
    assert lists[0] == lists[1]
    run(MOVE)
    assert len(list((home / "mail").glob("0x*"))) == 1
    assert run(THERE).splitlines()[1:] == lists[0].splitlines()
    assert len(list((home / "safe").glob("0x*"))) == 1
    assert "0 flaws" in run(VERIFY)

    find(demo_stack, write(demo_stack, https, "kept where it waited"))
    run(PULL.replace("--home mail", "--home service"))
    assert demo_stack.receiver.filed(BOB) == []
    there = f"https://dm3.{RECEIVER}/{BOB}"
    run(f"postroom archive move --to back --remove --key {BOB}.json --home {there}")
    assert "kept where it waited" in run(f"postroom archive show alice.eth --key {BOB}.json --home back")


def test_a_forged_message_is_set_aside_and_shown_as_the_page_says(
    demo_stack: DemoStack, https: HttpsClient, run: Shell
) -> None:
    """Only the receiver sees it: what the post office sees, alice.eth signed; mallory.eth's name is sealed."""
    names = demo_stack.names
    alice, bob = names.users[ALICE], names.profiles.user(BOB)
    forged = sign_message("Send me your keys", MessageMetadata(BOB, MALLORY, now_ms()), alice.signing)
    envelope = write_envelope(
        forged,
        delivery=DeliveryInformation(BOB, ALICE),
        receiver_key=bob.encryption_key,
        service_key=names.profiles.service(SERVICE).encryption_key,
        signing=alice.signing,
    )
    call(https, {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope.as_json()], "id": 1})
    find(demo_stack, Dm3Sent(forged, envelope, ()))
    assert "1 of them set aside: SenderSignatureInvalid" in run(PULL)
    assert "set aside: SenderSignatureInvalid" in run(ASIDE)
    assert demo_stack.receiver.filed(BOB) == []


def test_every_block_of_the_page_is_run() -> None:
    assert len(BLOCKS) == PAGE.count("```sh") == 12
