"""`postroom mailbox`: who picks a mailbox's mail up."""

import json
import os
import re
import shutil
import subprocess
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_private_key,
)
from tests.cli.conftest import Postroom, StorageStack, code_of

from postroom.cli.exits import Exit
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.rsa_ed25519 import PrivateKey, PublicKey
from postroom.crypto.spki import SECP256K1_SPKI
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.storage.aws.object_store import Place
from postroom.storage.directory.domains import Directory
from postroom.storage.directory.mailboxes import Opening
from postroom.storage.layout import row_key

pytestmark = pytest.mark.xdist_group("cli-storage")

Operate = Callable[..., Result]


@pytest.fixture
def operate(postroom: Postroom, storage_stack: StorageStack) -> Operate:
    return lambda *arguments: postroom("mailbox", *arguments, *storage_stack.options)


@pytest.fixture
def directory(storage_stack: StorageStack) -> Directory:
    return Directory(
        storage_stack.clients("dynamodb"), storage_stack.outputs["DirectoryTable"], clock=lambda: 0.0, cache_seconds=-1
    )


def base64(key: PublicKey) -> str:
    return b64encode(key.spki()).decode()


def pem(path: Path, key: PublicKey) -> str:
    path.write_bytes(load_der_public_key(key.spki()).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return str(path)


def test_a_mailbox_that_does_not_exist_is_not_shown(operate: Operate) -> None:
    result = operate("show", "nobody.example")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "nobody.example has no mailbox here, and no mail; `postroom mailbox list` shows all" in result.stderr
    operate("hold", "nobody.example")
    assert operate("show", "nobody.example").exit_code == 0
    operate("release", "nobody.example")


@pytest.mark.tools
@pytest.mark.skipif(shutil.which("openssl") is None and not os.environ.get("CI"), reason="openssl is not installed")
@pytest.mark.parametrize("options", [[], ["-conv_form", "compressed"]], ids=["whole point", "compressed point"])
def test_an_owner_signs_in_by_a_secp256k1_key_that_openssl_made(
    operate: Operate, tmp_path: Path, options: list[str]
) -> None:
    secret, public = tmp_path / "secret.pem", tmp_path / "public.pem"
    subprocess.run(["openssl", "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", str(secret)], check=True)
    subprocess.run(["openssl", "ec", "-in", str(secret), "-pubout", *options, "-out", str(public)], check=True)
    made = json.loads(operate("open", "wallet.example", "--public-key", str(public), "--json").stdout)
    key = load_pem_private_key(secret.read_bytes(), None)
    assert isinstance(key, EllipticCurvePrivateKey)
    own = EthereumKey.from_secret(key.private_numbers().private_value.to_bytes(32))
    assert made["addresses"] == [f"0x{own.address}"]


def test_a_point_that_is_not_on_secp256k1_is_no_key(operate: Operate, tmp_path: Path) -> None:
    file = tmp_path / "off.pem"
    file.write_text(b64encode(SECP256K1_SPKI + b"\4" + bytes(64)).decode())
    result = operate("open", "wallet.example", "--public-key", str(file))
    assert result.exit_code == Exit.USAGE
    assert "off.pem is not an acceptable public key: publicSigningKey is not a point of secp256k1" in result.stderr


def test_a_mailbox_is_created_shown_listed_and_closed(operate: Operate, directory: Directory, tmp_path: Path) -> None:
    one, two = (PrivateKey.generate("ed25519").public for _ in range(2))
    dm3_key = PrivateSigningKey.generate().public
    made = operate(
        "open", "One.Example", "--public-key", pem(tmp_path / "one.pem", one), "--public-key-base64", base64(two),
        "--public-key-base64", dm3_key.encode(), "--json",
    )  # fmt: skip
    described = {
        "name": "one.example", "protocol": "nlweb", "keys": [one.fingerprint, two.fingerprint, dm3_key.fingerprint],
        "key_of_profile": False, "shards": 1, "closed": False, "max_messages": None, "max_bytes": None,
        "ttl_days": None, "held": False, "by_owner": False, "addresses": [f"0x{dm3_key.address}"],
    }  # fmt: skip
    assert json.loads(made.stdout) == described
    assert directory.mailbox("one.example").keys == (base64(one), base64(two), dm3_key.encode())
    assert json.loads(operate("show", "one.example", "--json").stdout) == {**described, "waiting": 0, "bytes": 0}
    assert {**described, "waiting": 0, "bytes": 0} in json.loads(operate("list", "--json").stdout)
    shown = operate("show", "one.example").stdout
    assert f"the owner signs in by {one.fingerprint}, {two.fingerprint}" in shown
    assert f"for DCP, its keys are 0x{dm3_key.address}\n" in shown
    assert "0 messages waiting, 0 bytes, in 1 shard\n" in shown
    assert "it may hold an unlimited number of messages, an unlimited number of bytes" in shown
    assert "messages never expire" in shown
    assert operate("close", "one.example").stdout == "one.example: closed\n"
    assert directory.mailbox("one.example").closed
    [line] = [line for line in operate("list").stdout.splitlines() if line.startswith("one.example")]
    assert line.endswith("closed")


def test_every_mailbox_that_holds_mail_is_listed_with_its_counts_and_quota(
    operate: Operate, storage_stack: StorageStack
) -> None:
    register, now = storage_stack.storage.register, int(time.time())
    for number, mailbox in enumerate(["unowned.example", "unowned.example", "gone.example"]):
        key = row_key(mailbox, 2, 1_700_000_000_000 + number, f"claim{number}")
        assert register.file(key, Place("seg/2026/01/01/00/a.jsonl", 0, 100 + number), "c") is None
    register.acknowledge(key, now + 1000)
    storage_stack.storage.mailboxes.raise_shards("unowned.example", 2)
    operate("set", "limited.example", "--max-messages", "10", "--max-bytes", "1000")
    found = {each["name"]: each for each in json.loads(operate("list", "--json").stdout)}
    unowned, limited = found["unowned.example"], found["limited.example"]
    assert (unowned["waiting"], unowned["bytes"], unowned["keys"]) == (2, 201, [])
    assert (limited["waiting"], limited["max_messages"], limited["max_bytes"]) == (0, 10, 1000)
    assert "gone.example" not in found, "its message was acknowledged"
    lines = {line.split()[0]: line.split(maxsplit=2)[2] for line in operate("list").stdout.splitlines()}
    assert re.split(" {2,}", lines["unowned.example"]) == ["2", "201", "no key", "no owner"]
    assert re.split(" {2,}", lines["limited.example"]) == ["0 of 10", "0 of 1000", "no key", "no owner"]


def test_a_dm3_mailbox_needs_only_the_key_of_its_profile(operate: Operate, directory: Directory) -> None:
    printed = operate("open", "carol.eth", "--dm3").stdout
    assert printed == "carol.eth: dm3, the owner signs in by the key of its dm3 profile\n"
    assert directory.dm3_mailbox("carol.eth") is not None
    assert operate("open", "carol.eth").exit_code == 0, "it is one already"


def test_a_mailbox_opened_by_its_owner_can_be_listed_closed_and_removed_for_good(
    operate: Operate, postroom: Postroom, storage_stack: StorageStack
) -> None:
    mailboxes = storage_stack.storage.mailboxes
    assert mailboxes.open_dm3("own.eth", "own.eth", 1) is Opening.OPEN
    [line] = [line for line in operate("list").stdout.splitlines() if line.startswith("own.eth")]
    assert line.split("  ")[-1].strip() == "open, its owner opened it"
    assert operate("show", "own.eth").stdout.startswith("own.eth: dm3, open, its owner opened it\n")
    operate("close", "own.eth")
    assert json.loads(operate("show", "own.eth", "--json").stdout)["closed"] is True
    assert postroom("dm3", "mailbox", "remove", "own.eth", *storage_stack.options).exit_code == 0
    assert mailboxes.open_dm3("own.eth", "own.eth", 1) is Opening.REMOVED
    assert operate("open", "own.eth", "--dm3").exit_code == 0
    assert json.loads(operate("show", "own.eth", "--json").stdout)["by_owner"] is False


def test_replacing_keys_keeps_the_other_settings(
    operate: Operate, directory: Directory, storage_stack: StorageStack
) -> None:
    one, two = (PrivateKey.generate("ed25519").public for _ in range(2))
    operate("open", "two.example", "--public-key-base64", base64(one))
    storage_stack.storage.mailboxes.raise_shards("two.example", 3)
    assert operate("set", "two.example", "--public-key-base64", base64(two), "--sign-out").exit_code == 0
    mailbox = directory.mailbox("two.example")
    assert (mailbox.keys, mailbox.shards, mailbox.sign_outs) == ((base64(two),), 3, 1)


def test_a_closed_mailbox_can_be_reopened(operate: Operate, directory: Directory) -> None:
    key = base64(PrivateKey.generate("ed25519").public)
    operate("open", "three.example", "--public-key-base64", key)
    operate("close", "three.example")
    assert operate("set", "three.example", "--sign-out").exit_code == 5
    assert operate("open", "three.example", "--public-key-base64", key).exit_code == 0
    assert not directory.mailbox("three.example").closed


def test_a_mailbox_has_a_quota_and_its_usage_is_counted(
    operate: Operate, directory: Directory, storage_stack: StorageStack
) -> None:
    usages = storage_stack.storage.usages
    usages.add("six.example", 5, 500)
    printed = operate("set", "six.example", "--max-messages", "10", "--max-bytes", "1000")
    assert printed.exit_code == 0, "whether it has an owner or not: mail comes all the same"
    mailbox = directory.mailbox("six.example")
    assert (mailbox.max_messages, mailbox.max_bytes) == (10, 1000)
    assert (usages.read("six.example").messages, usages.read("six.example").bytes) == (0, 0)
    assert "it may hold at most 10 messages, at most 1000 bytes" in operate("show", "six.example").stdout
    operate("set", "six.example", "--max-messages", "0")
    assert json.loads(operate("show", "six.example", "--json").stdout)["max_messages"] is None


def test_the_retention_time_of_a_mailbox_can_be_set(operate: Operate, directory: Directory) -> None:
    printed = operate("set", "seven.example", "--ttl-days", "40")
    assert printed.exit_code == 0, "whether it has an owner or not: mail comes all the same"
    assert printed.stdout.endswith("    messages stay 40 days\n")
    assert "messages stay 40 days" in operate("show", "seven.example").stdout
    assert json.loads(operate("show", "seven.example", "--json").stdout)["ttl_days"] == 40
    operate("set", "seven.example", "--ttl-days", "0", "--json")
    assert directory.mailbox("seven.example").ttl_days == 0
    assert "messages never expire" in operate("show", "seven.example").stdout


@pytest.mark.parametrize("days", ["29", "1", "-1"])
def test_the_retention_time_is_at_least_30_days(operate: Operate, directory: Directory, days: str) -> None:
    refused = operate("set", "eight.example", "--ttl-days", days)
    assert refused.exit_code == 2
    assert f"{days} is less than 30 days" in " ".join(refused.stderr.replace("│", " ").split())
    assert directory.mailbox("eight.example").ttl_days is None


def test_a_dm3_message_is_kept_as_long_as_its_sender_was_promised(operate: Operate) -> None:
    operate("open", "ttl.eth", "--dm3")
    printed = operate("set", "ttl.eth", "--ttl-days", "40").stdout
    assert printed.endswith(
        "    messages never expire, as the delivery service promises dm3 senders (Dm3MessageTtlDays), not only 40\n"
    )


def test_a_hold_on_an_unknown_mailbox_is_set_with_a_warning(operate: Operate, directory: Directory) -> None:
    held = operate("hold", "recevier.example")
    assert held.stdout == "recevier.example: under legal hold\n"
    assert "is the name correct?" in held.stderr
    assert "postroom mailbox release recevier.example" in held.stderr
    assert directory.mailbox("recevier.example").held


def test_a_mailbox_is_held_and_released(operate: Operate, directory: Directory) -> None:
    operate("open", "nine.example", "--public-key-base64", base64(PrivateKey.generate("ed25519").public))
    held = operate("hold", "nine.example")
    assert (held.stdout, held.stderr) == ("nine.example: under legal hold\n", "")
    assert directory.mailbox("nine.example").held
    shown = operate("show", "nine.example").stdout
    assert shown.startswith("nine.example: nlweb, open, under legal hold\n")
    assert "messages stay while it is under legal hold" in shown
    [line] = [line for line in operate("list").stdout.splitlines() if line.startswith("nine.example")]
    assert line.endswith("open, under legal hold")
    assert json.loads(operate("release", "nine.example", "--json").stdout) == {"name": "nine.example", "held": False}
    assert not directory.mailbox("nine.example").held


def test_a_new_token_key_is_added_beside_the_old_one(operate: Operate, storage_stack: StorageStack) -> None:
    begins = json.loads(operate("rotate-keys", "--json").stdout)["begins_at"]
    text = storage_stack.clients("secretsmanager").get_secret_value(SecretId=storage_stack.outputs["TokenKeysSecret"])[
        "SecretString"
    ]
    assert {"0", str(begins)} <= set(json.loads(text))
    assert len(json.loads(text)["0"]) == 64


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("open", "four.example"), "--public-key FILE or --public-key-base64 BASE64"),
        (("open", "a..b", "--dm3"), "'a..b' is not a name such as"),
        (
            ("open", "four.example", "--public-key-base64", "x"),
            "--public-key-base64: 'x'… is not the base64",
        ),
        (("open", "four.example", "--public-key-base64", "AAAA"), "--public-key-base64: 'AAAA'… is not a key"),
        (("open", "four.example", "--public-key", "none.pem"), "none.pem: No such file"),
        (("set", "four.example", "--sign-out"), "four.example has no owner here"),
        (("close", "four.example"), "four.example has no owner here"),
    ],
)
def test_a_usage_error_is_one_sentence(operate: Operate, command: tuple[str, ...], sentence: str) -> None:
    result = operate(*command)
    assert (result.exit_code, sentence in result.stderr) == (code_of(sentence), True), result.stderr


def test_a_command_without_changes_is_one_sentence(operate: Operate) -> None:
    operate("open", "five.example", "--public-key-base64", base64(PrivateKey.generate("ed25519").public))
    result = operate("set", "five.example")
    assert (result.exit_code, "name what to change" in result.stderr) == (2, True)
