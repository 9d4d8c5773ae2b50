"""`postroom domain|subject|wallet|mailbox`: what operators set is what the functions then read."""

import json
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key
from tests.cli.conftest import Postroom, StorageStack, code_of

from postroom.cli.descriptor import read_descriptor
from postroom.cli.exits import Exit
from postroom.cli.library import is_packed
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.jobs.library import LIBRARIES, library, script
from postroom.local.checkout import job_scripts
from postroom.local.clients import REGION
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Directory, Domain
from postroom.storage.directory.mailboxes import OwnSettings

pytestmark = pytest.mark.xdist_group("cli-storage")

WALLET = "0f8fad5b-d9cb-469f-a165-70867728950e"
Operate = Callable[..., Result]


@pytest.fixture
def operate(postroom: Postroom, storage_stack: StorageStack) -> Operate:
    return lambda *arguments: postroom(*arguments, *storage_stack.options)


@pytest.fixture
def directory(storage_stack: StorageStack) -> Directory:
    """As the functions read it."""
    return Directory(
        storage_stack.clients("dynamodb"),
        storage_stack.outputs["DirectoryTable"],
        clock=time.monotonic,
        cache_seconds=0,
    )


def test_an_added_domain_is_served(operate: Operate, directory: Directory) -> None:
    assert directory.domain("one.example") is None
    assert operate("domain", "add", "One.Example.").exit_code == 0
    assert directory.domain("one.example") == Domain("one.example", inbox=True, buffer=False)


def test_only_named_settings_change(operate: Operate, directory: Directory) -> None:
    operate("domain", "add", "two.example", "--buffer", "--no-inbox", "--feedback", "Buffer.Example")
    expected = Domain("two.example", inbox=False, buffer=True, feedback="buffer.example")
    assert directory.domain("two.example") == expected
    operate("domain", "add", "two.example")
    assert directory.domain("two.example") == expected
    operate("domain", "add", "two.example", "--inbox", "--no-buffer")
    assert directory.domain("two.example") == Domain("two.example", feedback="buffer.example")


def test_an_empty_name_clears_a_domains_buffer(operate: Operate, directory: Directory) -> None:
    operate("domain", "add", "cleared.example", "--feedback", "buffer.example")
    assert operate("domain", "add", "cleared.example", "--feedback", "").exit_code == 0
    assert directory.domain("cleared.example") == Domain("cleared.example", feedback=None)


def test_a_domains_key_is_stored_in_the_secret(operate: Operate, storage_stack: StorageStack, tmp_path: Path) -> None:
    key = PrivateKey.generate("ed25519")
    (tmp_path / "key.pem").write_bytes(key.to_pem())
    assert operate("domain", "add", "three.example", "--key", "key.pem", "--selector", "s1").exit_code == 0
    keys = storage_stack.storage.signing_keys
    stored = keys.of("three.example")
    assert stored is not None
    assert (stored.selector, stored.key.public) == ("s1", key.public)
    assert json.loads(operate("domain", "add", "three.example", "--buffer", "--json").stdout)["signs"] is True


def test_a_domain_whose_key_is_stored_already_signs(operate: Operate, storage_stack: StorageStack) -> None:
    storage_stack.storage.signing_keys.put("stored.example", "s1", PrivateKey.generate("ed25519"))
    assert json.loads(operate("domain", "add", "stored.example", "--json").stdout)["signs"] is True


def test_domains_are_listed(operate: Operate) -> None:
    operate("domain", "add", "four.example", "--feedback", "buffer.example")
    operate("subject", "add", "Hello@Host", "--domain", "four.example", "--mailbox", "hello")
    [listed] = [d for d in json.loads(operate("domain", "list", "--json").stdout) if d["name"] == "four.example"]
    assert listed == {
        "name": "four.example", "inbox": True, "buffer": False, "feedback": "buffer.example", "subjects": 1,
        "signs": False,
    }  # fmt: skip
    shown = operate("domain", "list").stdout
    head, *rows = shown.splitlines()
    assert head.split() == ["domain", "inbox", "buffer", "signs", "subjects", "feedback", "to"]
    assert all(row == row.rstrip() and row[0].isalnum() for row in (head, *rows))
    assert [line.split() for line in shown.splitlines() if "four" in line] == [
        ["four.example", "yes", "no", "no", "1", "buffer.example"]
    ]


