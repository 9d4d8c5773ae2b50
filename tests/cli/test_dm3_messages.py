"""`postroom dm3 send|open`: from a shell to our own delivery service over TLS, and what comes out of the mailbox."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import FakeDns, Postroom, StorageStack, code_of
from tests.client.dm3_net import HOST, SECOND, SECOND_HOST, Net, served
from tests.fakes.web import Answers, FakeWeb, Page, fake_web
from tests.names.ipfs.trees import car_of, file_of
from tests.pipeline.delivery_service import ALICE, BOB, MALLORY, SERVICE, DeliveryService
from tests.pipeline.stack import PipelineStack

from postroom.cli.archive.inputs import open_archive
from postroom.cli.descriptor import DEFAULT_PATH, Descriptor, read_descriptor
from postroom.client.archive import FolderHome
from postroom.local.authority import Authority
from postroom.names.ipfs.cid import Cid
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.envelope import DeliveryInformation, open_delivery, read_envelope, write_envelope
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import Attachment, Dm3Message, MessageMetadata, MessageType
from postroom.protocols.dm3.postmark import make_postmark
from postroom.protocols.dm3.profile import UserProfile, data_uri, profile_of_uri
from postroom.protocols.dm3.profile_hash import url_with_hash
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.stored import store_envelope

ANY_TYPE = ProfileExtension(message_types=tuple(MessageType))


@dataclass
class Dm3Commands:
    """A folder with the keys of alice.eth and bob.eth, a registry, and what it takes to reach the net."""

    net: Net
    postroom: Postroom
    folder: Path
    options: tuple[str, ...] = ()

    def write(self) -> None:
        for name, keys in self.net.service.users.items():
            (self.folder / name).write_text(json.dumps(keys.as_json()))
        (self.folder / "names.yaml").write_text(json.dumps(self.registry()))

    def registry(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for name in (ALICE, BOB, SERVICE, SECOND):
            texts = {key: self.net.service.registry.text(name, key).value for key in (PROFILE_KEY, SERVICE_KEY)}
            if kept := {key: text for key, text in texts.items() if text}:
                found[name] = kept
        return found

    def send(self, *arguments: str, stdin: str | bytes | None = None) -> Result:
        self.write()
        return self.postroom(
            "dm3", "send", ALICE, BOB, *arguments, "--key", ALICE, "--pinned", "names.yaml", *self.options,
            input=stdin,
        )  # fmt: skip

    def resend(self, reference: str, home: str = "mail") -> Result:
        return self.postroom(
            "dm3", "resend", reference, "--key", ALICE, "--home", home, "--pinned", "names.yaml", *self.options
        )

    def open(self, envelope: str, *arguments: str, key: str = BOB) -> Result:
        return self.postroom("dm3", "open", "-", "--key", key, "--pinned", "names.yaml", *arguments, input=envelope)

    def arrived(self) -> Dm3Message:
        message = self.net.opened().message
        assert message is not None
        return message


@pytest.fixture
def shell(deployed: Deployed, fake_dns: FakeDns, postroom: Postroom, tmp_path: Path) -> Iterator[Dm3Commands]:
    net = Net(DeliveryService(PipelineStack(deployed)))
    net.service.open(BOB, extension=ANY_TYPE)
    for host in (HOST, SECOND_HOST):
        fake_dns.tree.put(host, "@ IN A 127.0.0.1\n")
    authority = Authority(tmp_path / "ca")
    context = authority.server_context(HOST, SECOND_HOST)
    context.set_alpn_protocols(["http/1.1"])
    with served(net, context):
        options = (
            "--resolver", fake_dns.resolver, "--ca-file", str(authority.pem), "--port", str(net.port),
            "--allow-private",
        )  # fmt: skip
        yield Dm3Commands(net, postroom, tmp_path, options)


def asks_for(shell: Dm3Commands, about: str, sender: str = BOB) -> str:
    """The hash of a RESEND_REQUEST in Alice's archive."""
    alice, signing = shell.net.service.users[ALICE], shell.net.service.users[sender].signing
    metadata = MessageMetadata(ALICE, sender, 3, MessageType.RESEND_REQUEST, about)
    message = sign_message(None, metadata, signing)
    envelope = write_envelope(
        message, delivery=DeliveryInformation(ALICE, sender), receiver_key=alice.encryption.public,
        service_key=shell.net.service.keys.get().encryption[0].public, signing=signing,
    )  # fmt: skip
    request = store_envelope(envelope, message, None)
    open_archive(FolderHome(shell.folder / "mail"), shell.folder / ALICE).store([request])
    return request.message_hash


