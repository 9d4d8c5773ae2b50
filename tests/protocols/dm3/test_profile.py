"""Profiles of users and delivery services, and the URIs they are published under (dm3 §2.1; decision "Profiles")."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import BUILDS

from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.profile import (
    MAX_SERVICES,
    MAX_URI_BYTES,
    MAX_URL_CHARACTERS,
    ServiceProfile,
    UserProfile,
    data_uri,
    profile_of_uri,
    read_service_profile,
    read_user_profile,
)
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_URI_UNSUPPORTED

USERS = [BUILDS[build]["profiles"][who] for build in BUILDS for who in ("alice", "bob")]
SERVICES = [BUILDS[build]["deliveryService"] for build in BUILDS]
ALICE = BUILDS["npm-1.7.1"]["profiles"]["alice"]
BARE = json.loads(ALICE["profileStringified"])
WRAPPED = json.loads(ALICE["signedProfileStringified"])
SERVICE = SERVICES[0]["profile"]


def refused(read: Callable[[Any], object], value: object, reason: Reason = PROFILE_INVALID) -> str:
    with pytest.raises(TheirError) as caught:
        read(value)
    assert caught.value.reason is reason
    return caught.value.detail


# --- known answers of the reference ------------------------------------------------------------------------------


@pytest.mark.parametrize("known", USERS, ids=lambda known: known["ensName"])
@pytest.mark.parametrize("form", ["dataUri", "dataUriBase64"])
def test_a_users_profile_is_read_from_the_uris_of_the_reference(known: dict[str, Any], form: str) -> None:
    profile = read_user_profile(profile_of_uri(known[form]))
    assert base64.b64encode(profile.encryption_key).decode() == known["encryptionKeyPair"]["publicKey"]
    assert profile.signing_key.encode() == known["signingKeyPair"]["publicKey"]
    assert profile.signing_key.algorithm == "ed25519"
    assert profile.delivery_services == ("ds.eth",)
    assert stringify(profile.as_json()).decode() == known["profileStringified"]


@pytest.mark.parametrize("known", USERS, ids=lambda known: known["ensName"])
def test_our_uri_is_the_one_the_reference_writes(known: dict[str, Any]) -> None:
    assert data_uri(json.loads(known["signedProfileStringified"])) == known["dataUri"]


@pytest.mark.parametrize("known", SERVICES, ids=BUILDS)
def test_a_delivery_services_profile_is_read_and_written_as_by_the_reference(known: dict[str, Any]) -> None:
    profile = read_service_profile(profile_of_uri(known["dataUri"]))
    assert base64.b64encode(profile.encryption_key).decode() == known["keys"]["encryptionKeyPair"]["publicKey"]
    assert profile.signing_key.encode() == known["keys"]["signingKeyPair"]["publicKey"]
    assert profile.url == "https://ds.example"
    assert data_uri(profile.as_json()) == known["dataUri"]


# What the reference's resolvers said to these URIs, and what we say. `ours` None: the profile is read.
OURS: dict[str, tuple[str, Reason | None]] = {
    "data json": ("ok", None),
    "data base64": ("ok", None),
    # Decision "Profiles": percent-encoded, bare, and with line breaks, as the text has it; the reference reads none.
    "data percent-encoded": ("error", None),
    "data charset": ("ok", None),
    "data wrong mime": ("no resolver", PROFILE_INVALID),
    "data bare UserProfile (as in the spec)": ("error", None),
    "data with newline in json": ("no resolver", None),
    # Not read yet, whatever stands there: a reason of its own.
    "https 0x hash": ("ok", PROFILE_URI_UNSUPPORTED),
    "https hash without 0x": ("error", PROFILE_URI_UNSUPPORTED),
    "https upper-case hash": ("error", PROFILE_URI_UNSUPPORTED),
    "https wrong hash": ("error", PROFILE_URI_UNSUPPORTED),
    "https no hash": ("error", PROFILE_URI_UNSUPPORTED),
    # The text knows no http:.
    "http 0x hash (no TLS)": ("ok", PROFILE_INVALID),
    "https body with other key order": ("ok", PROFILE_URI_UNSUPPORTED),
    "ipfs (body not verified against CID)": ("ok", PROFILE_URI_UNSUPPORTED),
}
# The known answers keep the beginning of each URI; where it carries the profile, this is the whole of it.
WHOLE = {
    "data json": ALICE["dataUri"],
    "data base64": ALICE["dataUriBase64"],
    "data percent-encoded": "data:application/json," + quote(ALICE["signedProfileStringified"], safe=""),
    "data charset": ALICE["dataUri"].replace("json,", "json;charset=utf-8,", 1),
    "data wrong mime": ALICE["dataUri"].replace("application/json", "text/plain", 1),
    "data bare UserProfile (as in the spec)": "data:application/json," + ALICE["profileStringified"],
    "data with newline in json": "data:application/json," + json.dumps(
        {"profile": {name: BARE[name] for name in ("publicEncryptionKey", "publicSigningKey", "deliveryServices")},
         "signature": WRAPPED["signature"]}, indent=1),
}  # fmt: skip
KNOWN_URIS = [(build, known) for build in BUILDS for known in BUILDS[build]["profileUris"]]


@pytest.mark.parametrize(
    ("build", "known"), KNOWN_URIS, ids=[f"{build}: {known['name']}" for build, known in KNOWN_URIS]
)
def test_uris_by_the_reference(build: str, known: dict[str, str]) -> None:
    theirs, ours = OURS[known["name"]]
    assert known["result"].split(":")[0] == theirs
    uri = WHOLE.get(known["name"], known["uri"])
    assert uri.startswith(known["uri"])
    if ours is not None:
        refused(profile_of_uri, uri, ours)
    else:
        assert read_user_profile(profile_of_uri(uri)) == read_user_profile(BARE)


# --- data: URIs --------------------------------------------------------------------------------------------------


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("uri", "value"),
    [
        ("DATA:Application/JSON,{}", {}),
        ("data:application/json;charset=UTF-8;base64," + in_base64('{"a":"ü"}'), {"a": "ü"}),
        ("data:application/json;Base64," + in_base64("{}").replace("=", "%3D"), {}),
        ('data:application/json;charset="utf-8";v=1,{}', {}),
        ("data:application/json; charset=utf-8 ,{}", {}),
        ('data:application/json,\t{ "a" :\r\n1 } \n', {"a": 1}),
        ('data:application/json,{"a":"1,2#3?4"}', {"a": "1,2#3?4"}),
        ('data:application/json,{"a":"ü"}', {"a": "ü"}),
        ("data:application/json,%7B%22a%22%3a%22%C3%BC%22%7d", {"a": "ü"}),
        ("data:application/json,{%22a%22:1}", {"a": 1}),
        ('data:application/json,%7B"a":"100%"%7D', {"a": "100%"}),
    ],
)
def test_every_form_of_a_data_uri_is_read(uri: str, value: object) -> None:
    assert profile_of_uri(uri) == value


def test_unencoded_json_is_not_percent_decoded() -> None:
    assert profile_of_uri('data:application/json,{"url":"https://a.example/%7Balice%22"}') == {
        "url": "https://a.example/%7Balice%22"
    }


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("", "it is not a URI"),
        ("alice.eth", "it is not a URI"),
        ('{"publicSigningKey":""}', "it is not a URI"),
        ("ftp://host/profile.json", "scheme is none of"),
        ("http://host/profile.json", "scheme is none of"),
        ("data:application/json", "no comma"),
        ("data:,{}", "media type"),
        ("data:application/ld+json,{}", "media type"),
        ("data:application/json;charset=iso-8859-1,{}", "charset"),
        ("data:application/json;base64,e30", "base64"),
        ("data:application/json;base64,e3 0=", "base64"),
        ("data:application/json;base64,_-8=", "base64"),
        ("data:application/json;base64,ü", "base64"),
        ("data:application/json;base64,", "no content"),
        ("data:application/json,", "no content"),
        ("data:application/json,{", "not JSON"),
        ("data:application/json,%7B", "not JSON"),
        ("data:application/json,%7B%22a%22:%22%ff%22%7D", "not UTF-8"),
        ('data:application/json,{"a":1,"a":2}', "occurs twice"),
        ("data:application/json,%7B%22a%22:1,%22a%22:2%7D", "occurs twice"),
        ("data:application/json," + "[" * 1000, "nested deeper"),
        ("data:application/json,\ud800", "surrogate"),
        ("data:application/json," + " " * MAX_URI_BYTES, "more than 65536"),
        ("data:application/json," + "ü" * (MAX_URI_BYTES - 30), "at most 65536"),
    ],
)
def test_a_uri_without_json_is_not_a_profile_uri(uri: str, why: str) -> None:
    assert why in refused(profile_of_uri, uri)


def test_the_length_of_a_profile_uri_is_limited() -> None:
    longest = "data:application/json,{}".ljust(MAX_URI_BYTES)
    assert profile_of_uri(longest) == {}
    assert "more than 65536" in refused(profile_of_uri, longest + " ")


@given(st.text(max_size=40) | st.text(alphabet='data:application/json;base64,{}"%7Ba=', max_size=60))
def test_every_text_is_read_or_refused(text: str) -> None:
    for uri in (text, f"data:application/json,{text}", f"data:application/json;base64,{text}"):
        try:
            profile_of_uri(uri)
        except TheirError as error:
            refusals = {PROFILE_INVALID, PROFILE_URI_UNSUPPORTED}
            assert error.reason in refusals  # noqa: PT017 - either is right


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=9), JSON, max_size=4))
def test_our_profile_is_read_in_each_of_the_three_forms(value: dict[str, Any]) -> None:
    plain = data_uri(value)
    text = plain.removeprefix("data:application/json,")
    assert profile_of_uri(plain) == value
    assert profile_of_uri("data:application/json," + quote(text, safe="")) == value
    assert profile_of_uri("data:application/json;base64," + in_base64(text)) == value


# --- users' profiles ---------------------------------------------------------------------------------------------

SECP256K1 = PrivateSigningKey.generate("secp256k1").public
ALICES = read_user_profile(BARE)


def test_the_wrapper_of_the_reference_is_removed() -> None:
    assert read_user_profile(WRAPPED) == ALICES
    assert read_service_profile({"profile": SERVICE, "signature": "0x"}) == read_service_profile(SERVICE)


def test_a_bare_profile_may_have_a_member_of_the_wrappers_name() -> None:
    assert read_user_profile({**BARE, "profile": "shy"}).extra == {"profile": "shy"}


def test_the_member_of_the_texts_example_is_read_and_that_of_its_definition_is_written() -> None:
    named = {name: BARE[name] for name in BARE if name != "deliveryServices"}
    profile = read_user_profile({**named, "deliveryService": ["a.eth", "b.eth"]})
    assert profile.delivery_services == ("a.eth", "b.eth")
    assert profile.as_json()["deliveryServices"] == ["a.eth", "b.eth"]
    assert "deliveryService" not in profile.as_json()


def test_a_key_of_secp256k1_is_read_and_written() -> None:
    profile = read_user_profile({**BARE, "publicSigningKey": SECP256K1.encode()})
    assert profile.signing_key == SECP256K1
    assert profile.as_json()["publicSigningKey"] == SECP256K1.encode()


def test_unknown_members_are_kept() -> None:
    profile = read_user_profile({**BARE, "mutableProfileExtensionUrl": None})
    assert profile.extra == {"mutableProfileExtensionUrl": None}
    assert profile.as_json() == {**BARE, "mutableProfileExtensionUrl": None}


def test_the_number_of_delivery_services_is_limited() -> None:
    names = [f"{number}.eth" for number in range(MAX_SERVICES)]
    assert read_user_profile({**BARE, "deliveryServices": names}).delivery_services == tuple(names)
    why = refused(read_user_profile, {**BARE, "deliveryServices": [*names, "more.eth"]})
    assert f"{MAX_SERVICES + 1} delivery services; at most {MAX_SERVICES}" in why


def test_names_of_delivery_services_are_normalized_in_order() -> None:
    assert UserProfile(ALICES.encryption_key, SECP256K1, ("B.eth", "a.ETH")).delivery_services == ("b.eth", "a.eth")


@pytest.mark.parametrize("value", [None, [], "text", 1, {"profile": None}, {"profile": [BARE]}])
def test_a_profile_is_an_object(value: object) -> None:
    assert "not a JSON object" in refused(read_user_profile, value)
    assert "not a JSON object" in refused(read_service_profile, value)


KEY_OF_31 = base64.b64encode(bytes(31)).decode()


@pytest.mark.parametrize("read", [read_user_profile, read_service_profile])
@pytest.mark.parametrize(
    ("member", "value", "why"),
    [
        ("publicEncryptionKey", None, "missing or not a string"),
        ("publicEncryptionKey", 7, "missing or not a string"),
        ("publicEncryptionKey", "", "has 0 bytes"),
        ("publicEncryptionKey", KEY_OF_31, "has 31 bytes"),
        ("publicEncryptionKey", base64.b64encode(bytes(32)).decode(), "of small order"),
        ("publicEncryptionKey", BARE["publicEncryptionKey"].rstrip("="), "not standard base64"),
        ("publicEncryptionKey", BARE["publicEncryptionKey"] + "\n", "not standard base64"),
        ("publicEncryptionKey", BARE["publicEncryptionKey"].replace("+", "-"), "not standard base64"),
        ("publicEncryptionKey", BARE["publicEncryptionKey"].replace("M=", "N="), "not standard base64"),
        ("publicSigningKey", None, "missing or not a string"),
        ("publicSigningKey", KEY_OF_31, "has 31 bytes"),
        ("publicSigningKey", BARE["publicSigningKey"].rstrip("="), "not standard base64"),
        ("publicSigningKey", base64.b64encode(bytes(32)).decode(), "not a point"),
        ("publicSigningKey", base64.b64encode(b"\x02" + b"\xff" * 32).decode(), "not a point"),
    ],
)
def test_keys_are_read_strictly(read: Callable[[Any], object], member: str, value: object, why: str) -> None:
    whole = {**BARE, "url": "https://ds.example", member: value}
    detail = refused(read, whole)
    assert member in detail
    assert why in detail


@pytest.mark.parametrize(
    ("services", "why"),
    [
        (None, "not an array"),
        ("ds.eth", "not an array"),
        ({"0": "ds.eth"}, "not an array"),
        ([], "is empty"),
        (["ds.eth", 1], "not a string"),
        (["d s.eth"], "ENSIP-15"),
        ([""], "empty"),
    ],
)
def test_at_least_one_delivery_service_is_named(services: object, why: str) -> None:
    assert why in refused(read_user_profile, {**BARE, "deliveryServices": services})
    named = {name: BARE[name] for name in BARE if name != "deliveryServices"}
    assert "deliveryServices is missing" in refused(read_user_profile, named)


# --- delivery services' profiles ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://ds.example",
        "HTTPS://ds.example:8443/dm3?v=1#a",
        "http://127.0.0.1:8080/rpc",
        "https://[::1]/dm3",
    ],
)
def test_a_url_is_kept_unchanged(url: str) -> None:
    assert ServiceProfile(ALICES.encryption_key, SECP256K1, url).as_json()["url"] == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ds.example",
        "ftp://ds.example",
        "javascript:alert(1)",
        "https://",
        "https:///dm3",
        "https://user:word@ds.example/",
        "https://ds.example/a b",
        "https://ds.example/\n",
        "https://ds.example/ü",
        "https://ds.example\\@evil.example/",
    ],
)
def test_an_invalid_url_is_refused(url: str) -> None:
    assert "url is not" in refused(read_service_profile, {**SERVICE, "url": url})


def test_the_length_of_a_url_is_limited() -> None:
    longest = "https://ds.example/".ljust(MAX_URL_CHARACTERS, "a")
    assert read_service_profile({**SERVICE, "url": longest}).url == longest
    assert "url is not" in refused(read_service_profile, {**SERVICE, "url": longest + "a"})


def test_a_delivery_service_has_a_url() -> None:
    assert "url is missing" in refused(read_service_profile, {**SERVICE, "url": None})


def test_unknown_members_of_a_service_are_kept() -> None:
    assert read_service_profile({**SERVICE, "region": "eu"}).as_json() == {**SERVICE, "region": "eu"}


@given(JSON)
def test_all_json_is_a_profile_or_refused(value: Any) -> None:
    for whole in (value, {**BARE, "deliveryServices": value}, {**SERVICE, "url": value}, {"profile": value}):
        for read in (read_user_profile, read_service_profile):
            try:
                read(whole)
            except TheirError as error:
                assert error.reason is PROFILE_INVALID  # noqa: PT017 - it may be none