def test_a_domain_is_removed_with_its_subjects(operate: Operate, directory: Directory) -> None:
    operate("domain", "add", "five.example")
    operate("subject", "add", "Hello@Host", "--domain", "five.example", "--mailbox", "hello")
    assert operate("domain", "remove", "five.example").exit_code == 0
    assert directory.domain("five.example") is None
    operate("domain", "add", "five.example")
    assert directory.domain("five.example") == Domain("five.example")
    assert operate("domain", "remove", "five.example").exit_code == 0
    again = operate("domain", "remove", "five.example")
    assert (again.exit_code, "five.example is not in the directory" in again.stderr) == (5, True)


QUEUE = "arn:aws:sqs:eu-west-1:123456789012:orders"
BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/orders"


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("Order@Shop", "--mailbox", "orders"), SubjectRule("Order@Shop", Treatment.MAILBOX, "orders")),
        (("*@Shop", "--sync", "lambda:shop"), SubjectRule("*@Shop", Treatment.SYNC, "lambda:shop")),
        (("*", "--sync", "identity"), SubjectRule("*", Treatment.SYNC, "identity")),
        (("Order@*", "--forward", QUEUE), SubjectRule("Order@*", Treatment.FORWARD, QUEUE)),
        (("Order", "--forward", BUS), SubjectRule("Order", Treatment.FORWARD, BUS)),
    ],
)
def test_a_subject_has_one_treatment(
    operate: Operate, directory: Directory, options: tuple[str, ...], rule: SubjectRule
) -> None:
    operate("domain", "add", "six.example")
    result = operate("subject", "add", *options, "--domain", "six.example")
    assert result.exit_code == 0, result.stderr
    found = directory.domain("six.example")
    assert found is not None
    assert rule in found.subjects


def test_subjects_are_listed_with_the_built_in_ones_and_the_owners(
    operate: Operate, storage_stack: StorageStack
) -> None:
    domain = ("--domain", "seven.example")
    operate("domain", "add", "seven.example")
    for pattern, target in (("Identity@Graph", "m"), ("A@B", "m"), ("C@D", "m")):
        operate("subject", "add", pattern, *domain, "--mailbox", target)
    operate("subject", "add", "E@F", *domain, "--sync", "identity")
    own = {"A@B": "seven.example", "E@F": "seven.example", "*": "o.seven.example"}
    mailboxes = storage_stack.storage.mailboxes
    assert mailboxes.change_own_settings("seven.example", "", OwnSettings(subjects=own))
    listed = json.loads(operate("subject", "list", *domain, "--json").stdout)
    assert {rule["pattern"]: (rule["target"], rule["built_in"], rule["by_owner"]) for rule in listed} == {
        "Identity@Graph": ("m", False, False), "A@B": ("seven.example", False, True), "C@D": ("m", False, False),
        "E@F": ("identity", False, False), "*": ("o.seven.example", False, True),
        "Feedback@Buffer": ("", True, False), "Identity@Broker": ("identity", True, False),
    }  # fmt: skip
    assert len(listed) == 7
    shown = operate("subject", "list", *domain).stdout
    assert ("built in" in shown, "the owner's" in shown) == (True, True)


def test_a_subjects_mailbox_is_normalized_and_reported_if_it_has_no_owner(
    operate: Operate, directory: Directory
) -> None:
    operate("domain", "add", "twelve.example")
    add = ("subject", "add", "A@B", "--domain", "twelve.example", "--mailbox", "Orders.TWELVE.example")
    said = operate(*add)
    assert (said.exit_code, "orders.twelve.example has no owner yet" in said.stderr) == (0, True)
    domain = directory.domain("twelve.example")
    assert domain is not None
    assert domain.subjects == (SubjectRule("A@B", Treatment.MAILBOX, "orders.twelve.example"),)
    key = b64encode(PrivateKey.generate("ed25519").public.spki()).decode()
    operate("mailbox", "open", "orders.twelve.example", "--public-key-base64", key)
    assert operate(*add).stderr == ""


@pytest.mark.parametrize(
    "written", ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "Xn--Bcher-KVA.example."]
)
def test_a_domains_own_mailbox_is_the_domain_in_any_spelling(
    operate: Operate, directory: Directory, written: str
) -> None:
    operate("domain", "add", "bücher.example")
    assert operate("subject", "add", "A@B", "--domain", "bücher.example", "--mailbox", written).exit_code == 0
    domain = directory.domain("xn--bcher-kva.example")
    assert domain is not None
    assert domain.subjects == (SubjectRule("A@B", Treatment.MAILBOX, "xn--bcher-kva.example"),)