# ---- sending -----------------------------------------------------------------------------------------------------
def test_a_message_is_accepted_and_its_hash_is_printed(shell: Dm3Commands) -> None:
    result = shell.send("hello 🤝")
    opened = shell.net.opened()
    assert (result.exit_code, result.stdout) == (
        0, f"taken: ds.eth at https://ds.example\nmessage hash {opened.message_hash}\n",
    )  # fmt: skip
    assert opened.message is not None
    assert (opened.verdict, opened.message.message, opened.message.metadata.type) == ("accepted", "hello 🤝", "NEW")


def test_the_text_may_come_from_standard_input(shell: Dm3Commands) -> None:
    assert shell.send("-", stdin="two\nlines 🤝\n").exit_code == 0
    assert shell.arrived().message == "two\nlines 🤝"


def test_an_accepted_message_is_kept_in_the_senders_archive(shell: Dm3Commands) -> None:
    assert shell.send("hello", "--home", "mail").exit_code == 0
    assert shell.send("again", "--home", "mail").exit_code == 0
    shown = shell.postroom("archive", "show", BOB, "--key", ALICE, "--home", "mail")
    assert [line.split("  ", 1)[-1] for line in shown.stdout.splitlines()] == [ALICE, "  hello", ALICE, "  again"]
    kept = json.loads(shell.postroom("archive", "show", BOB, "--key", ALICE, "--home", "mail", "--json").stdout)
    assert kept["messages"][1]["messageHash"] == shell.net.opened().message_hash


def test_a_refused_message_is_not_kept(shell: Dm3Commands) -> None:
    shell.net.service.open(BOB, extension=ProfileExtension(rules=FilterRules(block=(ALICE,))))
    assert shell.send("hello", "--home", "mail").exit_code == 1
    listed = shell.postroom("archive", "list", "--key", ALICE, "--home", "mail", "--json")
    assert json.loads(listed.stdout) == {"owner": ALICE, "conversations": []}


def test_nothing_is_sent_if_the_home_is_not_the_senders(shell: Dm3Commands) -> None:
    shell.write()
    to_self = ("--pinned", "names.yaml", "--home", "mail", *shell.options)
    shell.postroom("dm3", "send", "other.eth", BOB, "hello", "--key", ALICE, *to_self)
    came = len(shell.net.came)
    result = shell.send("hello", "--home", "mail")
    assert result.exit_code == 2
    assert "this home has the archive of other.eth: use another --home for alice.eth's" in result.stderr
    assert len(shell.net.came) == came


# ---- resending ---------------------------------------------------------------------------------------------------
def test_a_message_is_sent_once_more_to_the_receiver_who_asks_for_it(shell: Dm3Commands) -> None:
    sent = shell.send("hello", "--home", "mail", "--json")
    shown = shell.postroom("archive", "show", BOB, "--key", ALICE, "--home", "mail", "--json")
    [kept] = json.loads(shown.stdout)["messages"]
    result = shell.resend(asks_for(shell, json.loads(sent.stdout)["message_hash"]))
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "taken: ds.eth at https://ds.example")
    assert [method for _, _, method in shell.net.came].count("dm3_submitMessage") == 2
    assert shell.arrived().as_json() == kept["message"]


