"""`postroom verify` against real signed zones: every check in order, and an exit code that programs can use."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key
from tests.cli.conftest import FakeDns, Postroom, StorageStack, code_of

from postroom.crypto.rsa_ed25519 import PrivateKey

pytestmark = pytest.mark.xdist_group("cli-storage")

CHECKS = [
    "json", "frame", "schema", "From", "To", "Subject", "Correlation", "Timestamp", "Hash form", "DKIM",
    "Signature form", "receiver", "time", "hash", "dnssec", "key", "signature",
]  # fmt: skip
WALLET = "0f8fad5b-d9cb-469f-a165-70867728950e"
OTHER_WALLET = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
Envelope = Callable[..., str]
Judge = Callable[..., tuple[int, dict[str, object]]]


@pytest.fixture
def judge(postroom: Postroom, fake_dns: FakeDns) -> Judge:
    def judge(envelope: str, *options: str) -> tuple[int, dict[str, object]]:
        result = postroom("verify", "-", "--json", *fake_dns.options, *options, input=envelope)
        return result.exit_code, json.loads(result.stdout)

    return judge


def failed(printed: dict[str, object]) -> list[str]:
    checks = printed["checks"]
    assert isinstance(checks, list)
    return [check["name"] for check in checks if not check["ok"]]


def names(printed: dict[str, object]) -> list[str]:
    checks = printed["checks"]
    assert isinstance(checks, list)
    return [check["name"] for check in checks]


def test_a_good_message_passes_every_check_in_order(judge: Judge, envelope: Envelope) -> None:
    code, printed = judge(envelope(), "--to", "other.example", "--to", "Receiver.Example")
    assert (code, printed["verdict"], printed["reason"]) == (0, "accepted", None)
    assert names(printed) == CHECKS
    assert failed(printed) == []


def test_every_check_has_what_it_found_what_it_expected_and_the_section(judge: Judge, envelope: Envelope) -> None:
    _, printed = judge(envelope())
    assert set(printed) == {"verdict", "reason", "checks"}
    checks = printed["checks"]
    assert isinstance(checks, list)
    for check in checks:
        assert set(check) == {"name", "ok", "saw", "expected", "section"}
        assert check["saw"]
        assert check["expected"]
        assert check["section"]


def test_the_dialect_of_2026_is_verified_under_its_own_name(judge: Judge, envelope: Envelope) -> None:
    code, printed = judge(envelope("--dialect", "pollyweb", "--selector", "pk1"))
    assert (code, printed["verdict"]) == (0, "accepted")
    assert "Selector" in names(printed)


def test_a_forged_body_fails_hash_and_signature(judge: Judge, envelope: Envelope) -> None:
    code, printed = judge(envelope().replace("hi", "ho"))
    assert (code, printed["verdict"], printed["reason"]) == (1, "refused", "HashMismatch")
    assert failed(printed) == ["hash", "signature"]


def test_a_signature_by_another_key_is_discarded(
    judge: Judge, envelope: Envelope, postroom: Postroom, tmp_path: Path
) -> None:
    (tmp_path / "other.pem").write_bytes(PrivateKey.generate("ed25519").to_pem())
    code, printed = judge(envelope("--key", str(tmp_path / "other.pem")))
    assert (code, printed["verdict"], printed["reason"]) == (1, "discarded", "SignatureInvalid")


@pytest.mark.parametrize(
    ("sender", "reason"),
    [
        ("unsigned.example", "SenderNotSigned"),
        ("bogus.example", "DnssecBogus"),
        ("nobody.sender.example", "KeyNotFound"),
    ],
)
def test_an_unproven_key_is_not_used(judge: Judge, envelope: Envelope, sender: str, reason: str) -> None:
    code, printed = judge(envelope(sender=sender))
    assert (code, printed["verdict"], printed["reason"]) == (1, "discarded", reason)


def test_the_public_root_anchors_do_not_prove_the_test_zones(
    postroom: Postroom, fake_dns: FakeDns, envelope: Envelope
) -> None:
    result = postroom("verify", "-", "--json", "--resolver", fake_dns.resolver, input=envelope())
    assert (result.exit_code, json.loads(result.stdout)["reason"]) == (1, "DnssecBogus")


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (1_795_000_000, None),
        (1_795_000_000 + 86_400, None),
        (1_795_000_000 + 86_401, "TimestampTooOld"),
        (1_795_000_000 - 121, "TimestampTooNew"),
    ],
)
def test_the_time_of_arrival_can_be_given(judge: Judge, envelope: Envelope, now: int, reason: str | None) -> None:
    code, printed = judge(envelope("--timestamp", "2026-11-18T11:06:40Z"), "--now", str(now))
    assert printed["reason"] == reason
    assert code == (0 if reason is None else 1)


def test_a_message_to_another_receiver_is_refused_and_all_checks_still_run(judge: Judge, envelope: Envelope) -> None:
    code, printed = judge(envelope(), "--to", "other.example")
    assert (code, printed["verdict"], printed["reason"]) == (1, "refused", "NotOurs")
    assert failed(printed) == ["receiver"]
    assert names(printed) == CHECKS


def test_without_a_resolver_there_is_no_verdict(postroom: Postroom, fake_dns: FakeDns, envelope: Envelope) -> None:
    result = postroom("verify", "-", "--json", "--resolver", fake_dns.silent_resolver, input=envelope())
    printed = json.loads(result.stdout)
    assert (result.exit_code, printed["verdict"], printed["reason"]) == (3, "retry", "KeyLookupFailed")


def test_a_second_resolver_is_used_when_the_first_fails(judge: Judge, fake_dns: FakeDns, envelope: Envelope) -> None:
    code, _ = judge(envelope(), "--resolver", fake_dns.silent_resolver)
    assert code == 0


def test_a_malformed_member_does_not_end_the_checks(judge: Judge, envelope: Envelope) -> None:
    broken = json.loads(envelope())
    del broken["Header"]["Subject"]
    code, printed = judge(json.dumps(broken))
    assert (code, printed["verdict"], printed["reason"]) == (1, "refused", "WrongShape")
    assert failed(printed) == ["Subject", "hash", "signature"]
    assert names(printed) == CHECKS


@pytest.mark.parametrize(("text", "reason"), [("", "NotJson"), ('{"a":1,"a":1}', "NotIJson"), ("[]", "WrongShape")])
def test_an_invalid_envelope_ends_the_checks(judge: Judge, text: str, reason: str) -> None:
    code, printed = judge(text)
    assert (code, printed["reason"]) == (1, reason)


def pem_of(key: PrivateKey) -> bytes:
    return load_der_public_key(key.public.spki()).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_a_wallets_message_is_verified_with_the_given_key(
    judge: Judge, fake_dns: FakeDns, envelope: Envelope, tmp_path: Path
) -> None:
    (tmp_path / "wallet.pem").write_bytes(pem_of(fake_dns.key))
    code, printed = judge(envelope(sender=WALLET), "--public-key", str(tmp_path / "wallet.pem"))
    assert (code, printed["verdict"]) == (0, "accepted")
    assert "dnssec" not in names(printed)


def test_without_the_wallets_key_there_is_no_verdict(judge: Judge, envelope: Envelope) -> None:
    code, printed = judge(envelope(sender=WALLET))
    assert (code, printed["verdict"], printed["reason"]) == (3, "retry", "KeyLookupFailed")
    assert "give the wallet's registered key with --public-key" in str(printed["checks"])


def test_the_text_output_has_checks_and_a_verdict(postroom: Postroom, fake_dns: FakeDns, envelope: Envelope) -> None:
    def show(text: str) -> Result:
        return postroom("verify", "-", *fake_dns.options, input=text)

    good, bad = show(envelope()), show(envelope().replace("hi", "ho"))
    assert good.stdout.rstrip().endswith("accepted")
    passed = [line for line in good.stdout.splitlines() if line.startswith("ok    ")]
    assert [line.removeprefix("ok    ").partition(": ")[0] for line in passed] == CHECKS
    assert "refused: HashMismatch. The Hash is not" in bad.stdout
    assert "\x1b" not in good.stdout + bad.stdout


def test_piped_output_has_one_line_for_each_check_without_padding(
    postroom: Postroom, fake_dns: FakeDns, envelope: Envelope
) -> None:
    lines = postroom("verify", "-", *fake_dns.options, input=envelope().replace("hi", "ho")).stdout.splitlines()
    assert len(lines) == len(CHECKS) + 1
    [subject_line] = [line for line in lines if line.startswith("ok    Subject: ")]
    assert subject_line.startswith('ok    Subject: "Hello@Host"; expected 1 to 256 printable characters; what is')
    [hash_line] = [line for line in lines if line.startswith("FAIL  hash: ")]
    saw, expected, *section = hash_line.removeprefix("FAIL  hash: ").split("; ")
    assert expected.startswith("expected ")
    assert saw
    assert section[0] == "how to create the canonical hash"
    assert not any(line != line.rstrip() for line in lines)


def test_every_check_is_shown_whole_in_a_narrow_terminal(tmp_path: Path, fake_dns: FakeDns, envelope: Envelope) -> None:
    (tmp_path / "message.json").write_text(envelope())
    terminal, end = os.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as person:
        command = [str(Path(sys.executable).parent / "postroom"), "verify", "message.json", "--to", "other.example"]
        with subprocess.Popen(
            [*command, *fake_dns.options], stdout=end, cwd=tmp_path, env={"TERM": "dumb", "COLUMNS": "80"}
        ) as ran:
            os.close(end)
            shown = b""
            with contextlib.suppress(OSError):  # what Linux says where nobody writes any more
                while more := person.read(4096):
                    shown += more
    assert ran.returncode == 1
    lines = shown.decode().split("\r\n")
    assert json.loads((tmp_path / "message.json").read_text())["Hash"] in "".join(shown.decode().split())
    assert max(map(len, lines)) <= 80
    assert [line[:8].strip() for line in lines if line[:2].strip()] == [
        *("FAILED" if name == "receiver" else "ok" for name in CHECKS),
        "refused:",
    ]
    at = lines.index(next(line for line in lines if line.startswith("FAILED")))
    assert [line[8:].split() for line in lines[at : at + 3]] == [
        ["receiver", "receiver.example"],
        ["expected:", "one", "of", "other.example"],
        ["how", "do", "receiver", "domains", "know", "who", "sent", "a", "message"],
    ]


def test_wallets_are_looked_up_in_the_local_stack(
    postroom: Postroom, storage_stack: StorageStack, fake_dns: FakeDns, envelope: Envelope, tmp_path: Path
) -> None:
    (tmp_path / "wallet.pem").write_bytes(pem_of(fake_dns.key))
    (tmp_path / "message.json").write_text(envelope(sender=OTHER_WALLET))

    def verify() -> tuple[int, object]:
        result = postroom("verify", "message.json", "--json", *storage_stack.options, *fake_dns.options)
        return result.exit_code, json.loads(result.stdout)["reason"]

    assert verify() == (1, "WalletUnknown")
    assert postroom("wallet", "add", OTHER_WALLET, "--public-key", "wallet.pem", *storage_stack.options).exit_code == 0
    assert verify() == (0, None)


def test_a_senders_text_cannot_control_the_terminal(postroom: Postroom, fake_dns: FakeDns, envelope: Envelope) -> None:
    nasty = json.loads(envelope())
    nasty["Header"]["Subject"] = "[red]\x9b2J\u202egnp.exe[/red]"
    shown = postroom("verify", "-", *fake_dns.options, input=json.dumps(nasty)).stdout
    assert "[red]\\x9b2J\\u202egnp.exe[/red]" in shown
    assert not {"\x9b", "\u202e"} & set(shown)


def test_a_file_is_read_like_standard_input(
    postroom: Postroom, fake_dns: FakeDns, envelope: Envelope, tmp_path: Path
) -> None:
    (tmp_path / "message.json").write_text(envelope())
    assert postroom("verify", "message.json", *fake_dns.options).exit_code == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("nowhere.json",), "nowhere.json: No such file or directory"),
        (("-", "--resolver", "resolver.example"), "DNS resolver 'resolver.example' is not of the form"),
        (("-", "--trust-anchor", "empty"), "empty is empty; expected lines of DS or DNSKEY records"),
        (("-", "--trust-anchor", "junk"), "the trust anchor is not DS or DNSKEY records"),
        (("-", "--public-key", "junk"), "junk is not an acceptable public key"),
        (("-", "--local", "."), "there is no local.json; `postroom up` starts a local stack and writes it"),
        (("-", "--to", "no host"), "'no host' is not a host name"),
        (("-", "--now", "nan"), "--now is nan; it must be seconds since 1970, before the year 9999"),
        (("-", "--now", "inf"), "--now is inf; it must be"),
        (("-", "--now", "1e18"), "--now is 1e+18; it must be"),
        (("-", "--now", "-1"), "--now is -1.0; it must be"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    postroom: Postroom, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "junk").write_text("junk")
    result = postroom("verify", *options, input="{}")
    assert result.exit_code == code_of(sentence)
    assert sentence in result.stderr
    assert result.stdout == ""