def test_a_dm3_mailbox_takes_no_subject(operate: Operate, directory: Directory) -> None:
    operate("domain", "add", "eleven.example")
    operate("mailbox", "open", "dm3.eleven.example", "--dm3")
    refused = operate("subject", "add", "A@B", "--domain", "eleven.example", "--mailbox", "dm3.eleven.example")
    assert (refused.exit_code, "receives dm3 messages" in refused.stderr) == (2, True)
    assert directory.domain("eleven.example") == Domain("eleven.example")


def test_a_subject_is_removed(operate: Operate, directory: Directory) -> None:
    operate("domain", "add", "eight.example")
    operate("subject", "add", "A@B", "--domain", "eight.example", "--mailbox", "m")
    assert operate("subject", "remove", "A@B", "--domain", "eight.example").exit_code == 0
    assert directory.domain("eight.example") == Domain("eight.example")
    again = operate("subject", "remove", "A@B", "--domain", "eight.example")
    assert (again.exit_code, "eight.example has no rule for 'A@B'" in again.stderr) == (5, True)


@pytest.mark.parametrize("form", ["pem", "base64 in a file", "option"])
def test_a_wallets_key_is_registered(operate: Operate, directory: Directory, tmp_path: Path, form: str) -> None:
    spki = PrivateKey.generate("rsa" if form == "pem" else "ed25519").public.spki()
    pem = load_der_public_key(spki).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    base64 = "".join(pem.decode().splitlines()[1:-1])
    (tmp_path / "public").write_text(pem.decode() if form == "pem" else base64)
    key = ("--public-key-base64", base64) if form == "option" else ("--public-key", "public")
    assert operate("wallet", "add", WALLET.upper(), *key).exit_code == 0
    assert directory.wallet(WALLET) == spki


def test_wallets_are_listed_and_removed(operate: Operate, directory: Directory) -> None:
    wallet, key = "2b1f8a1e-5a0a-4c5e-9d0e-3f1f6f0c7a11", PrivateKey.generate("ed25519").public
    base64 = b64encode(key.spki()).decode()
    described = {"wallet": wallet, "algorithm": "ed25519", "bits": 256, "fingerprint": key.fingerprint}

    def listed() -> list[object]:
        return [w for w in json.loads(operate("wallet", "list", "--json").stdout) if w["wallet"] == wallet]

    assert json.loads(operate("wallet", "add", wallet, "--public-key-base64", base64, "--json").stdout) == described
    assert listed() == [described]
    [shown] = [line.split() for line in operate("wallet", "list").stdout.splitlines() if wallet in line]
    assert shown == [wallet, "ed25519", "256", key.fingerprint]
    assert operate("wallet", "remove", wallet).exit_code == 0
    assert listed() == []
    assert directory.wallet(wallet) is None


def test_json_has_what_was_set(operate: Operate) -> None:
    def printed(*arguments: str) -> object:
        return json.loads(operate(*arguments, "--json").stdout)

    domain = {"name": "json.example", "inbox": True, "buffer": True, "feedback": None, "subjects": 0, "signs": False}
    rule = {"domain": "json.example", "pattern": "A@B", "treatment": "mailbox", "target": "m"}
    wallet = "9b2c7c5e-08a7-4a54-9d3a-2a7d7a0c1f22"
    assert printed("domain", "add", "json.example", "--buffer") == domain
    assert printed("subject", "add", "A@B", "--domain", "json.example", "--mailbox", "m") == rule
    assert printed("domain", "add", "json.example") == domain | {"subjects": 1}
    assert printed("subject", "remove", "A@B", "--domain", "json.example") == {
        "domain": "json.example", "pattern": "A@B", "removed": True,
    }  # fmt: skip
    assert printed("domain", "remove", "json.example") == {"name": "json.example", "removed": True}
    operate(
        "wallet", "add", wallet, "--public-key-base64", b64encode(PrivateKey.generate("ed25519").public.spki()).decode()
    )
    assert printed("wallet", "remove", wallet) == {"wallet": wallet, "removed": True}


