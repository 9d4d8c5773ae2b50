"""`postroom sign`: a Body becomes an envelope that receivers accept, or is not signed."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import Result
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from tests.cli.conftest import FakeDns, Postroom, code_of

from postroom.cli import inputs
from postroom.cli.exits import Exit
from postroom.protocols.nlweb.envelope import check_hash, read_envelope
from postroom.protocols.nlweb.verify import check_signature

WALLET = "0f8fad5b-d9cb-469f-a165-70867728950e"
Envelope = Callable[..., str]


@pytest.mark.parametrize(
    ("sender", "options"),
    [
        ("sender.example", ()),
        ("sender.example", ("--selector", "pk1")),
        ("sender.example", ("--dialect", "pollyweb", "--selector", "pk1")),
        (WALLET, ()),
        (WALLET, ("--dialect", "pollyweb")),
    ],
)
def test_the_signed_envelope_is_valid(
    envelope: Envelope, fake_dns: FakeDns, sender: str, options: tuple[str, ...]
) -> None:
    signed = read_envelope(json.loads(envelope(*options, sender=sender)))
    check_hash(signed.claimed_hash, signed.digest)
    check_signature(signed, fake_dns.key.public)
    assert (signed.sender, signed.receiver, signed.subject) == (sender, "receiver.example", "Hello@Host")
    assert signed.body == {"Say": "hi 🤝"}


def test_correlation_and_timestamp_may_be_given(envelope: Envelope) -> None:
    header = json.loads(envelope("--correlation", WALLET.upper(), "--timestamp", "2026-11-21T09:30:00Z"))["Header"]
    assert (header["Correlation"], header["Timestamp"]) == (WALLET, "2026-11-21T09:30:00.000Z")


def test_each_message_has_a_correlation_of_its_own(envelope: Envelope) -> None:
    assert json.loads(envelope())["Header"]["Correlation"] != json.loads(envelope())["Header"]["Correlation"]


def test_without_a_body_standard_input_is_not_read(envelope: Envelope) -> None:
    assert "Body" not in json.loads(envelope("--no-body", body="not JSON"))


@pytest.mark.parametrize("body", ["null", "0", '"text"', "[1.5, true]"])
def test_any_json_is_a_body(envelope: Envelope, body: str) -> None:
    assert json.loads(envelope(body=body))["Body"] == json.loads(body)


def test_a_file_is_read_like_standard_input(postroom: Postroom, fake_dns: FakeDns, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"a": 1}')
    result = postroom(
        "sign", "body.json", "--key", str(fake_dns.key_file), "--from", "sender.example", "--to", "receiver.example",
        "--subject", "Hello@Host",
    )  # fmt: skip
    assert json.loads(result.stdout)["Body"] == {"a": 1}


@pytest.mark.parametrize(
    ("body", "reason"), [("", "NotJson"), ('{"a":1,"a":2}', "NotIJson"), ("9007199254740993", "NotIJson")]
)
def test_a_body_that_is_not_i_json_is_a_usage_error(
    postroom: Postroom, fake_dns: FakeDns, body: str, reason: str
) -> None:
    result = postroom(
        "sign", "--key", str(fake_dns.key_file), "--from", "sender.example", "--to", "receiver.example",
        "--subject", "Hello@Host", input=body,
    )  # fmt: skip
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert result.stderr.startswith(f"postroom: standard input is not a Body: {reason}: ")


def test_a_file_that_is_not_a_body_is_named(postroom: Postroom, fake_dns: FakeDns, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text("")
    result = postroom(
        "sign", "body.json", "--key", str(fake_dns.key_file), "--from", "sender.example", "--to", "receiver.example",
        "--subject", "Hello@Host",
    )  # fmt: skip
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert result.stderr.startswith("postroom: body.json is not a Body: NotJson: ")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--from", "sender_example"), "--from is 'sender_example': Header.From is neither"),
        (("--to", "10.0.0.1"), "'10.0.0.1' is not a host name"),
        (("--subject", ""), "Header.Subject is not 1 to 256 printable characters"),
        (("--subject", "a\nb"), "Header.Subject is not 1 to 256 printable characters"),
        (("--selector", "../x"), "Header.DKIM is not a DKIM selector"),
        (("--dialect", "pollyweb"), "Header.Selector is missing; see --subject and --selector"),
        (("--correlation", "1"), "--correlation is '1': Header.Correlation is not a UUID"),
        (("--timestamp", "yesterday"), "--timestamp is 'yesterday': Header.Timestamp is not an RFC 3339 time"),
        (("--key", "junk"), "junk: the private key must be a PEM file"),
        (("--key", "missing"), "missing: No such file or directory"),
    ],
)
def test_a_message_that_receivers_would_refuse_is_not_signed(
    postroom: Postroom, fake_dns: FakeDns, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "junk").write_text("junk")
    result = postroom(
        "sign", "--key", str(fake_dns.key_file), "--from", "sender.example", "--to", "receiver.example",
        "--subject", "Hello@Host", *options, input="{}",
    )  # fmt: skip
    assert (result.exit_code, result.stdout) == (code_of(sentence), "")
    assert sentence in result.stderr


@pytest.fixture
def encrypted(fake_dns: FakeDns, tmp_path: Path) -> Path:
    key = load_pem_private_key(fake_dns.key_file.read_bytes(), None)
    path = tmp_path / "encrypted.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
    return path


def signed_with(postroom: Postroom, key: Path) -> Result:
    return postroom(
        "sign", "--key", str(key), "--from", "sender.example", "--to", "receiver.example", "--subject", "Hello@Host",
        input="{}",
    )  # fmt: skip


def test_an_encrypted_key_is_used_with_the_passphrase_of_the_environment(
    postroom: Postroom, encrypted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", "secret")
    assert signed_with(postroom, encrypted).exit_code == Exit.GOOD
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", "another")
    result = signed_with(postroom, encrypted)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert "encrypted with another passphrase" in result.stderr


def test_without_a_passphrase_and_a_terminal_an_encrypted_key_is_a_usage_error(
    postroom: Postroom, encrypted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSTROOM_KEY_PASSPHRASE", raising=False)
    result = signed_with(postroom, encrypted)
    assert result.exit_code == Exit.USAGE
    assert "set POSTROOM_KEY_PASSPHRASE, or run the command at a terminal" in result.stderr


def test_at_a_terminal_the_passphrase_is_typed(encrypted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSTROOM_KEY_PASSPHRASE", raising=False)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    asked: list[str] = []
    monkeypatch.setattr(inputs, "getpass", lambda prompt: asked.append(prompt) or "secret")
    assert inputs.load_private_key(encrypted).sign(b"text")
    assert asked == [f"Passphrase of {encrypted}: "]