def test_a_message_is_never_sent_again_to_anybody_else(shell: Dm3Commands) -> None:
    sent = shell.send("hello", "--home", "mail", "--json")
    came = len(shell.net.came)
    result = shell.resend(asks_for(shell, json.loads(sent.stdout)["message_hash"], MALLORY))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "was sent to bob.eth, and mallory.eth asks for it" in result.stderr
    assert len(shell.net.came) == came


def test_a_message_that_was_not_kept_is_not_found(shell: Dm3Commands) -> None:
    shell.send("hello", "--home", "mail")
    unknown = shell.resend("ab" * 32)
    assert (unknown.exit_code, unknown.stdout) == (5, "")
    assert f"the archive has no message {'ab' * 32} that alice.eth sent" in unknown.stderr
    assert shell.resend("ab" * 32, home="empty").exit_code == 5


def test_a_message_is_not_sent_again_to_a_receiver_without_a_profile(shell: Dm3Commands) -> None:
    sent = shell.send("hello", "--home", "mail", "--json")
    requested = asks_for(shell, json.loads(sent.stdout)["message_hash"])
    (shell.folder / "names.yaml").write_text(json.dumps({ALICE: shell.registry()[ALICE]}))
    result = shell.resend(requested)
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"postroom: {BOB}: ProfileUnknown: ")


def test_files_are_attached_as_data_uris(shell: Dm3Commands) -> None:
    (shell.folder / "dot.png").write_bytes(b"\x00\xff")
    (shell.folder / "what").write_bytes(b"")
    assert shell.send("see", "--attach", "dot.png", "--attach", "what").exit_code == 0
    assert shell.arrived().attachments == (
        Attachment("data:image/png;base64,AP8="),
        Attachment("data:application/octet-stream;base64,"),
    )


def test_a_message_has_a_type_and_a_reference(shell: Dm3Commands) -> None:
    assert shell.send("better", "--type", "edit", "--ref", "ab" * 32).exit_code == 0
    metadata = shell.arrived().metadata
    assert (metadata.type, metadata.reference_message_hash) == (MessageType.EDIT, "ab" * 32)


def test_some_types_need_no_text(shell: Dm3Commands) -> None:
    assert shell.send("--type", "READ_RECEIPT").exit_code == 0
    message = shell.arrived()
    assert (message.metadata.type, message.message) == (MessageType.READ_RECEIPT, None)


def from_bob(net: Net) -> str:
    """What Bob wrote to Alice, as it is filed with her: answers are to bring "topic 7" back."""
    bob, alice, keys = net.service.users[BOB], net.service.users[ALICE], net.service.keys.get()
    metadata = MessageMetadata(ALICE, BOB, 1, reply_delivery_instruction="topic 7")
    delivery = DeliveryInformation(ALICE, BOB)
    envelope = write_envelope(
        sign_message("which?", metadata, bob.signing), delivery=delivery, receiver_key=alice.encryption.public,
        service_key=keys.encryption[0].public, signing=bob.signing,
    )  # fmt: skip
    stamp = make_postmark(envelope.message, delivery, 2, keys.signing, alice.encryption.public)
    return replace(envelope, postmark=stamp).encode()


def test_a_reply_has_the_reference_and_the_instruction_of_the_original(shell: Dm3Commands) -> None:
    (shell.folder / "from-bob.json").write_text(from_bob(shell.net))
    assert shell.send("this", "--reply-to", "from-bob.json").exit_code == 0
    envelope = read_envelope(json.loads(shell.net.filed()))
    delivery = open_delivery(envelope, shell.net.service.keys.get().encryption)
    assert delivery.delivery_instruction == "topic 7"
    opened = shell.open(shell.net.service.stack.listed(BOB)[0].line.envelope, "--json")
    metadata = json.loads(opened.stdout)["message"]["metadata"]
    asked = json.loads(shell.open(from_bob(shell.net), "--json", key=ALICE).stdout)
    assert (metadata["type"], len(metadata["referenceMessageHash"])) == ("REPLY", 64)
    assert asked["message"]["metadata"]["replyDeliveryInstruction"] == "topic 7"


