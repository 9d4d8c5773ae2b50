"""A state machine for a mailbox: its owner sees each unacknowledged message exactly once, and no other.

There are two devices, each in a pass of its own; messages that arrive, also late and again; compaction, without Spark;
expiry; and changes of the deployment's keys. A model determines what must be seen.
"""

import json

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)
from tests.http.api_stack import NOW, SHOP, SHOP_KEY, ApiStack, Owner, said
from tests.http.compaction import compact

from postroom.storage.mail.ids import row_of
from postroom.storage.mail.segments import Line

DEVICES = st.sampled_from([0, 1])
LIMITS = st.integers(1, 4)


class Pass:
    """The pass of a device through the mailbox: its cursor, and the messages that it has seen."""

    def __init__(self, waited_at_start: set[str]) -> None:
        self.cursor = ""
        self.shown: list[str] = []
        self.waited_at_start = waited_at_start


class MailboxMachine(RuleBasedStateMachine):
    """`api`: a new one. `key_begins_after`: seconds until a new key of the deployment signs tokens."""

    filed = Bundle("filed")
    key_begins_after = 0

    def __init__(self, api: ApiStack) -> None:
        super().__init__()
        self.api = api
        self.steps = 0
        self.waiting: dict[str, str] = {}
        self.acknowledged: set[str] = set()
        self.passes: list[Pass | None] = [None, None]

    @initialize()
    def owners_sign_in(self) -> None:
        self.owners = [Owner(self.api), Owner(self.api)]

    # --- what comes in -----------------------------------------------------------------------------------------------
    @rule(target=filed, many=st.integers(1, 4), late=st.sampled_from([0, 30, 1000]))
    def deliver(self, many: int, late: int) -> MultipleResults[str]:
        """File a batch, whose messages may have been received a while before."""
        self.api.clock.now += 1
        texts = [json.dumps({"n": number, "at": self.api.clock.now}) for number in range(many)]
        made = self.api.file(*texts, at=self.api.clock.now - NOW - late)
        self.waiting |= dict(zip(made, texts, strict=True))
        return multiple(*made)

    @rule(message=filed)
    def redeliver(self, message: str) -> None:
        """Let another worker file the same claim, which has or had a row."""
        key = row_of(message, SHOP)
        assert key is not None
        before = self.api.register.find(key)
        assert before is not None
        [elsewhere] = self.api.put(self.api.new_segment(), [Line(key, "b.com", "another worker's line", {})], "b.com")
        assert elsewhere == before, "the row says what became of it, and stays"

    # --- what owners do ----------------------------------------------------------------------------------------------
    @rule(device=DEVICES, limit=LIMITS)
    def page(self, device: int, limit: int) -> None:
        """Read the next page of a device's pass; at its end, all messages that were there throughout must be seen."""
        going = self.passes[device] = self.passes[device] or Pass(set(self.waiting))
        page = self.owners[device].page(after=going.cursor, limit=limit)
        for message in page["messages"]:
            assert message["envelope"] == self.waiting[message["id"]], "what is shown waits, and is what came in"
            assert message["id"] not in going.shown, "once in a pass"
            going.shown.append(message["id"])
        going.cursor = page["cursor"]
        if not page["more"]:
            assert going.waited_at_start & set(self.waiting) <= set(going.shown), "nothing is skipped"
            assert going.shown == sorted(going.shown, key=_when), "oldest first"
            self.passes[device] = None

    @rule(device=DEVICES, message=filed)
    def fetch(self, device: int, message: str) -> None:
        reply = self.owners[device].ask("GET", f"/messages/{message}")
        if message in self.waiting:
            assert said(reply)["envelope"] == self.waiting[message]
        else:
            assert reply.status == 404

    @rule(device=DEVICES, messages=st.lists(filed, min_size=1, max_size=4))
    def acknowledge(self, device: int, messages: list[str]) -> None:
        """Acknowledge unread messages, or acknowledged ones again, with the same result."""
        done = self.owners[device].acknowledge(*messages)
        assert done == {"acknowledged": list(dict.fromkeys(messages)), "unknown": [], "again": []}
        for message in messages:
            self.waiting.pop(message, None)
            self.acknowledged.add(message)

    @rule(device=DEVICES)
    def begin_anew(self, device: int) -> None:
        self.passes[device] = None

    @rule(device=DEVICES)
    def sign_in_again(self, device: int) -> None:
        self.owners[device] = Owner(self.api, SHOP, SHOP_KEY)

    # --- what is done to the store -----------------------------------------------------------------------------------
    @rule(nights=st.integers(0, 2))
    def compact(self, nights: int) -> None:
        """Move unread messages to chunks, and delete unneeded objects."""
        compact(self.api, nights)

    @rule(message=consumes(filed))
    def expire(self, message: str) -> None:
        """Let an unread message expire, by the TTL of its row."""
        key = row_of(message, SHOP)
        row = self.api.register.find(key) if key else None
        if key and row and row.live:
            self.api.expire(key, self.api.clock.now - 1)
            del self.waiting[message]

    @rule()
    def rotate_keys(self) -> None:
        begins = int(self.api.clock.now) + self.key_begins_after
        self.api.token_keys.add("random " * 9, begins, drop_before=0)

    @rule(shards=st.integers(1, 4))
    def spread(self, shards: int) -> None:
        self.api.mailboxes.raise_shards(SHOP, shards)

    @invariant()
    def a_fresh_pass_shows_exactly_what_waits(self) -> None:
        if hasattr(self, "owners"):
            self.steps += 1
            self.api.clock.now += 5  # the rate limit of a mailbox is never reached
            shown = [message["id"] for message in self.owners[0].all_pages(limit=1 + self.steps % 3)]
            assert sorted(shown) == sorted(self.waiting)


def _when(message: str) -> tuple[str, str]:
    received_at, claim, _ = message.split("-")
    return received_at, claim
