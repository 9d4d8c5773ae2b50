"""Drafts of one chat message for its receivers: dm3 messages to names, and messages to NLWeb domains."""

from collections.abc import Iterable, Mapping

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import ChannelRecord, write_channel
from postroom.client.chat.dm3_carrier import dm3_type, encodings
from postroom.client.chat.nlweb_carrier import domain_at
from postroom.client.chat.plain_text import plain_text
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.dm3 import Dm3Draft
from postroom.protocols.status.messages import StatusMessage


def drafts_to_names(
    receivers: Iterable[str],
    message: StatusMessage,
    carried: CarriedWrapper,
    references: Mapping[str, str],
    channel: ChannelRecord | None = None,
) -> list[Dm3Draft]:
    """The dm3 messages that carry a message, one for each receiver that is a dm3 name.

    `references`: the hash of the dm3 message that it is about, by the receiver who got that one; empty: it is not
    known. `channel`: the record beside it.
    """
    text, uris = plain_text(message), encodings(carried)
    if channel is not None:
        uris = (*uris, write_channel(channel))
    drafts = []
    for receiver in receivers:
        if domain_at(receiver) is None:
            reference = references.get(receiver) or None
            type_ = dm3_type(message, has_reference=reference is not None)
            drafts.append(Dm3Draft(receiver, text, type_, reference, encodings=uris))
    return drafts


def drafts_to_domains(
    receivers: Iterable[str], carried: CarriedWrapper, at_ms: int, channel: ChannelRecord | None = None
) -> list[UnsentToDomain]:
    """The messages that carry a wrapper to those receivers that are domains. `channel`: the record beside it."""
    domains = [domain for receiver in receivers if (domain := domain_at(receiver)) is not None]
    return [UnsentToDomain(domain, carried, at_ms, channel=channel) for domain in domains]
