"""The use of httpx by both drivers: addresses, timeouts, errors."""

import json
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx

from postroom.client.mailbox.deadlines import CONNECT_SECONDS, TimedSocket
from postroom.client.mailbox.exchange import MailboxRequest, MailboxResponse, NoAnswer
from postroom.core.errors import OurError, SettingsError, TheirError
from postroom.protocols.nlweb.names import read_receiver

MAX_ANSWER_BYTES: Final = 12_000_000
"""More than API Gateway returns (10 MB), and enough to stop a host that never ends its answer."""

_FORM: Final = "it must be https:// and the mailbox's host, such as https://nlweb.receiver.example"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a mailbox. `host`: the name in its certificate; `named`: the host in requests, with its port.

    `reached_at`: where connections are made to.
    """

    host: str
    named: str
    reached_at: str

    def build(self, client: httpx.Client | httpx.AsyncClient, request: MailboxRequest, timeout: float) -> httpx.Request:
        """The request for httpx. `timeout`: seconds for each of its steps."""
        return client.build_request(
            request.method,
            f"https://{self.reached_at}{request.path}",
            params=request.query or None,
            headers={**request.headers, "Host": self.named, "Accept-Encoding": "identity"},
            content=request.body or None,
            # A request that waits for a message is answered late.
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS), read=timeout + request.wait),
            extensions={"sni_hostname": self.host},
        )

    def failed(self, error: httpx.RequestError) -> NoAnswer:
        """Why there is no answer."""
        if isinstance(error, httpx.TimeoutException):
            return NoAnswer(f"{self.host} did not answer in time.")
        cause: BaseException = error
        while below := cause.__cause__ or cause.__context__:
            cause = below
        if isinstance(cause, ssl.SSLCertVerificationError):
            return NoAnswer(
                f"The certificate of {self.host} is not accepted: {cause.verify_message.rstrip('.')}.", untrusted=True
            )
        return NoAnswer(f"No connection to {self.host}, or it was closed: {error or type(error).__name__}.")


def read_address(url: str, connect: tuple[str, int] | None) -> Address:
    """Read the address. `connect`: host or address, and port, to connect to instead. Raises SettingsError."""
    try:
        parts = urlsplit(url)
        host, port = read_receiver(parts.hostname or ""), parts.port
    except (ValueError, TheirError):
        raise SettingsError(f"the mailbox's URL is {url!r}; {_FORM}") from None
    if parts.scheme != "https" or "@" in parts.netloc or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise SettingsError(f"the mailbox's URL is {url!r}; {_FORM}")
    named = host if port in (None, 443) else f"{host}:{port}"
    return Address(host, named, f"{connect[0]}:{connect[1]}" if connect else named)


@dataclass(frozen=True, slots=True)
class HostRoute:
    """How a post office is reached: the certificate authorities (PEM) to trust, and where to connect to.

    None: the public authorities; the address of the host in DNS.
    """

    ca_file: str | os.PathLike[str] | None = None
    connect: tuple[str, int] | None = None


def choose_route(
    ca_file: str | os.PathLike[str] | None,
    connect: tuple[str, int] | None,
    local: str | os.PathLike[str] | None,
) -> HostRoute:
    """The route that the caller chose, or that to a local stack (its folder). Raises SettingsError."""
    if local is None:
        return HostRoute(ca_file, connect)
    file = Path(local) / "local.json"
    try:
        stack = json.loads(file.read_bytes())
        return HostRoute(ca_file or str(stack["ca_file"]), connect or ("127.0.0.1", int(stack["port"])))
    except FileNotFoundError:
        raise SettingsError(f"there is no {file}: `postroom up` starts a local stack and writes it") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise SettingsError(f"{file} does not describe a local stack; `postroom up` writes a new one") from None


def choose_tls(ca_file: str | os.PathLike[str] | None) -> ssl.SSLContext:
    """The trusted certificate authorities: those of a file (PEM), or those that httpx trusts. Raises OurError."""
    try:
        chosen = httpx.create_ssl_context() if ca_file is None else ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise OurError(f"ca_file {ca_file} has no certificates (PEM): {error.strerror or error}") from None
    chosen.sslsocket_class = TimedSocket
    return chosen


def received(answer: httpx.Response, body: bytes) -> MailboxResponse:
    """An answer as a value."""
    return MailboxResponse(answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, body)


def check_size(size: int) -> None:
    """Raises httpx.RemoteProtocolError for an answer that is too large."""
    if size > MAX_ANSWER_BYTES:
        raise httpx.RemoteProtocolError(f"more than {MAX_ANSWER_BYTES:,} bytes")
