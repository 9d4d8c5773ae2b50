"""Valid messages for seeds, signed with the published keys of the sample events: the same bytes in every run."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.functions.samples import (
    ALICE,
    BOB,
    CORRELATION,
    MADE_AT,
    RECEIVER,
    SELECTOR,
    SENDER,
    SERVICE,
    dm3_submit,
    published_key,
    user_keys,
)

from postroom.core.ijson import JsonValue
from postroom.protocols.nlweb.schema import POLLYWEB
from postroom.protocols.nlweb.sign import Draft, sign

TESTS = Path(__file__).parent.parent
VECTORS = TESTS / "vectors"
EVENTS = TESTS.parent / "events"

NOW = float(MADE_AT)
NOW_MS = MADE_AT * 1000
KEY = published_key()
ALICES, BOBS, SERVICES = user_keys(ALICE), user_keys(BOB), user_keys(SERVICE)
WALLET = "5f0d8f9e-0000-4000-8000-0000000000aa"


def compact(value: JsonValue) -> bytes:
    """As most senders write JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def signed(body: JsonValue, subject: str = "Hello@Host", **changes: Any) -> dict[str, JsonValue]:
    """A signed message to RECEIVER."""
    draft: dict[str, Any] = {
        "sender": SENDER, "receiver": RECEIVER, "subject": subject, "correlation": CORRELATION.format(1),
        "timestamp_ms": NOW_MS, "body": body, "selector": SELECTOR,
    }  # fmt: skip
    return sign(Draft(**(draft | changes)), KEY)


SIGNED = (
    signed({"Text": "Good morning ☀", "Price": 12.5}),
    signed(None, has_body=False),
    signed([1, True, None, 1e21], dialect=POLLYWEB),
    signed("by a wallet", sender=WALLET, selector=None),
    signed({"Domain": RECEIVER}, "Identity@Graph"),
    signed({"Sender": RECEIVER, "Correlation": CORRELATION.format(2), "Code": "TooLate"}, "Feedback@Buffer"),
    signed({"Sender": RECEIVER, "Count": 3}, "Feedback@Buffer", receiver="BÜCHER.example."),
)
ENVELOPES = (*map(compact, SIGNED), json.dumps(SIGNED[0]).encode())

CALL: Any = dm3_submit(MADE_AT, "Good morning, Bob ☀")
SUBMITTED: dict[str, Any] = CALL["params"][0]

NLWEB_VECTORS: list[dict[str, str]] = json.loads((VECTORS / "nlweb-2023.json").read_bytes())
RSA_SPKI = base64.b64decode(NLWEB_VECTORS[0]["public_key_spki_b64"])
"""An RSA key of 2048 bits that somebody published."""

DM3_BUILDS: dict[str, dict[str, Any]] = json.loads((VECTORS / "dm3.json").read_bytes())["variants"]
"""What two builds of the reference made."""
