"""`postroom dns lookup` against real signed zones: the status decides the exit code, and the chain is told."""

import json
from collections.abc import Callable

import pytest
from tests.cli.conftest import FakeDns, Postroom

NAME = "nlweb._domainkey.sender.example"
LookUp = Callable[..., tuple[int, dict[str, object]]]


@pytest.fixture
def look_up(postroom: Postroom, fake_dns: FakeDns) -> LookUp:
    def look_up(*arguments: str) -> tuple[int, dict[str, object]]:
        result = postroom("dns", "lookup", *arguments, "--json", *fake_dns.options)
        return result.exit_code, json.loads(result.stdout)

    return look_up


def test_a_record_is_shown_with_the_chain_that_proves_it(look_up: LookUp) -> None:
    code, printed = look_up(NAME, "TXT")
    assert code == 0
    assert set(printed) == {"status", "reason", "records", "rcode", "ttl", "queries", "chain"}
    assert (printed["status"], printed["reason"], printed["rcode"], printed["ttl"]) == ("secure", None, "NOERROR", 300)
    [record] = printed["records"]  # type: ignore[misc]
    assert record.startswith(f'{NAME}. 300 IN TXT "v=DKIM1; ')
    chain = printed["chain"]
    assert isinstance(chain, list)
    assert [link.get("zone") for link in chain] == [".", "example.", "sender.example.", None]
    assert (chain[-1]["owner"], chain[-1]["type"]) == (f"{NAME}.", "TXT")


def test_a_cold_look_up_asks_six_questions(look_up: LookUp) -> None:
    _, printed = look_up(NAME)
    assert printed["queries"] == 6


@pytest.mark.parametrize(
    ("name", "rdtype", "rcode", "why"),
    [
        ("nothing.sender.example", "TXT", "NXDOMAIN", "nothing.sender.example.: no such name"),
        (NAME, "MX", "NOERROR", f"{NAME}.: no MX there"),
    ],
)
def test_an_absence_is_secure_if_it_is_proven(look_up: LookUp, name: str, rdtype: str, rcode: str, why: str) -> None:
    code, printed = look_up(name, rdtype)
    assert (code, printed["status"], printed["records"], printed["rcode"], printed["reason"]) == (
        0,
        "secure",
        [],
        rcode,
        why,
    )
    chain = printed["chain"]
    assert isinstance(chain, list)
    assert all(denier[0] == "NSEC" for denier in chain[-1]["denied by"])


def test_an_unsigned_record_is_insecure_and_shown(look_up: LookUp) -> None:
    code, printed = look_up("nlweb._domainkey.unsigned.example")
    assert (code, printed["status"]) == (4, "insecure")
    assert printed["reason"] == "unsigned.example. has no DS record in the zone above it"
    assert len(printed["records"]) == 1  # type: ignore[arg-type]
    assert printed["ttl"] == 60


def test_a_bogus_record_is_not_shown(look_up: LookUp) -> None:
    code, printed = look_up("nlweb._domainkey.bogus.example")
    assert (code, printed["status"], printed["records"], printed["ttl"]) == (1, "bogus", [], None)
    assert "does not hold" in str(printed["reason"])


def test_a_bogus_record_is_reported_with_the_valid_part_of_its_chain(
    postroom: Postroom, fake_dns: FakeDns, look_up: LookUp
) -> None:
    _, printed = look_up("nlweb._domainkey.bogus.example")
    assert [link["zone"] for link in printed["chain"]] == [".", "example.", "bogus.example."]  # type: ignore[attr-defined]
    lines = postroom(
        "dns", "lookup", "nlweb._domainkey.bogus.example", "--explain", *fake_dns.options
    ).stdout.splitlines()
    assert lines[-1].startswith(
        "      the chain breaks here: nlweb._domainkey.bogus.example. TXT: the signature by key "
    )


def test_without_an_answer_there_is_no_verdict(postroom: Postroom, fake_dns: FakeDns) -> None:
    result = postroom("dns", "lookup", NAME, "--json", "--resolver", fake_dns.silent_resolver)
    assert result.exit_code == 3
    printed = json.loads(result.stdout)
    assert (printed["status"], printed["rcode"], printed["records"]) == ("indeterminate", None, [])
    assert printed["reason"].startswith("KeyLookupFailed: no resolver answered")


def test_another_anchor_makes_it_bogus(postroom: Postroom, fake_dns: FakeDns) -> None:
    result = postroom("dns", "lookup", NAME, "--resolver", fake_dns.resolver)
    assert (result.exit_code, result.stdout) == (1, "bogus: no DNSKEY of . matches its DS\n")


def test_a_name_may_be_declared_unsigned(look_up: LookUp) -> None:
    code, printed = look_up(NAME, "TXT", "--negative-trust-anchor", "sender.example")
    assert (code, printed["status"], printed["queries"]) == (4, "insecure", 1)
    assert printed["reason"] == "sender.example. is set to count as not signed (negative trust anchor)"
    assert len(printed["records"]) == 1  # type: ignore[arg-type]


def test_signatures_are_checked_at_the_given_time(look_up: LookUp) -> None:
    code, printed = look_up(NAME, "--now", "1700000000")
    assert (code, printed["status"]) == (1, "bogus")
    assert "not valid before" in str(printed["reason"])


def test_the_text_output_is_a_tree_of_the_proof(postroom: Postroom, fake_dns: FakeDns) -> None:
    result = postroom("dns", "lookup", "nothing.sender.example", "--explain", *fake_dns.options)
    lines = result.stdout.splitlines()
    assert lines[:2] == ["secure, for 60 s: nothing.sender.example.: no such name", "6 queries were sent"]
    assert [line for line in lines if line.strip() in (".", "example.", "sender.example.")] == [
        ".", "  example.", "    sender.example.",
    ]  # fmt: skip
    assert lines[-1].startswith("        NSEC at ")


def test_an_alias_is_shown_in_the_chain(postroom: Postroom, fake_dns: FakeDns) -> None:
    fake_dns.tree.put("alias.example", f"here CNAME {NAME}.")
    result = postroom("dns", "lookup", "here.alias.example", "--explain", *fake_dns.options)
    assert result.exit_code == 0
    assert f"here.alias.example. leads to {NAME}." in result.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("x..y",), "'x..y' is not a DNS name"),
        (("müller.example",), "is not a DNS name"),
        (("example", "NONSENSE"), "'NONSENSE' is not a record type"),
        (("example", "ANY"), "ANY is not signed"),
        (("example", "AXFR"), "AXFR is not signed"),
        (("example", "RRSIG"), "RRSIG is not signed"),
        (("example", "--now", "-1"), "--now is -1.0; it must be seconds since 1970"),
        (("example", "--now", "4294967296"), "--now is 4294967296.0; it must be seconds since 1970"),
    ],
)
def test_an_invalid_question_is_a_usage_error(postroom: Postroom, arguments: tuple[str, ...], sentence: str) -> None:
    result = postroom("dns", "lookup", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
