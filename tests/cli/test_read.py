"""`postroom read`: who, what, when, how verified; bit for bit where asked for."""

import json
from collections.abc import Callable
from uuid import uuid4

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom, StorageStack

from postroom.names.dnssec import Evidence, Link
from postroom.names.dnssec.evidence import SignatureWindow
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.storage.layout import row_key, segment_name
from postroom.storage.mail.ids import id_of, row_of
from postroom.storage.mail.segments import Line, lay_out

pytestmark = pytest.mark.xdist_group("cli-storage")

RECEIVED_AT_MS = 1_795_000_000_000
ABOUT = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
Envelope = Callable[..., str]
File = Callable[..., str]
Read = Callable[..., Result]


@pytest.fixture
def mailbox() -> str:
    return f"{uuid4()}.example"


@pytest.fixture
def read(postroom: Postroom, storage_stack: StorageStack, mailbox: str) -> Read:
    return lambda *arguments: postroom("read", mailbox, *arguments, *storage_stack.options)


@pytest.fixture
def messages(read: Read) -> Callable[..., list[dict[str, object]]]:
    def messages(*options: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(read("--json", *options).stdout)["messages"]
        return found

    return messages


@pytest.fixture
def file(storage_stack: StorageStack, mailbox: str, envelope: Envelope) -> File:
    """File a message as the worker does; its id, as `postroom read` prints it."""
    register = storage_stack.storage.register
    objects = storage_stack.storage.objects

    def file(
        text: str = "",
        *,
        at_ms: int = RECEIVED_AT_MS,
        shards: int = 1,
        conversation: str = "",
        evidence: object = None,
        receipt: dict[str, object] | None = None,
    ) -> str:
        text = text or envelope()
        key = row_key(mailbox, shards, at_ms, uuid4().hex)
        receipt = receipt or {
            "protocol": "nlweb",
            "verified_at_ms": at_ms + 1500,
            "key_algorithm": "rsa",
            "key_fingerprint": "SHA256:abc",
            "key_name": "nlweb._domainkey.sender.example",
            "evidence": evidence or {"chain": [{"zone": "."}, {"zone": "example."}, {"zone": "sender.example."}]},
        }
        line = Line(key, conversation or read_envelope(json.loads(text)).sender, text, receipt)
        name = segment_name(at_ms, uuid4().hex)
        data, [place] = lay_out([line], name)
        objects.put(name, data)
        assert register.file(key, place, line.conversation) is None
        return id_of(key)

    return file


def test_an_empty_mailbox_says_so(read: Read, mailbox: str) -> None:
    assert read().stdout == f"there are no messages in {mailbox}\n"
    assert json.loads(read("--json").stdout) == {"messages": [], "cursor": None}


def test_a_message_is_shown_with_sender_subject_time_and_verification(
    read: Read, file: File, envelope: Envelope
) -> None:
    text = envelope("--correlation", ABOUT, "--timestamp", "2026-11-18T09:00:00Z")
    printed = file(text)
    assert read().stdout.splitlines() == [
        printed,
        "  from         sender.example",
        "  to           receiver.example",
        "  subject      Hello@Host",
        f"  correlation  {ABOUT}",
        "  sent         2026-11-18T09:00:00.000Z",
        "  received     2026-11-18T11:06:40.000Z",
        "  verified     rsa SHA256:abc of nlweb._domainkey.sender.example, DNSSEC . → example. → sender.example. "
        "at 2026-11-18T11:06:41.500Z",
        '  body         {"Say": "hi 🤝"}',
    ]


def test_the_proof_of_a_senders_key_is_shown_zone_by_zone(read: Read, file: File) -> None:
    window = SignatureWindow(13, 7, 1_795_000_000, 1_797_592_000)
    zones = tuple(Link(zone, 2, "ab" * 32, window) for zone in (".", "example."))
    evidence = Evidence("nlweb._domainkey.example.", "TXT", (), zones, window)
    file(evidence=dict(evidence.as_json()))
    shown = read("--explain").stdout.splitlines()
    until = "ECDSAP256SHA256 key 7, 2026-11-18 11:06:40 to 2026-12-18 11:06:40 UTC"
    assert shown[9:] == [
        "    .",
        f"      DS SHA256 {'ab' * 32}",
        f"      DNSKEY signed by {until}",
        "      example.",
        f"        DS SHA256 {'ab' * 32}",
        f"        DNSKEY signed by {until}",
        "        nlweb._domainkey.example. TXT",
        f"          signed by {until}",
    ]


def test_a_message_without_proof_says_so(read: Read, file: File) -> None:
    file(evidence="pre-shared")
    assert read("--explain").stdout.splitlines()[-1] == "    DNS was not used"


@pytest.mark.parametrize(
    ("evidence", "origin"),
    [
        ({"registry": "dns", "dnssec": "secure", "uri": "data"}, "registry dns, DNSSEC secure, published under data:"),
        (None, "the receipt does not say how it was found"),
    ],
)
def test_of_a_dm3_message_it_is_shown_how_the_senders_profile_was_found(
    read: Read, file: File, evidence: object, origin: str
) -> None:
    receipt: dict[str, object] = {"protocol": "dm3", "message_hash": "ab12", "evidence": evidence}
    file('{"sealed": true}', conversation="alice.eth", receipt=receipt)
    assert read("--explain").stdout.splitlines()[-1] == f"    the sender's profile: {origin}"


def test_a_proof_of_an_unknown_form_is_reported(read: Read, file: File) -> None:
    file()
    last = read("--explain").stdout.splitlines()[-1]
    assert (
        last
        == "    its receipt contains no evidence of a look-up in the form that this release writes; --json shows it"
    )


def test_a_wallets_key_is_shown_as_pre_shared(read: Read, file: File) -> None:
    file(evidence="pre-shared")
    assert "  verified     rsa SHA256:abc, pre-shared at 2026-11-18T11:06:41.500Z\n" in read().stdout


def test_json_has_the_same_and_the_envelope(messages: Callable[..., list[dict[str, object]]], file: File) -> None:
    printed = file()
    [message] = messages()
    assert message["id"] == printed
    assert (message["from"], message["subject"], message["body"]) == ("sender.example", "Hello@Host", {"Say": "hi 🤝"})
    assert json.loads(str(message["envelope"]))["Header"]["Correlation"] == message["correlation"]
    receipt = message["receipt"]
    assert isinstance(receipt, dict)
    assert receipt["key_fingerprint"] == "SHA256:abc"


def test_a_senders_text_cannot_control_the_terminal(read: Read, file: File, envelope: Envelope) -> None:
    file(envelope(body='"\\u009b2J\\u202e"'))
    assert '  body         "\\x9b2J\\u202e"\n' in read().stdout


def test_messages_are_listed_oldest_first_and_a_cursor_continues(
    read: Read, messages: Callable[..., list[dict[str, object]]], file: File
) -> None:
    ids = [file(at_ms=RECEIVED_AT_MS + n) for n in (2, 0, 1)]
    first = json.loads(read("--json", "--limit", "2").stdout)
    assert [m["id"] for m in first["messages"]] == [ids[1], ids[2]]
    assert [m["id"] for m in messages("--cursor", first["cursor"])] == [ids[0]]
    assert f"there may be more: --cursor {first['cursor']}\n" in read("--limit", "2").stdout
    assert json.loads(read("--json", "--cursor", ids[0]).stdout) == {"messages": [], "cursor": ids[0]}


def test_feedback_is_found_by_the_messages_correlation(
    messages: Callable[..., list[dict[str, object]]], file: File
) -> None:
    file()
    feedback = file(conversation=f"feedback:{ABOUT}")
    file(conversation="feedback:summary")
    assert [m["id"] for m in messages("--about", ABOUT.upper())] == [feedback]


def test_unassigned_feedback_is_marked(read: Read, file: File) -> None:
    file(receipt={"protocol": "nlweb", "unassigned": True, "evidence": "pre-shared"})
    assert "  unassigned   this Feedback does not name the sender" in read().stdout


def test_raw_output_is_byte_for_byte(read: Read, file: File, envelope: Envelope) -> None:
    text = envelope().replace("\n", "\r\n ") + "\t"
    printed = file(text)
    assert read("--raw").stdout_bytes == text.encode()
    file(at_ms=RECEIVED_AT_MS + 1)
    assert read("--raw", "--id", printed).stdout_bytes == text.encode()
    both = read("--raw")
    assert (both.exit_code, both.stdout) == (2, "")
    assert "--raw writes one envelope, and 2 are there; name one by --id" in both.stderr


def test_an_acknowledged_message_is_gone(
    read: Read, messages: Callable[..., list[dict[str, object]]], file: File, storage_stack: StorageStack, mailbox: str
) -> None:
    one, two, three = (file(at_ms=RECEIVED_AT_MS + n) for n in range(3))
    assert read("--ack", one, "--ack", three).stdout == f"acknowledged {one}\nacknowledged {three}\n"
    assert [m["id"] for m in messages()] == [two]
    assert json.loads(read("--ack", one, "--json").stdout) == {"acknowledged": [one]}
    key = row_of(one, mailbox)
    assert key is not None
    row = storage_stack.storage.register.find(key)
    assert row is not None
    assert row.why == "acked"


def test_every_shard_is_read_and_acknowledged(
    read: Read, messages: Callable[..., list[dict[str, object]]], file: File, storage_stack: StorageStack, mailbox: str
) -> None:
    early = [file(at_ms=RECEIVED_AT_MS + n) for n in range(3)]
    storage_stack.storage.mailboxes.raise_shards(mailbox, 4)
    late = [file(at_ms=RECEIVED_AT_MS + 10 + n, shards=4) for n in range(6)]
    assert [m["id"] for m in messages()] == early + late
    for printed in early + late:
        assert read("--ack", printed).exit_code == 0
    assert messages() == []


@pytest.mark.parametrize("option", ["--id", "--ack"])
def test_an_unknown_message_is_one_sentence(read: Read, file: File, mailbox: str, option: str) -> None:
    file()
    unknown = f"{RECEIVED_AT_MS}-{'0' * 32}-0"
    result = read(option, unknown)
    assert (result.exit_code, result.stderr) == (5, f"postroom: there is no message {unknown} in {mailbox}\n")


@pytest.mark.parametrize("option", ["--id", "--ack", "--cursor"])
@pytest.mark.parametrize("text", ["1", "m#1795000000000#a", "1795000000000-", "179500000000x-a"])
def test_an_invalid_id_is_one_sentence(read: Read, option: str, text: str) -> None:
    result = read(option, text)
    assert result.exit_code == 2
    assert f"{option} is {text!r}; it must be the id of a message" in result.stderr


@pytest.mark.parametrize(
    ("printed", "verified"),
    [
        ({"key_fingerprint": "SHA256:abc", "unverified": None}, "by SHA256:abc of the sender's profile"),
        ({"key_fingerprint": None, "unverified": "ProfileUnknown"}, "NOT: ProfileUnknown"),
        (
            {
                "key_fingerprint": "SHA256:abc",
                "unverified": None,
                "evidence": {"registry": "ens", "block": 16, "agreed": 2, "uri": "ipfs"},
            },
            "by SHA256:abc of the sender's profile: registry ens, block 16, endpoints that agreed: 2, "
            "published under ipfs:",
        ),
    ],
)
def test_only_the_public_part_of_a_sealed_message_is_shown(
    read: Read, file: File, messages: Callable[..., list[dict[str, object]]], mailbox: str,
    printed: dict[str, object], verified: str,
) -> None:  # fmt: skip
    file('{"sealed": true}', conversation="alice.eth", receipt={"protocol": "dm3", "message_hash": "ab12", **printed})
    shown = read().stdout
    assert "  from         alice.eth\n" in shown
    assert f"  verified     {verified}\n" in shown
    assert "  sealed       ab12; --raw writes it for `postroom dm3 open`\n" in shown
    [one] = messages()
    assert (one["from"], one["to"], one["message_hash"], one["envelope"]) == (
        "alice.eth", mailbox, "ab12", '{"sealed": true}',
    )  # fmt: skip
