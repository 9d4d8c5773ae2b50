"""`postroom read --at`: the owner picks up over HTTPS; what was written out, and nothing else, is acknowledged."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import Postroom, code_of
from tests.cli.served_api import URL, ServedApi, serve
from tests.client.mailbox_net import dm3_message
from tests.http.api_stack import BOB, BOB_KEY, SHOP, SHOP_KEY, ApiStack
from tests.patience import PATIENCE

from postroom.client.dm3 import attach
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.nlweb.feedback import conversation_about
from postroom.storage.mail.ids import id_of

Read = Callable[..., Result]
ABOUT = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
RECEIPT = {
    "protocol": "nlweb", "verified_at_ms": 1_795_253_401_500, "key_algorithm": "rsa", "key_fingerprint": "SHA256:abc",
    "key_name": "nlweb._domainkey.sender.example", "evidence": "pre-shared",
}  # fmt: skip
DM3_RECEIPT = {"protocol": "dm3", "message_hash": "ab12", "key_fingerprint": "SHA256:abc", "unverified": None}


@pytest.fixture
def served(deployed: Deployed, tmp_path: Path) -> Iterator[ServedApi]:
    (tmp_path / "owner.pem").write_bytes(SHOP_KEY.to_pem())
    (tmp_path / "other.pem").write_bytes(PrivateKey.generate("ed25519").to_pem())
    with serve(ApiStack(deployed), tmp_path) as running:
        yield running


@pytest.fixture
def read(postroom: Postroom, served: ServedApi) -> Read:
    local = ("--at", URL, "--local", str(served.local))
    return lambda *options, name=SHOP, key="owner.pem": postroom("read", name, *local, "--key", str(key), *options)


@pytest.fixture
def envelope(postroom: Postroom, fake_dns: Any) -> Callable[..., str]:
    def signed(body: str = '{"Say": "hi 🤝"}') -> str:
        result = postroom(
            "sign", "-", "--key", str(fake_dns.key_file), "--from", "sender.example", "--to", SHOP,
            "--subject", "Hello@Host", "--correlation", ABOUT, "--timestamp", "2026-11-21T09:00:00Z", input=body,
        )  # fmt: skip
        return result.stdout

    return signed


@pytest.fixture
def file(served: ServedApi, envelope: Callable[..., str]) -> Callable[..., str]:
    """File a message; its id."""

    def file(text: str = "", **more: Any) -> str:
        [one] = served.api.file(text or envelope(), **{"receipt": RECEIPT, "conversation": "sender.example", **more})
        return one

    return file


def waiting(served: ServedApi, name: str = SHOP) -> list[str]:
    api = served.api
    return [id_of(filed.row.key) for filed in api.mail.listing.all_filed(name, api.clock() + 10)]


def lines(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_a_message_is_shown_with_sender_subject_time_and_verification(read: Read, file: Callable[..., str]) -> None:
    printed = file(at=0.123)
    result = read()
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        printed,
        "  from         sender.example",
        f"  to           {SHOP}",
        "  subject      Hello@Host",
        f"  correlation  {ABOUT}",
        "  sent         2026-11-21T09:00:00.000Z",
        "  received     2026-11-21T09:30:00.123Z",
        "  verified     rsa SHA256:abc, pre-shared at 2026-11-21T09:30:01.500Z",
        '  body         {"Say": "hi 🤝"}',
    ]
    assert read("--explain").stdout.splitlines()[-1] == "    DNS was not used"


def test_an_empty_mailbox_says_so(read: Read) -> None:
    assert read().stdout == f"there are no messages in {SHOP}\n"
    assert read("--json").stdout == ""


def test_json_has_a_line_for_each_message(read: Read, file: Callable[..., str], envelope: Any) -> None:
    ids = [file(at=at) for at in (1, 0, 2)]
    printed = lines(read("--json"))
    assert [each["id"] for each in printed] == [ids[1], ids[0], ids[2]]
    assert printed[0]["envelope"] == envelope()
    assert (printed[0]["from"], printed[0]["body"], printed[0]["receipt"]) == (
        "sender.example",
        {"Say": "hi 🤝"},
        RECEIPT,
    )


def test_a_limit_is_applied_and_the_output_says_that_there_may_be_more(read: Read, file: Callable[..., str]) -> None:
    ids = [file(at=at) for at in range(3)]
    result = read("--limit", "2")
    assert ids[1] in result.stdout
    assert ids[2] not in result.stdout
    assert result.stdout.splitlines()[-1].startswith("there may be more")


def test_one_message_or_the_feedback_about_one_is_shown(read: Read, file: Callable[..., str]) -> None:
    [one, _] = [file(at=at) for at in range(2)]
    feedback = file(conversation=conversation_about(ABOUT))
    assert [each["id"] for each in lines(read("--json", "--id", one))] == [one]
    assert [each["id"] for each in lines(read("--json", "--about", ABOUT.upper()))] == [feedback]


def test_raw_output_is_byte_for_byte(read: Read, file: Callable[..., str], envelope: Any) -> None:
    text = envelope().replace("\n", "\r\n ") + "\t"
    one = file(text)
    assert read("--raw").stdout_bytes == text.encode()
    file(at=1)
    both = read("--raw")
    assert (both.exit_code, both.stdout) == (2, "")
    assert "--raw writes one envelope, and more are there; name one by --id" in both.stderr
    assert read("--raw", "--id", one).stdout_bytes == text.encode()


def test_a_senders_text_cannot_control_the_terminal(read: Read, file: Callable[..., str], envelope: Any) -> None:
    file(envelope('"\\u009b2J\\u202e"'))
    assert '  body         "\\x9b2J\\u202e"\n' in read().stdout


def test_an_unreadable_message_is_reported_and_blocks_no_other(
    read: Read, file: Callable[..., str], served: ServedApi
) -> None:
    one, two = (file(at=at) for at in range(2))
    lies_at, *_ = sorted(served.api.deployed.objects())
    served.api.deployed.clients.s3.delete_object(Bucket=served.api.deployed.bucket, Key=lies_at)
    result = read("--json")
    assert (result.exit_code, [each["id"] for each in lines(result)]) == (0, [two])
    [note] = map(json.loads, result.stderr.splitlines())
    assert note["note"].startswith(f"Message {one} cannot be read by its post office")


# --- messages of dm3 ------------------------------------------------------------------------------------------


@pytest.fixture
def bob(tmp_path: Path) -> UserKeys:
    keys = UserKeys(BOB_KEY, EncryptionKey.generate())
    (tmp_path / "bob.json").write_text(json.dumps(keys.as_json()))
    return keys


def test_a_dm3_message_is_opened_with_the_key_that_signs_in(
    read: Read, file: Callable[..., str], bob: UserKeys
) -> None:
    file(dm3_message(bob.encryption, "Good morning\x1b"), mailbox=BOB, conversation="alice.eth", receipt=DM3_RECEIPT)
    shown = read(name=BOB, key="bob.json").stdout.splitlines()
    assert shown[1:] == [
        "  from         alice.eth",
        "  to           bob.eth",
        "  received     2026-11-21T09:30:00.000Z",
        "  verified     by SHA256:abc of the sender's profile",
        "  type         NEW",
        "  hash         ab12",
        "  text         Good morning\\x1b",
    ]
    [printed] = lines(read("--json", name=BOB, key="bob.json"))
    assert (printed["from"], printed["message"]["message"], printed["message_hash"]) == (
        "alice.eth",
        "Good morning\x1b",
        "ab12",
    )


def test_a_dm3_message_with_another_sender_inside_is_reported(
    read: Read, file: Callable[..., str], bob: UserKeys
) -> None:
    text = dm3_message(bob.encryption, "Hi", sender="carol.eth")
    file(text, mailbox=BOB, conversation="alice.eth", receipt=DM3_RECEIPT)
    assert "  says it is   from carol.eth\n" in read(name=BOB, key="bob.json").stdout


def test_a_dm3_message_that_cannot_be_opened_is_shown_sealed(
    read: Read, file: Callable[..., str], bob: UserKeys
) -> None:
    file(dm3_message(EncryptionKey.generate(), "Hi"), mailbox=BOB, conversation="alice.eth", receipt=DM3_RECEIPT)
    shown = read(name=BOB, key="bob.json").stdout
    assert "  sealed       ab12; --raw writes it for `postroom dm3 open`\n" in shown
    assert "  not opened   SealedValueInvalid" in shown


# --- what is acknowledged ---------------------------------------------------------------------------------------------


def test_messages_are_acknowledged_only_on_request(read: Read, file: Callable[..., str], served: ServedApi) -> None:
    ids = [file(at=at) for at in range(2)]
    read(), read("--json"), read("--raw", "--id", ids[0])
    assert waiting(served) == ids


def test_only_shown_messages_are_acknowledged(read: Read, file: Callable[..., str], served: ServedApi) -> None:
    ids = [file(at=at) for at in range(3)]
    assert read("--limit", "2", "--ack-shown").stdout.splitlines()[-2] == "acknowledged 2"
    assert waiting(served) == ids[2:]
    assert [each["id"] for each in lines(read("--json", "--ack-shown"))] == ids[2:]
    assert waiting(served) == []


LONG = json.dumps({"Text": "x" * 400})


def test_shortened_messages_are_not_acknowledged_unless_fully_written(
    read: Read, file: Callable[..., str], served: ServedApi, envelope: Any, bob: UserKeys
) -> None:
    long, short = file(envelope(LONG)), file(at=1)
    shown = read("--ack-shown").stdout
    assert "  not acknowledged: this is not the whole message; --json and --raw write it\n" in shown
    assert short not in waiting(served)
    assert read("--ack-shown", "--id", long).exit_code == 0
    assert waiting(served) == [long]
    read("--ack-shown", "--json")
    assert waiting(served) == []
    files = {"mailbox": BOB, "conversation": "alice.eth", "receipt": DM3_RECEIPT}
    other, _, much, with_file = (
        file(text, at=at, **files)
        for at, text in enumerate((
            dm3_message(EncryptionKey.generate(), "Hi"), dm3_message(bob.encryption, "Hi"),
            dm3_message(bob.encryption, "x" * 401),
            dm3_message(bob.encryption, "Hi", attachments=(attach(b"", "text/plain"),)),
        ))
    )  # fmt: skip
    assert "  attachments  1; `postroom dm3 open` shows them\n" in read("--ack-shown", name=BOB, key="bob.json").stdout
    assert waiting(served, BOB) == [other, much, with_file]
    read("--ack-shown", "--raw", "--id", other, name=BOB, key="bob.json")
    assert waiting(served, BOB) == [much, with_file]


@pytest.mark.parametrize("form", [(), ("--json",), ("--raw",)])
def test_a_named_message_is_acknowledged_alone(
    read: Read, file: Callable[..., str], served: ServedApi, form: tuple[str, ...]
) -> None:
    one, other = (file(at=at) for at in range(2))
    assert read("--id", one, "--ack-shown", *form).exit_code == 0
    assert waiting(served) == [other]


def test_many_are_acknowledged_in_few_requests(read: Read, served: ServedApi, file: Callable[..., str]) -> None:
    for at in range(25):
        file(at=at)
    read("--ack-shown", "--limit", "25")
    assert served.asked.count(f"POST /mailboxes/{SHOP}/acknowledgements") == 1
    assert waiting(served) == []


def test_messages_are_acknowledged_by_their_ids(read: Read, file: Callable[..., str], served: ServedApi) -> None:
    one, two, three = (file(at=at) for at in range(3))
    assert read("--ack", one, "--ack", three).stdout == f"acknowledged {one}\nacknowledged {three}\n"
    assert waiting(served) == [two]
    again = read("--ack", one, "--ack", "x", "--json")
    assert (again.exit_code, lines(again)) == (5, [{"acknowledged": [one]}])
    assert f"there is no message x in {SHOP}" in again.stderr


@pytest.fixture
def program(served: ServedApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The command line of a process of its own, which writes when it must."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    return lambda *options: [
        sys.executable, "-c", "from postroom.cli import main; main()", "read", SHOP, "--at", URL,
        "--local", str(served.local), "--key", str(tmp_path / "owner.pem"), *options,
    ]  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full stands there on Linux only")
@pytest.mark.parametrize("form", [(), ("--json",), ("--raw",)])
def test_messages_that_could_not_be_written_are_not_acknowledged(
    program: Callable[..., list[str]], file: Callable[..., str], served: ServedApi, form: tuple[str, ...]
) -> None:
    one = file()
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            program("--ack-shown", *form), stdout=full, stderr=subprocess.PIPE, check=False, text=True
        )
    assert (done.returncode, "could not be written" in done.stderr) == (3, True), done.stderr
    assert waiting(served) == [one]


def test_after_a_closed_pipe_nothing_is_acknowledged(
    program: Callable[..., list[str]], file: Callable[..., str], served: ServedApi
) -> None:
    one = file()
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as broken:
        done = subprocess.run(program("--ack-shown"), stdout=broken, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 141, done.stderr
    assert waiting(served) == [one]


def test_a_message_is_shown_again_after_a_crash_before_its_acknowledgement(
    program: Callable[..., list[str]], file: Callable[..., str], served: ServedApi, read: Read
) -> None:
    one = file()
    dying: list[subprocess.Popen[bytes]] = []

    def kill(asked: str) -> int | None:
        if asked.endswith("/acknowledgements"):
            dying[0].kill()
            dying[0].wait()
            return 503
        return None

    served.before = kill
    with subprocess.Popen(program("--ack-shown", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        dying.append(process)
        printed, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [json.loads(line)["id"] for line in printed.splitlines()] == [one]
    served.before = lambda _: None
    assert [each["id"] for each in lines(read("--json", "--ack-shown"))] == [one]
    assert lines(read("--json")) == []


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_following_shows_new_messages_and_ends_cleanly_with_ctrl_c(
    program: Callable[..., list[str]], file: Callable[..., str], served: ServedApi
) -> None:
    first = file()
    with subprocess.Popen(
        program("--wait", "--json", "--ack-shown"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["id"] == first
        second = file(at=1)
        assert json.loads(process.stdout.readline())["id"] == second
        third = file(at=2)
        assert json.loads(process.stdout.readline())["id"] == third
        process.send_signal(signal.SIGINT)
        rest, complaint = process.communicate(timeout=PATIENCE)
    assert (process.returncode, rest, complaint) == (0, b"", b"")
    assert set(waiting(served)) <= {third}


def test_following_continues_when_the_post_office_is_back(
    read: Read, file: Callable[..., str], served: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.cli.read_as_owner.WATCHING_ATTEMPTS", 1)
    ids = [file(at=at) for at in range(2)]
    faults = ["messages", "acknowledgements"]

    def fail(asked: str) -> int | None:
        return 503 if faults and asked.endswith(faults[0]) and faults.pop(0) else None

    served.before = fail
    result = read("--wait", "--limit", "2", "--json", "--ack-shown")
    assert (result.exit_code, [each["id"] for each in lines(result)]) == (0, ids)
    assert result.stderr.count("Still waiting.") == 2
    assert (faults, waiting(served)) == ([], [])


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_another_key_is_refused(read: Read, file: Callable[..., str]) -> None:
    file()
    result = read(key="other.pem")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("postroom: NotTheOwner: ")
    assert "Sign in with a key of the mailbox" in result.stderr


def test_a_missing_mailbox_is_refused_in_the_same_words(read: Read) -> None:
    assert read(name="nobody.com").stderr == read(key="other.pem").stderr


def test_a_deleted_message_is_reported(read: Read, file: Callable[..., str]) -> None:
    one = file()
    read("--ack", one)
    result = read("--id", one)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("postroom: MessageUnknown: ")


def test_an_expired_token_is_renewed(read: Read, file: Callable[..., str], served: ServedApi) -> None:
    ids = [file(at=at) for at in range(2)]
    signed_in: list[str] = []

    def age(asked: str) -> None:
        if asked.endswith("/acknowledgements") and not signed_in:
            signed_in.append(asked)
            served.api.clock.now += 3601

    served.before = age
    assert [each["id"] for each in lines(read("--json", "--ack-shown"))] == ids
    assert served.asked.count(f"POST /auth/{SHOP}") == 2
    assert waiting(served) == []


def test_an_unavailable_post_office_is_reported(postroom: Postroom, served: ServedApi) -> None:
    served.before = lambda _: 503
    result = postroom("read", SHOP, "--at", URL, "--local", str(served.local), "--key", "owner.pem")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "postroom: The host answers with HTTP 503.\n"


def test_a_host_with_an_untrusted_certificate_gets_no_signature(postroom: Postroom, served: ServedApi) -> None:
    there = ("--at", "https://nlweb.other.com", "--local", str(served.local))
    result = postroom("read", SHOP, *there, "--key", "owner.pem")
    assert (result.exit_code, served.asked) == (3, [])
    assert "The certificate of nlweb.other.com is not accepted" in result.stderr
    assert ".." not in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--key", "owner.pem"), "are for the owner: add --at URL"),
        (("--ack-shown",), "are for the owner: add --at URL"),
        (("--wait",), "are for the owner: add --at URL"),
        (("--at", URL), "add --key FILE"),
        (("--at", URL, "--key", "none.pem"), "none.pem: No such file"),
        (("--at", URL, "--key", "local.json"), "local.json has no keys"),
        (("--at", URL, "--key", "owner.pem", "--cursor", "x"), "--cursor is for the operator"),
        (("--at", URL, "--key", "owner.pem", "--wait", "--raw"), "--wait cannot be combined"),
        (("--at", "http://x", "--key", "owner.pem"), "it must be https://"),
        (("--at", URL, "--key", "owner.pem", "--ca-file", "owner.pem"), "owner.pem has no certificates"),
    ],
)
def test_a_usage_error_is_one_sentence(
    postroom: Postroom, served: ServedApi, options: tuple[str, ...], sentence: str
) -> None:
    result = postroom("read", SHOP, *options)
    assert (result.exit_code, sentence in result.stderr) == (code_of(sentence), True), result.stderr
    assert served.asked == []
