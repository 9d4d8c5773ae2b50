"""Fuzzing of dm3's objects: names, profiles and their URIs, envelopes, messages, postmarks, profile extensions."""

import base64
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

from ens_normalize import DisallowedSequence, ens_normalize
from tests.fuzz.entry import LONG, Entry, bit_flipped, fields_of, fuzzed, json_of, outcome_of, place_in, text_of
from tests.fuzz.samples import ALICES, BOBS, DM3_BUILDS, NOW_MS, SERVICES, SUBMITTED, compact

from postroom.core.canonical import stringify
from postroom.core.ens_names import MAX_NAME_BYTES
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.protocols.dm3.envelope import (
    DeliveryInformation,
    Dm3Envelope,
    check_envelope,
    check_hashes,
    message_hash,
    read_delivery,
    read_envelope,
    read_submitted,
)
from postroom.protocols.dm3.extension import ProfileExtension, check_sender, read_extension, read_size_limit
from postroom.protocols.dm3.keys import read_user_keys
from postroom.protocols.dm3.message import Dm3Message, MessageMetadata, read_message
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.postmark import (
    Postmark,
    check_certifiable,
    check_postmark_hash,
    is_signed_by,
    make_postmark,
    read_postmark,
)
from postroom.protocols.dm3.profile import (
    ServiceProfile,
    UserProfile,
    data_uri,
    profile_of_document,
    profile_of_uri,
    read_service_profile,
    read_user_profile,
)
from postroom.protocols.dm3.profile_hash import check_profile_hash, read_profile_hash, url_with_hash
from postroom.protocols.dm3.reasons import (
    ENCRYPTION_SCHEME_UNKNOWN,
    ENVELOPE_INVALID,
    MESSAGE_INVALID,
    NAME_INVALID,
    POSTMARK_INVALID,
    PROFILE_INVALID,
    PROFILE_URI_UNSUPPORTED,
    SENDER_SIGNATURE_INVALID,
)
from postroom.protocols.dm3.sealing import open_sealed
from postroom.protocols.dm3.service import ServiceKeys, read_service_keys
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.verify import check_message

T = TypeVar("T")
BUILD = DM3_BUILDS["npm-1.7.1"]


def stays(read: Callable[[Any], T], value: T, written: JsonValue) -> None:
    """Hold that an object is read again from what was written of it, and is written in the same way."""
    again = read(json.loads(json.dumps(written)))
    assert again == value, "written and read it is another"


NAMES = (
    b"alice.eth", b"ALICE.eth", "ÄLICE.eth".encode(), b"a_b.eth", b"_a.eth", b"ab--c.eth", b"a..b", b"a\n",
    "\u2019.eth".encode(), "👨\u200d👩\u200d👧.eth".encode(), "ni\u200dck.eth".encode(), "\u0430lice.eth".encode(),
    b"$x.eth",     "1\ufe0f\u20e3.eth".encode(), "\u0131.eth".encode(), "\u30fb.eth".encode(),
)  # fmt: skip


@fuzzed("protocols.dm3.names", "core.ens_names", seeds=NAMES, max_bytes=512)
def dm3_names(data: bytes) -> None:
    """A name, or a refusal, as the library of ENSIP-15 has it; to normalise twice changes nothing."""
    text = text_of(data)
    found = outcome_of(lambda: normalize(text), NAME_INVALID)
    if isinstance(found, str):
        assert normalize(found) == found
        assert 0 < len(found.encode()) <= MAX_NAME_BYTES
    if text and "\n" not in text and len(data) <= MAX_NAME_BYTES and len(text.encode()) <= MAX_NAME_BYTES:
        try:
            expected = ens_normalize(text)
        except DisallowedSequence:
            expected = None
        if expected is None or len(expected.encode()) <= MAX_NAME_BYTES:
            assert (found if isinstance(found, str) else None) == expected