def test_a_refusal_is_printed_with_the_services_code_and_reason(shell: Dm3Commands) -> None:
    shell.net.service.stack.operators.remove_dm3_mailbox(BOB)
    shell.net.service.stack.clock.now += 31
    result = shell.send("hello")
    assert result.exit_code == 1
    assert result.stdout == (
        "refused: ds.eth at https://ds.example: -32001, ReceiverUnknown: "
        "The receiver has no mailbox at this delivery service.\n"
    )


def test_a_message_that_the_receivers_profile_rejects_is_not_sent(shell: Dm3Commands) -> None:
    shell.net.service.open(BOB, extension=ProfileExtension(rules=FilterRules(block=(ALICE,))))
    result = shell.send("hello", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (1, {
        "fate": "refused",
        "message_hash": None,
        "attempts": [{
            "service": "ds.eth", "url": "https://ds.example", "fate": "refused", "code": None,
            "reason": "SenderNotWanted", "detail": "the receiver blocks this sender",
        }],
    })  # fmt: skip
    assert "dm3_submitMessage" not in [method for _, _, method in shell.net.came]


def test_the_next_delivery_service_is_tried_when_one_is_unavailable(shell: Dm3Commands) -> None:
    shell.net.publish_second()
    shell.net.instead[HOST] = (503, b"")
    result = shell.send("hello")
    first, second, _ = result.stdout.splitlines()
    assert result.exit_code == 0
    assert first == "not now: ds.eth at https://ds.example/rpc: HTTP 503 with no JSON-RPC answer: ''"
    assert second == "taken: second.eth at https://second.example"


def test_with_all_services_unavailable_the_exit_code_says_to_retry(shell: Dm3Commands) -> None:
    shell.net.instead[HOST] = (503, b"")
    result = shell.send("hello", "--json")
    printed = json.loads(result.stdout)
    assert (result.exit_code, printed["fate"], [each["fate"] for each in printed["attempts"]]) == (
        3,
        "not now",
        ["not now"],
    )


def test_a_services_text_cannot_control_the_terminal(shell: Dm3Commands) -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32010, "message": "no\x9b2J"}}
    shell.net.instead[HOST] = (200, json.dumps(error, ensure_ascii=False).encode())
    assert shell.send("hello").stdout.endswith(": -32010: no\\x9b2J\n")


@pytest.mark.parametrize("to", ["nobody.eth", SERVICE])
def test_a_receiver_without_a_profile_in_the_pinned_document_is_one_sentence(shell: Dm3Commands, to: str) -> None:
    shell.write()
    result = shell.postroom("dm3", "send", ALICE, to, "hello", "--key", ALICE, "--pinned", "names.yaml", *shell.options)
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"postroom: {to}: ProfileUnknown: there is no text network.dm3.profile at the name")


def test_a_receiver_who_may_be_in_ens_is_not_called_unknown_without_endpoints(shell: Dm3Commands) -> None:
    shell.write()
    result = shell.postroom("dm3", "send", ALICE, BOB, "hello", "--key", ALICE, *shell.options)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "ProfileLookupFailed: no endpoint of the chain of ENS is named: use --endpoint URL" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (("hello", "--type", "GREETING"), None, "--type is 'GREETING'; it must be one of NEW"),
        (("hello", "--attach", "missing"), None, "missing: No such file"),
        (("-",), b"\xff", "the text on standard input is not UTF-8"),
        (("-", "--reply-to", "-"), b"", "cannot both be read from standard input"),
        (("hello", "--reply-to", "-", "--ref", "ab" * 32), b"", "leave --ref out"),
        (("hello", "--ref", "ab"), None, "64 hex digits"),
        (("hello", "--key", "names.yaml"), None, "names.yaml has no keys: a user's keys are an object"),
        (("hello", "--key", "broken"), None, "broken has no keys: it is not JSON"),
        (("hello", "--pinned", "broken"), None, "broken: the registry document"),
    ],
)
def test_invalid_arguments_are_one_sentence(
    shell: Dm3Commands, arguments: tuple[str, ...], stdin: bytes | None, sentence: str
) -> None:
    (shell.folder / "broken").write_text("[")
    shell.write()
    options: list[str] = []
    for name, value in (("--key", ALICE), ("--pinned", "names.yaml")):
        options += [] if name in arguments else [name, value]
    result = shell.postroom("dm3", "send", ALICE, BOB, *arguments, *options, *shell.options, input=stdin)
    assert (result.exit_code, result.stdout) == (code_of(sentence), "")
    assert sentence in result.stderr
    assert shell.net.came == []


