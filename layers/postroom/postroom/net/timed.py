"""Network streams with one deadline for all their steps, and requests sent in one piece where they are short.

The time-outs of httpcore are for one step each, and it sends the head and the body of a request in a step each.
"""

import ssl
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import httpcore

_WRITE_BYTES: Final = 16_384


class TimedStream(httpcore.NetworkStream):
    """A stream with a total time limit, `seconds_left`; when it is over, it raises httpcore.TimeoutException.

    `most_for_tls`: the seconds that a handshake may take.
    """

    def __init__(
        self, stream: httpcore.NetworkStream, seconds_left: Callable[[], float], most_for_tls: float = float("inf")
    ) -> None:
        self._stream = stream
        self._seconds_left = seconds_left
        self._most_for_tls = most_for_tls
        self._unsent = bytearray()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the deadline rules
        """Send what was written, and read bytes, as soon as there are some."""
        if self._unsent:
            # Whoever does not want the rest of a request may have answered before it ended.
            with suppress(httpcore.WriteError):
                self._send()
        return self._stream.read(max_bytes, self._seconds_left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Send `buffer` in pieces; what is shorter than one, when something is to be read."""
        for start in range(0, len(buffer), _WRITE_BYTES):
            self._unsent += buffer[start : start + _WRITE_BYTES]
            if len(self._unsent) >= _WRITE_BYTES:
                self._send()

    def _send(self) -> None:
        unsent, self._unsent = bytes(self._unsent), bytearray()
        self._stream.write(unsent, self._seconds_left())

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """The stream in TLS, with the same deadline. Closes it if that fails, because httpcore would not."""
        try:
            seconds = min(self._most_for_tls, self._seconds_left())
            secured = self._stream.start_tls(ssl_context, server_hostname, seconds)
        except BaseException:
            self.close()
            raise
        return TimedStream(secured, self._seconds_left, self._most_for_tls)

    def get_extra_info(self, info: str) -> object:
        """Information about the stream below."""
        return self._stream.get_extra_info(info)


class TimedBackend(httpcore.NetworkBackend):
    """Connects within `seconds_left`, to streams with the same limit. `most`: seconds for a connection, and for TLS."""

    def __init__(self, seconds_left: Callable[[], float], most: float = float("inf")) -> None:
        self._seconds_left = seconds_left
        self._most = most

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline rules
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect. Raises what httpcore's own backend raises."""
        seconds = min(self._most, self._seconds_left())
        stream = httpcore.SyncBackend().connect_tcp(host, port, seconds, local_address, socket_options)
        return TimedStream(stream, self._seconds_left, self._most)


def seconds_left(deadline: float) -> float:
    """Seconds until `deadline`, of time.monotonic. Raises httpcore.ReadTimeout when it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the deadline has passed")
    return left
