"""`postroom dm3 keygen|mailbox|registry`: what is published, and what operators set is what the functions then read."""

import json
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom, StorageStack
from tests.protocols.dm3.known import BUILDS

from postroom.core.settings import DeploymentSettings
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, PinnedRegistry
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension, TokenBalance
from postroom.protocols.dm3.keys import UserKeys, read_user_keys
from postroom.protocols.dm3.profile import (
    ServiceProfile,
    UserProfile,
    data_uri,
    profile_of_uri,
    read_service_profile,
    read_user_profile,
)
from postroom.protocols.dm3.service import ServiceKeys
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.directory.domains import Directory, Dm3Mailbox
from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls
from postroom.storage.secrets.dm3_keys import DeliveryServiceKeys

pytestmark = pytest.mark.xdist_group("cli-storage")

BOB = BUILDS["npm-1.7.1"]["profiles"]["bob"]
FAR = "ipfs://QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o"
Operate = Callable[..., Result]


@pytest.fixture
def operate(postroom: Postroom, storage_stack: StorageStack) -> Operate:
    return lambda *arguments: postroom("dm3", *arguments, *storage_stack.options)


# ---- keys of a user ----------------------------------------------------------------------------------------------
def test_keys_stay_private_and_the_profile_is_printed(postroom: Postroom, tmp_path: Path) -> None:
    result = postroom("dm3", "keygen", "--delivery-service", "DS.eth", "--delivery-service", "two.eth")
    assert result.exit_code == 0
    file = tmp_path / "dm3-key.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    keys = read_user_keys(json.loads(file.read_bytes()))
    profile = UserProfile(keys.encryption.public, keys.signing.public, ("ds.eth", "two.eth"))
    assert result.stdout.splitlines()[-1] == data_uri(profile.as_json())
    assert f"signing key   secp256k1, {keys.signing.public.fingerprint}\n" in result.stdout
    assert keys.signing.encode().split(":")[1] not in result.stdout


def test_json_has_the_profile_and_its_uri(postroom: Postroom, tmp_path: Path) -> None:
    made = json.loads(
        postroom(
            "dm3", "keygen", "--delivery-service", "ds.eth", "--algorithm", "ed25519", "--out", "k", "--json"
        ).stdout
    )
    assert (made["file"], made["algorithm"], made["record"]) == ("k", "ed25519", "network.dm3.profile")
    assert profile_of_uri(made["uri"]) == made["profile"]
    assert read_user_profile(made["profile"]).signing_key.fingerprint == made["fingerprint"]


def test_existing_keys_are_not_overwritten_by_mistake(postroom: Postroom, tmp_path: Path) -> None:
    postroom("dm3", "keygen", "--delivery-service", "ds.eth")
    before = (tmp_path / "dm3-key.json").read_bytes()
    result = postroom("dm3", "keygen", "--delivery-service", "ds.eth")
    assert (result.exit_code, (tmp_path / "dm3-key.json").read_bytes()) == (2, before)
    assert "dm3-key.json exists; use --force" in result.stderr
    assert postroom("dm3", "keygen", "--delivery-service", "ds.eth", "--force").exit_code == 0
    assert (tmp_path / "dm3-key.json").read_bytes() != before


@pytest.mark.parametrize("given", ["option", "standard input"])
def test_keys_derived_from_a_wallets_signature_are_those_of_other_clients(
    postroom: Postroom, tmp_path: Path, given: str
) -> None:
    signature = BOB["storageKeyMessageSignature"]
    option, stdin = (signature, None) if given == "option" else ("-", f"{signature}\n")
    made = json.loads(
        postroom(
            "dm3", "keygen", "--delivery-service", "ds.eth", "--wallet-signature", option, "--json", input=stdin
        ).stdout
    )
    assert made["profile"] == json.loads(BOB["profileStringified"])
    assert read_user_keys(json.loads((tmp_path / "dm3-key.json").read_bytes())) == UserKeys.from_wallet_signature(
        signature
    )


