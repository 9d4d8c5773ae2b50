"""What senders in ENS cost: requests to endpoints of the chain, and functions that wait for them. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.cost import counted
from postroom.cost.items import MONTH_SECONDS, Item, gb_seconds
from postroom.cost.prices import Prices

_POST_MS: Final = 200.0
"""Until the slower of two endpoints has answered. An estimate; gateways of names off chain are not included."""


@dataclass(frozen=True, slots=True)
class NameLoad:
    """The senders of a month's messages, if they are in ENS. `senders`: how many; 0: none is.

    `instances`: of the dm3 inbox, each of which keeps its own texts. `off_chain`: the share of senders whose texts a
    gateway has; `with_rules`: the share of messages to mailboxes with rules about accounts. `quorum`: endpoints that
    must agree.
    """

    senders: int = 0
    instances: int = 1
    off_chain: float = 0.0
    with_rules: float = 0.0
    quorum: int = counted.ENS_QUORUM


def name_items(load: NameLoad, messages: int, prices: Prices) -> Iterator[Item]:
    """The lines of the bill. What the provider of the endpoints takes is in none: their prices differ too much."""
    if not load.senders:
        return
    texts = look_ups(messages, load)
    # A verdict on an account is kept as long as a text, but is needed by a part of the messages only.
    accounts = look_ups(messages * load.with_rules, load)
    rounds = (texts + accounts) * load.off_chain
    posts = texts * counted.ENS_TEXT_POSTS + rounds * counted.ENS_ROUND_POSTS + accounts * counted.ENS_RULES_POSTS
    calls = texts * counted.ENS_TEXT_CALLS + rounds * counted.ENS_ROUND_CALLS + accounts * counted.ENS_RULES_CALLS
    yield Item("endpoints of ENS: posts", posts * load.quorum, "requests", None)
    yield Item("endpoints of ENS: calls in them", calls * load.quorum, "calls", None)
    seconds = gb_seconds(posts * _POST_MS, counted.MEMORY_MB)
    yield Item("Lambda: waiting for endpoints", seconds, "GB s", seconds * prices.lambda_per_gb_second)


def look_ups(messages: float, load: NameLoad) -> float:
    """How many of a month's messages find nothing that is kept, if they come at random, all senders alike."""
    kept = messages / (load.senders * load.instances) * counted.ENS_KEPT_SECONDS / MONTH_SECONDS
    return messages / (1 + kept)
