"""The key layout of tables and bucket. Pure: names in, names out.

| where | key | what |
|---|---|---|
| table `seen` | `n#` sha256(To, From, Correlation) | an NLWeb message: its home, or a synchronous reply |
| table `seen` | `d#` sha256(to, from, sha256(message)) | a dm3 message by a verified sender: its home |
| table `seen` | `u#` sha256(to, from, sha256(message)) | a dm3 message whose sender was not verified: its home |
| table `post` | `<mailbox>#<shard>` / `m#<received_at_ms, 13 digits>#<claim id>` | the register of a claim |
| table `post` | `<mailbox>#<shard>` / `!head` | where a pass through it may begin, and what it need not read |
| table `directory` | `domain#<domain>` / `!` | a domain we serve |
| table `directory` | `domain#<domain>` / `subject#<pattern>` | what is done with messages of a subject |
| table `directory` | `mailbox#<mailbox>` / `!` | the owner's keys, the settings, and the number of shards |
| table `directory` | `held` / `<mailbox>` | that it is under legal hold; its own row says so, too |
| table `directory` | `wallet#<uuid>` / `!` | the public key of a wallet |
| table `directory` | `dm3#<name>` / `!` | a mailbox of the dm3 delivery service |
| table `directory` | `notify#<mailbox>` / `target#<slot>` | a notification target |
| table `directory` | `notify#<mailbox>` / `session#<slot>` | a session of DCP that waits for mail |
| table `directory` | `notify#<mailbox>` / `!turn` | when the last notification was sent |
| table `limits` | `proven#<domain>` | that a key of this sender was proven, until its `ttl` |
| table `limits` | `zone#<zone>` | a zone of senders that was silent, and how many claims wait for it |
| table `limits` | `waiting` | how many claims wait for any zone |
| table `limits` | `feedback#<sender>#<hour>` | Feedback sent and withheld |
| table `limits` | `feedback#buffer:<buffer>#<hour>` | Feedback sent to a buffer, about any sender |
| table `limits` | `challenge#<id>` | that somebody signed in with it |
| table `limits` | `codes#<mailbox>#<day>` | codes that were sent to its targets |
| table `limits` | `lookups#<slot>` | a run of the inbox that looks a key up |
| table `limits` | `waits#<slot>` | a run of the mailbox API that waits for a message |
| table `outbox` | `<mailbox>` / `token#<sha256 of the client's token>` | the message of a token |
| table `outbox` | `<mailbox>` / `out#<correlation>` | a message of the owner, and its state |
| index `by-time` of `outbox` | `<mailbox>` / `<its Timestamp, 13 digits>#<correlation>` | the same, by time |
| index `by-correlation` of `outbox` | `out#<correlation>` / `<its receiver>` | the mailbox that sent it |
| queues of claims | message group: sha256(sender, source network), 32 digits of it | a sender in a network |
| queue of Feedback | message group: sha256(sender), 32 digits of it | Feedback about a sender |
| courier's queue | message group: sha256("out", mailbox), 32 digits of it | outgoing messages of a mailbox |
| courier's queue | message group: sha256("notify", mailbox), 32 digits of it | notifications of a mailbox |
| bucket | `seg/<yyyy/mm/dd/hh>/<random>.jsonl` | the lines of one worker batch |
| bucket | `chk/<yyyy/mm/dd/hh>/<random>.jsonl` | lines that were still unread after a day, sorted |
| bucket | `quarantine/<name of an object>.json` | the damaged parts of that object |
| bucket | `claim/<yyyy/mm/dd/hh>/<claim id>` | a claim too large for the queue |
| bucket | `reply/<yyyy/mm/dd/hh>/<random>` | a synchronous reply too large for its row |

The parts of a digest are length-prefixed: no two lists of parts share one text. A mailbox has 1 shard unless its
`mailbox#` row says more. The number is never lowered, and a reader reads all shards, so that rows written under a
smaller number are always found.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address

ROW_PREFIX = "m#"
SEGMENTS, CHUNKS, QUARANTINE, CLAIMS, REPLIES = "seg/", "chk/", "quarantine/", "claim/", "reply/"
"""Prefixes of the objects' names."""
VERIFIED, UNVERIFIED = "d#", "u#"
"""Prefixes of the keys of dm3 messages in `seen`, by whether the sender was verified."""


@dataclass(frozen=True, slots=True, order=True)
class RowKey:
    """The key of a register in table `post`."""

    pk: str
    sk: str

    @property
    def mailbox(self) -> str:
        """The mailbox the row belongs to."""
        return self.pk.rpartition("#")[0]

    @property
    def claim_id(self) -> str:
        """The id of the claim."""
        return self.sk.split("#")[2]

    @property
    def received_at_ms(self) -> int:
        """When the row's claim was received by the inbox, epoch milliseconds."""
        return arrival_of(self.sk)


