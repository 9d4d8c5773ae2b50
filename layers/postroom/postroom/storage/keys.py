"""The key layout of tables and bucket. Pure: names in, names out.

| where | key | what |
|---|---|---|
| table `seen` | `n#` sha256(To, From, Correlation) | an NLWeb message: its home, or a synchronous reply |
| table `seen` | `d#` sha256(to, from, sha256(message)) | a dm3 message by a verified sender: its home |
| table `seen` | `u#` sha256(to, from, sha256(message)) | a dm3 message whose sender was not verified: its home |
| table `post` | `<mailbox>#<shard>` / `m#<received_at_ms, 13 digits>#<claim id>` | the register of a claim |
| table `post` | `<mailbox>#<shard>` / `!head` | where a pass through it may begin |
| table `directory` | `domain#<domain>` / `!` | a domain we serve |
| table `directory` | `domain#<domain>` / `subject#<pattern>` | what becomes of a subject |
| table `directory` | `mailbox#<mailbox>` / `!` | who may pick a mailbox's mail up, and its shard count |
| table `directory` | `held` / `<mailbox>` | that it is under legal hold; its own row says so, too |
| table `directory` | `wallet#<uuid>` / `!` | the public key of a wallet |
| table `directory` | `dm3#<name>` / `!` | a mailbox of the dm3 delivery service |
| table `directory` | `notify#<mailbox>` / `target#<slot>` | whom its owner wants to be told that something waits |
| table `directory` | `notify#<mailbox>` / `!turn` | when they were told last |
| table `limits` | `feedback#<sender>#<hour>` | Feedback sent and withheld |
| table `limits` | `feedback#buffer:<buffer>#<hour>` | Feedback sent to it, whosever it was about |
| table `limits` | `challenge#<id>` | that somebody signed in with it |
| table `limits` | `codes#<mailbox>#<day>` | codes that were sent to its targets |
| table `outbox` | `<mailbox>` / `token#<sha256 of the client's token>` | which message it stands for |
| table `outbox` | `<mailbox>` / `out#<correlation>` | what an owner sent, and what became of it |
| index `by-time` of `outbox` | `<mailbox>` / `<its Timestamp, 13 digits>#<correlation>` | the same, by time |
| queues of claims | message group: sha256(sender, source network), 32 digits of it | whom SQS weighs against others |
| courier's queue | message group: sha256(sender), 32 digits of it | whose Feedback SQS weighs against others' |
| courier's queue | message group: sha256("out", mailbox), 32 digits of it | whose messages, going out |
| courier's queue | message group: sha256("notify", mailbox), 32 digits of it | whose targets |
| bucket | `seg/<yyyy/mm/dd/hh>/<random>.jsonl` | the lines of one worker batch |
| bucket | `chk/<yyyy/mm/dd/hh>/<random>.jsonl` | lines that were still unread after a day, sorted |
| bucket | `quarantine/<name of an object>.json` | what was damaged in that object |
| bucket | `claim/<yyyy/mm/dd/hh>/<claim id>` | a claim too large for the queue |
| bucket | `reply/<yyyy/mm/dd/hh>/<random>` | a synchronous reply too large for its row |

The parts of a digest are length-prefixed: no two lists of parts share one text.
A mailbox has 1 shard unless its `mailbox#` row says more; the count is only ever raised, and a reader asks
every shard below it, so that rows written under a smaller count are always found.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address

ROW_PREFIX = "m#"
SEGMENTS, CHUNKS, QUARANTINE, CLAIMS, REPLIES = "seg/", "chk/", "quarantine/", "claim/", "reply/"
"""Of the names of objects."""
VERIFIED, UNVERIFIED = "d#", "u#"
"""Before the keys of dm3 messages in `seen`, by whether the sender was verified."""


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
        """The id of the claim whose register it is."""
        return self.sk.split("#")[2]

    @property
    def received_at_ms(self) -> int:
        """When the row's claim came in at the door, epoch milliseconds."""
        return int(self.sk.split("#")[1])


