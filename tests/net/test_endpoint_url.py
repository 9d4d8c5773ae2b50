"""URLs of endpoints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import SettingsError
from postroom.net.endpoint_url import EndpointUrl, read_endpoint_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://rpc.example/v3/KEY", ("https", "rpc.example", 443, "/v3/KEY")),
        ("HTTPS://RPC.Example:8443", ("https", "rpc.example", 8443, "/")),
        ("https://rpc.example:1", ("https", "rpc.example", 1, "/")),
        ("https://rpc.example:65535", ("https", "rpc.example", 65_535, "/")),
        ("http://127.0.0.1:8545/", ("http", "127.0.0.1", 8545, "/")),
        ("http://[::1]:8545/a?b=c", ("http", "::1", 8545, "/a?b=c")),
        ("http://[::ffff:127.0.0.1]/", ("http", "::ffff:127.0.0.1", 80, "/")),
        ("https://rpc.example./", ("https", "rpc.example.", 443, "/")),
        ("https://rpc.example?key=KEY", ("https", "rpc.example", 443, "/?key=KEY")),
    ],
)
def test_a_url_is_read(text: str, url: tuple[str, str, int, str]) -> None:
    assert read_endpoint_url(text) == EndpointUrl(*url)


@pytest.mark.parametrize(
    "text",
    ["", "rpc.example", "ftp://rpc.example/KEY", "https://", "https://user:KEY@rpc.example/", "https://rpc.example:x/KEY",
     "https://rpc.exämple/KEY", "https://[::1/KEY", "https://rpc.example:0/KEY", "https://rpc.example:65536/KEY",
     "https://rpc.example/KEY#part", "https://rpc.example/K EY", "https://rpc.example/KEY\n", "https://rpc.example\\KEY",
     "https://rpc..example/KEY", "https://.example/KEY", "https://./KEY", "https://[..]/KEY",
     f"https://{'a' * 64}.example/KEY", "https://[::1::]/KEY", "http://8.8.8.8/KEY", "http://[2001:4860::1]/KEY",
     "http://[::ffff:8.8.8.8]/KEY"],
)  # fmt: skip
def test_another_text_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_endpoint_url(text)
    assert "KEY" not in str(caught.value)


def test_http_is_refused_to_public_addresses_and_the_form_says_what_it_is_for() -> None:
    with pytest.raises(SettingsError, match="this one is not: use https://"):
        read_endpoint_url("http://8.8.8.8/KEY")
    with pytest.raises(SettingsError, match="http:// is for addresses of one's own network only"):
        read_endpoint_url("ftp://rpc.example/KEY")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://rpc.example/KEY", "HTTPS://RPC.Example:443/KEY"),
        ("https://rpc.example", "https://rpc.example./"),
        ("http://[::1]:8545/", "http://[0:0:0:0:0:0:0:1]:8545"),
    ],
)
def test_two_ways_to_write_a_url_lead_to_one_place(one: str, other: str) -> None:
    assert read_endpoint_url(one).place == read_endpoint_url(other).place


@pytest.mark.parametrize("other", ["https://rpc.example/key", "https://rpc.example:1/KEY", "https://a.example/KEY"])
def test_other_urls_lead_to_other_places(other: str) -> None:
    assert read_endpoint_url("https://rpc.example/KEY").place != read_endpoint_url(other).place


@given(st.text(max_size=40) | st.from_regex(r"https?://[!-~]{0,30}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        url = read_endpoint_url(text)
    except SettingsError:
        return
    assert url.target.startswith("/")
    assert url.host
    assert not set(url.host) & set("/?#@ ")
    url.host.encode("idna")  # as whoever resolves it does