def test_the_text_for_the_wallet_to_sign_is_that_of_other_clients(postroom: Postroom) -> None:
    printed = json.loads(postroom("dm3", "wallet-message", BOB["address"].lower(), "--json").stdout)
    assert printed == {"message": BOB["storageKeyMessage"]}
    assert postroom("dm3", "wallet-message", BOB["address"]).stdout == BOB["storageKeyMessage"] + "\n"
    assert "Nonce: seven\n" in postroom("dm3", "wallet-message", BOB["address"], "--nonce", "seven").stdout


SERVICE_OPTIONS = ("--service", "--url", "https://ds.example")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "a profile needs a delivery service"),
        (("--delivery-service", "a..b"), "is not a valid name"),
        (("--delivery-service", "ds.eth", "--wallet-signature", "0x12"), "--wallet-signature: a wallet's signature is"),
        (
            ("--delivery-service", "ds.eth", "--wallet-signature", "0x12", "--algorithm", "secp256k1"),
            "keys derived from a wallet's signature are ed25519 keys",
        ),
        (("--delivery-service", "ds.eth", "--rotate"), "use --service"),
        (("--delivery-service", "ds.eth", "--url", "https://ds.example"), "use --service"),
        ((*SERVICE_OPTIONS, "--delivery-service", "ds.eth"), "--service makes the deployment's own keys"),
        ((*SERVICE_OPTIONS, "--out", "k"), "--service makes the deployment's own keys"),
        ((*SERVICE_OPTIONS, "--force"), "--service makes the deployment's own keys"),
    ],
)
def test_options_that_do_not_go_together_are_one_sentence(
    postroom: Postroom, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    result = postroom("dm3", "keygen", *options)
    assert (result.exit_code, result.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert sentence in result.stderr


def test_a_mistyped_address_is_one_sentence(postroom: Postroom) -> None:
    result = postroom("dm3", "wallet-message", BOB["address"].replace("AFe", "aFe"))
    assert result.exit_code == 2
    assert "mistyped?" in result.stderr


# ---- keys of the delivery service --------------------------------------------------------------------------------
@pytest.fixture
def no_service_keys(storage_stack: StorageStack) -> Iterator[None]:
    client, secret = storage_stack.clients("secretsmanager"), storage_stack.outputs["DeliveryServiceKeysSecret"]
    client.put_secret_value(SecretId=secret, SecretString="{}")
    yield
    client.put_secret_value(SecretId=secret, SecretString="{}")


def service_keys(storage_stack: StorageStack) -> ServiceKeys:
    """As the functions read them."""
    client, secret = storage_stack.clients("secretsmanager"), storage_stack.outputs["DeliveryServiceKeysSecret"]
    return DeliveryServiceKeys(client, secret, time.monotonic).get()


def service_profile(result: Result) -> ServiceProfile:
    assert result.exit_code == 0, result.output
    return read_service_profile(profile_of_uri(result.stdout.splitlines()[-1]))


@pytest.mark.usefixtures("no_service_keys")
def test_the_delivery_services_keys_are_stored_in_its_secret(operate: Operate, storage_stack: StorageStack) -> None:
    profile = service_profile(operate("keygen", *SERVICE_OPTIONS))
    assert profile == service_keys(storage_stack).profile("https://ds.example")
    assert profile.signing_key.algorithm == "secp256k1"


@pytest.mark.usefixtures("no_service_keys")
def test_the_delivery_services_keys_may_be_of_the_reference_algorithm(
    operate: Operate, storage_stack: StorageStack
) -> None:
    made = json.loads(operate("keygen", *SERVICE_OPTIONS, "--algorithm", "ed25519", "--json").stdout)
    assert made["fingerprint"] == service_keys(storage_stack).signing.public.fingerprint
    assert {name: made[name] for name in ("algorithm", "record", "url", "rpc_url", "encryption_keys")} == {
        "algorithm": "ed25519",
        "record": "network.dm3.deliveryService",
        "url": "https://ds.example",
        "rpc_url": "https://ds.example/rpc",
        "encryption_keys": 1,
    }


@pytest.mark.usefixtures("no_service_keys")
def test_a_new_encryption_key_is_published_and_older_ones_still_decrypt(
    operate: Operate, storage_stack: StorageStack
) -> None:
    operate("keygen", *SERVICE_OPTIONS)
    before = service_keys(storage_stack)
    profile = service_profile(operate("keygen", *SERVICE_OPTIONS, "--rotate"))
    after = service_keys(storage_stack)
    assert after.signing.encode() == before.signing.encode()
    assert (after.encryption[1:], len(after.encryption)) == (before.encryption, 2)
    assert profile.encryption_key == after.encryption[0].public != before.encryption[0].public


@pytest.mark.usefixtures("no_service_keys")
def test_people_see_how_many_encryption_keys_there_are(operate: Operate) -> None:
    shown = [operate("keygen", *SERVICE_OPTIONS, *options).stdout.splitlines()[0] for options in ((), ("--rotate",))]
    assert [line.partition("; ")[2] for line in shown] == ["1 encryption key is live", "2 encryption keys are live"]


@pytest.mark.usefixtures("no_service_keys")
def test_the_delivery_services_keys_are_not_overwritten_by_mistake(
    operate: Operate, storage_stack: StorageStack
) -> None:
    operate("keygen", *SERVICE_OPTIONS)
    before = service_keys(storage_stack).as_json()
    for options, sentence in (
        (("--algorithm", "ed25519"), "its signing key stays"),
        (("--rotate", "--algorithm", "ed25519"), "the signing key stays"),
    ):
        result = operate("keygen", *SERVICE_OPTIONS, *options)
        assert (result.exit_code, service_keys(storage_stack).as_json()) == (2, before)
        assert sentence in result.stderr


@pytest.mark.usefixtures("no_service_keys")
def test_the_profile_of_existing_keys_is_printed_for_any_url(operate: Operate, storage_stack: StorageStack) -> None:
    operate("keygen", *SERVICE_OPTIONS)
    before = service_keys(storage_stack).as_json()
    again = operate("keygen", "--service", "--url", "https://right.example", "--json")
    assert service_keys(storage_stack).as_json() == before
    assert json.loads(again.stdout)["profile"] == service_keys(storage_stack).profile("https://right.example").as_json()


@pytest.mark.usefixtures("no_service_keys")
def test_the_profile_of_a_service_is_published_as_it_is_printed(operate: Operate, postroom: Postroom) -> None:
    made = operate("keygen", *SERVICE_OPTIONS, "--json")
    said = json.loads(postroom("dm3", "publish", "ds.eth", "--profile", "-", "--json", input=made.stdout).stdout)
    assert (said["record"], profile_of_uri(said["text"])) == (SERVICE_KEY, json.loads(made.stdout)["profile"])


@pytest.mark.usefixtures("no_service_keys")
def test_a_secret_with_other_content_is_not_overwritten(operate: Operate, storage_stack: StorageStack) -> None:
    operate("keygen", *SERVICE_OPTIONS)
    secrets, name = storage_stack.clients("secretsmanager"), storage_stack.outputs["DeliveryServiceKeysSecret"]
    secrets.put_secret_value(SecretId=name, SecretString='{"signing": "x"}')
    result = operate("keygen", *SERVICE_OPTIONS, "--rotate")
    assert (result.exit_code, "has another content" in result.stderr) == (2, True)
    assert secrets.get_secret_value(SecretId=name)["SecretString"] == '{"signing": "x"}'


@pytest.mark.usefixtures("no_service_keys")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "use --url URL"),
        (("--url", "http://ds.example"), "it must be a URL such as https://ds.example"),
        (("--url", "https://ds.example/rpc"), "leave the last part out"),
        (("--url", "https://ds.example/dm3/"), "leave the last part out"),
        (("--url", "https://"), "url is not an http or https URL"),
        (("--url", "https://ds.example", "--rotate"), "has no keys to rotate yet"),
    ],
)
def test_an_unreachable_url_is_not_published(
    operate: Operate, storage_stack: StorageStack, options: tuple[str, ...], sentence: str
) -> None:
    result = operate("keygen", "--service", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    secret = storage_stack.outputs["DeliveryServiceKeysSecret"]
    assert storage_stack.clients("secretsmanager").get_secret_value(SecretId=secret)["SecretString"] == "{}"


# ---- mailboxes ---------------------------------------------------------------------------------------------------
@pytest.fixture
def directory(storage_stack: StorageStack) -> Directory:
    """As the functions read it."""
    return Directory(
        storage_stack.clients("dynamodb"),
        storage_stack.outputs["DirectoryTable"],
        clock=time.monotonic,
        cache_seconds=0,
    )


def test_a_name_is_used_by_one_protocol_only(operate: Operate, postroom: Postroom, storage_stack: StorageStack) -> None:
    def domain(*arguments: str) -> Result:
        return postroom("domain", *arguments, *storage_stack.options)

    assert domain("add", "both.example").exit_code == 0
    refused = operate("mailbox", "add", "both.example")
    assert (refused.exit_code, "a name has one protocol" in refused.stderr) == (2, True)
    domain("remove", "both.example")
    assert operate("mailbox", "add", "both.example").exit_code == 0
    refused = domain("add", "both.example")
    assert (refused.exit_code, "a name has one protocol" in refused.stderr) == (2, True)
    operate("mailbox", "remove", "both.example")


def test_an_added_mailbox_exists(operate: Operate, directory: Directory) -> None:
    assert directory.dm3_mailbox("one.eth") is None
    assert operate("mailbox", "add", "One.ETH").stdout == "one.eth: takes NEW from anybody, verified\n"
    assert directory.dm3_mailbox("one.eth") == Dm3Mailbox("one.eth")


def test_message_types_and_senders_of_a_mailbox_can_be_set(operate: Operate, directory: Directory) -> None:
    result = operate(
        "mailbox", "add", "two.eth", "--type", "REPLY", "--type", "edit", "--allow", "Alice.eth", "--block", "eve.eth",
        "--unverified",
    )  # fmt: skip
    assert result.stdout == "two.eth: takes NEW, REPLY, EDIT from alice.eth but eve.eth, verified or marked\n"
    rules = FilterRules(allow=("alice.eth",), block=("eve.eth",))
    extension = ProfileExtension(message_types=("REPLY", "EDIT"), rules=rules)
    assert directory.dm3_mailbox("two.eth") == Dm3Mailbox("two.eth", extension, takes_unverified=True)
    operate("mailbox", "add", "two.eth")
    assert directory.dm3_mailbox("two.eth") == Dm3Mailbox("two.eth"), "adding anew replaces all of it"


def test_what_the_accounts_of_senders_must_have_can_be_set(operate: Operate, directory: Directory) -> None:
    token = f"0x{7:040x}"
    result = operate(
        "mailbox", "add", "eight.eth", "--min-nonce", "1", "--min-balance", "10", "--min-token", token, "5"
    )
    assert result.stdout == (
        f"eight.eth: takes NEW from anybody with at least a nonce of 1, 10 wei, 5 of {token}, verified\n"
    )
    rules = FilterRules(min_nonce=1, min_balance=10, min_token_balance=TokenBalance(token, 5))
    assert directory.dm3_mailbox("eight.eth") == Dm3Mailbox("eight.eth", ProfileExtension(rules=rules))


def test_a_type_that_is_not_interpreted_here_can_be_offered(operate: Operate, directory: Directory) -> None:
    result = operate("mailbox", "add", "seven.eth", "--type", "Greeting", "--type", "edit")
    assert result.stdout == "seven.eth: takes NEW, Greeting, EDIT from anybody, verified\n"
    assert result.stderr.startswith("postroom: type Greeting is none of dm3 (NEW, ")
    found = directory.dm3_mailbox("seven.eth")
    assert found is not None
    assert found.extension.message_types == ("NEW", "Greeting", "EDIT")
    operate("mailbox", "remove", "seven.eth")


def test_mailboxes_are_listed(operate: Operate) -> None:
    operate("mailbox", "add", "three.eth", "--block", "eve.eth")
    [printed] = [
        each for each in json.loads(operate("mailbox", "list", "--json").stdout) if each["name"] == "three.eth"
    ]
    assert printed == {
        "name": "three.eth",
        "unverified": False,
        "extension": ProfileExtension(rules=FilterRules(block=("eve.eth",))).as_json(),
    }
    head, *rows = operate("mailbox", "list").stdout.splitlines()
    assert head.split() == ["mailbox", "takes", "from", "senders"]
    assert [row.split() for row in rows if row.startswith("three")] == [
        ["three.eth", "NEW", "anybody", "but", "eve.eth", "verified"]
    ]


def test_a_mailbox_is_removed(operate: Operate, directory: Directory) -> None:
    operate("mailbox", "add", "four.eth")
    assert json.loads(operate("mailbox", "remove", "Four.eth", "--json").stdout) == {
        "name": "four.eth",
        "removed": True,
    }
    assert directory.dm3_mailbox("four.eth") is None
    result = operate("mailbox", "remove", "four.eth")
    assert result.exit_code == 5
    assert "four.eth has no dm3 mailbox here" in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("five..eth",), "is not a valid name"),
        (("five.eth", "--allow", "a b"), "is not a valid name"),
        (("five.eth", "--min-token", "0x12", "1"), "minTokenBalance.address is not 0x and 40 hex digits"),
        (("five.eth", "--min-token", BOB["address"].replace("AFe", "aFe"), "1"), "mistyped?"),
        (("five.eth", "--min-balance", str(1 << 256)), "minBalance is not from 0 to 2^256-1"),
        (("five.eth", "--min-nonce", "-1"), "--min-nonce"),
    ],
)
def test_settings_that_cannot_be_published_are_one_sentence(
    operate: Operate, directory: Directory, options: tuple[str, ...], sentence: str
) -> None:
    result = operate("mailbox", "add", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert directory.dm3_mailbox("five.eth") is None


# ---- the registry ------------------------------------------------------------------------------------------------
REGISTRY: dict[str, Any] = {
    "Bob.eth": {PROFILE_KEY: BOB["dataUri"]},
    "ds.eth": {SERVICE_KEY: BUILDS["npm-1.7.1"]["deliveryService"]["dataUri"]},
    "carol.eth": {PROFILE_KEY: BOB["httpsUri"]},
}


@pytest.fixture
def objects(storage_stack: StorageStack) -> Iterator[ObjectStore]:
    """The bucket, without a registry."""
    client, bucket, name = (
        storage_stack.clients("s3"),
        storage_stack.outputs["Bucket"],
        DeploymentSettings().dm3_registry,
    )
    client.delete_object(Bucket=bucket, Key=name)
    yield ObjectStore(client, bucket)
    client.delete_object(Bucket=bucket, Key=name)


def test_a_registry_is_stored_where_the_functions_read_it(
    operate: Operate, objects: ObjectStore, tmp_path: Path
) -> None:
    (tmp_path / "names.yaml").write_text(json.dumps(REGISTRY))
    assert operate("registry", "put", "names.yaml").stdout == "3 names: bob.eth, carol.eth, ds.eth\n"
    registry = PinnedRegistry(lambda: objects.get(DeploymentSettings().dm3_registry), time.monotonic)
    assert registry.text("bob.eth", PROFILE_KEY).value == BOB["dataUri"]


@pytest.mark.usefixtures("objects")
def test_a_profile_that_is_published_elsewhere_is_stored_and_noted(operate: Operate, tmp_path: Path) -> None:
    elsewhere = {"far.eth": {PROFILE_KEY: FAR}, "bob.eth": {PROFILE_KEY: BOB["dataUri"]}}
    (tmp_path / "names.json").write_text(json.dumps(elsewhere))
    result = operate("registry", "put", "names.json")
    assert (result.exit_code, result.stdout) == (0, "2 names: bob.eth, far.eth\n")
    assert result.stderr.startswith("postroom: network.dm3.profile of far.eth is stored, and not checked: ")
    assert "bob.eth" not in result.stderr


@pytest.mark.usefixtures("objects")
@pytest.mark.parametrize(
    ("uri", "why"),
    [
        (FAR[:-1], "the URI is not read: a CID with SHA-256 has 46 digits"),
        ("https://p.example/x", "the URL has no parameters dm3Hash"),
        ("https://p.example/x?dm3Hash=00", "dm3Hash is not SHA-256 in 64 hex digits"),
    ],
)
def test_a_uri_that_nobody_could_read_is_not_stored(operate: Operate, tmp_path: Path, uri: str, why: str) -> None:
    (tmp_path / "names.json").write_text(json.dumps({"far.eth": {PROFILE_KEY: uri}}))
    result = operate("registry", "put", "names.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"network.dm3.profile of far.eth is not a profile: {why}" in result.stderr


@pytest.mark.usefixtures("objects")
def test_a_registry_is_shown_as_it_is_stored(operate: Operate, tmp_path: Path) -> None:
    written = b"# who is who\nbob.eth:\n  network.dm3.profile: '" + BOB["dataUri"].encode() + b"'\n"
    (tmp_path / "names.yaml").write_bytes(written)
    operate("registry", "put", "names.yaml")
    stored = {"bob.eth": {PROFILE_KEY: BOB["dataUri"]}}
    assert operate("registry", "show").stdout == json.dumps(stored, indent=1)
    assert json.loads(operate("registry", "show", "--json").stdout) == stored


def test_a_registry_replaces_the_one_before(operate: Operate, objects: ObjectStore, tmp_path: Path) -> None:
    for names in ({"bob.eth"}, {"bob.eth", "eve.eth"}, {"eve.eth"}):
        texts = {name: {PROFILE_KEY: BOB["dataUri"]} for name in names}
        (tmp_path / "names.json").write_text(json.dumps(texts))
        assert operate("registry", "put", "names.json").exit_code == 0
        assert set(json.loads(objects.get(DeploymentSettings().dm3_registry))) == names


@pytest.mark.usefixtures("objects")
def test_a_deployment_without_a_registry_says_so(operate: Operate) -> None:
    result = operate("registry", "show")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "has no registry yet; `postroom dm3 registry put FILE`" in result.stderr


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("[", "names.yaml: the registry document is not plain YAML"),
        ('{"bob.eth": {"network.dm3.profil": "data:"}}', "has another member than"),
        (
            '{"bob.eth": {"network.dm3.profile": "data:application/json,{}"}}',
            "names.yaml: network.dm3.profile of bob.eth is not a profile: publicEncryptionKey is missing",
        ),
        (
            json.dumps({"ds.eth": {SERVICE_KEY: BOB["dataUri"]}}),
            "network.dm3.deliveryService of ds.eth is not a profile: url is missing",
        ),
    ],
)
def test_an_invalid_registry_does_not_replace_a_good_one(
    operate: Operate, objects: ObjectStore, tmp_path: Path, document: str, sentence: str
) -> None:
    objects.put(DeploymentSettings().dm3_registry, b"good")
    (tmp_path / "names.yaml").write_text(document)
    result = operate("registry", "put", "names.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert objects.get(DeploymentSettings().dm3_registry) == b"good"


# ---- the endpoints of the chain --------------------------------------------------------------------------------------
ENDPOINTS = ["https://rpc.example/v3/an-api-key", "http://127.0.0.1:8545"]


@pytest.fixture
def endpoints(storage_stack: StorageStack) -> Iterator[ChainEndpointUrls]:
    """The secret of the endpoints, without any."""
    client, secret = storage_stack.clients("secretsmanager"), storage_stack.outputs["ChainEndpointsSecret"]
    client.put_secret_value(SecretId=secret, SecretString="{}")
    yield ChainEndpointUrls(client, secret, time.time)
    client.put_secret_value(SecretId=secret, SecretString="{}")


def test_endpoints_are_stored_and_only_their_hosts_are_shown(
    operate: Operate, endpoints: ChainEndpointUrls, tmp_path: Path
) -> None:
    assert operate("chain", "show").stdout == "no endpoints: ENS is not used\n"
    (tmp_path / "chain.json").write_text(json.dumps({"endpoints": ENDPOINTS}))
    shown = [operate("chain", *arguments).stdout for arguments in (("put", "chain.json"), ("show",))]
    assert shown == ["rpc.example, 127.0.0.1\n"] * 2
    assert json.loads(operate("chain", "show", "--json").stdout) == {"hosts": ["rpc.example", "127.0.0.1"]}
    assert endpoints.get() == tuple(ENDPOINTS)


def test_a_mailbox_with_rules_about_accounts_needs_endpoints_which_is_said(
    operate: Operate, endpoints: ChainEndpointUrls
) -> None:
    notes = [operate("mailbox", "add", "nine.eth", "--min-nonce", least).stderr for least in ("1", "0")]
    assert ("`postroom dm3 chain put`" in notes[0], notes[1]) == (True, "")
    endpoints.put(ENDPOINTS)
    assert operate("mailbox", "add", "nine.eth", "--min-nonce", "1").stderr == ""
    operate("mailbox", "remove", "nine.eth")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "chain.json: not JSON, at line 1"),
        ('{"endpoints": ["rpc.example/an-api-key"]}', "not of the form https://host/path"),
        ('["https://rpc.example/an-api-key"]', 'endpoints are given as {"endpoints"'),
        (json.dumps({"endpoints": ENDPOINTS[:1] * 2}), "given twice"),
        (json.dumps({"endpoints": [ENDPOINTS[0], ENDPOINTS[0].replace("rpc", "RPC")]}), "given twice"),
        ("{}", 'it names no endpoints; {"endpoints": []} takes all of them back'),
        ('{"endpoints": [], "endpoints": []}', "chain.json: a member name occurs twice"),
        ('{"endpoints": ["http://8.8.8.8/an-api-key"]}', "http:// is for addresses of one's own network"),
    ],
)
def test_endpoints_of_another_form_are_not_stored_and_not_shown(
    operate: Operate, endpoints: ChainEndpointUrls, tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "chain.json").write_text(text)
    result = operate("chain", "put", "chain.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert "an-api-key" not in result.stderr
    assert endpoints.get() == ()


def test_endpoints_are_taken_back_by_an_empty_list_only(
    operate: Operate, storage_stack: StorageStack, endpoints: ChainEndpointUrls, tmp_path: Path
) -> None:
    endpoints.put(ENDPOINTS)
    for text, left in (("{}", tuple(ENDPOINTS)), ('{"endpoints": []}', ())):
        (tmp_path / "chain.json").write_text(text)
        operate("chain", "put", "chain.json")
        assert storage_stack.storage.chain_endpoints.get() == left


def test_endpoints_of_another_form_on_standard_input_are_said_to_be_there(
    postroom: Postroom, storage_stack: StorageStack
) -> None:
    result = postroom("dm3", "chain", "put", "-", *storage_stack.options, input="{")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "standard input: not JSON" in result.stderr