def test_a_reply_goes_to_the_sender_of_the_original(shell: Dm3Commands) -> None:
    (shell.folder / "from-bob.json").write_text(from_bob(shell.net))
    shell.write()
    result = shell.postroom(
        "dm3", "send", ALICE, "carol.eth", "this", "--reply-to", "from-bob.json", "--key", ALICE,
        "--pinned", "names.yaml", *shell.options,
    )  # fmt: skip
    assert result.exit_code == 2
    assert "from-bob.json is from bob.eth, not from carol.eth" in result.stderr


def test_a_message_without_the_members_of_its_type_is_invalid(shell: Dm3Commands) -> None:
    for arguments in ((), ("hello", "--type", "REPLY")):
        result = shell.send(*arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith("postroom: MessageInvalid: ")


# ---- opening -----------------------------------------------------------------------------------------------------
@pytest.fixture
def filed(shell: Dm3Commands) -> str:
    """A message as Bob finds it."""
    (shell.folder / "a.txt").write_text("a")
    assert shell.send("hello\n🤝", "--attach", "a.txt").exit_code == 0
    return shell.net.filed()


def test_a_message_is_shown_with_all_its_checks(shell: Dm3Commands, filed: str) -> None:
    result = shell.open(filed)
    head, text, checks = result.stdout.split("\n\n")
    assert result.exit_code == 0
    shown = dict(line.split(maxsplit=1) for line in head.splitlines())
    assert (shown["from"], shown["to"], shown["type"]) == (ALICE, BOB, "NEW")
    assert (len(shown["hash"]), shown["attachment"]) == (64, "data:text/plain;base64,YQ==")
    assert text == "  hello\n  🤝"
    *lines, verdict = checks.splitlines()
    assert (len(lines), {line[:5] for line in lines}, verdict) == (11, {"ok   "}, "accepted")
    assert any(line.startswith("ok    postmark signature: by ds.eth, of what came in at ") for line in lines)


def test_json_has_the_same_content(shell: Dm3Commands, filed: str) -> None:
    printed = json.loads(shell.open(filed, "--json").stdout)
    assert (printed["verdict"], printed["reason"], len(printed["checks"])) == ("accepted", None, 11)
    assert printed["message"]["message"] == "hello\n🤝"
    assert printed["postmark"]["messageHash"] == printed["message_hash"]


def test_a_changed_message_is_bad_and_still_shown(shell: Dm3Commands, filed: str) -> None:
    value: dict[str, Any] = json.loads(filed)
    value["metadata"]["version"] = "v1"
    result = shell.open(json.dumps(value))
    assert result.exit_code == 1
    assert "  hello\n  🤝" in result.stdout
    failing = [line for line in result.stdout.splitlines() if line.startswith("FAIL")]
    assert len(failing) == 1
    assert failing[0].startswith("FAIL  envelope signature: ")
    assert result.stdout.splitlines()[-1].startswith("refused: SenderSignatureInvalid. ")


def test_another_key_does_not_open_a_message(shell: Dm3Commands, filed: str) -> None:
    result = shell.open(filed, "--json", key=MALLORY)
    printed = json.loads(result.stdout)
    assert (result.exit_code, printed["reason"], printed["message"]) == (1, "SealedValueInvalid", None)


def test_a_message_whose_sender_cannot_be_looked_up_is_opened_and_not_verified(shell: Dm3Commands, filed: str) -> None:
    result = shell.postroom("dm3", "open", "-", "--key", BOB, input=filed)
    assert result.exit_code == 3
    assert "  hello\n  🤝" in result.stdout
    assert "no endpoint of the chain of ENS is named: use --endpoint URL" in result.stdout


@pytest.fixture
def web(shell: Dm3Commands, fake_dns: FakeDns, tmp_path: Path) -> Iterator[FakeWeb]:
    """Hosts of profiles: Alice's profile is at one, her delivery service's in IPFS."""
    shell.write()
    names = shell.registry()
    alice, service = (
        json.dumps(profile_of_uri(names[name][key])).encode()
        for name, key in ((ALICE, PROFILE_KEY), (SERVICE, SERVICE_KEY))
    )
    tree = file_of(service, 50)
    pages: dict[str, Answers] = {"p.example": Page(alice), "gateway.example": Page(car_of(tree.blocks))}
    for host in pages:
        fake_dns.tree.put(host, "@ IN A 127.0.0.1\n")
    names[ALICE][PROFILE_KEY] = url_with_hash("https://p.example/alice.json", alice)
    names[SERVICE][SERVICE_KEY] = f"ipfs://{Cid.from_bytes(tree.root.cid)}"
    (tmp_path / "elsewhere.yaml").write_text(json.dumps(names))
    with fake_web(tmp_path, pages) as running:
        yield running


def test_profiles_that_are_published_elsewhere_are_fetched_and_proven(
    shell: Dm3Commands, fake_dns: FakeDns, web: FakeWeb, filed: str
) -> None:
    def opened(*options: str) -> Result:
        return shell.postroom(
            "dm3", "open", "-", "--key", BOB, "--pinned", "elsewhere.yaml", "--resolver", fake_dns.resolver,
            "--ca-file", web.settings["OUTBOUND_CA_FILE"], "--port", web.settings["OUTBOUND_PORT"], "--allow-private",
            *options, input=filed,
        )  # fmt: skip

    gateway = ("--ipfs-gateway", "https://gateway.example")
    assert opened(*gateway).exit_code == 0
    assert web.hosts == ["p.example", "gateway.example"]
    without = opened()
    assert without.exit_code == 1
    assert "no gateway of IPFS is set here" in without.stdout
    web.pages["p.example"] = Page(b"{}")
    changed = opened(*gateway)
    assert changed.exit_code == 1
    assert "the document at the URL is not the one that dm3Hash says" in changed.stdout
    wrong = opened("--ipfs-gateway", "http://gateway.example")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "--ipfs-gateway: 'http://gateway.example' is not of the form https://host" in wrong.stderr


def test_profiles_in_ipfs_are_fetched_from_the_local_stacks_gateway(
    shell: Dm3Commands, fake_dns: FakeDns, web: FakeWeb, filed: str, tmp_path: Path
) -> None:
    ca_file, port = web.settings["OUTBOUND_CA_FILE"], int(web.settings["OUTBOUND_PORT"])
    gateways = ("https://gateway.example",)
    stack = Descriptor(fake_dns.resolver, "", ca_file, port, "http://127.0.0.1:9", "", {}, ipfs_gateways=gateways)
    stack.write(tmp_path / "local.json")
    with_stack = ("--pinned", "elsewhere.yaml", "--local", "local.json")
    assert shell.postroom("dm3", "open", "-", "--key", BOB, *with_stack, input=filed).exit_code == 0
    assert web.hosts == ["p.example", "gateway.example"]


def test_an_invalid_envelope_is_a_bad_message(shell: Dm3Commands) -> None:
    shell.write()
    for junk, reason in ((b"", "NotJson"), (b"{}", "EnvelopeInvalid"), (b"\xff", "NotJson")):
        result = shell.postroom("dm3", "open", "-", "--key", BOB, "--pinned", "names.yaml", "--json", input=junk)
        assert (result.exit_code, json.loads(result.stdout)["reason"]) == (1, reason)


def test_a_senders_text_cannot_control_the_terminal(shell: Dm3Commands) -> None:
    shell.send("\x9b2J\u202e\tx")
    assert "\n  \\x9b2J\\u202e\\tx\n" in shell.open(shell.net.filed()).stdout


# ---- a local stack -----------------------------------------------------------------------------------------------
@dataclass
class AcceptingService:
    """A delivery service that takes all, and what came."""

    port: int = 0
    came: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, _host: str, _path: str, body: bytes) -> tuple[int, bytes]:
        self.came.append(json.loads(body))
        result = "accepted" if self.came[-1]["method"] == "dm3_submitMessage" else {}
        return 200, json.dumps({"jsonrpc": "2.0", "result": result, "id": 1}).encode()


