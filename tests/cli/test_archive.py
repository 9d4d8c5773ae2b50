"""`postroom archive …`: mail comes home over HTTPS, is read, searched, carried elsewhere, and verified."""

import errno
import json
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from click.testing import Result
from moto import mock_aws
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import Postroom
from tests.cli.served_api import URL, ServedApi, serve
from tests.client.archive.mail import SERVICE, SERVICE_NAME, SERVICE_SEALS, STRANGER, USERS, sealed
from tests.http.api_stack import SHOP, SHOP_KEY, ApiStack
from tests.http.conftest import api as api
from tests.protocols.dm3.stored_mail import BOB

from postroom.cli.archive.inputs import open_archive
from postroom.cli.progress import progress
from postroom.client.archive import FolderHome
from postroom.http.rate_limit import Rate
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.containers import conversation_key
from postroom.protocols.dm3.envelope import message_hash, read_envelope
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.profile import ServiceProfile, UserProfile, data_uri
from postroom.protocols.nlweb.sign import Draft, sign, write
from postroom.storage.containers.rows import StorageUsage

AT = 1_795_253_400_000


@dataclass
class ArchiveCommands:
    """Bob's commands: his keys, a registry, an archive in the folder `mail`."""

    served: ServedApi
    postroom: Postroom
    folder: Path

    def __call__(self, *arguments: str, key: str = "bob.json", home: str = "mail") -> Result:
        """An archive command."""
        return self.postroom("archive", *arguments, "--key", key, "--home", home)

    def pull(self, *more: str, name: str = BOB, **given: str) -> Result:
        local = ("--pinned", "names.json", "--ca-file", str(self.served.ca_file), "--local", str(self.served.local))
        return self("pull", name, "--at", URL, *local, *more, **given)

    def said(self, *arguments: str, **given: str) -> Any:
        """What a command says to programs."""
        done = self(*arguments, "--json", **given)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def file(self, text: str, at: int = 0, sender: str = "alice.eth", **more: Any) -> str:
        """A message waits."""
        message = sealed(text, at, sender, **more)
        self.served.api.file(message, mailbox=BOB, conversation=sender, receipt={"protocol": "dm3"})
        return message

    def waiting(self, name: str = BOB) -> int:
        api = self.served.api
        return len(list(api.mail.listing.all_filed(name, api.clock() + 10)))


