"""The reference libraries themselves: that they are those of the known answers, and work with each other here."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.peers.answering import EndedError, RefusedError
from tests.peers.dm3.reference import HERE, PROGRAM
from tests.peers.node import Reference

KNOWN = json.loads((HERE.parents[1] / "vectors" / "dm3.json").read_bytes())["variants"]["npm-1.7.1"]
PRIMITIVES = KNOWN["primitives"]
ALICE, BOB, SERVICE = KNOWN["profiles"]["alice"], KNOWN["profiles"]["bob"], KNOWN["deliveryService"]
BOBS_PROFILE = json.loads(BOB["profileStringified"])
REGISTRY = {
    person["ensName"]: {"address": person["address"], "texts": {"network.dm3.profile": person["dataUri"]}}
    for person in (ALICE, BOB)
} | {SERVICE["ensName"]: {"address": None, "texts": {"network.dm3.deliveryService": SERVICE["dataUri"]}}}


# --- what it computes is what the known answers say --------------------------------------------------------


@pytest.mark.parametrize("person", [ALICE, BOB], ids=["alice", "bob"])
def test_a_wallet_makes_the_known_keys_and_profile(reference: Reference, person: dict[str, Any]) -> None:
    made = reference.call("wallet.createProfile", person["walletPrivateKey"], [SERVICE["ensName"]])
    assert made["keys"]["encryptionKeyPair"] == person["encryptionKeyPair"]
    assert made["keys"]["signingKeyPair"] == person["signingKeyPair"]
    assert made["signedProfile"] == json.loads(person["signedProfileStringified"])
    assert made["nonce"] == KNOWN["profiles"]["defaultNonce"]


def test_a_seed_makes_the_known_keys(reference: Reference) -> None:
    exchange, signature = PRIMITIVES["keyExchange"], PRIMITIVES["signature"]
    assert reference.call("crypto.createKeyPair", exchange["seedA"]) == exchange["A"]
    assert reference.call("crypto.createSigningKeyPair", signature["seed"]) == signature["keyPair"]


def test_a_signature_is_the_known_one(reference: Reference) -> None:
    known = PRIMITIVES["signature"]
    assert reference.call("crypto.sign", known["keyPair"]["privateKey"], known["message"]) == known["signature"]


def test_the_known_sealed_value_opens(reference: Reference) -> None:
    known = PRIMITIVES["asymmetric"]
    opened = reference.call("crypto.decryptAsymmetric", known["recipient"], known["payload"])
    assert opened == known["plaintext"]


# --- one of its clients, its delivery service, another client ----------------------------------------------


def test_it_opens_what_it_sealed(reference: Reference) -> None:
    sealed = reference.call("crypto.encryptAsymmetric", BOB["encryptionKeyPair"]["publicKey"], "grüße 👋")
    assert reference.call("crypto.decryptAsymmetric", BOB["encryptionKeyPair"], sealed) == "grüße 👋"


def new_message(reference: Reference) -> Any:
    return reference.call(
        "messaging.createMessage", "bob.eth", "alice.eth", "Hello Bob", ALICE["signingKeyPair"]["privateKey"]
    )


def test_its_client_looks_profiles_up_and_its_service_and_the_other_client_open_the_envelope(
    reference: Reference,
) -> None:
    message = new_message(reference)
    sent = reference.call("client.createEnvelop", message, keys_of(ALICE), REGISTRY)
    assert sent["deliveryServiceUrl"] == SERVICE["profile"]["url"]

    handled = reference.call("delivery.handleIncomingMessage", sent["encryptedEnvelop"], SERVICE["keys"], BOBS_PROFILE)
    assert handled["decryptedDeliveryInformation"] == {"to": "bob.eth", "from": "alice.eth"}

    opened = reference.call("messaging.decryptEnvelop", handled["encryptedEnvelop"], BOB["encryptionKeyPair"])
    assert opened["message"] == message
    assert set(opened["postmark"]) == {"messageHash", "incommingTimestamp", "signature"}
    alices_key = ALICE["signingKeyPair"]["publicKey"]
    assert reference.call("messaging.checkMessageSignature", opened["message"], alices_key, "alice.eth") is True


def test_its_client_takes_profiles_as_given_too(reference: Reference) -> None:
    dependencies = {
        "from": {"ensName": "alice.eth"},
        "to": {"ensName": "bob.eth", "profile": BOBS_PROFILE},
        "deliverServiceProfile": SERVICE["profile"],
        "keys": keys_of(ALICE),
    }
    sent = reference.call("client.buildEnvelop", new_message(reference), dependencies)
    metadata = sent["encryptedEnvelop"]["metadata"]
    unsigned = {name: value for name, value in metadata.items() if name != "signature"}
    signed_text = reference.call("shared.stringify", unsigned)
    alices_key = ALICE["signingKeyPair"]["publicKey"]
    assert reference.call("crypto.checkSignature", alices_key, signed_text, metadata["signature"]) is True


def keys_of(person: dict[str, Any]) -> dict[str, Any]:
    return {name: person[name] for name in ("encryptionKeyPair", "signingKeyPair")}


# --- the harness says what happened ------------------------------------------------------------------------


def test_an_error_of_the_reference_is_raised_and_the_next_call_works(reference: Reference) -> None:
    sealed = reference.call("crypto.encryptAsymmetric", BOB["encryptionKeyPair"]["publicKey"], "for Bob")
    with pytest.raises(RefusedError, match="cannot be decrypted"):
        reference.call("crypto.decryptAsymmetric", ALICE["encryptionKeyPair"], sealed)
    assert reference.call("crypto.decryptAsymmetric", BOB["encryptionKeyPair"], sealed) == "for Bob"


def test_an_unknown_function_is_an_error(reference: Reference) -> None:
    with pytest.raises(RefusedError, match="no function"):
        reference.call("messaging.schema")


@pytest.mark.usefixtures("reference")
def test_a_process_that_ends_is_reported_with_its_output(tmp_path: Path) -> None:
    with Reference(tmp_path, PROGRAM) as without_packages:
        for _ in range(2):
            with pytest.raises(EndedError, match="Cannot find module 'safe-stable-stringify'"):
                without_packages.call("json.stringify", "1")