@dataclass
class StackWithOtherService:
    """The embedded AWS of a local stack, with a delivery service that is none of its own."""

    service: AcceptingService
    path: Path
    names: dict[str, dict[str, str]]


@pytest.fixture
def stack(storage_stack: StorageStack, fake_dns: FakeDns, tmp_path: Path) -> Iterator[StackWithOtherService]:
    fake_dns.tree.put(HOST, "@ IN A 127.0.0.1\n")
    authority, service, keys = Authority(tmp_path / "ca"), AcceptingService(), UserKeys.random()
    (tmp_path / "key").write_text(json.dumps(keys.as_json()))
    names = {
        ALICE: {PROFILE_KEY: data_uri(UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,)).as_json())},
        SERVICE: {SERVICE_KEY: data_uri(ServiceKeys.generate().profile(f"https://{HOST}").as_json())},
    }
    context = authority.server_context(HOST)
    context.set_alpn_protocols(["http/1.1"])
    with served(service, context):
        descriptor = replace(
            read_descriptor(storage_stack.descriptor), resolvers=fake_dns.resolver,
            trust_anchors=fake_dns.tree.anchor_text, ca_file=str(authority.pem), port=service.port,
        )  # fmt: skip
        descriptor.write(tmp_path / "elsewhere" / "local.json")
        yield StackWithOtherService(service, tmp_path / "elsewhere", names)


