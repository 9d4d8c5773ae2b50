"""`postroom mailbox settings`: the owner shows and changes what PATCH …/settings takes."""

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import Postroom
from tests.cli.served_api import URL, ServedApi, serve
from tests.http.api_stack import BOB, BOB_KEY, SHOP, SHOP_KEY, ApiStack

from postroom.api.schemas import SettingsChange
from postroom.client import AsyncMailbox, Mailbox
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.directory.mailboxes import OwnSettings, read_own_settings

Settings = Callable[..., Result]
BLOCK = "extension.spamFilterRules.block"


@pytest.fixture
def served(deployed: Deployed, tmp_path: Path) -> Iterator[ServedApi]:
    (tmp_path / "shop.pem").write_bytes(SHOP_KEY.to_pem())
    (tmp_path / "bob.json").write_text(json.dumps(UserKeys(BOB_KEY, EncryptionKey.generate()).as_json()))
    with serve(ApiStack(deployed), tmp_path) as running:
        yield running


@pytest.fixture
def settings(postroom: Postroom, served: ServedApi) -> Settings:
    """`postroom mailbox settings` of bob.eth."""
    served.api.operators.put_dm3_mailbox(
        Dm3Mailbox(BOB, ProfileExtension(message_types=("NEW", "REPLY"), rules=FilterRules(block=("eve.eth",))))
    )
    there = ("--at", URL, "--local", str(served.local))
    return lambda *more, name=BOB, key="bob.json": postroom("mailbox", "settings", name, *there, "--key", key, *more)


@pytest.fixture
def shops(settings: Settings) -> Settings:
    """The same of shop.com."""
    return lambda *more: settings(*more, name=SHOP, key="shop.pem")


def stored(served: ServedApi) -> Dm3Mailbox:
    served.api.clock.now += 60
    found = served.api.directory.dm3_mailbox(BOB)
    assert found
    return found


def test_settings_are_shown_in_the_form_in_which_they_are_changed(settings: Settings) -> None:
    shown = settings().stdout
    assert f'{BLOCK}=["eve.eth"]\n' in shown
    assert "unverified=false\n" in shown
    again = settings(*(part for line in shown.splitlines() for part in ("--set", line)))
    assert (again.exit_code, again.stdout) == (0, shown)


def test_the_settings_are_available_as_json(settings: Settings) -> None:
    printed = json.loads(settings("--json").stdout)
    assert printed.keys() == {"extension", "unverified"}
    assert printed["extension"]["spamFilterRules"] == {"block": ["eve.eth"]}


def test_only_named_settings_change(settings: Settings, served: ServedApi) -> None:
    result = settings(
        "--set",
        f'{BLOCK}=["mallory.eth"]',
        "--set",
        'extension.supportedMessageTypes=["EDIT"]',
        "--set",
        "unverified=true",
    )
    assert (result.exit_code, result.stderr) == (0, "")
    assert f'{BLOCK}=["mallory.eth"]\n' in result.stdout
    found = stored(served)
    assert found.extension.rules.block == ("mallory.eth",)
    assert (found.takes_unverified, found.extension.message_types) == (True, ("NEW", "EDIT"))


def test_null_removes_a_setting(settings: Settings, served: ServedApi) -> None:
    assert BLOCK not in settings("--set", f"{BLOCK}=null").stdout
    assert stored(served).extension.rules.block == ()


def test_a_concurrent_change_is_not_overwritten(settings: Settings, served: ServedApi) -> None:
    def meanwhile(asked: str) -> None:
        if asked.startswith("PATCH"):
            served.api.operators.put_dm3_mailbox(Dm3Mailbox(BOB, takes_unverified=True))

    served.before = meanwhile
    result = settings("--set", "unverified=false")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("postroom: ChangedMeanwhile: ")
    assert stored(served).takes_unverified


def test_settings_of_another_protocol_are_refused(settings: Settings, shops: Settings) -> None:
    refused = shops("--set", "unverified=true")
    assert (refused.exit_code, "settings of dm3 mailboxes" in refused.stderr) == (1, True)
    refused = settings("--set", "blocks=[]")
    assert (refused.exit_code, "settings of NLWeb mailboxes" in refused.stderr) == (1, True)


