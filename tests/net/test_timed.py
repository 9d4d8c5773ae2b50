"""Streams with one deadline: what is written is sent when something is read."""

import ssl

import httpcore
import pytest

from postroom.net.timed import TimedStream


class RecordingStream(httpcore.NetworkStream):
    """A stream whose other side answers everything, and reads nothing once it `has_ended`."""

    def __init__(self, *, has_ended: bool = False) -> None:
        self.sent: list[bytes] = []
        self.is_closed = False
        self.handshakes: list[float | None] = []
        self._has_ended = has_ended

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._has_ended:
            raise httpcore.WriteError
        self.sent.append(buffer)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return b"answer"

    def close(self) -> None:
        self.is_closed = True

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        self.handshakes.append(timeout)
        return self


def late() -> float:
    raise httpcore.ReadTimeout


def test_what_is_written_is_sent_in_one_before_an_answer_is_read() -> None:
    below = RecordingStream()
    stream = TimedStream(below, lambda: 1.0)
    for part in (b"head, ", b"", b"body"):
        stream.write(part)
    assert below.sent == []
    assert [stream.read(10), stream.read(10)] == [b"answer"] * 2
    assert below.sent == [b"head, body"]


def test_a_long_request_is_sent_in_pieces_that_have_the_deadline() -> None:
    below = RecordingStream()
    stream = TimedStream(below, lambda: 1.0)
    stream.write(b"head")
    stream.write(b"x" * 40_000)
    assert [len(part) for part in below.sent] == [16_388, 16_384]
    assert stream.read(10) == b"answer"
    assert b"".join(below.sent) == b"head" + b"x" * 40_000
    stream = TimedStream(below, late)
    with pytest.raises(httpcore.TimeoutException):
        stream.write(b"x" * 20_000)
    stream.write(b"x")
    with pytest.raises(httpcore.TimeoutException):
        stream.read(10)


def test_an_answer_to_a_request_that_nobody_reads_to_its_end_is_read() -> None:
    stream = TimedStream(RecordingStream(has_ended=True), lambda: 1.0)
    stream.write(b"x")
    assert stream.read(10) == b"answer"


def test_a_stream_whose_deadline_passes_before_tls_is_closed() -> None:
    below = RecordingStream()
    with pytest.raises(httpcore.TimeoutException):
        TimedStream(below, late).start_tls(ssl.create_default_context())
    assert below.is_closed


@pytest.mark.parametrize(("left", "most", "expected"), [(1.0, 3.0, 1.0), (5.0, 3.0, 3.0)])
def test_a_handshake_has_neither_more_than_it_may_take_nor_more_than_is_left(
    left: float, most: float, expected: float
) -> None:
    below = RecordingStream()
    TimedStream(below, lambda: left, most).start_tls(ssl.create_default_context())
    assert below.handshakes == [expected]