URIS = (
    *(BUILD["profiles"][who][form] for who in ("alice", "bob") for form in ("dataUri", "dataUriBase64")),
    BUILD["deliveryService"]["dataUri"], "https://profiles.example/a", "ipfs://bafy", "data:text/plain,{}", "data:,",
    'data:application/json;charset="utf-8",%7B%22a%22:%22%2541%22%7D', "DATA:application/json ; BASE64,e30=",
    "data:application/json;charset=latin1,{}", "data:application/json,%zz", "no uri",
)  # fmt: skip


@fuzzed("protocols.dm3.profile", "protocols.dm3.keys", seeds=tuple(uri.encode() for uri in URIS), max_bytes=65_600)
def profile_uris(data: bytes) -> None:
    """What a data: URI carries, or a refusal; a profile in it is the same when it is published again."""
    text = text_of(data)
    value = outcome_of(lambda: (profile_of_uri(text),), PROFILE_INVALID, PROFILE_URI_UNSUPPORTED)
    if isinstance(value, tuple):
        check_profiles(value[0])


SERVED = BUILD["profiles"]["alice"]["signedProfileStringified"]
DOCUMENTS = tuple(
    f"https://p.example/x{query}\0{document}"
    for query, document in (
        (f"?dm3Hash={sha256(SERVED.encode()).hexdigest()}", SERVED),
        (f"?a=1&dm3Hash=0X{'AB' * 32}#x", '{"b": 1, "a": [1e21]}'),
        (f"?%64m3Hash={'0' * 64}&dm3Hash", "{"),
        ("", '{"a":1,"a":1}'),
    )
)


@fuzzed("protocols.dm3.profile_hash", seeds=tuple(each.encode() for each in DOCUMENTS), max_bytes=LONG)
def profile_documents(data: bytes) -> None:
    """A URL has one hash, or a refusal; a document fits the hashes of its bytes and ordered JSON, and no other."""
    url, text = fields_of(data, 2)
    document = text.encode(errors="surrogatepass")
    fitting = {sha256(document).digest()}
    value = outcome_of(lambda: (profile_of_document(document),), PROFILE_INVALID)
    if isinstance(value, tuple):
        fitting.add(sha256(stringify(value[0])).digest())
    named = outcome_of(lambda: read_profile_hash(url), PROFILE_INVALID)
    for digest in (*fitting, bytes(32), *([named] if isinstance(named, bytes) else [])):
        fits = outcome_of(lambda digest=digest: check_profile_hash(document, digest), PROFILE_INVALID)  # type: ignore[misc]
        assert (fits is None) == (digest in fitting)
    published = outcome_of(lambda: url_with_hash(url, document), PROFILE_INVALID)
    if isinstance(published, str):
        assert read_profile_hash(published) == sha256(document).digest()


PROFILES = tuple(
    compact(json.loads(profile))
    for profile in (
        BUILD["profiles"]["alice"]["signedProfileStringified"],
        BUILD["profiles"]["bob"]["profileStringified"],
        json.dumps({**BUILD["deliveryService"]["profile"], "more": [1e21, 0.5]}),
        json.dumps(UserProfile(ALICES.encryption.public, ALICES.signing.public, ("DS.eth", "b.eth")).as_json()),
    )
)


@fuzzed("protocols.dm3.profile", "protocols.dm3.keys", "protocols.dm3.sealing", seeds=PROFILES, is_json=True)
def profiles(data: bytes) -> None:
    """A user's or a service's profile, or a refusal; published again in our form it is read as the same."""
    value = json_of(data)
    if not isinstance(value, TheirError):
        check_profiles(value)


def check_profiles(value: JsonValue) -> None:
    for read in (read_user_profile, read_service_profile):
        profile = outcome_of(lambda read=read: read(value), PROFILE_INVALID)  # type: ignore[misc]
        if isinstance(profile, UserProfile | ServiceProfile):
            stays(read, profile, profile.as_json())
            outcome_of(lambda profile=profile: profile_of_uri(data_uri(profile.as_json())), PROFILE_INVALID)  # type: ignore[misc]


ENVELOPES = (
    compact(SUBMITTED),
    *(compact(build["envelope"]["encryptedEnvelop"]) for build in DM3_BUILDS.values()),
    compact({"message": "m", "metadata": {"version": "1.0", "deliveryInformation": "d", "signature": "s"}, "x": 1e21}),
)
OF_ENVELOPES = (ENVELOPE_INVALID, ENCRYPTION_SCHEME_UNKNOWN)


