import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import SettingsError
from postroom.names.dns import Server, parse_servers


def test_resolvers_are_a_comma_separated_setting():
    text = "tcp://9.9.9.9, tcp://1.1.1.1:5300,udp://127.0.0.1:5353,https://dns.example/dns-query,"
    assert parse_servers(text) == (
        Server("tcp", "9.9.9.9", 53),
        Server("tcp", "1.1.1.1", 5300),
        Server("udp", "127.0.0.1", 5353),
        Server("https", "dns.example", 443, "/dns-query"),
    )


def test_a_bare_address_is_udp():
    assert parse_servers("127.0.0.1:5353") == (Server("udp", "127.0.0.1", 5353),)
    assert parse_servers("9.9.9.9") == (Server("udp", "9.9.9.9", 53),)


def test_ipv6_is_written_in_brackets_or_bare_without_a_port():
    assert parse_servers("tcp://[2620:fe::fe]:53,2620:fe::9") == (
        Server("tcp", "2620:fe::fe", 53),
        Server("udp", "2620:fe::9", 53),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        " , ",
        "tcp://dns.example",
        "localhost:53",
        "ftp://9.9.9.9",
        "udp://9.9.9.9/path",
        "udp://9.9.9.9:99999",
        "udp://9.9.9.9:x",
        "https://",
        "https://user@dns.example/",
        "https://dns.example/q?x=1",
        "tcp://[::1",
    ],
)
def test_anything_else_stops_the_start(text):
    with pytest.raises(SettingsError, match="DNS resolver"):
        parse_servers(text)


@given(st.text())
def test_any_text_is_parsed_or_refused(text):
    with contextlib.suppress(SettingsError):
        assert parse_servers(text)
