"""The demo's scenes of names that no operator has written down: found, with other keys, and with an account in use."""

from typing import Final

from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.demo.chain_names import CAROL, ERIN
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.names import ALICE, BOB, SERVICE
from postroom.demo.public_names import PublicNames, public_names
from postroom.demo.stack import DAN, DemoStack
from postroom.demo.submissions import Submissions, answer_of, evidence_of
from postroom.local.chain.hosts import IPFS_GATEWAY
from postroom.names.ipfs.car import read_blocks
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.reasons import SENDER_SIGNATURE_INVALID
from postroom.storage.directory.domains import Dm3Mailbox

NINA: Final = "nina.eth"
"""A newcomer, whose account has not made a transaction at first."""
_LEAST_BLOCKS: Final = 3


def strangers_write(demo: DemoStack, https: HttpsClient, say: Say) -> list[DemoRow]:
    """People whose names are in ENS or DNS write to Bob, and are verified."""
    with public_names(demo.stack) as public:
        found = public.profiles.service(SERVICE)
        expect(found == demo.names.service, f"the profile of {SERVICE} is found", found)
        url = _text(public, SERVICE, SERVICE_KEY).partition("?")[0]
        say(f"senders find {SERVICE} in ENS: its profile is at {url}, and has the hash that its text names")
        rows = [DemoRow("14", f"the profile of {SERVICE}", "under https:", "its document has the hash that ENS says")]
        submissions = Submissions(demo.receiver, https, public.profiles)
        for name, where, expected in (
            (CAROL, "behind a gateway", {"registry": "ens", "agreed": 2, "uri": "data"}),
            (DAN, "in DNS, at _dm3", {"registry": "dns", "dnssec": "secure", "uri": "data"}),
            (ERIN, f"in IPFS, in {_blocks(public, https)} blocks", {"registry": "ens", "agreed": 2, "uri": "ipfs"}),
        ):
            receipt = submissions.accepted(name, demo.names.keys_of(name)).line.receipt
            evidence = evidence_of(receipt)
            expect(expected.items() <= evidence.items(), f"{name} is found {where}", evidence)
            say(f"{name}, {where}, writes to {BOB}: filed, verified by {receipt['key_fingerprint']}")
            say(f"  found by {', '.join(f'{key} {value}' for key, value in evidence.items())}")
            rows.append(DemoRow("14", f"a message of {name}", "accepted", f"filed; the profile is {where}"))
    return rows


def newcomer_is_refused(demo: DemoStack, https: HttpsClient, say: Say) -> list[DemoRow]:
    """A mailbox wants senders whose account has made a transaction; the newcomer makes one after she was refused."""
    demo.chain_names.register(NINA, demo.names.keys_of(NINA))
    demo.receiver.operators.put_dm3_mailbox(Dm3Mailbox(ERIN, ProfileExtension(rules=FilterRules(min_nonce=1))))
    with public_names(demo.stack) as public:
        submissions = Submissions(demo.receiver, https, public.profiles)
        refused = submissions.refused(NINA, demo.names.keys_of(NINA), SENDER_NOT_WANTED, to=ERIN)
    say(f"{ERIN} wants senders whose account has made a transaction (minNonce 1); {NINA}: {answer_of(refused)}")
    demo.chain_names.make_transaction(NINA)
    say("she makes a transaction; for 30 s, she counts as somebody without one: she writes again in scene 20")
    return [DemoRow("9", "a newcomer without a transaction", answer_of(refused), "refused, nothing stored")]


def newcomer_is_let_in(demo: DemoStack, https: HttpsClient, say: Say) -> list[DemoRow]:
    """The newcomer has made a transaction."""
    with public_names(demo.stack) as public:
        submissions = Submissions(demo.receiver, https, public.profiles)
        submissions.accepted(NINA, demo.names.keys_of(NINA), to=ERIN, meanwhile=SENDER_NOT_WANTED)
    say(f"{NINA}, whose account has made a transaction now, writes to {ERIN}: filed")
    return [DemoRow("20", "the newcomer, after a transaction", "accepted", "filed")]


def keys_are_changed(demo: DemoStack, https: HttpsClient, say: Say) -> list[DemoRow]:
    """Alice changes her keys on chain while the old ones are cached."""
    old, new = demo.names.users[ALICE], UserKeys.random()
    demo.chain_names.change_keys(ALICE, new)
    say(f"{ALICE} puts the key {new.signing.public.fingerprint} on chain, and signs with it")
    submissions = Submissions(demo.receiver, https, demo.names.profiles)
    # A name is looked up on chain once in 30 s at most, whatever does not fit.
    submissions.accepted(ALICE, new, meanwhile=SENDER_SIGNATURE_INVALID)
    say("it is not the key that is cached, so she is looked up once more: filed, verified with the new key")
    refused = submissions.refused(ALICE, old, SENDER_SIGNATURE_INVALID)
    say(f"a message signed with the old key: {answer_of(refused)}")
    return [
        DemoRow("19", f"{ALICE}, with keys that she changed on chain", "accepted", "filed, after another look-up"),
        DemoRow("19", "a message signed with her old key", answer_of(refused), "refused, nothing stored"),
    ]


def _text(public: PublicNames, name: str, key: str = PROFILE_KEY) -> str:
    return public.registry.text(name, key).value or ""


def _blocks(public: PublicNames, https: HttpsClient) -> int:
    """The number of blocks of Erin's profile."""
    cid = _text(public, ERIN).removeprefix("ipfs://")
    blocks = len(read_blocks(https.get(f"{IPFS_GATEWAY}/ipfs/{cid}?format=car", "application/vnd.ipld.car").body))
    expect(blocks >= _LEAST_BLOCKS, f"the profile of {ERIN} has several blocks", blocks)
    return blocks