@pytest.fixture
def bob(
    api: ApiStack, postroom: Postroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ArchiveCommands]:
    api.users.keys[BOB] = USERS[BOB].signing
    for name, keys in {"bob": USERS[BOB], "other": UserKeys.random()}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(keys.as_json()))
    (tmp_path / "shop.pem").write_bytes(SHOP_KEY.to_pem())
    (tmp_path / "names.json").write_text(json.dumps(names()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serve(api, tmp_path) as served:
        yield ArchiveCommands(served, postroom, tmp_path)


def names() -> dict[str, dict[str, str]]:
    """The registry document: everybody in the archive's mail, and the delivery service."""
    texts = {
        name: {PROFILE_KEY: data_uri(UserProfile(it.encryption.public, it.signing.public, (SERVICE_NAME,)).as_json())}
        for name, it in USERS.items()
    }
    service = ServiceProfile(SERVICE_SEALS.public, SERVICE.public, "https://ds.example")
    return {**texts, SERVICE_NAME: {SERVICE_KEY: data_uri(service.as_json())}}


@pytest.fixture
def filled(bob: ArchiveCommands) -> ArchiveCommands:
    """An archive of three messages by two senders, one of them deleted, and of something that is not a message."""
    bob.file("Good morning, Bob", 1)
    gone = bob.file("regretted", 2)
    bob.file("", 3, kind=MessageType.DELETE_REQUEST, about=message_hash(read_envelope(json.loads(gone))))
    bob.file("from carol", 4, "carol.eth")
    bob.served.api.file("{", mailbox=BOB, conversation="mallory.eth", receipt={"protocol": "dm3"})
    assert bob.pull().exit_code == 0
    return bob


# ---- pull ------------------------------------------------------------------------------------------------------------
def test_pull_stores_and_acknowledges_messages(bob: ArchiveCommands) -> None:
    bob.file("hello")
    bob.served.api.file("{", mailbox=BOB, conversation="mallory.eth", receipt={"protocol": "dm3"})
    result = bob.pull()
    assert result.exit_code == 0, result.output
    assert result.stdout == "2 messages were stored\n  1 of them set aside: NotJson\n"
    assert bob.waiting() == 0
    assert json.loads(bob.pull("--json").stdout) == {
        "kept": 0,
        "set_aside": {},
        "left": {},
        "unopened": 0,
        "damaged": {},
    }


def test_pull_works_for_a_domain(bob: ArchiveCommands) -> None:
    draft = Draft("b.com", SHOP, "Hello@Host", "8b51b6b2-2f5f-4a0e-9a0b-3c1d5e7f9a1b", AT, {"Text": "Rechnung"})
    bob.served.api.file(write(sign(draft, SHOP_KEY)).decode(), mailbox=SHOP, conversation="b.com")
    assert bob.pull(name=SHOP, key="shop.pem", home="shop").stdout == "1 messages were stored\n"
    shown = bob("show", "b.com", key="shop.pem", home="shop").stdout
    assert "b.com  Hello@Host" in shown
    assert '    {"Text": "Rechnung"}' in shown
    [found] = bob.said("search", "rechnung", key="shop.pem", home="shop")
    assert found["partner"] == "b.com"
    printed = bob.said("verify", "--resolver", "tcp://127.0.0.1:9", key="shop.pem", home="shop")
    assert (printed["messages"], printed["unproven"], printed["flaws"]) == (1, 1, [])


def test_a_key_that_signs_no_chats_finds_what_carries_them_as_it_came(bob: ArchiveCommands) -> None:
    body = {"Status": "AAAA"}
    draft = Draft("b.com", SHOP, "Payload@Status", "8b51b6b2-2f5f-4a0e-9a0b-3c1d5e7f9a1b", AT, body)
    bob.served.api.file(write(sign(draft, SHOP_KEY)).decode(), mailbox=SHOP, conversation="b.com")
    assert bob.pull(name=SHOP, key="shop.pem", home="shop").exit_code == 0
    for more in ([], ["--no-index"]):
        [found] = bob.said("search", "payload@status", *more, key="shop.pem", home="shop")
        assert (found["partner"], "AAAA" in found["text"]) == ("b.com", True)


def test_messages_left_in_the_mailbox_are_reported_with_exit_code_3(filled: ArchiveCommands) -> None:
    archive_of_bob = open_archive(FolderHome(filled.folder / "mail"), filled.folder / "bob.json")
    conversation = filled.folder / "mail" / conversation_key(archive_of_bob.filing.root, "alice.eth")
    conversation.write_bytes(conversation.read_bytes()[:-1])
    filled.file("late", 9)
    result = filled.pull()
    assert result.exit_code == 3
    assert f"the messages of alice.eth stay in the mailbox: the container {conversation.name}" in result.stdout
    assert f"the archive is damaged: the container {conversation.name}" in filled("list").output
    assert filled.waiting() == 1


def test_messages_sealed_to_an_old_key_are_pulled_with_its_key_file(
    bob: ArchiveCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob.file("before")
    new = UserKeys(USERS[BOB].signing, UserKeys.random().encryption)
    monkeypatch.setitem(USERS, BOB, new)
    (bob.folder / "new.json").write_text(json.dumps(new.as_json()))
    (bob.folder / "names.json").write_text(json.dumps(names()))
    result = bob.pull(key="new.json")
    assert result.exit_code == 3
    assert "1 messages stay in the mailbox" in result.stdout
    assert "add the file of the former keys with --old-key" in result.stdout
    assert json.loads(bob.pull("--json", key="new.json").stdout)["unopened"] == 1
    result = bob.pull("--old-key", "other.json", "--old-key", "bob.json", key="new.json")
    assert (result.exit_code, result.stdout) == (0, "1 messages were stored\n")
    assert bob.waiting() == 0
    assert "before" in bob("show", "alice.eth", key="new.json").stdout


REFUSED = {
    "another key": ({"key": "other.json"}, 1, "NotTheOwner"),
    "no such mailbox": ({"name": "nobody.eth"}, 1, "NotTheOwner"),
    "a PEM file for dm3": ({"key": "shop.pem"}, 1, "NotTheOwner"),
    "a key that is none": ({"key": "names.json"}, 2, "has no keys"),
    "no such file": ({"key": "nowhere"}, 5, "nowhere"),
    "no name": ({"name": "a..b"}, 2, "not a name such as"),
    "another's mailbox as home": ({"home": f"{URL}/{SHOP}"}, 1, "NotTheOwner"),
    "no mailbox as home": ({"home": f"{URL}/nobody.eth"}, 1, "NotTheOwner"),
    "a host that is another": (
        {"home": "https://elsewhere.example/bob.eth"},
        3,
        "of elsewhere.example is not accepted",
    ),
    "a post office without a mailbox": ({"home": URL}, 2, "use https://HOST/NAME"),
    "a mailbox that has no name": ({"home": f"{URL}/a..b"}, 2, "use https://HOST/NAME"),
    "more than a mailbox": ({"home": f"{URL}/storage/bob.eth"}, 2, "use https://HOST/NAME"),
    "no host": ({"home": "https://a b/bob.eth"}, 2, "the mailbox's URL is"),
    "another scheme": ({"home": "ftp://x"}, 2, "not a home"),
    "no bucket": ({"home": "s3:///x"}, 2, "not a home in a bucket"),
    "a file": ({"home": "bob.json"}, 2, "not a folder"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_an_impossible_pull_is_refused_and_changes_nothing(bob: ArchiveCommands, fault: str) -> None:
    given, code, why = REFUSED[fault]
    bob.file("hello")
    result = bob.pull(**given)
    assert result.exit_code == code, result.output
    assert why in result.output.replace("\n", " ")
    assert bob.waiting() == 1


@pytest.mark.parametrize("pinned", [{BOB: {SERVICE_KEY: "data:,{}"}}, {}], ids=["no profile", "no name"])
def test_dm3_messages_are_not_pulled_without_the_owners_profile(
    bob: ArchiveCommands, pinned: dict[str, dict[str, str]]
) -> None:
    bob.file("hello")
    ca = ("--ca-file", str(bob.served.ca_file), "--local", str(bob.served.local))
    (bob.folder / "names.json").write_text(json.dumps(pinned))
    result = bob("pull", BOB, "--at", URL, "--pinned", "names.json", *ca)
    assert result.exit_code == 2
    assert "has no profile" in result.output
    assert bob.waiting() == 1


# ---- reading ---------------------------------------------------------------------------------------------------------
def test_list_shows_the_partner_number_and_newest_message_of_each_conversation(filled: ArchiveCommands) -> None:
    assert [line.split() for line in filled("list").stdout.splitlines()] == [
        ["partner", "messages", "newest"],
        ["alice.eth", "2", "2026-11-21T09:30:00.003Z"],
        ["carol.eth", "1", "2026-11-21T09:30:00.004Z"],
        [
            "1",
            "messages",
            "are",
            "set",
            "aside;",
            "`postroom",
            "archive",
            "show",
            "postroom:set-aside`",
            "shows",
            "them",
        ],
    ]
    printed = filled.said("list")
    assert printed["owner"] == BOB
    assert [it["partner"] for it in printed["conversations"]] == ["alice.eth", "carol.eth", "postroom:set-aside"]


def test_show_prints_a_conversation(filled: ArchiveCommands) -> None:
    lines = filled("show", "Alice.eth").stdout.splitlines()
    assert lines == [
        "2026-11-21T09:30:00.001Z  alice.eth",
        "    Good morning, Bob",
        "2026-11-21T09:30:00.002Z  alice.eth  removed by its author: DELETE_REQUEST",
        "2026-11-21T09:30:00.003Z  alice.eth  DELETE_REQUEST",
    ]
    assert filled.said("show", "carol.eth")["messages"][0]["message"]["message"] == "from carol"
    assert "set aside: NotJson" in filled("show", "postroom:set-aside").stdout
    assert filled.said("show", "postroom:set-aside")["messages"][0]["received"]["envelope"] == "{"
    result = filled("show", "nobody.eth")
    assert (result.exit_code, "no conversation with nobody.eth" in result.output) == (5, True)


def test_show_reads_the_chunks_of_its_conversation_only(
    filled: ArchiveCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    get = FolderHome.get
    monkeypatch.setattr(FolderHome, "get", lambda self, key: read.append(key) or get(self, key))  # type: ignore[func-returns-value]
    filled("show", "carol.eth")
    # The ownership record (once to know whose, once to know that it is here), the conversation, its only chunk.
    assert len(read) == 4
    assert len(set(read)) == 3


def test_text_of_strangers_cannot_control_the_terminal(bob: ArchiveCommands) -> None:
    bob.file("\x1b[2Jboo\u202e", 1)
    bob.pull()
    for command in (("show", "alice.eth"), ("search", "boo")):
        out = bob(*command).stdout
        assert "boo" in out
        assert not {"\x1b", "\u202e"} & set(out)


def test_a_missing_archive_is_reported(bob: ArchiveCommands) -> None:
    for command in (["list"], ["show", "x.eth"], ["search", "x"], ["index"], ["export", "x"], ["verify"]):
        result = bob(*command)
        assert (result.exit_code, "no archive in this home yet" in result.output) == (5, True)
    assert not (bob.folder / "mail").exists()


def test_a_home_of_another_key_is_reported(filled: ArchiveCommands) -> None:
    for command in (["list"], ["show", "x.eth"], ["search", "x"], ["export", "x"], ["verify"], ["move", "--to", "y"]):
        result = filled(*command, key="other.json")
        assert (result.exit_code, "another key" in result.output) == (2, True)


# ---- searching -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("more", [[], ["--no-index"]])
def test_search_finds_messages(filled: ArchiveCommands, more: list[str]) -> None:
    assert filled("search", "MORNING", *more).stdout == "2026-11-21T09:30:00.001Z  alice.eth\n    Good morning, Bob\n"
    assert filled("search", "regretted", *more).stdout == "nothing was found\n"
    [found] = filled.said("search", "carol", *more)
    assert (found["partner"], found["text"]) == ("carol.eth", "from carol")
    assert filled("search", " ", *more).exit_code == 2


def test_the_index_follows_the_archive_and_may_be_removed(filled: ArchiveCommands) -> None:
    filled("search", "morning")
    [index] = (filled.folder / "cache" / "postroom" / "archive").iterdir()
    filled.file("another morning", 9)
    filled.pull()
    assert len(filled.said("search", "morning")) == 2
    assert filled("index", "--drop").stdout == "the index is removed\n"
    assert not index.exists()
    filled("search", "morning", "--no-index")
    assert not index.exists()
    assert filled("index").exit_code == 0
    assert index.exists()


def test_an_unusable_index_is_reported(filled: ArchiveCommands) -> None:
    filled("index")
    [index] = (filled.folder / "cache" / "postroom" / "archive").iterdir()
    index.unlink()
    index.mkdir()
    result = filled("search", "morning")
    assert result.exit_code in (2, 3)
    assert str(index) in result.output


# ---- carrying --------------------------------------------------------------------------------------------------------
def test_an_export_is_imported_elsewhere_and_merged(filled: ArchiveCommands) -> None:
    assert filled("export", "mail.json").exit_code == 0
    assert filled("export", "mail.json").exit_code == 2
    assert filled("export", "mail.json", "--force").exit_code == 0
    assert filled("import", "mail.json", home="other").exit_code == 5
    for _ in range(2):
        assert filled("import", "mail.json", "--name", BOB, home="other").exit_code == 0
    assert filled.said("list", home="other") == filled.said("list")
    assert oct((filled.folder / "mail.json").stat().st_mode & 0o777) == "0o600"


def test_an_export_follows_no_planted_link(filled: ArchiveCommands) -> None:
    """A folder may be shared: whoever can write there could lead the export into another file of the owner's."""
    other = filled.folder / "other.txt"
    other.write_text("mine")
    (filled.folder / ".mail.json.unfinished").symlink_to(other)
    assert filled("export", "mail.json").exit_code == 0
    (filled.folder / "link.json").symlink_to(other)
    assert filled("export", "link.json", "--force").exit_code == 0
    assert other.read_text() == "mine"
    assert not (filled.folder / "link.json").is_symlink()
    assert filled("import", "link.json", "--name", BOB, home="other").exit_code == 0


def test_an_export_that_fails_leaves_the_file_before_and_nothing_else(
    filled: ArchiveCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert filled("export", "mail.json").exit_code == 0
    before = {path.name for path in filled.folder.iterdir()}, (filled.folder / "mail.json").read_bytes()

    def is_full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", is_full)
        assert filled("export", "mail.json", "--force").exit_code == 3
    assert before == ({path.name for path in filled.folder.iterdir()}, (filled.folder / "mail.json").read_bytes())


@pytest.mark.parametrize("damage", ["short", "foreign", "none"])
def test_a_damaged_or_foreign_export_is_reported_and_changes_nothing(filled: ArchiveCommands, damage: str) -> None:
    filled("export", "mail.json")
    file = filled.folder / "mail.json"
    if damage == "short":
        file.write_bytes(file.read_bytes()[:-100])
    elif damage == "none":
        file.write_bytes(b"PK")
    key = "other.json" if damage == "foreign" else "bob.json"
    result = filled("import", "mail.json", "--name", BOB, home="new", key=key)
    assert (result.exit_code, "not an export record" in result.output) == (1, True)
    assert not (filled.folder / "new").exists()


def test_the_old_home_of_a_moved_archive_names_the_new_one(filled: ArchiveCommands) -> None:
    before = filled.said("list")
    assert filled("move", "--to", "new").exit_code == 0
    result = filled("list")
    assert (result.exit_code, f"use --home {filled.folder / 'new'}" in result.output) == (2, True)
    filled.file("late", 9)
    assert filled.pull().exit_code == 2
    assert filled.waiting() == 1
    assert filled.said("list", home="new") == before
    assert len(list((filled.folder / "mail").glob("0x*"))) > 1
    assert filled("move", "--to", "new", "--remove").exit_code == 0
    assert len(list((filled.folder / "mail").glob("0x*"))) == 1
    assert filled.pull(home="new").exit_code == 0


def test_mail_left_in_an_old_home_is_moved_to_the_current_one(filled: ArchiveCommands) -> None:
    assert filled("move", "--to", "new").exit_code == 0
    assert filled("move", "--to", "newer", home="new").exit_code == 0
    result = filled("move", "--to", "new")
    assert (result.exit_code, f"--to {filled.folder / 'newer'} for what is left" in result.output) == (2, True)
    assert filled("move", "--to", "newer", "--remove").exit_code == 0
    assert len(list((filled.folder / "mail").glob("0x*"))) == 1


def test_an_archive_does_not_move_to_its_own_home(filled: ArchiveCommands) -> None:
    (filled.folder / "link").symlink_to(filled.folder / "mail")
    result = filled("move", "--to", "link")
    assert (result.exit_code, "are the same" in result.output) == (2, True)
    assert filled("list").exit_code == 0


def test_an_archive_moves_into_a_bucket_and_is_read_there(
    filled: ArchiveCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    before = filled.said("list")
    with mock_aws():
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="mine")
        assert filled("move", "--to", "s3://mine/mail/").exit_code == 0
        assert "use --home s3://mine/mail" in filled("list").output
        assert filled.said("list", home="s3://mine/mail") == before
        found = s3.list_objects_v2(Bucket="mine")["Contents"]
        assert all(it["Key"].startswith("mail/0x") for it in found)
        assert filled("list", home="s3://nowhere/mail").exit_code == 3


# ---- at the post office ----------------------------------------------------------------------------------------------
THERE = f"{URL}/{BOB}"


class ServiceArchive:
    """Bob's commands on an archive at his post office."""

    def __init__(self, commands: ArchiveCommands) -> None:
        self.commands = commands

    def __call__(self, *arguments: str, home: str = THERE, key: str = "bob.json") -> Result:
        served = self.commands.served
        way = ("--local", str(served.local), "--ca-file", str(served.ca_file))
        return self.commands(*arguments, *way, home=home, key=key)

    def said(self, *arguments: str, home: str = THERE) -> Any:
        done = self(*arguments, "--json", home=home)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def set_quota(self, containers: int, size: int) -> None:
        """The post office stores no more than this."""
        api = self.commands.served.api
        api.containers._storing = api.storing(api.deployed.clients, StorageUsage(containers, size))

    def container_count(self) -> int:
        """How many containers of Bob are there."""
        api = self.commands.served.api
        return api.storage(api.deployed.clients).use(BOB).containers


@pytest.fixture
def at_service(filled: ArchiveCommands) -> ServiceArchive:
    # The clock of this API stands still, so its rate limit would never recover.
    filled.served.api.bearers._rate = Rate(1_000_000, filled.served.api.clock)
    return ServiceArchive(filled)


@pytest.mark.parametrize("to", [("--to", THERE), ("--to", f"{THERE}/"), ("--to", "service", "--at", URL)])
def test_an_archive_moves_to_service_storage_and_back(at_service: ServiceArchive, to: tuple[str, ...]) -> None:
    before = at_service.said("list", home="mail")
    assert at_service("move", *to, home="mail").exit_code == 0
    result = at_service("list", home="mail")
    assert (result.exit_code, f"use --home {THERE}\n" in result.output) == (2, True)
    assert at_service.said("list") == before
    assert at_service("move", *to, "--remove", home="mail").exit_code == 0
    assert len(list((at_service.commands.folder / "mail").glob("0x*"))) == 1
    assert at_service.said("list") == before
    assert at_service("move", "--to", "mail", "--remove").exit_code == 0
    assert at_service.container_count() == 1
    result = at_service("list")
    assert (result.exit_code, f"use --home {at_service.commands.folder / 'mail'}" in result.output) == (2, True)
    assert at_service.said("list", home="mail") == before


def test_every_command_accepts_a_home_in_service_storage(at_service: ServiceArchive) -> None:
    commands = {
        "list": ["list"],
        "show": ["show", "alice.eth"],
        "search": ["search", "morning"],
        "scan": ["search", "morning", "--no-index"],
    }
    before = {name: at_service.said(*command, home="mail") for name, command in commands.items()}
    assert at_service("export", "mail.json", home="mail").exit_code == 0
    assert at_service("import", "mail.json", "--name", BOB).exit_code == 0
    assert {name: at_service.said(*command) for name, command in commands.items()} == before
    assert at_service("index").exit_code == 0
    assert at_service("export", "there.json").exit_code == 0
    assert at_service("import", "there.json", "--name", BOB, home="new").exit_code == 0
    assert at_service.said("list", home="new") == before["list"]


def test_an_archive_in_service_storage_is_verified_like_a_local_one(
    at_service: ServiceArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert at_service("move", "--to", THERE, home="mail").exit_code == 0
    # Not by a local stack: `verify` would look for a registry in it.
    served, look_up = at_service.commands.served, socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _host, *more, **given: look_up("127.0.0.1", *more, **given))
    printed = at_service.commands.said(
        "verify", "--pinned", "names.json", "--ca-file", str(served.ca_file), home=f"{URL}:{served.port}/{BOB}"
    )
    assert printed == {"messages": 3, "tombstones": 1, "unproven": 0, "set_aside": 1, "flaws": []}


@pytest.mark.parametrize("home", [THERE, "service"])
def test_pull_stores_messages_in_service_storage(at_service: ServiceArchive, home: str) -> None:
    at_service.commands.file("to be kept there", 9)
    assert at_service.commands.pull(home=home).stdout == "1 messages were stored\n"
    assert at_service.commands.waiting() == 0
    assert "    to be kept there\n" in at_service("show", "alice.eth").stdout


def test_a_domain_can_have_its_archive_in_service_storage(at_service: ServiceArchive) -> None:
    draft = Draft("b.com", SHOP, "Hello@Host", "8b51b6b2-2f5f-4a0e-9a0b-3c1d5e7f9a1b", AT, {"Text": "Rechnung"})
    at_service.commands.served.api.file(write(sign(draft, SHOP_KEY)).decode(), mailbox=SHOP, conversation="b.com")
    assert at_service.commands.pull(name=SHOP, key="shop.pem", home="service").stdout == "1 messages were stored\n"
    assert "Rechnung" in at_service("show", "b.com", key="shop.pem", home=f"{URL}/{SHOP}").stdout


def test_service_is_a_valid_home_only_with_a_post_office(at_service: ServiceArchive) -> None:
    for command in (["list"], ["verify"], ["move", "--to", "new"]):
        result = at_service(*command, home="service")
        assert (result.exit_code, "use https://HOST/NAME" in result.output) == (2, True)
    assert at_service("move", "--to", "service", home="mail").exit_code == 2
    at_service("list", home="mail")


def test_an_archive_does_not_move_to_its_own_service_storage(at_service: ServiceArchive) -> None:
    assert at_service("move", "--to", THERE, home="mail").exit_code == 0
    result = at_service("move", "--to", "https://NLWEB.shop.com:443/Bob.eth/")
    assert (result.exit_code, "are the same" in result.output) == (2, True)
    assert at_service("list").exit_code == 0


def test_full_service_storage_is_reported_and_nothing_is_lost(at_service: ServiceArchive) -> None:
    at_service.set_quota(3, 100_000)
    result = at_service("move", "--to", THERE, home="mail")
    assert (result.exit_code, "StorageFull" in result.output) == (1, True)
    assert at_service("list", home="mail").exit_code == 0
    at_service.commands.file("late", 9)
    result = at_service.commands.pull(home="service")
    assert (result.exit_code, "StorageFull" in result.output) == (1, True)
    assert at_service.commands.waiting() == 1
    at_service.set_quota(100, 100_000)
    assert at_service("move", "--to", THERE, home="mail").exit_code == 0
    assert at_service.commands.pull(home="service").stdout == "1 messages were stored\n"


def test_another_key_opens_nothing_in_service_storage(at_service: ServiceArchive) -> None:
    assert at_service("move", "--to", THERE, home="mail").exit_code == 0
    for command in (["list"], ["export", "x"], ["verify"], ["move", "--to", "y"]):
        result = at_service(*command, key="other.json")
        assert (result.exit_code, "NotTheOwner" in result.output) == (1, True)


def test_service_storage_holds_the_archive_of_its_own_name_only(at_service: ServiceArchive) -> None:
    """Both names have one key, so that it is not the post office that says no."""
    users = at_service.commands.served.api.users
    users.keys["second.eth"] = users.keys[BOB]
    assert at_service("move", "--to", THERE, home="mail").exit_code == 0
    at_service.commands.file("to the second", 9)
    result = at_service.commands.pull(name="second.eth", home=THERE)
    assert (result.exit_code, f"has the archive of {BOB}" in result.output.replace("\n", " ")) == (2, True)
    assert at_service.commands.waiting() == 1


@pytest.mark.usefixtures("no_pauses")
def test_an_unavailable_post_office_is_exit_code_3_and_nothing_is_acknowledged(at_service: ServiceArchive) -> None:
    at_service.commands.file("late", 9)
    at_service.commands.served.before = lambda asked: 503 if "/storage/" in asked else None
    result = at_service.commands.pull(home="service")
    assert (result.exit_code, "StoreUnavailable" in result.output) == (3, True)
    assert at_service.commands.waiting() == 1
    result = at_service("move", "--to", THERE, home="mail")
    assert (result.exit_code, "StoreUnavailable" in result.output) == (3, True)
    at_service.commands.served.before = lambda _: None
    assert at_service("list", home="mail").exit_code == 0


# ---- verifying -------------------------------------------------------------------------------------------------------
def test_a_whole_archive_is_verified(filled: ArchiveCommands) -> None:
    printed = filled.said("verify", "--pinned", "names.json")
    assert printed == {"messages": 3, "tombstones": 1, "unproven": 0, "set_aside": 1, "flaws": []}
    assert filled.said("verify")["unproven"] == 3


def test_verify_reports_each_flaw_with_exit_code_4(filled: ArchiveCommands) -> None:
    for path in (filled.folder / "mail").glob("0x*"):
        if path.stat().st_size > 1000:
            path.write_bytes(path.read_bytes()[:-1])
            cut = path.name
    result = filled("verify", "--pinned", "names.json")
    assert result.exit_code == 4
    assert f"the container {cut} is sealed with another storage key, was changed" in result.stdout
    assert json.loads(filled("verify", "--json").stdout)["flaws"]


def test_old_registries_prove_messages_of_senders_who_changed_keys(
    filled: ArchiveCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(USERS, "alice.eth", STRANGER)
    (filled.folder / "newer.json").write_text(json.dumps(names()))
    assert filled("verify", "--pinned", "newer.json").exit_code == 4
    assert filled("verify", "--pinned", "newer.json", "--pinned", "names.json").exit_code == 0


# ---- keys, and who looks ---------------------------------------------------------------------------------------------
def test_no_key_is_ever_shown(filled: ArchiveCommands) -> None:
    secrets = [it.split(":")[-1] for it in USERS[BOB].as_json().values() if isinstance(it, str)]
    for command in (["list"], ["verify"], ["export", "x"], ["show", "alice.eth"], ["list", "--json"]):
        assert not any(secret in filled(*command).output for secret in secrets)


def test_a_progress_bar_is_shown_on_a_terminal_only(filled: ArchiveCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    with progress("reading", lambda: pytest.fail("nobody looks")) as met:
        met(1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    asked: list[int] = []
    with progress("reading", lambda: asked.append(1) or 3) as met:  # type: ignore[func-returns-value]
        met(1)
    assert asked == [1]