def test_the_number_of_shards_can_only_increase(operate: Operate, directory: Directory) -> None:
    assert operate("mailbox", "set", "busy", "--shards", "4").exit_code == 0
    assert operate("mailbox", "set", "busy", "--shards", "4").exit_code == 0
    fewer = operate("mailbox", "set", "busy", "--shards", "3")
    assert (fewer.exit_code, "busy has 4 shards already" in fewer.stderr) == (2, True)
    assert directory.shards("busy") == 4


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("domain", "add", "no host"), "'no host' is not a host name"),
        (("domain", "add", "nine.example", "--key", "key.pem"), "--key and --selector go together"),
        (("domain", "add", "nine.example", "--key", "none", "--selector", "s"), "none: No such file or directory"),
        (
            ("subject", "add", "A@B", "--domain", "nine.example", "--mailbox", "m"),
            "is not in the directory; `postroom domain add",
        ),
        (("subject", "add", "A*@B", "--domain", "nine.example", "--mailbox", "m"), "'A*@B' is not a pattern"),
        (("subject", "add", "A@B", "--domain", "nine.example"), "use one of --mailbox, --sync and --forward"),
        (
            ("subject", "add", "A@B", "--domain", "nine.example", "--mailbox", "m", "--sync", "identity"),
            "use one of --mailbox, --sync and --forward",
        ),
        (("subject", "add", "A@B", "--domain", "nine.example", "--mailbox", "a#b"), "--mailbox is 'a#b'; it must"),
        (("subject", "add", "A@B", "--domain", "nine.example", "--sync", "shop"), "--sync is 'shop'; it must be"),
        (("subject", "add", "A@B", "--domain", "nine.example", "--forward", "queue"), "--forward is 'queue'; it must"),
        (("wallet", "add", "alice", "--public-key-base64", "x"), "'alice' is not a UUID"),
        (("wallet", "add", WALLET), "one of --public-key FILE and --public-key-base64 BASE64"),
        (
            ("wallet", "add", WALLET, "--public-key-base64", "AAAA"),
            "is not an acceptable public key",
        ),
        (
            ("wallet", "add", WALLET, "--public-key-base64", "no base64"),
            "is not a public key: neither PEM nor base64",
        ),
        (("wallet", "add", WALLET, "--public-key", "private.pem"), "private.pem is a private key; give the public one"),
        (("wallet", "remove", "00000000-0000-4000-8000-000000000000"), "is not registered; `postroom wallet list`"),
        (("mailbox", "set", "busy", "--shards", "0"), "'--shards': Input should be greater than"),
    ],
)
def test_an_error_writes_nothing(
    operate: Operate, storage_stack: StorageStack, tmp_path: Path, command: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "private.pem").write_bytes(PrivateKey.generate("ed25519").to_pem())

    def dump() -> object:
        items = storage_stack.clients("dynamodb").scan(TableName=storage_stack.outputs["DirectoryTable"])["Items"]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))

    before = dump()
    result = operate(*command)
    assert (result.exit_code, result.stdout) == (code_of(sentence), "")
    assert sentence in result.stderr
    assert dump() == before


@pytest.fixture
def on_aws(storage_stack: StorageStack, monkeypatch: pytest.MonkeyPatch) -> StorageStack:
    for name, value in storage_stack.aws.items():
        monkeypatch.setenv(name, value)
    return storage_stack


def test_a_deployment_on_aws_is_named_by_its_stack(
    postroom: Postroom, on_aws: StorageStack, directory: Directory
) -> None:
    assert postroom("domain", "add", "ten.example", "--stack-name", on_aws.stack_name).exit_code == 0
    assert directory.domain("ten.example") == Domain("ten.example")


