"""docs/archive.md, followed by a shell: letters and mail from the town's post office come home, and are kept there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.test_dm3 import call, find, https, write

from postroom.cli.story.names import ALICE, BOB, MALLORY, SERVICE
from postroom.cli.story.scenes import Story, now_ms
from postroom.cli.story.town import RECEIVER, Town
from postroom.cli.up import describe_stack
from postroom.client.dm3 import Sent
from postroom.dm3.envelope import DeliveryInformation, write_envelope
from postroom.dm3.message import MessageMetadata, sign_message
from postroom.https import HttpsClient

__all__ = ["https"]

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("town")

PAGE = (Path(__file__).parents[2] / "docs" / "archive.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
LETTERS, DOMAIN, READ, ASIDE, SEARCH, WITHOUT, FILE, MOVE, THERE, VERIFY = BLOCKS


@pytest.fixture
def home(town: Town, own_pem: Path, tmp_path: Path) -> Path:
    """A folder with what the page speaks of: keys, a registry; and the key of the domain's owner is set."""
    describe_stack(town.stack).write(tmp_path / "local.json")
    (tmp_path / f"{BOB}.json").write_bytes(town.names.key_file(BOB).read_bytes())
    (tmp_path / "names.json").write_bytes(town.names.registry_file.read_bytes())
    run(
        tmp_path,
        f"cp {own_pem} own.pem\n"
        "openssl pkey -in own.pem -pubout -out own.pub.pem\n"
        f"postroom mailbox create {RECEIVER} --key own.pub.pem\n",
    )
    return tmp_path


def run(home: Path, script: str) -> str:
    done = subprocess.run(
        ["sh", "-euc", script], cwd=home, capture_output=True, text=True, timeout=240, check=False,
        env={
            **os.environ,
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "POSTROOM_LOCAL": str(home / "local.json"),
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_mail_comes_home_and_is_kept_as_the_page_says(story: Story, town: Town, https: HttpsClient, home: Path) -> None:
    find(town, write(town, https, "Good morning, Bob, at home"))
    envelope = story.envelope(town.sender, {"Text": "for the archive"})
    assert story.post(envelope)[0] == 200
    story.find_filed(town.receiver, RECEIVER, envelope)

    assert "came home" in run(home, LETTERS)
    assert town.receiver.filed(BOB) == []
    run(home, DOMAIN)
    assert town.receiver.filed(RECEIVER) == []
    kept = json.loads(run(home, "postroom archive show sender.example --key own.pem --home company --json"))
    whole = run(home, "postroom archive verify --key own.pem --home company --json")
    assert json.loads(whole)["unproven"] < json.loads(whole)["messages"]
    assert envelope in [json.loads(it["received"]["envelope"]) for it in kept["messages"]]

    told = run(home, READ)
    assert "alice.eth" in told
    assert "    Good morning, Bob, at home\n" in told
    assert json.loads((home / "alice.json").read_text())["partner"] == "alice.eth"
    assert "Good morning, Bob, at home" in run(home, SEARCH)
    assert "Good morning, Bob, at home" in run(home, WITHOUT)
    assert list((home / "cache" / "postroom" / "archive").iterdir()) == []
    run(home, FILE)
    lists = [run(home, f"postroom archive list --key {BOB}.json --home {each}") for each in ("mail", "elsewhere")]
    assert lists[0] == lists[1]
    run(home, MOVE)
    assert len(list((home / "mail").glob("0x*"))) == 1
    assert run(home, THERE).splitlines()[1:] == lists[0].splitlines()
    assert len(list((home / "safe").glob("0x*"))) == 1
    assert "0 flaws" in run(home, VERIFY)

    find(town, write(town, https, "kept where it waited"))
    run(home, LETTERS.replace("--home mail", "--home service"))
    assert town.receiver.filed(BOB) == []
    there = f"https://dm3.{RECEIVER}/{BOB}"
    run(home, f"postroom archive move --to back --remove --key {BOB}.json --home {there}")
    assert "kept where it waited" in run(home, f"postroom archive show alice.eth --key {BOB}.json --home back")


def test_a_letter_in_anothers_name_is_set_aside_and_shown_as_the_page_says(
    town: Town, https: HttpsClient, home: Path
) -> None:
    """Only the receiver sees it: what the post office sees, alice.eth signed; mallory.eth's name is sealed."""
    names = town.names
    alice, bob = names.users[ALICE], names.profiles.user(BOB)
    envelope = write_envelope(
        sign_message("Send me your keys", MessageMetadata(BOB, MALLORY, now_ms()), alice.signing),
        delivery=DeliveryInformation(BOB, ALICE),
        receiver_key=bob.encryption_key,
        service_key=names.profiles.service(SERVICE).encryption_key,
        signing=alice.signing,
    )
    call(https, {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope.as_json()], "id": 1})
    find(town, Sent(envelope, ()))
    assert "1 of them set aside: SenderSignatureInvalid" in run(home, LETTERS)
    assert "set aside: SenderSignatureInvalid" in run(home, ASIDE)
    assert town.receiver.filed(BOB) == []


def test_every_block_of_the_page_is_followed() -> None:
    assert len(BLOCKS) == PAGE.count("```sh") == 10