@fuzzed(
    "protocols.dm3.envelope",
    "protocols.dm3.members",
    "protocols.dm3.dialect",
    seeds=ENVELOPES,
    is_json=True,
    max_bytes=LONG,
)
def dm3_envelope(data: bytes) -> None:
    """An envelope, or a refusal; it keeps its members; its signature and hashes hold, or are refused."""
    value = json_of(data)
    if isinstance(value, TheirError):
        return
    found = outcome_of(lambda: read_envelope(value), *OF_ENVELOPES)
    if not isinstance(found, Dm3Envelope):
        return
    stays(read_envelope, found, found.as_json())
    assert isinstance(value, dict)
    assert found.as_json() == value, "a member was lost or made up"
    submitted = read_submitted(value)
    assert submitted.postmark is None
    assert submitted.metadata == found.metadata
    assert len(message_hash(found)) == 64
    outcome_of(found.encode, ENVELOPE_INVALID)
    outcome_of(lambda: check_hashes(found), ENVELOPE_INVALID)
    for key in (ALICES.signing.public, SERVICES.signing.public):
        outcome_of(lambda key=key: check_envelope(found, key), SENDER_SIGNATURE_INVALID, *OF_ENVELOPES)  # type: ignore[misc]


MESSAGES = (
    compact(BUILD["message"]["message"]),
    *(
        sign_message(text, MessageMetadata("bob.eth", "alice.eth", NOW_MS, kind, reference), ALICES.signing).encode()
        for text, kind, reference in (
            ("Good morning ☀", "NEW", None), ("", "REPLY", "0xab"), (None, "READ_OPENED", None), ("+", "REACTION", "a"),
        )
    ),
)  # fmt: skip


@fuzzed("protocols.dm3.message", "protocols.dm3.members", "protocols.dm3.dialect", seeds=MESSAGES, is_json=True)
def dm3_message(data: bytes) -> None:
    """A message, or a refusal; it keeps its members; signed by us it is verified, with one flipped bit it is not."""
    value = json_of(data)
    if isinstance(value, TheirError):
        return
    found = outcome_of(lambda: read_message(value), MESSAGE_INVALID)
    if not isinstance(found, Dm3Message):
        return
    stays(read_message, found, found.as_json())
    assert found.as_json() == value, "a member was lost or made up"
    outcome_of(lambda: check_message(found, ALICES.signing.public), SENDER_SIGNATURE_INVALID)
    signed = sign_message(
        found.message, found.metadata, ALICES.signing, attachments=found.attachments, extra=found.extra
    )
    check_message(signed, ALICES.signing.public)
    broken = base64.b64encode(bit_flipped(base64.b64decode(signed.signature), place_in(data))).decode()
    forged = Dm3Message(found.message, found.metadata, broken, found.attachments, found.extra)
    answer = outcome_of(lambda: check_message(forged, ALICES.signing.public), SENDER_SIGNATURE_INVALID)
    assert isinstance(answer, TheirError), "a signature with a flipped bit is verified"


DELIVERIES = (
    compact({"to": "bob.eth", "from": "alice.eth"}),
    compact({"to": "bob.eth", "from": "alice.eth", "deliveryInstruction": "", "more": [1e20, 0.1, {"a": None}]}),
    b'{"to":"b","from":"a","n":' + b"[" * 60 + b"]" * 60 + b"}",
)


@fuzzed("protocols.dm3.envelope", "protocols.dm3.postmark", seeds=DELIVERIES, is_json=True)
def delivery_information(data: bytes) -> None:
    """Of what we certify to the receiver, the postmark is made, opened and read again, and fits its envelope alone."""
    value = json_of(data)
    if isinstance(value, TheirError):
        return
    found = outcome_of(lambda: read_delivery(value), ENVELOPE_INVALID)
    if not isinstance(found, DeliveryInformation):
        return
    assert found.as_json() == value, "a member was lost or made up"
    if isinstance(outcome_of(lambda: check_certifiable(found), ENVELOPE_INVALID), TheirError):
        return
    key = SERVICES.signing
    sealed = make_postmark(
        "m", found, NOW_MS, key, BOBS.encryption.public, ephemeral=ALICES.encryption, nonce=bytes(12)
    )
    postmark = read_postmark(open_sealed(sealed, [BOBS.encryption]))
    assert postmark.delivery is not None
    assert is_signed_by(postmark, key.public), "our own postmark is not verified"
    assert not is_signed_by(postmark, ALICES.signing.public)