@pytest.mark.xdist_group("cli-storage")
def test_a_local_stack_provides_the_registry_and_the_address(
    stack: StackWithOtherService, postroom: Postroom, tmp_path: Path
) -> None:
    (tmp_path / "names.json").write_text(json.dumps(stack.names))
    local = ("--local", str(stack.path))
    assert postroom("dm3", "registry", "put", "names.json", *local).exit_code == 0
    result = postroom("dm3", "send", ALICE, ALICE, "note to self", "--key", "key", *local)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, f"taken: ds.eth at https://{HOST}")
    envelope = json.dumps(stack.service.came[-1]["params"][0])
    printed = json.loads(postroom("dm3", "open", "-", "--key", "key", *local, "--json", input=envelope).stdout)
    assert [check["name"] for check in printed["checks"] if not check["ok"]] == ["postmark"]
    assert printed["message"]["message"] == "note to self"


@pytest.mark.xdist_group("cli-storage")
def test_the_local_stack_of_the_folder_is_used_and_named(
    stack: StackWithOtherService, postroom: Postroom, tmp_path: Path
) -> None:
    (stack.path).rename(tmp_path / DEFAULT_PATH.parent)
    (tmp_path / "names.json").write_text(json.dumps(stack.names))
    result = postroom("dm3", "send", ALICE, ALICE, "hi", "--key", "key", "--pinned", "names.json")
    assert (result.exit_code, stack.service.came[-1]["method"]) == (0, "dm3_submitMessage")
    assert result.stderr == "postroom: using the local stack of .postroom/local.json\n"
