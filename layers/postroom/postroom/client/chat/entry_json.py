"""The JSON form of chat entries, for an index.

It holds what a message is, and the keys that were recovered from its signatures: these take longest to find, and never
change. All other rules are applied again whenever it is read.
"""

import orjson
from pybase64 import b64decode, b64encode_as_string

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import read_channel, write_channel
from postroom.client.chat.entries import ChatEntry, ReadEntry, payload_from_domain, payload_of
from postroom.client.chat.nlweb_carrier import OF_BODIES
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.core.typed_members import Members
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.stored import Tombstone, read_entry
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.verify import RecoveredKeys, recovered_keys


def write_read_entry(entry: ReadEntry) -> bytes:
    """An entry as JSON text."""
    if isinstance(entry, Tombstone):
        return entry.encode()
    value: dict[str, JsonValue] = {
        "hash": entry.message_hash,
        "hashes": list(entry.hashes),
        "from": entry.author,
        "sent": entry.sent_ms,
        "came": entry.came_ms,
        "type": str(entry.type),
        "reference": entry.reference,
        "carrier": entry.carrier,
        "text": entry.text,
    }
    if entry.carried is not None:
        value["carried"] = _carried_json(entry.carried)
    if entry.payload is not None:
        value["recovered"] = _recovered_json(recovered_keys(entry.payload))
    if entry.channel is not None:
        value["channel"] = write_channel(entry.channel)
    if entry.domain:
        value["domain"] = entry.domain
        value["correlation"] = entry.correlation
        if entry.carried is None and entry.error is not None:
            value["error"] = [str(entry.error.reason), entry.error.detail]
    return orjson.dumps(value)


def parse_read_entry(data: bytes, own: ChatKey) -> ReadEntry:
    """The entry in a JSON text. `own`: the owner's chat key.

    Raises ValueError, TypeError, LookupError, TheirError: it is none.
    """
    value = orjson.loads(data)
    members = Members(value, "an entry")
    if "tombstone" in members:
        return _tombstone(value)
    text, carrier = members.text("text"), ChatKey(members.text("carrier"))
    carried = _carried(members.inner("carried")) if "carried" in members else None
    recovered = _recovered(members.inner("recovered")) if "recovered" in members else None
    domain = members.text("domain") if "domain" in members else ""
    if domain:
        payload, error = payload_from_domain(carried, carrier=carrier, own=own, recovered=recovered)
    else:
        payload, error = payload_of(carried, text, carrier=carrier, own=own, recovered=recovered)
    return ChatEntry(
        members.text("hash"),
        tuple(members.any("hashes")),
        members.text("from"),
        members.whole("sent"),
        members.whole("came"),
        MessageType(members.text("type")),
        members.text("reference"),
        carrier,
        text,
        carried,
        payload,
        error or (_error(*members.texts("error", 2)) if "error" in members else None),
        read_channel(members.text("channel")) if "channel" in members else None,
        domain,
        members.text("correlation") if domain else "",
    )


def _error(code: str, detail: str) -> TheirError:
    return TheirError(OF_BODIES[code], detail)


def _tombstone(value: JsonValue) -> Tombstone:
    entry = read_entry(value)
    if not isinstance(entry, Tombstone):
        raise ValueError("the entry is no tombstone")  # noqa: TRY004 - one error for whatever it is
    return entry


def _carried_json(carried: CarriedWrapper) -> dict[str, JsonValue]:
    names: dict[str, JsonValue] = {str(key): name for key, name in carried.names.items()}
    return {"wrapper": b64encode_as_string(carried.wrapper), "type": carried.type, "names": names}


def _carried(members: Members) -> CarriedWrapper:
    names = {ChatKey(key): str(name) for key, name in members.mapping("names").items()}
    return CarriedWrapper(b64decode(members.text("wrapper"), validate=True), members.any("type"), names)


def _recovered_json(recovered: RecoveredKeys) -> dict[str, JsonValue]:
    # Most events of a group are by few authors.
    authors: dict[ChatKey, int] = {}
    events: list[JsonValue] = [authors.setdefault(author, len(authors)) for author in recovered.event_authors]
    return {"signer": recovered.signer, "id": recovered.id, "authors": [*authors], "events": events}


def _recovered(members: Members) -> RecoveredKeys:
    authors = [ChatKey(author) for author in members.any("authors")]
    return RecoveredKeys(
        members.any("signer"), MessageId(members.text("id")), tuple(authors[each] for each in members.any("events"))
    )
