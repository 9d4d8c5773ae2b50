"""The unmodified `pollyweb` client, run as a `guest`; it is never imported here."""

import json
from pathlib import Path
from typing import NamedTuple

from postroom.core.errors import OurError
from postroom.core.ijson import JsonValue
from postroom.local.guest import run_guest

# The domain signs with Ed25519, which always gives the same signature: `sign` shows what `send` posts.
_PROGRAM = """
import json, sys, urllib.error
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pollyweb import Domain, KeyPair, Msg

asked = json.load(sys.stdin)
domain = Domain(asked["sender"], KeyPair=KeyPair(load_pem_private_key(asked["key"].encode(), None)))
message = Msg(asked["receiver"], asked["subject"], Body=asked["body"])
told = {"envelope": domain.sign(message).to_dict()}
try:
    told |= {"status": 200, "answer": domain.send(message)}
except urllib.error.HTTPError as error:
    told |= {"status": error.code, "answer": json.load(error)}
json.dump(told, sys.stdout)
"""


class PollywebExchange(NamedTuple):
    """The envelope posted, the HTTP status (the client reports 200 for every success), the JSON answer."""

    envelope: dict[str, JsonValue]
    status: int
    answer: dict[str, JsonValue]


def send(
    *,
    sender: str,
    key_pem: bytes,
    receiver: str,
    subject: str,
    body: JsonValue,
    dns_address: str,
    https_port: int,
    ca: Path,
) -> PollywebExchange:
    """Let the client sign and send one message from the domain `sender`, including its own look-ups.

    `key_pem`: PKCS#8, Ed25519, whose public key is published at `pw1._domainkey.pw.<sender>` (the client numbers the
    selectors pw1, pw2, … itself). `body`: a JSON object or a string. `dns_address`, `https_port`, `ca`: of a running
    stack. Raises OurError with the client's own message if it gets no answer.
    """
    request = {"sender": sender, "key": key_pem.decode(), "receiver": receiver, "subject": subject, "body": body}
    ran = run_guest(_PROGRAM, dns_address=dns_address, https_port=https_port, ca=ca, stdin=json.dumps(request))
    if ran.returncode != 0:
        raise OurError(f"pollyweb did not send: {ran.stderr.strip().rpartition(chr(10))[2]}")
    return PollywebExchange(**json.loads(ran.stdout))