def test_the_environment_may_name_the_deployment(
    postroom: Postroom, on_aws: StorageStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_STACK", on_aws.stack_name)
    assert postroom("domain", "list").exit_code == 0


def test_an_option_overrides_the_environment(
    postroom: Postroom, on_aws: StorageStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_STACK", "nowhere")
    assert postroom("domain", "list", *on_aws.options).exit_code == 0
    monkeypatch.setenv("POSTROOM_LOCAL", "nowhere")
    assert postroom("domain", "list", "--stack-name", on_aws.stack_name).exit_code == 0


def test_two_options_or_two_variables_for_the_deployment_are_a_usage_error(
    postroom: Postroom, on_aws: StorageStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = postroom("domain", "list", "--stack-name", on_aws.stack_name, *on_aws.options)
    monkeypatch.setenv("POSTROOM_STACK", on_aws.stack_name)
    monkeypatch.setenv("POSTROOM_LOCAL", str(on_aws.descriptor))
    for result in (both, postroom("domain", "list")):
        assert (result.exit_code, "name two deployments" in result.stderr) == (2, True)


def test_the_environment_overrides_the_folder(
    postroom: Postroom, on_aws: StorageStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".postroom").mkdir()
    (tmp_path / ".postroom" / "local.json").write_text("{}")
    monkeypatch.setenv("POSTROOM_STACK", on_aws.stack_name)
    assert postroom("domain", "list").exit_code == 0


def test_a_missing_stack_is_one_sentence(postroom: Postroom, on_aws: StorageStack) -> None:
    result = postroom("domain", "list", "--stack-name", "nowhere")
    assert result.exit_code == 5
    assert result.stderr == (
        f"postroom: there is no stack 'nowhere' in {REGION} (AWS_DEFAULT_REGION) in the AWS account that "
        "`aws sts get-caller-identity` shows\n"
    )


def test_missing_credentials_are_reported(
    postroom: Postroom, on_aws: StorageStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    result = postroom("domain", "list", "--stack-name", on_aws.stack_name)
    assert result.exit_code == 3
    assert result.stderr == (
        "postroom: the request to AWS failed: Unable to locate credentials; "
        "`aws sts get-caller-identity` must work first\n"
    )


def test_the_local_stack_of_the_folder_needs_no_name(
    postroom: Postroom, storage_stack: StorageStack, tmp_path: Path
) -> None:
    (tmp_path / ".postroom").mkdir()
    (tmp_path / ".postroom" / "local.json").write_bytes(storage_stack.descriptor.read_bytes())
    assert postroom("domain", "list").exit_code == 0
    other = postroom("domain", "list", "--deployment", "other")
    assert (other.exit_code, other.stderr) == (
        5,
        "postroom: the local stack has no deployment 'other'; it has: only\n",
    )


def test_a_stopped_local_stack_is_one_sentence(postroom: Postroom, storage_stack: StorageStack, tmp_path: Path) -> None:
    printed = json.loads(storage_stack.descriptor.read_bytes()) | {"endpoint": "http://127.0.0.1:1"}
    (tmp_path / "local.json").write_text(json.dumps(printed))
    result = postroom("domain", "list", "--local", ".")
    assert (result.exit_code, result.stderr) == (
        3,
        "postroom: the local stack of . is not running; start it with `postroom up`\n",
    )


def test_the_library_of_the_jobs_is_uploaded(operate: Operate, storage_stack: StorageStack) -> None:
    result = operate("jobs", "publish", "--json")
    assert result.exit_code == 0, result.output
    objects = storage_stack.storage.objects
    scripts = {script(path.stem): path.read_bytes() for path in job_scripts()}
    stored = {name: objects.get(LIBRARIES + name) for name in (library(), *scripts)}
    url, size = f"s3://{storage_stack.outputs['Bucket']}/{LIBRARIES}{library()}", sum(map(len, stored.values()))
    assert json.loads(result.stdout) == {"library": url, "objects": 3, "bytes": size}
    assert is_packed(stored[library()])
    assert {name: stored[name] for name in scripts} == scripts
    assert operate("jobs", "publish").stdout == f"{url} and 2 more objects: {size:,} bytes\n"


def test_no_deployment_is_one_sentence(postroom: Postroom) -> None:
    result = postroom("domain", "list")
    assert result.exit_code == 2
    assert result.stderr.startswith("postroom: no deployment is named: use --stack-name NAME")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (("domain", "list"), "DirectoryTable"),
        (("mailbox", "show", "shop.example"), "DirectoryTable"),
        (("mailbox", "notify", "list", "shop.example"), "DirectoryTable"),
        (("jobs", "last", "compact"), "Bucket"),
        (("jobs", "publish"), "Bucket"),
        (("audit",), "RetainSeconds"),
        (("audit", "--since", "1"), "RetainSeconds"),
    ],
)
def test_a_foreign_stack_is_reported(
    postroom: Postroom, storage_stack: StorageStack, tmp_path: Path, command: tuple[str, ...], output: str
) -> None:
    file, described = tmp_path / "local.json", read_descriptor(storage_stack.descriptor)
    replace(described, deployments={"only": replace(described.deployments["only"], outputs={})}).write(file)
    result = postroom(*command, "--local", str(file))
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert f"the stack has no output {output}: it is not a deployment of postroom, or an older one" in result.stderr
