"""Bytes that a server sends one by one, with a pause after each."""

import time
from collections.abc import Iterator
from typing import Final

_PAUSE_SECONDS: Final = 0.1


class Dripping(bytes):
    """`parts` pauses after each byte: whoever waits for all of them waits for longer than any test has patience."""

    def parts(self) -> Iterator[bytes]:
        """One byte after the other."""
        for byte in self:
            yield bytes([byte])
            time.sleep(_PAUSE_SECONDS)


def parts_of(body: bytes) -> Iterator[bytes]:
    """What is sent of a body, one after the other."""
    return body.parts() if isinstance(body, Dripping) else iter([body])
