"""The messages of DCP between peers and the mailbox API, as the peers know them when the function has died."""

import json
import os
import tempfile
from dataclasses import dataclass
from typing import Any

from tests.faults.clock import CLOCK
from tests.faults.stack import FaultStack
from tests.functions.samples import RECEIVER, dcp_event, dcp_socket_event

from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.storage.directory.mailboxes import OWN_ROW, PREFIX

Json = dict[str, Any]
_OK = 200


class UnansweredError(Exception):
    """A message got no signed answer."""


@dataclass(frozen=True)
class Exchange:
    """A message, and what was answered. `sent`, `answered`: their places in the order of all that was said.

    `status`: of the response; 0: none came. `answer`: the signed one; None: none came.
    """

    sent: int
    message: bytes
    answered: int = 0
    status: int = 0
    answer: Json | None = None

    @property
    def body(self) -> Json:
        """What the message says."""
        body: Json = json.loads(self.message)["body"]
        return body


class Wire:
    """Posts messages of peers (`tests.protocols.dcp.guarded.Peer`), and notes what was said.

    A file has the notes, which the processes of one run share. `guardian`: who signed the last answer.
    """

    guardian: Address

    def __init__(self, stack: FaultStack, *, over_socket: bool = False) -> None:
        self.stack = stack
        self._event = dcp_socket_event if over_socket else dcp_event
        self._notes = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as this is

    def answer(self, data: bytes, _now: float = 0) -> Json:
        """The body of the answer. Raises UnansweredError. The function has its own clock."""
        forget_when_signed_out(self.stack)
        sent = self._note({"message": data.decode()})
        response = self.stack.call("DcpFunction", self._event(data, int(CLOCK())))
        # Over a WebSocket, a refusal has its status in the body alone.
        status = json.loads(response["body"]).get("status", response["statusCode"])
        if status != _OK:
            self._note({"to": sent, "status": status})
            raise UnansweredError
        signed = read_signed_message(response["body"].encode())
        self.guardian = signed.owner
        answer = dict(signed.body)
        self._note({"to": sent, "status": _OK, "answer": answer})
        return answer

    def exchanges(self) -> list[Exchange]:
        """All messages so far, in order."""
        self._notes.seek(0)
        said = [json.loads(line) for line in self._notes.read().splitlines()]
        answers = {note["to"]: (place, note) for place, note in enumerate(said) if "to" in note}
        found = []
        for place, note in enumerate(said):
            if "message" in note:
                answered, answer = answers.get(place, (0, {"status": 0}))
                found.append(
                    Exchange(place, note["message"].encode(), answered, answer["status"], answer.get("answer"))
                )
        return found

    def _note(self, note: Json) -> int:
        """The place of the note."""
        self._notes.seek(0)
        place = self._notes.read().count(b"\n")
        self._notes.seek(0, os.SEEK_END)
        self._notes.write(json.dumps(note).encode() + b"\n")
        return int(place)


def sign_outs(stack: FaultStack) -> int:
    """How often the mailbox was signed out: each payload that says so adds one."""
    return stack.deployed.storage.mailboxes.sign_outs(RECEIVER)


def forget_when_signed_out(stack: FaultStack, *more: str) -> None:
    """Remove the time of the last sign-out from the mailbox: it revokes every payload from before, and so would hide
    that one counts again. `more`: other attributes to remove.
    """
    stack.deployed.clients.dynamodb.update_item(
        TableName=stack.deployed.tables["DirectoryTable"],
        Key={"pk": {"S": PREFIX + RECEIVER}, "sk": {"S": OWN_ROW}},
        UpdateExpression=f"REMOVE {', '.join(('signed_out_at', *more))}",
    )
