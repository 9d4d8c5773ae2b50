"""Messages of the model of DCP as real ones: signed, sent over HTTPS or a WebSocket, and their answers read."""

import socket
import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
from tests.burst import function_processes
from tests.end_to_end.dcp_model import Answer, Message, Payload, Result
from tests.patience import PATIENCE
from websockets.sync.client import ClientConnection, connect

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.demo.deployment import until
from postroom.demo.stack import RECEIVER, DemoStack
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.signed_message import read_signed_message, sign_body
from postroom.protocols.dm3.keys import PrivateSigningKey

HOST = f"nlweb.{RECEIVER}"
FUNCTION = "DcpFunction"
BUSY_SECONDS = 2
"""How long who lists messages waits for some."""
KEYS = {name: EthereumKey.generate() for name in ("bob", "wes", "jack", "ann")}


def mailbox_key(name: str) -> str:
    """The public key of somebody, as a mailbox has it."""
    return public_key(KEYS[name])


def public_key(key: EthereumKey) -> str:
    """The public key of a key, as a mailbox has it."""
    return PrivateSigningKey.decode(f"secp256k1:{b64encode(key.secret).decode()}").public.encode()


class Guardian:
    """The guardian of the demo's receiver; a context manager."""

    def __init__(self, demo_stack: DemoStack) -> None:
        self._stack, self._receiver = demo_stack.stack, demo_stack.receiver
        self._trusted = self._stack.authority.client_context()
        self._undo = ExitStack()
        self._https = self._undo.enter_context(
            httpx.Client(
                base_url=f"https://127.0.0.1:{self._stack.edge.port}", headers={"host": HOST}, verify=self._trusted,
                trust_env=False, timeout=PATIENCE,
            )
        )  # fmt: skip
        described = self._https.get("/dcp", extensions={"sni_hostname": HOST}).json()
        self.address, self._socket_url = described["identity"].removeprefix("0x"), described["socket"]

    def __enter__(self) -> "Guardian":
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def connect(self, name: str, half: str) -> tuple[str, str]:
        """The id of a new session of somebody, and its first nonce."""
        payload = new_payload("connect", {"version": "4.0.0", "sid": half})
        body = {**request_body(NewRequest(payload), payload, "connect", hex_prefix=False), "nonce": None}
        answer = self._read(self.post(sign_body(body, KEYS[name])))
        assert answer["payload"] == {"version": "4.0.0"}
        return answer["dcpsid"], answer["nonce"]

    def send(self, message: Message, *, over_socket: bool = False) -> Answer:
        """The answer to a message."""
        data, sent_at = self._signed(message), time.time()
        answer = self._read(self._over_socket(data) if over_socket else self.post(data))
        return Answer(answer["nonce"], _results(message, answer), sent_at, time.time())

    def post(self, data: bytes) -> bytes:
        """The answer to a message as it is sent."""
        answer = self._https.post("/dcp", content=data, extensions={"sni_hostname": HOST}, headers=_JSON)
        assert answer.status_code == 200, answer.text
        return answer.content

    def send_while_instances_end(self, message: Message) -> None:
        """Send a message that may be answered or not."""
        self._https.post("/dcp", content=self._signed(message), extensions={"sni_hostname": HOST}, headers=_JSON)

    def instances(self) -> set[int]:
        """The processes of the function."""
        [function] = [each.physical for each in self._receiver.deployment.resources if each.logical == FUNCTION]
        return {pid for pid, name in function_processes(psutil.Process()).items() if name == function}

    def held(self) -> set[str]:
        """The runs that wait for messages."""
        deployment = self._receiver.deployment
        rows = deployment.client("dynamodb").scan(TableName=deployment.outputs["LimitsTable"], ConsistentRead=True)
        return {row["holder"]["S"] for row in rows["Items"] if row["pk"]["S"].startswith("dcp-waits#")}

    def end_instances(self, pids: set[int] | None = None) -> None:
        """End these processes of the function, or all: then, the next message starts another one."""
        processes = [psutil.Process(pid) for pid in (self.instances() if pids is None else pids)]
        for process in processes:
            process.kill()
        until("they have ended", lambda: all(map(_has_ended, processes)) or None)

    def _signed(self, message: Message) -> bytes:
        bodies: list[JsonValue] = [self._request(name, payload) for name, payload in message.requests]
        if message.batched:
            bodies = [{"type": "request-batch", "id": _batch_id(message), "payload": bodies}]
        [body] = bodies
        assert isinstance(body, dict)
        return sign_body({**body, "dcpsid": message.dcpsid, "nonce": message.nonce}, KEYS[message.sender])

    def _request(self, name: str, payload: Payload) -> dict[str, JsonValue]:
        keys = (KEYS[payload.signer],) if payload.signer else ()
        accessor = KEYS[payload.accessor].address
        members = new_payload(
            payload.operation, _data(payload), validity=_validity(payload),
            allow=[Allowance(key.address, self.address, accessor) for key in keys],
        )  # fmt: skip
        return request_body(NewRequest(members, keys), members, name, hex_prefix=False)

    def _over_socket(self, data: bytes) -> bytes:
        self._socket.send(data.decode())
        return self._socket.recv(decode=False)

    @cached_property
    def _socket(self) -> ClientConnection:
        url, port = urlsplit(self._socket_url), self._stack.edge.port
        return self._undo.enter_context(
            connect(
                url._replace(netloc=f"{url.hostname}:{port}").geturl(), ssl=self._trusted,
                sock=socket.create_connection(("127.0.0.1", port)), open_timeout=PATIENCE, ping_interval=None,
            )
        )  # fmt: skip

    def _read(self, data: bytes) -> Mapping[str, Any]:
        answer = read_signed_message(data)
        assert answer.owner == self.address
        return answer.body


_JSON = {"content-type": "application/json"}
_ARGUMENTS: dict[str, dict[str, JsonValue]] = {
    "add_part": {"body": "AA=="},
    "messages": {"query": {"wait": BUSY_SECONDS}},
}


def _data(payload: Payload) -> JsonValue:
    if not payload.mailbox:
        return None
    if payload.revokes is not None:
        return {"mailbox": payload.mailbox, "body": _validity(payload.revokes)}
    return {"mailbox": payload.mailbox, **_ARGUMENTS.get(payload.operation, {})}


def _validity(payload: Payload) -> dict[str, JsonValue]:
    return {"time": payload.time, "stamp": payload.stamp, "ttl": payload.ttl}


def _batch_id(message: Message) -> str:
    return f"batch of {message.requests[0][0]}"


def _results(message: Message, answer: Mapping[str, Any]) -> tuple[Result, ...]:
    names = [name for name, _ in message.requests]
    if not message.batched:
        responses = [answer]
    elif answer["nonce"] is None:
        responses, names = [answer], [_batch_id(message)]
    else:
        acknowledged, *responses = answer["payload"]
        assert (acknowledged["id"], acknowledged["success"]) == (_batch_id(message), True)
    assert [each["id"] for each in responses] == names
    return tuple(map(_result, responses))


def _result(response: Mapping[str, Any]) -> Result:
    payload = response.get("payload") or {}
    if not response["success"]:
        return Result(payload["code"])
    at = payload.get("body", {}).get("signed_out_at")
    return Result("", int(datetime.fromisoformat(at).timestamp()) if at else None)


def _has_ended(process: psutil.Process) -> bool:
    """Whether who started it can see that it has ended: none of its threads is left."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
    except psutil.NoSuchProcess:
        return True
