"""The owners of two domains chat by commands, through outboxes, HTTPS and queues, until both show the same."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from postroom.cli.app import app
from postroom.cli.up import describe_stack
from postroom.client.chat.domain_keys import OTHER_KEY
from postroom.client.chat.nlweb_carrier import SUBJECT
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.deployment import until
from postroom.demo.stack import DemoStack
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB
from postroom.storage.directory.domains import Domain

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

SHOP, BANK, CAFE = "chatshop.example", "chatbank.example", "chatcafe.example"
KEYS = {domain: UserKeys.random() for domain in (SHOP, BANK, CAFE)}
SIGNING_KEYS = {domain: PrivateKey.generate("ed25519") for domain in KEYS}
"""Of all tests: the post office keeps keys that it has looked up."""


@dataclass
class Talk:
    """Commands of the owners of two domains."""

    folder: Path

    def said(self, who: str, *words: str) -> Any:
        """What a command says to programs. On a busy machine a message may have to be sent again by a later one."""
        options = (
            "--key", f"{who}.json", "--home", f"{who}.home", "--as", who, "--pinned", "names.json",
            "--local", "local.json", "--json",
        )  # fmt: skip
        at = () if words[0] in ("show", "list", "who") else ("--at", f"https://{NLWEB.host(who)}")
        result = CliRunner().invoke(app, ["chat", *words, *at, *options])
        assert result.exit_code in (0, 3), result.output
        return json.loads(result.stdout)

    def shown(self, who: str, to: str) -> list[tuple[Any, ...]]:
        return [
            (it["id"], it["text"], it["response_to"], it["deleted"], it["reactions"], it["marks"])
            for it in self.said(who, "show", f"nlweb:{to}")["messages"]
        ]

    def until_both_show(self, *wanted: tuple[str, int]) -> None:
        """Pull until both show the same, with these texts and numbers of reactions."""

        def look() -> bool | None:
            for who in (SHOP, BANK):
                self.said(who, "pull")
            here, there = self.shown(SHOP, BANK), self.shown(BANK, SHOP)
            return (here == there and [(it[1], len(it[4])) for it in here] == [*wanted]) or None

        until(f"both show {wanted}", look)


def operate(*words: str) -> None:
    """A command of the post office's operator."""
    result = CliRunner().invoke(app, [*words, "--local", "local.json"])
    assert result.exit_code == 0, result.output


@pytest.fixture
def talk(demo_stack: DemoStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    describe_stack(demo_stack.stack).write(tmp_path / "local.json")
    served = demo_stack.receiver
    for domain, keys in KEYS.items():
        key = SIGNING_KEYS[domain]
        record = zone_line(NLWEB.key_name(domain, "pk1"), record_text(key.public))
        demo_stack.stack.tree.put(domain, f"nlweb IN A 127.0.0.1\n{record}\n")
        served.signing_keys.put(domain, "pk1", key)
        served.operators.put_domain(Domain(domain, signs=True))
        served.deployment.serve_host(NLWEB.host(domain))
        operate("subject", "add", SUBJECT, "--domain", domain, "--mailbox", domain)
        operate("mailbox", "open", domain, "--public-key-base64", keys.signing.public.encode())
        (tmp_path / f"{domain}.json").write_text(json.dumps(keys.as_json()))
    (tmp_path / "names.json").write_text("{}")
    return Talk(tmp_path)


def test_two_domains_see_the_same_whatever_each_does(talk: Talk) -> None:
    key = talk.said(BANK, "who", "--own")["key"]
    talk.said(SHOP, "trust", BANK, key)
    first = talk.said(SHOP, "send", f"nlweb:{BANK}", "tea at four?")["id"]

    def came() -> bool | None:
        talk.said(BANK, "pull")
        return bool(talk.said(BANK, "list")["chats"]) or None

    until("the first message has come", came)
    talk.said(BANK, "send", SHOP, "I bring cake", "--reply-to", first)
    talk.said(BANK, "react", SHOP, first, "--kind", "THUMBS_UP")
    talk.until_both_show(("tea at four?", 1), ("I bring cake", 0))

    keys = talk.said(BANK, "who")
    assert [(each["name"], each["domains"]) for each in keys.values() if each["domains"]] == [
        (f"nlweb:{SHOP}", {SHOP: "pinned"})
    ]
    assert all(OTHER_KEY not in marks for *_, marks in talk.shown(BANK, SHOP))


def test_members_who_know_the_founder_alone_reach_each_other(talk: Talk) -> None:
    keys = {domain: talk.said(domain, "who", "--own")["key"] for domain in KEYS}
    for one, other in ((SHOP, BANK), (BANK, SHOP), (SHOP, CAFE), (CAFE, SHOP)):
        talk.said(one, "trust", other, keys[other])
    talk.said(SHOP, "group", "create", "Lunch", f"nlweb:{BANK}", f"nlweb:{CAFE}")

    def came(who: str) -> bool | None:
        talk.said(who, "pull")
        return any(chat["name"] == "Lunch" for chat in talk.said(who, "list")["chats"]) or None

    def has_both(who: str) -> bool | None:
        talk.said(who, "pull")
        return [it["text"] for it in talk.said(who, "show", "Lunch")["messages"]] == ["noon?", "fine"] or None

    for who in (BANK, CAFE):
        until(f"{who} is in the group", partial(came, who))
    for who, text in ((BANK, "noon?"), (CAFE, "fine")):
        sent = talk.said(who, "send", "Lunch", text)
        others = sorted(f"nlweb:{each}" for each in KEYS if each != who)
        assert (sorted(each["to"] for each in sent["deliveries"]), sent["unreached"]) == (others, [])
    for who in KEYS:
        until(f"{who} has both texts", partial(has_both, who))