def arrival_of(sk: str) -> int:
    """When the claim of a row of table `post` was received, epoch milliseconds."""
    return int(sk.split("#")[1])


def shard_of(claim_id: str, shards: int) -> int:
    """The shard of a mailbox with a claim's row."""
    return int.from_bytes(hashlib.sha256(claim_id.encode()).digest()[:8], "big") % shards


def partition(mailbox: str, shard: int) -> str:
    """The partition key of one shard of a mailbox."""
    return f"{mailbox}#{shard}"


def row_key(mailbox: str, shards: int, received_at_ms: int, claim_id: str) -> RowKey:
    """The register of a claim. The inbox makes the key, so that all workers agree on it."""
    return RowKey(partition(mailbox, shard_of(claim_id, shards)), f"{ROW_PREFIX}{received_at_ms:013d}#{claim_id}")


def seen_key_nlweb(receiver: str, sender: str, correlation: str) -> str:
    """The identity of an NLWeb message: (To, From, Correlation), normalised (decision "Replay")."""
    return "n#" + _digest(receiver, sender, correlation.lower())


def seen_key_dm3(receiver: str, sender: str, message_hash: str, *, verified: bool) -> str:
    """The identity of a dm3 message: (to, from, SHA-256 of the message string), names normalised (decision
    "Duplicates").

    The sender is part of the key, otherwise a stranger's copy could suppress the original. Copies whose sender is not
    verified have a key space of their own, for the same reason.
    """
    return (VERIFIED if verified else UNVERIFIED) + _digest(receiver, sender, message_hash)


def twin_of(seen_key: str) -> str:
    """The key of the same dm3 message with its sender verified, or not; None for an NLWeb message."""
    return {VERIFIED: UNVERIFIED, UNVERIFIED: VERIFIED}.get(seen_key[:2], seen_key[:2]) + seen_key[2:]


def sender_group(sender: str, source: str) -> str:
    """The message group of an unverified sender: its name and the network (IPv4 /24, IPv6 /48), as 32 hex digits.

    One alone is not enough: with the name, a forger could put its owner into a busy group; with the network, everyone
    in it would share a group.
    """
    return _digest(sender, _network(source))[:32]


def feedback_group(sender: str) -> str:
    """The message group of Feedback about a sender, as 32 hex digits: the courier waits for that sender's host."""
    return _digest(sender)[:32]


def outgoing_group(mailbox: str) -> str:
    """The message group of a mailbox's outgoing messages, as 32 hex digits.

    An owner who sends many must delay neither others' messages nor our Feedback.
    """
    return _digest("out", mailbox)[:32]


def notify_group(mailbox: str) -> str:
    """The message group of a mailbox's notifications, as 32 hex digits.

    An owner with slow targets must delay neither others' notifications nor our Feedback.
    """
    return _digest("notify", mailbox)[:32]


def _network(source: str) -> str:
    try:
        address = ip_address(source)
    except ValueError:
        # Whatever the front end gives as the source: it is part of a hash, and no message may fail because of it.
        return source
    return address.packed[: 3 if address.version == 4 else 6].hex()


def conversation_alias(mailbox: str, partner: str) -> str:
    """The conversation's name in objects, if the partner's name must not be in them, as for dm3, which encrypts it."""
    return _digest(mailbox, partner)[:32]


def segment_name(at_ms: int, random_id: str) -> str:
    """The name of a new segment; `random_id` is chosen by the writer and never used again."""
    return f"{SEGMENTS}{_hour(at_ms)}/{random_id}.jsonl"


def chunk_name(at_ms: int, random_id: str) -> str:
    """The name of a new chunk, by when it is written; `random_id` is chosen by the writer and never used again."""
    return f"{CHUNKS}{_hour(at_ms)}/{random_id}.jsonl"


def hour_of(name: str) -> int:
    """The beginning of the hour in an object's name, or in its prefix: epoch milliseconds.

    Raises ValueError for any other form.
    """
    hour = datetime.strptime(name.partition("/")[2][:13], "%Y/%m/%d/%H").replace(tzinfo=UTC)
    return round(hour.timestamp() * 1000)


def quarantine_name(object_name: str) -> str:
    """The name of the object with the damaged parts of an object."""
    return f"{QUARANTINE}{object_name}.json"


def claim_name(received_at_ms: int, claim_id: str) -> str:
    """The object of a claim too large for the queue."""
    return f"{CLAIMS}{_hour(received_at_ms)}/{claim_id}"


def reply_name(at_ms: int, random_id: str) -> str:
    """The object of a synchronous reply too large for its row."""
    return f"{REPLIES}{_hour(at_ms)}/{random_id}"


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(4, "big") + data)
    return digest.hexdigest()


def _hour(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, tz=UTC):%Y/%m/%d/%H}"
