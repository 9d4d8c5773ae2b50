"""Our own manifest, and Identity@Graph: decisions "Feedback" and "Buffer"; RFC 9512."""

import pytest
import yaml

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.protocols.nlweb.manifest import (
    CONTENT_TYPE,
    domain_of_host,
    identity_reply,
    manifest_of,
    read_identity_request,
)
from postroom.protocols.nlweb.reasons import NOT_OURS, WRONG_SHAPE


def test_a_manifest_reads_as_the_specification_prints_it() -> None:
    assert manifest_of("any-sender.com", "any-buffer.com") == (
        "🤝: nlweb.org/MANIFEST/ABOUT\nAbout:\n  Name: any-sender.com\n  Feedback: any-buffer.com\n"
    )


@pytest.mark.parametrize("feedback", [None, ""])
def test_a_manifest_without_feedback_names_no_buffer(feedback: str | None) -> None:
    assert yaml.safe_load(manifest_of("any-sender.com", feedback)) == {
        "🤝": "nlweb.org/MANIFEST/ABOUT",
        "About": {"Name": "any-sender.com"},
    }


@pytest.mark.parametrize("domain", ["1.e5", "0x1.example", "null.example", "xn--bcher-kva.example", "1.1e1"])
def test_a_name_is_always_written_as_text(domain: str) -> None:
    assert yaml.safe_load(manifest_of(domain, domain))["About"] == {"Name": domain, "Feedback": domain}


def test_a_manifest_is_served_as_yaml() -> None:
    assert CONTENT_TYPE == "application/yaml"


# --- whose manifest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("nlweb.any-sender.com", "any-sender.com"),
        ("pw.any-sender.com", "any-sender.com"),
        ("NLWEB.Any-Sender.com", "any-sender.com"),
        ("nlweb.any-sender.com.", "any-sender.com"),
        ("nlweb.any-sender.com:8443", "any-sender.com"),
        ("nlweb.any-sender.com.:8443", "any-sender.com"),
        ("nlweb.pw.example", "pw.example"),
        ("pw.nlweb.example", "nlweb.example"),
        ("nlweb.nlweb.example", "nlweb.example"),
    ],
)
def test_the_host_determines_the_domain(host: str, domain: str) -> None:
    assert domain_of_host(host) == domain


@pytest.mark.parametrize(
    "host",
    [
        "",
        ":",
        "nlweb",
        "nlweb.",
        "nlweb.com",
        "any-sender.com",
        "127.0.0.1",
        "[::1]:8443",
        "xnlweb.any-sender.com",
        "nlweb-any-sender.com",
        "nlweb.any sender.com",
        "nlweb.any-sender.com/x",
        "nlweb.bücher.example",
        "nlweb.\u212a.example",
        "abc.execute-api.eu-central-1.amazonaws.com",
    ],
)
def test_another_host_has_no_manifest(host: str) -> None:
    with pytest.raises(TheirError) as caught:
        domain_of_host(host)
    assert caught.value.reason is NOT_OURS
    assert caught.value.detail == "a post office answers at nlweb.<domain> or pw.<domain>"


# --- Identity@Graph ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["any-sender.com", "ANY-sender.com", "any-sender.com."])
def test_an_identity_request_names_a_domain(domain: str) -> None:
    assert read_identity_request({"Domain": domain}) == "any-sender.com"


@pytest.mark.parametrize(
    "body", [None, [], "any-sender.com", {}, {"domain": "any-sender.com"}, {"Domain": None}, {"Domain": 1}]
)
def test_an_identity_request_without_a_domain_is_a_shape_error(body: JsonValue) -> None:
    with pytest.raises(TheirError) as caught:
        read_identity_request(body)
    assert caught.value.reason is WRONG_SHAPE


def test_an_identity_request_with_an_invalid_name_names_the_member() -> None:
    with pytest.raises(TheirError) as caught:
        read_identity_request({"Domain": "no host"})
    assert (caught.value.reason, caught.value.detail) == (WRONG_SHAPE, "Body.Domain is not a host name")


def test_the_reply_is_bare_and_names_the_buffer_if_there_is_one() -> None:
    assert identity_reply("any-sender.com", "any-buffer.com") == {
        "Domain": "any-sender.com",
        "Feedback": "any-buffer.com",
    }
    assert identity_reply("any-sender.com", None) == {"Domain": "any-sender.com"}