def test_a_domain_sets_blocks_and_subjects_and_sees_what_its_operator_set(shops: Settings, served: ServedApi) -> None:
    served.api.operators.put_subject(SHOP, SubjectRule("Order@Shop", Treatment.MAILBOX, SHOP))
    before = shops().stdout.splitlines()
    assert before[:2] == ["blocks=[]", "subjects={}"]
    assert f'# operators_subjects.Order@Shop.mailbox="{SHOP}"' in before[2:]
    assert all(line.startswith("# ") for line in before[2:])
    more = ("--set", 'blocks=["eve.com"]', "--set", f'subjects.Order@Shop="{SHOP}"', "--set", f'subjects.Hi="{SHOP}"')
    changed = shops(*more)
    assert (changed.exit_code, changed.stderr) == (0, "")
    mine = changed.stdout.splitlines()[: -len(before[2:])]
    assert mine == ['blocks=["eve.com"]', f'subjects.Order@Shop="{SHOP}"', f'subjects.Hi="{SHOP}"']
    assert shops("--set", "subjects.Hi=null").stdout.splitlines()[:2] == mine[:2]
    own = read_own_settings(served.api.mailboxes.own_settings(SHOP))
    assert own == OwnSettings(("eve.com",), {"Order@Shop": SHOP})
    assert json.loads(shops("--json").stdout)["operators_subjects"]["Order@Shop"] == {
        "treatment": "mailbox", "mailbox": SHOP,
    }  # fmt: skip


@pytest.mark.parametrize("pattern", ["a.b", "a=b@c", '"@x', "🤝@*", "*"])
def test_a_subject_of_any_name_is_shown_as_it_is_set(shops: Settings, pattern: str) -> None:
    shown = shops("--set", f"subjects={json.dumps({pattern: SHOP, 'Hi': SHOP})}").stdout
    lines = [line for line in shown.splitlines() if line.startswith("subjects")]
    for _ in range(2):
        assert shops("--set", "subjects.Hi=null", "--set", f"subjects={json.dumps({pattern: None})}").exit_code == 0
        assert shops(*(part for line in lines for part in ("--set", line))).stdout == shown


def test_an_unknown_setting_is_refused_and_changes_nothing(settings: Settings, served: ServedApi) -> None:
    before = stored(served)
    result = settings("--set", f'{BLOCK}=["not a name"]')
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("postroom: NotARequest: ")
    assert stored(served) == before


def test_only_the_owner_sees_or_changes_settings(settings: Settings) -> None:
    for options in ((), ("--set", "unverified=true")):
        refused = settings(*options, key="shop.pem")
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr.startswith("postroom: NotTheOwner: ")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("unverified",), "'unverified' is not MEMBER=JSON with a member of these: "),
        (("etag=1",), "'etag=1' is not MEMBER=JSON with a member of these: "),
        (("",), "is not MEMBER=JSON"),
        (("unverified=yes",), "'yes' is not JSON; a text needs quotation marks"),
        (("unverified=",), "'' is not JSON"),
        (("unverified=null",), "unverified cannot be removed"),
        (("unverified=true", "unverified=false"), "changes what another --set changes"),
        ((f"{BLOCK}=[]", "extension.spamFilterRules=null"), "changes what another --set changes"),
    ],
)
def test_a_usage_error_is_one_sentence_without_a_request(
    settings: Settings, served: ServedApi, options: tuple[str, ...], sentence: str
) -> None:
    result = settings(*(part for each in options for part in ("--set", each)))
    assert (result.exit_code, sentence in result.stderr) == (2, True), result.stderr
    assert served.asked == []


@pytest.mark.parametrize("client", [Mailbox, AsyncMailbox])
def test_the_client_can_change_every_setting(client: type) -> None:
    taken = inspect.signature(client.change_settings).parameters.values()  # type: ignore[attr-defined]
    assert {it.name for it in taken if it.kind is it.KEYWORD_ONLY} == set(SettingsChange.__struct_fields__)