ENVELOPE = read_envelope(SUBMITTED)
POSTMARKS = (
    *(compact(build["postmark"]["plain"]) for build in DM3_BUILDS.values()),
    open_sealed(
        make_postmark("m", DeliveryInformation("b.eth", "a.eth"), NOW_MS, SERVICES.signing, BOBS.encryption.public),
        [BOBS.encryption],
    ),
)  # fmt: skip


@fuzzed("protocols.dm3.postmark", "protocols.dm3.members", "protocols.dm3.dialect", seeds=POSTMARKS, is_json=True)
def postmarks(data: bytes) -> None:
    """A postmark, or a refusal; it keeps its members; its hash and signature hold, or do not."""
    found = outcome_of(lambda: read_postmark(data), POSTMARK_INVALID)
    if isinstance(found, Postmark):
        assert found.as_json() == json_of(data), "a member was lost or made up"
        assert isinstance(is_signed_by(found, SERVICES.signing.public), bool)
        outcome_of(lambda: check_postmark_hash(found, ENVELOPE), POSTMARK_INVALID)


EXTENSIONS = (
    compact(ProfileExtension().as_json()),
    compact({"notSupportedMessageTypes": ["NEW", "READ_OPENED"], "encryptionAlgorithm": ["x"]}),
    compact(
        {"spamFilterRules": {
            "minNonce": 1, "minBalance": "0xff", "allow": ["a.eth", "A.eth"], "block": ["c.eth"],
            "minTokenBalance": {"address": "0x" + "ab" * 20, "amount": "100000000000000000000"},
        }, "sizeLimit": 5, "messageTTL": 0}
    ),
    compact('{"supportedMessageTypes":["REPLY"]}'),
)  # fmt: skip


@fuzzed("protocols.dm3.extension", seeds=EXTENSIONS, is_json=True)
def profile_extensions(data: bytes) -> None:
    """A receiver's extension, or a refusal; written by us it is the same, and its rules decide on any sender."""
    value = json_of(data)
    if isinstance(value, TheirError):
        return
    outcome_of(lambda: read_size_limit(value), PROFILE_INVALID)
    found = outcome_of(lambda: read_extension(value), PROFILE_INVALID, NAME_INVALID)
    if isinstance(found, ProfileExtension):
        stays(read_extension, found, found.as_json())
        for verified in (True, False):
            outcome_of(
                lambda verified=verified: check_sender(found.rules, "alice.eth", verified=verified),  # type: ignore[misc]
                SENDER_NOT_WANTED,
            )  # fmt: skip


STORED = (
    compact(ALICES.as_json()),
    compact(ServiceKeys(SERVICES.signing, (SERVICES.encryption, BOBS.encryption)).as_json()),
)


@fuzzed("protocols.dm3.keys", "protocols.dm3.service", seeds=STORED, is_json=True)
def stored_keys(data: bytes) -> None:
    """Keys as a file or a secret holds them, or an error without the key in it; stored again they are the same."""
    value = json_of(data)
    if isinstance(value, TheirError):
        return
    readers: tuple[Callable[[Any], Any], ...] = (read_user_keys, read_service_keys)
    for read in readers:
        try:
            keys = read(value)
        except (ValueError, KeyError, TypeError):
            continue
        assert keys.encryption
        stays(read, keys, keys.as_json())


ENTRIES: tuple[Entry, ...] = (
    dm3_names, profile_uris, profile_documents, profiles, dm3_envelope, dm3_message, delivery_information, postmarks,
    profile_extensions, stored_keys,
)  # fmt: skip