def shard_of(claim_id: str, shards: int) -> int:
    """The shard of a mailbox that a claim's row stands in."""
    return int.from_bytes(hashlib.sha256(claim_id.encode()).digest()[:8], "big") % shards


def partition(mailbox: str, shard: int) -> str:
    """The partition key of one shard of a mailbox."""
    return f"{mailbox}#{shard}"


def row_key(mailbox: str, shards: int, received_at_ms: int, claim_id: str) -> RowKey:
    """The register of a claim; minted at the door, so that every worker agrees on it."""
    return RowKey(partition(mailbox, shard_of(claim_id, shards)), f"{ROW_PREFIX}{received_at_ms:013d}#{claim_id}")


def seen_key_nlweb(receiver: str, sender: str, correlation: str) -> str:
    """Who an NLWeb message is: (To, From, Correlation), normalised (decision "Replay")."""
    return "n#" + _digest(receiver, sender, correlation)


def seen_key_dm3(receiver: str, sender: str, message_hash: str, *, verified: bool) -> str:
    """Who a dm3 message is: (to, from, SHA-256 of the message string), names normalised (decision "Duplicates").

    The sender belongs to the key, or a stranger's copy could suppress the original; copies whose sender is not
    verified have a key space of their own, for the same reason.
    """
    return (VERIFIED if verified else UNVERIFIED) + _digest(receiver, sender, message_hash)


def twin_of(seen_key: str) -> str:
    """The key of the same dm3 message with its sender verified, or not; an NLWeb message has no other."""
    return {VERIFIED: UNVERIFIED, UNVERIFIED: VERIFIED}.get(seen_key[:2], seen_key[:2]) + seen_key[2:]


def sender_group(sender: str, source: str) -> str:
    """Whose messages these are before anybody is proven: a name together with the network (IPv4 /24, IPv6 /48) it
    comes from, as 32 hex digits.

    Neither alone will do: by the name a forger could make its owner the loud one, by the network whoever shares it.
    """
    return _digest(sender, _network(source))[:32]


def told_group(sender: str) -> str:
    """Whom notices are about, as 32 hex digits: it is their host that the courier waits for, whoever wrote to us."""
    return _digest(sender)[:32]


def outgoing_group(mailbox: str) -> str:
    """Whose messages go out, as 32 hex digits: who sends many must delay neither others' nor our Feedback."""
    return _digest("out", mailbox)[:32]


def notify_group(mailbox: str) -> str:
    """Whose targets are told, as 32 hex digits: who chose slow ones must delay neither others' nor our Feedback."""
    return _digest("notify", mailbox)[:32]


def _network(source: str) -> str:
    try:
        address = ip_address(source)
    except ValueError:
        # Whatever a front door calls the other end: it is a part of a hash, and no message may fail for it.
        return source
    return address.packed[: 3 if address.version == 4 else 6].hex()


def conversation_shelf(mailbox: str, partner: str) -> str:
    """What stands for a conversation in objects where the partner's name must not: dm3 seals it."""
    return _digest(mailbox, partner)[:32]


def segment_name(at_ms: int, random_id: str) -> str:
    """A fresh segment; `random_id` is the writer's own and never used again."""
    return f"{SEGMENTS}{_hour(at_ms)}/{random_id}.jsonl"


def chunk_name(at_ms: int, random_id: str) -> str:
    """A fresh chunk, by when it is written; `random_id` is the writer's own and never used again."""
    return f"{CHUNKS}{_hour(at_ms)}/{random_id}.jsonl"


def hour_of(name: str) -> int:
    """The beginning of the hour that an object's name, or its prefix, tells of: epoch milliseconds.

    Raises ValueError for one of another form.
    """
    hour = datetime.strptime(name.partition("/")[2][:13], "%Y/%m/%d/%H").replace(tzinfo=UTC)
    return round(hour.timestamp() * 1000)


def quarantine_name(object_name: str) -> str:
    """Where it stands what was damaged in an object."""
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
