"""`postroom dm3 lookup`: where a name is found, what is believed, what is shown of it, and the exit codes."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import Result
from tests.cli.chain_stack import PROFILE, SERVICE, TEXT, ChainStack
from tests.cli.chain_stack import chain_stack as chain_stack
from tests.cli.conftest import Postroom
from tests.fakes.endpoints import fake_endpoint
from tests.names.ens.nodes import TextNode
from tests.patience import PATIENCE

from postroom.local.chain.ens_names import PUBLIC_RESOLVER
from postroom.local.chain.hosts import CCIP_HOST, IPFS_HOST
from postroom.local.gateway import failure
from postroom.names.ens import endpoints as ens_endpoints
from postroom.names.registry import PROFILE_KEY

API_KEY = "3c6e0b8a9c15224a"


LookUp = Callable[..., Result]


@pytest.fixture
def look_up(postroom: Postroom, chain_stack: ChainStack, tmp_path: Path) -> LookUp:
    (tmp_path / "names.json").write_text(json.dumps({"bob.eth": {PROFILE_KEY: TEXT}}))

    def run(name: str, *options: str) -> Result:
        return postroom("dm3", "lookup", name, "--pinned", "names.json", "--local", str(chain_stack.file), *options)

    return run


def printed(result: Result) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(result.stdout)
    assert set(value) == {"name", "status", "registry", "text", "profile", "ttl", "evidence", "reason"}
    return value


def last_registry(said: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = said["evidence"]["registries"][-1]
    return found


# ---- found -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "registry", "text", "kind"),
    [
        ("Bob.eth", "pinned", TEXT, "data"),
        ("dan.example", "dns", TEXT, "data"),
        ("alice.eth", "ens", TEXT, "data"),
        ("carol.team.eth", "ens", TEXT, "data"),
        ("erin.eth", "ens", "ipfs://bafy", "ipfs"),
    ],
)
def test_a_profile_is_found_wherever_it_is_published(
    look_up: LookUp, name: str, registry: str, text: str, kind: str
) -> None:
    result = look_up(name, "--json")
    said = printed(result)
    assert (result.exit_code, said["status"], said["registry"], said["reason"]) == (0, "found", registry, None)
    assert (said["name"], said["profile"]) == (name.lower(), PROFILE)
    assert said["text"].startswith(text)
    assert said["evidence"]["uri"]["kind"] == kind
    shown = look_up(name)
    where = {"pinned": "the pinned document", "dns": "DNS", "ens": "ENS"}[registry]
    assert (shown.exit_code, shown.stdout.partition("\n")[0].startswith(f"found in {where}, for ")) == (0, True)
    assert json.loads(shown.stdout.partition("\n")[2]) == PROFILE


def test_the_profile_of_a_delivery_service_is_another_text(look_up: LookUp) -> None:
    assert printed(look_up("alice.eth", "--service", "--json"))["profile"] == SERVICE
    assert look_up("erin.eth", "--service").exit_code == 5


def test_a_name_on_chain_is_shown_with_endpoints_block_resolver_and_ttl(look_up: LookUp) -> None:
    said = printed(look_up("alice.eth", "--json"))
    found = last_registry(said)
    assert (found["ttl"], found["agreed"], found["rounds"]) == (600, 2, 0)
    assert last_registry(printed(look_up("erin.eth", "--json")))["ttl"] is None
    assert said["ttl"] == pytest.approx(600, abs=60)
    assert found["resolver"] == f"0x{PUBLIC_RESOLVER.hex()}"
    [step] = found["steps"]
    assert {each["host"] for each in step["endpoints"]} == {"localhost", "127.0.0.1"}
    lines = look_up("alice.eth", "--explain").stdout.splitlines()
    assert [line for line in lines if line.startswith(("pinned", "dns"))] == [
        "pinned: it is not there", "dns: it is not looked up there",
    ]  # fmt: skip
    assert f"  resolver 0x{PUBLIC_RESOLVER.hex()}" in lines
    assert "  TTL 600 s" in lines
    assert len([line for line in lines if line.startswith("    ✓ ")]) == 2


def test_a_name_behind_a_gateway_is_shown_with_its_rounds(look_up: LookUp) -> None:
    lines = look_up("carol.team.eth", "--explain").stdout.splitlines()
    steps = [line.partition(", block")[0] for line in lines if line.startswith(("  endpoints", "  gateway", "  off"))]
    assert steps == ["  endpoints agreed", f"  gateway ✓ {CCIP_HOST}", "  endpoints agreed", "  off chain, in 1 round"]
    assert "  no TTL is set" in lines


def test_a_gateway_whose_url_is_malformed_is_shown_like_one_that_fails(
    look_up: LookUp, chain_stack: ChainStack
) -> None:
    ethereum = chain_stack.ethereum
    resolver = ethereum.ens.deploy_offchain_resolver(["https://[bad/{data}"], ethereum.gateway_account.address)
    ethereum.ens.register("odd.eth", resolver)
    ethereum.ens.commit()
    result = look_up("odd.eth", "--explain")
    assert result.exit_code == 3, result.output
    assert "  gateway ✗ (no host): the URL is malformed" in result.stdout.splitlines()


def test_a_document_in_ipfs_is_shown_with_its_cid_and_blocks(look_up: LookUp) -> None:
    said = printed(look_up("erin.eth", "--json"))
    uri = said["evidence"]["uri"]
    assert (f"ipfs://{uri['cid']}", uri["blocks"]) == (said["text"], 3)
    assert uri["gateways"] == [{"host": IPFS_HOST, "fault": None}]
    assert look_up("erin.eth", "--explain").stdout.splitlines()[-2:] == [
        f"  proven by CID {uri['cid']}, in 3 blocks", f"    ✓ {IPFS_HOST}",
    ]  # fmt: skip


def test_a_name_in_dns_is_shown_with_the_chain_of_trust(look_up: LookUp) -> None:
    proof = last_registry(printed(look_up("dan.example", "--json")))["proof"]
    assert [link["zone"] for link in proof["chain"]] == [".", "example.", "dan.example."]
    lines = look_up("dan.example", "--explain").stdout.splitlines()
    assert [line.strip() for line in lines if line.strip() in (".", "example.", "dan.example.")] == [
        ".", "example.", "dan.example.",
    ]  # fmt: skip
    assert any(line.strip() == "_dm3.dan.example. TXT" for line in lines)


# ---- not found -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nobody.eth", "  no text: ResolverNotFound"),
        ("nobody", "ens: it is not looked up there"),
        ("open.example", "dns: its zone is proven not to be signed"),
        ("nobody.example", "dns: it is proven not to be there"),
    ],
)
def test_a_name_that_is_in_no_registry_is_absent(look_up: LookUp, name: str, sentence: str) -> None:
    result = look_up(name, "--explain")
    assert result.exit_code == 5
    assert result.stdout.startswith("absent: ProfileUnknown: ")
    assert sentence in result.stdout.splitlines()
    said = printed(look_up(name, "--json"))
    assert (said["status"], said["registry"], said["text"], said["profile"]) == ("absent", None, None, None)


@pytest.mark.parametrize(
    ("name", "reason", "text"),
    [("wrong.eth", "ProfileInvalid", "data:,x"), ("forged.example", "ProfileNotProven", None)],
)
def test_what_is_published_and_wrong_is_refused(look_up: LookUp, name: str, reason: str, text: str | None) -> None:
    result = look_up(name, "--json")
    said = printed(result)
    assert (result.exit_code, said["status"], said["text"], said["profile"]) == (1, "wrong", text, None)
    assert said["reason"].startswith(f"{reason}: ")


def test_a_forged_record_is_shown_with_what_does_not_hold(look_up: LookUp) -> None:
    lines = look_up("forged.example", "--explain").stdout.splitlines()
    assert lines[-1].startswith("dns: ProfileNotProven: what DNS says of the name is not signed as it must be: ")
    assert "does not hold" in lines[-1]


def test_a_document_that_no_gateway_has_could_not_be_found_out(look_up: LookUp) -> None:
    result = look_up("lost.eth", "--explain")
    assert result.exit_code == 3
    assert result.stdout.startswith("unknown: ProfileLookupFailed: no IPFS gateway gave the file")
    *_, cid, gateway = result.stdout.splitlines()
    assert cid.startswith("  must be proven by CID bafkrei")
    assert "blocks" not in cid
    assert gateway == f"    ✗ {IPFS_HOST}: it answered with status 404"


@pytest.mark.parametrize(
    ("text", "leads", "line"),
    [
        ("x" * 1000, {"kind": None}, f"text: {'x' * 100}… (1000 characters)"),
        ("javascript:x", {"kind": None}, "text: javascript:x"),
        (
            f"https://u@h.example/?dm3Hash={'0' * 64}",
            {"kind": "https", "host": "h.example", "dm3_hash": "0" * 64},
            f"  at h.example, must be proven by dm3Hash {'0' * 64}",
        ),
    ],
    ids=["no URI", "another kind", "no document"],
)
def test_of_a_text_that_leads_to_no_profile_nothing_is_called_proven(
    look_up: LookUp, chain_stack: ChainStack, text: str, leads: dict[str, Any], line: str
) -> None:
    ens = chain_stack.ethereum.ens
    ens.set_text("wrong.eth", PROFILE_KEY, text)
    ens.commit()
    try:
        assert printed(look_up("wrong.eth", "--json"))["evidence"]["uri"] == leads
        assert look_up("wrong.eth", "--explain").stdout.splitlines()[-1] == line
    finally:
        ens.set_text("wrong.eth", PROFILE_KEY, "data:,x")
        ens.commit()


def test_a_gateway_that_fails_is_named(look_up: LookUp, chain_stack: ChainStack) -> None:
    chain_stack.edge.serve_handler(CCIP_HOST, lambda _: failure(500))
    try:
        result = look_up("carol.team.eth", "--explain")
    finally:
        chain_stack.edge.serve_handler(CCIP_HOST, chain_stack.ethereum.ccip)
    first, *lines = result.stdout.splitlines()
    assert (result.exit_code, first.startswith("unknown: ProfileLookupFailed: ")) == (3, True)
    assert first.endswith(f"; a gateway failed: {CCIP_HOST}: it answered with status 500")
    assert f"  gateway ✗ {CCIP_HOST}: it answered with status 500" in lines


def test_a_host_that_its_fault_names_is_not_named_twice(look_up: LookUp, chain_stack: ChainStack) -> None:
    ens, ethereum = chain_stack.ethereum.ens, chain_stack.ethereum
    ens.register("gone.eth", ens.deploy_offchain_resolver(["https://gone.example/"], ethereum.gateway_account.address))
    ens.commit()
    first, *lines = look_up("gone.eth", "--explain").stdout.splitlines()
    assert first.endswith("; a gateway failed: there is no host gone.example")
    assert "  gateway ✗ there is no host gone.example" in lines


class SepoliaNode(TextNode):
    clock = staticmethod(time.time)

    def _one(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"result": hex(11_155_111)} if request["method"] == "eth_chainId" else super()._one(request)


# ---- without a local stack -------------------------------------------------------------------------------------------
@pytest.fixture
def endpoints() -> Iterator[Callable[..., list[str]]]:
    """Options that name endpoints with an API key in their URLs, for what each says of alice.eth."""
    with ExitStack() as undo:

        def make(*texts: str) -> list[str]:
            options = []
            for text in texts:
                node = TextNode({"alice.eth": {PROFILE_KEY: text}})
                node.clock = time.time
                server = undo.enter_context(fake_endpoint(node))
                options += ["--endpoint", f"http://127.0.0.1:{server.port}/v1/{API_KEY}?key={API_KEY}"]
            return options

        yield make


def test_endpoints_that_agree_are_believed_and_one_that_lies_is_named(
    postroom: Postroom, endpoints: Callable[..., list[str]]
) -> None:
    three = endpoints("data:,lie", TEXT, TEXT)
    said = printed(postroom("dm3", "lookup", "alice.eth", "--json", *three))
    assert (said["status"], said["profile"]) == ("found", PROFILE)
    [step] = last_registry(said)["steps"]
    assert [each["fault"] for each in step["endpoints"]].count("too few others said the same") == 1


@pytest.mark.parametrize("options", [(), ("--json",), ("--explain",)])
def test_endpoints_that_do_not_agree_prove_nothing_and_their_keys_are_not_shown(
    postroom: Postroom, endpoints: Callable[..., list[str]], options: tuple[str, ...]
) -> None:
    result = postroom("dm3", "lookup", "alice.eth", *endpoints("data:,lie", TEXT), *options)
    assert result.exit_code == 3
    assert "ProfileLookupFailed: 1 of 2 endpoints of the chain said the same; 2 are needed" in result.stdout
    assert "  too few endpoints answered" not in result.stdout
    assert API_KEY not in result.output


def test_another_chain_is_looked_at_by_its_id(postroom: Postroom) -> None:
    node = SepoliaNode({"alice.eth": {PROFILE_KEY: TEXT}})
    with fake_endpoint(node) as server:
        options = ("--endpoint", f"http://127.0.0.1:{server.port}/", "--quorum", "1")
        assert postroom("dm3", "lookup", "alice.eth", *options, "--chain", "11155111").exit_code == 0
        wrong = postroom("dm3", "lookup", "alice.eth", *options)
    assert wrong.exit_code == 3
    assert "127.0.0.1: it is of the chain 11155111, not 1\n" in wrong.stdout


def test_nobody_waits_for_an_endpoint_that_is_silent_when_others_agree(
    postroom: Postroom, endpoints: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ens_endpoints, "LATE_SECONDS", 0.05)
    over, was_waited_for = Event(), Event()

    def is_silent(body: bytes) -> bytes:
        if not over.wait(PATIENCE):
            was_waited_for.set()
        return body

    with fake_endpoint(is_silent) as silent:
        result = postroom(
            "dm3", "lookup", "alice.eth", "--endpoint", f"http://127.0.0.1:{silent.port}", *endpoints(TEXT, TEXT)
        )
        over.set()
    assert (result.exit_code, was_waited_for.is_set()) == (0, False), result.output


def test_a_quorum_of_one_believes_one(postroom: Postroom, endpoints: Callable[..., list[str]]) -> None:
    assert postroom("dm3", "lookup", "alice.eth", *endpoints(TEXT), "--quorum", "1").exit_code == 0
    too_few = postroom("dm3", "lookup", "alice.eth", *endpoints(TEXT))
    assert (too_few.exit_code, too_few.stdout) == (2, "")
    assert "2 endpoints must say the same, and there is 1: name more of them (--endpoint), or set" in too_few.stderr


@pytest.mark.parametrize("command", ["lookup", "send", "publish"])
def test_why_endpoints_failed_is_said_with_their_hosts(
    postroom: Postroom, endpoints: Callable[..., list[str]], tmp_path: Path, command: str
) -> None:
    assert postroom("dm3", "keygen", "--delivery-service", "ds.eth", "--out", "keys").exit_code == 0
    (tmp_path / "alice.json").write_text(json.dumps(PROFILE))
    arguments = {
        "lookup": ("alice.eth",),
        "send": ("bob.eth", "alice.eth", "hello", "--key", "keys"),
        "publish": ("alice.eth", "--profile", "alice.json"),
    }[command]
    with fake_endpoint(lambda _: (429, {}, b"")) as limited:
        failing = ("--endpoint", f"http://127.0.0.1:{limited.port}/{API_KEY}")
        result = postroom("dm3", command, *arguments, *failing, *endpoints(TEXT))
        alone = postroom("dm3", command, *arguments, *failing, "--quorum", "1")
    for each, sentence in ((result, "1 of 2"), (alone, "0 of 1")):
        assert each.exit_code == 3
        assert f"{sentence} endpoints of the chain said the same; " in each.output
        assert "127.0.0.1: it answered with status 429\n" in each.output
        assert API_KEY not in each.output
    assert "; 1 is needed; 127.0.0.1: " in alone.output


def test_too_few_that_answer_are_not_called_of_another_mind(
    postroom: Postroom, endpoints: Callable[..., list[str]]
) -> None:
    with fake_endpoint(lambda _: (429, {}, b"")) as limited:
        failing = ("--endpoint", f"http://127.0.0.1:{limited.port}/")
        lines = postroom("dm3", "lookup", "alice.eth", "--explain", *failing, *endpoints(TEXT)).stdout.splitlines()
    assert "pinned: there is no document" in lines
    assert "  too few endpoints answered" in lines


@pytest.mark.parametrize("options", [(), ("--pinned", "names.json")])
def test_without_endpoints_a_name_may_be_in_ens(postroom: Postroom, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "names.json").write_text("{}")
    result = postroom("dm3", "lookup", "alice.eth", *options)
    assert result.exit_code == 3
    assert "no endpoint of the chain of ENS is named: use --endpoint URL" in result.stdout


def test_without_a_gateway_a_document_in_ipfs_is_not_called_wrong(
    postroom: Postroom, endpoints: Callable[..., list[str]]
) -> None:
    text = "ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
    result = postroom("dm3", "lookup", "alice.eth", *endpoints(text, text))
    assert (result.exit_code, result.stdout.startswith("unknown: ProfileUriUnsupported: ")) == (3, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--endpoint", f"ftp://x.example/{API_KEY}"), "--endpoint: the URL of an endpoint is not of the form"),
        (("--endpoint", "https://x.example/") * 2, "--endpoint: an endpoint is given twice"),
        (("--endpoint", "https://x.example/", "--endpoint", "https://X.example"), "an endpoint is given twice"),
        (("--quorum", "0"), "--quorum"),
        (("--ipfs-gateway", "ftp://x"), "--ipfs-gateway: 'ftp://x' is not of the form https://host"),
        (("--ipfs-gateway", "https://127.0.0.1"), "with a host name such as gateway.example (not an address)"),
        (("--ipfs-gateway", ""), "--ipfs-gateway is empty"),
        (("--pinned", "missing.json"), "missing.json: No such file"),
    ],
)
def test_invalid_options_are_one_sentence(postroom: Postroom, options: tuple[str, ...], sentence: str) -> None:
    result = postroom("dm3", "lookup", "alice.eth", *options)
    assert (result.exit_code, result.stdout) == (5 if "No such file" in sentence else 2, "")
    assert sentence in " ".join(result.stderr.split())
    assert API_KEY not in result.output
