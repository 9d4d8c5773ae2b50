"""docs/receive/storage.md, followed by a shell and by Python: real HTTPS, a real function, an S3 API."""

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.client.archive.mail import STORAGE_KEY, USERS, filled
from tests.end_to_end.shells import Shell
from tests.end_to_end.test_mailbox_api_page import BLOCKS as SIGNING_IN
from tests.end_to_end.test_mailbox_api_page import shell
from tests.end_to_end.test_openssl_and_curl import tools
from tests.protocols.dm3.stored_mail import ALICE, BOB

from postroom.api.schemas import MAX_PART_BYTES
from postroom.client import Mailbox
from postroom.client.archive import Archive, FolderHome, copy
from postroom.client.archive.service import ServiceHome
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.stack import RECEIVER, DemoStack

__all__ = ["shell", "tools"]

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

PAGE = (Path(__file__).parents[2] / "docs" / "receive" / "storage.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
ARCHIVE, KEY = "archive.example", PrivateKey.generate("ed25519")
OWNER = "storage.example"
"""Stands for the page's mailbox: in this stack, other tests use that one with other keys."""


def values(text: str, count: int) -> tuple[list[Any], str]:
    """So many JSON texts that stand one after the other, and what comes then."""
    found = []
    for _ in range(count):
        value, end = json.JSONDecoder().raw_decode(text)
        found.append(value)
        text = text[end:]
    return found, text


def test_the_commands_of_the_page_store_read_and_delete_containers(shell: Shell, tmp_path: Path) -> None:
    script = "\n".join([*SIGNING_IN[:2], *BLOCKS])
    for before in ("/", "open "):
        script = script.replace(f"{before}{RECEIVER}", f"{before}{OWNER}")
    printed = shell(script)
    (kept, deleted, listed, use, joined), rest = values(printed[printed.index('{"key"') :], 5)
    assert (kept["size"], deleted, listed["containers"]) == (12, None, [])
    assert (use["containers"], use["bytes"]) == (0, 0)
    assert (joined["size"], rest) == (24, "sealed")
    assert (tmp_path / "found").read_bytes() == b"sealed bytes"


def test_every_block_of_the_page_is_run() -> None:
    assert len(BLOCKS) == PAGE.count("```sh") == 3
    assert PAGE.count("```python") == 1, "tests/client/archive/test_service.py runs it"


@pytest.fixture
def mailbox(demo_stack: DemoStack) -> Any:
    """Of somebody who signs in by the key that the operator set."""
    demo_deployment = demo_stack.receiver
    mailboxes = demo_deployment.mailboxes
    mailboxes.set_keys(ARCHIVE, [b64encode(KEY.public.spki()).decode()])
    reached = {"ca_file": demo_stack.stack.authority.pem, "connect": ("127.0.0.1", demo_stack.stack.edge.port)}
    with Mailbox(f"https://nlweb.{RECEIVER}", ARCHIVE, KEY, **reached) as opened:
        yield opened


def test_an_archive_and_a_large_container_are_stored_and_read(mailbox: Mailbox, tmp_path: Path) -> None:
    signature = USERS[BOB].signing.sign(BOB.encode())
    source, kept = filled(FolderHome(tmp_path)), Archive.of(ServiceHome(mailbox), BOB, signature, STORAGE_KEY)
    copy(source, kept)
    assert kept.conversations() == source.conversations()
    assert kept.open(ALICE) == source.open(ALICE)
    large = bytes(range(256)) * (2 * MAX_PART_BYTES // 256 + 1)
    home, key = ServiceHome(mailbox), f"0x{7:064x}"
    etag = home.put(key, large, etag=None)
    assert home.get(key) == (large, etag)
    home.delete(key)
    assert mailbox.storage().bytes == sum(each.size for each in mailbox.containers())
