"""`postroom chat` of a domain's owner, and `chat trust`, over TLS on loopback, with the outbox of the mailbox API."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.chat_commands import ChatCommands
from tests.cli.chat_commands import api as api
from tests.cli.chat_commands import chat as chat
from tests.cli.conftest import FakeDns
from tests.cli.served_api import URL
from tests.client.chat.network import wrapped
from tests.http.api_stack import SHOP, ApiStack
from typer.testing import Result

from postroom.cli.descriptor import read_descriptor
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.nlweb_carrier import SUBJECT, write_body
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.zones import Mode
from postroom.protocols.dm3.explain import shown_time
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.nlweb.sign import Draft, sign, write
from postroom.protocols.status import sending
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.pseudonym import short_key
from postroom.protocols.status.verify import ChatRef

BANK = "bank.example"
OWNER, DOMAIN_KEY = UserKeys.random(), PrivateKey.generate("ed25519")
FIRST, SECOND = AuthorKey.from_secret(bytes(31) + b"\7"), AuthorKey.from_secret(bytes(31) + b"\10")


@dataclass
class ShopCommands:
    """`postroom chat` as the owner of shop.com, at whose API mail of bank.example is filed."""

    chat: ChatCommands
    api: ApiStack

    def __call__(self, *words: str, at: bool = True) -> Result:
        return self.chat.postroom(
            "chat", *words, *(("--at", URL) if at else ()), "--key", "shop.json", "--home", "shop.home", "--as", SHOP,
            *self.chat.options,
        )  # fmt: skip

    def said(self, *words: str, code: int = 0, at: bool = True) -> Any:
        done = self(*words, "--json", at=at)
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    def search(self, *words: str) -> Result:
        """`postroom archive search`."""
        return self.chat.postroom("archive", "search", *words, "--key", "shop.json", "--home", "shop.home")

    def found(self, *words: str) -> Any:
        done = self.search(*words, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def file(self, author: AuthorKey, text: str, names: Mapping[ChatKey, str] | None = None) -> None:
        """A text for the shop comes from bank.example, whoever wrote it. `names`: what is said of others."""
        now_ms = self.chat.network.tick()
        key = OWNER.signing.ethereum_key
        assert key is not None
        chat = ChatRef(ChatKind.ONE_TO_ONE, AuthorKey.from_secret(key.secret).public)
        wrapper = wrapped(sending.text_message(chat, now_ms, now_ms, text), author)
        body = write_body(CarriedWrapper(wrapper, None, names or {}))
        draft = Draft(BANK, SHOP, SUBJECT, str(uuid4()), now_ms, body, selector="pk1")
        self.api.file(write(sign(draft, DOMAIN_KEY)).decode(), conversation=BANK, at=now_ms / 1000 - self.api.clock.now)


@pytest.fixture
def shop(chat: ChatCommands, api: ApiStack, fake_dns: FakeDns, tmp_path: Path) -> ShopCommands:
    for domain in (SHOP, BANK):
        fake_dns.tree.put(domain, "@ IN A 127.0.0.1\n", Mode.UNSIGNED)
    local = Path(chat.options[chat.options.index("--local") + 1])
    replace(read_descriptor(local), trust_anchors=fake_dns.tree.anchor_text).write(local)
    api.mailboxes.set_keys(SHOP, [OWNER.signing.public.encode()])
    (tmp_path / "shop.json").write_text(json.dumps(OWNER.as_json()))
    return ShopCommands(chat, api)


def test_the_owner_of_a_domain_answers_a_domain(shop: ShopCommands) -> None:
    shop.file(FIRST, "good morning")
    assert shop.said("pull")["kept"] == 1
    [came] = shop.said("show", BANK, at=False)["messages"]
    sent = shop.said("send", BANK, "good morning", "--reply-to", came["id"])
    assert sent["deliveries"] == [{"to": f"nlweb:{BANK}", "fate": "taken", "reason": None, "detail": None}]
    assert [it["text"] for it in shop.said("show", f"nlweb:{BANK}", at=False)["messages"]] == ["good morning"] * 2
    # The answer, and who the owner is.
    outbox = shop.api.ask("GET", f"/mailboxes/{SHOP}/outbox", token=shop.api.sign_in(SHOP, OWNER.signing))
    found = json.loads(outbox.body)["messages"]
    assert [(it["to"], it["subject"], it["state"]) for it in found] == [(BANK, SUBJECT, "queued")] * 2
    title, *lines = shop("show", BANK, at=False).stdout.splitlines()
    assert title == f"with nlweb:{BANK}"
    assert lines[1].endswith(f"{SHOP}: good morning")


def test_trust_takes_another_key_for_a_domain(shop: ShopCommands) -> None:
    shop.file(FIRST, "first", {SECOND.public: "nlweb:cafe.example"})
    shop.file(SECOND, "second")
    shop("pull")
    people = shop.said("who", at=False)
    assert people[FIRST.public]["domains"] == {BANK: "pinned"}
    assert people[SECOND.public]["domains"] == {"cafe.example": "said", BANK: "other"}
    assert "cafe.example: said" in shop("who", at=False).stdout
    [other] = [it for it in shop.said("list", at=False)["chats"] if it["id"] == SECOND.public]
    assert other["messages"][0]["marks"] == ["other-key"]
    assert "[other-key]" not in shop("show", BANK, at=False).stdout

    assert shop.said("trust", f"nlweb:{BANK}", SECOND.public)["deliveries"][0]["fate"] == "taken"
    people = shop.said("who", at=False)
    assert people[FIRST.public]["domains"] == {BANK: "other"}
    assert (people[SECOND.public]["domains"], people[SECOND.public]["name"]) == ({BANK: "trusted"}, f"nlweb:{BANK}")
    assert [it["text"] for it in shop.said("show", BANK, at=False)["messages"]] == ["second"]
    head, *lines = shop("who", at=False).stdout.splitlines()
    assert "domain's key" in head
    assert any(f"{BANK}: trusted" in line for line in lines)


def test_a_domain_can_be_written_to_first(shop: ShopCommands) -> None:
    unknown = shop("send", f"nlweb:{BANK}", "hello")
    assert unknown.exit_code == 5
    assert f"postroom chat trust {BANK} KEY" in unknown.stderr
    shop("trust", BANK, FIRST.public)
    assert shop.said("send", BANK, "hello")["deliveries"][0]["fate"] == "taken"


def test_without_a_post_office_nothing_goes_to_a_domain(shop: ShopCommands) -> None:
    shop("trust", BANK, FIRST.public)
    refused = shop("send", BANK, "hello", at=False)
    assert refused.exit_code == 2
    assert f"a message to {BANK} goes through your own post office: add --at URL" in refused.stderr
    assert shop.said("list", at=False)["chats"] == []


def test_who_is_no_domain_has_no_outbox(chat: ChatCommands) -> None:
    chat("bob.eth", "trust", BANK, FIRST.public)
    sent = chat.said("bob.eth", "send", f"nlweb:{BANK}", "hello", "--at", URL, code=3)
    [delivery] = sent["deliveries"]
    assert (delivery["fate"], delivery["reason"]) == ("not now", "NotASender")


def test_what_is_sent_is_read_in_the_archive(shop: ShopCommands) -> None:
    shop("trust", BANK, FIRST.public)
    shop("send", BANK, "hello")
    words = ("--key", "shop.json", "--home", "shop.home")
    shown = shop.chat.postroom("archive", "show", BANK, *words)
    assert f"{SHOP}  to {BANK}  {SUBJECT}" in shown.stdout
    listed = shop.chat.postroom("archive", "list", *words)
    assert listed.exit_code == 0
    verified = shop.chat.postroom("archive", "verify", *words, *shop.chat.options[:2], "--json")
    assert json.loads(verified.stdout)["flaws"] == []


@pytest.mark.parametrize("more", [(), ("--no-index",)], ids=["index", "no index"])
def test_the_archive_is_searched_by_what_the_chat_shows(shop: ShopCommands, more: tuple[str, ...]) -> None:
    shop.file(FIRST, "good morning")
    shop.file(SECOND, "good evening")
    shop("pull")
    [came] = shop.said("show", BANK, at=False)["messages"]
    [first] = shop.found("MORNING", *more)
    at = shown_time(came["clock"])
    assert first == {
        "partner": BANK, "from": f"nlweb:{BANK}", "at": at, "hash": first["hash"], "text": "good morning",
    }  # fmt: skip
    assert [it["from"].split(" (")[1] for it in shop.found("evening", *more)] == [f"{short_key(SECOND.public)})"]
    assert shop.search("morning", *more).stdout == f"{at}  nlweb:{BANK}\n    good morning\n"
    assert shop.found("payload@status", *more) == []

    sent = shop.said("send", BANK, "see you")
    shop("edit", BANK, sent["id"], "see you soon")
    assert [(it["from"], it["text"]) for it in shop.found("see you", *more)] == [(SHOP, "see you soon")]
    shop("delete", BANK, sent["id"])
    shop("delete", BANK, came["id"], "--for-me")
    assert shop.found("see you", *more) == shop.found("morning", *more) == []


def test_without_an_index_a_search_of_chats_writes_nothing(
    shop: ShopCommands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.file(FIRST, "good morning")
    shop("pull")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert len(shop.found("morning", "--no-index")) == 1
    assert not (tmp_path / "other").exists()
    assert len(shop.found("morning")) == 1
    assert sorted(it.name for it in (tmp_path / "other" / "postroom").iterdir()) == ["archive", "chats"]


def test_an_index_of_chats_that_cannot_be_used_is_named(shop: ShopCommands, tmp_path: Path) -> None:
    shop.file(FIRST, "good morning")
    shop("pull")
    [index] = (tmp_path / "cache" / "postroom" / "chats").iterdir()
    index.unlink()
    index.mkdir()
    assert shop.search("evening").exit_code == 0
    result = shop.search("morning")
    assert result.exit_code == 3
    assert "`postroom chat index --drop` removes it" in result.stderr


@pytest.mark.parametrize(
    ("words", "flaw"),
    [
        (("trust", BANK, "0x04"), "KEY is '0x04'"),
        (("trust", BANK, "zQ3shNoKey"), "KEY is 'zQ3shNoKey'"),
        (("trust", "no domain", FIRST.public), "is not a host name"),
        (("trust", "nlweb:10.0.0.1", FIRST.public), "is not a host name"),
        (("send", "nlweb:", "hello"), "is not a host name"),
        (("show", "nlweb:no_host"), "is not a host name"),
    ],
)
def test_what_is_no_domain_and_no_key_is_a_usage_error(shop: ShopCommands, words: tuple[str, ...], flaw: str) -> None:
    result = shop(*words, at=words[0] != "show")
    assert (result.exit_code, flaw in result.stderr) == (2, True), result.stderr


def test_own_prints_the_owners_key(shop: ShopCommands) -> None:
    said = shop.said("who", "--own", at=False)
    assert said["name"] == SHOP
    assert shop("who", "--own", at=False).stdout == f"{said['key']}\n"


def test_the_owner_may_be_a_domain_in_a_labels(shop: ShopCommands) -> None:
    done = shop.chat.postroom(
        "chat", "who", "--own", "--key", "shop.json", "--home", "books.home", "--as", "XN--bcher-kva.example", "--json",
        *shop.chat.options,
    )  # fmt: skip
    assert json.loads(done.stdout)["name"] == "xn--bcher-kva.example"
