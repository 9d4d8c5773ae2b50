import pytest
from dns.rdatatype import A

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.local.zones import Mode
from postroom.names.host_addresses import MAX_ALIASES, addresses
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

HOSTS = (
    """
v4     A      127.0.0.1
v4     A      127.0.0.2
both   A      127.0.0.3
both   AAAA   ::1
alias  CNAME  both.host.test.
loop   CNAME  loop
dead   CNAME  nothing.host.test.
text   TXT    x
"""
    + "\n".join(f"a{number} CNAME a{number - 1}" for number in range(1, MAX_ALIASES + 2))
    + "\na0 A 127.0.0.5"
)


@pytest.fixture(autouse=True)
def hosts(tree):
    tree.put("sender.example", HOSTS)
    tree.put("host.test", "both A 127.0.0.4\nboth AAAA ::2", Mode.UNSIGNED)


def test_ipv4_comes_first_then_ipv6(ask):
    assert sorted(addresses("v4.sender.example", ask)) == ["127.0.0.1", "127.0.0.2"]
    assert addresses("both.sender.example", ask) == ["127.0.0.3", "::1"]


def test_an_alias_is_followed_by_the_resolver_or_by_us(ask, meddle):
    def only_the_alias(message):
        followed = [rrset for rrset in message.answer if str(rrset.name) == "both.host.test."]
        assert followed
        message.answer = [rrset for rrset in message.answer if rrset not in followed]

    for resolver in (ask, meddle(only_the_alias, "alias.sender.example", A)):
        assert addresses("alias.sender.example", resolver) == ["127.0.0.4", "::2"]


def test_a_host_with_one_family_needs_no_answer_for_the_other(ask):
    def no_ipv6(question):
        if question.rdtype.name == "AAAA":
            raise NotNowError(KEY_LOOKUP_FAILED, "down")
        return ask(question)

    assert addresses("both.sender.example", no_ipv6) == ["127.0.0.3"]


def test_the_number_of_aliases_is_limited(ask):
    assert addresses(f"a{MAX_ALIASES}.sender.example", ask) == ["127.0.0.5"]
    assert addresses(f"a{MAX_ALIASES + 1}.sender.example", ask) == []


@pytest.mark.parametrize("host", ["text", "no", "loop", "dead"])
def test_a_host_without_an_address_does_not_exist(ask, host):
    assert addresses(f"{host}.sender.example", ask) == []


@pytest.mark.parametrize("host", ["ü", "a" * 64])
def test_an_invalid_host_name_cannot_be_looked_up(ask, host):
    with pytest.raises(NotNowError) as caught:
        addresses(f"{host}.sender.example", ask)
    assert caught.value.reason is OUTBOUND_FAILED


def test_a_failed_look_up_is_a_temporary_error(server, resolvers):
    server.pause()
    with pytest.raises(NotNowError) as caught:
        addresses("v4.sender.example", resolvers.asking(0.2))
    assert caught.value.reason is OUTBOUND_FAILED
