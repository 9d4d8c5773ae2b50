"""Benchmark `key_record`: reading a sender's key record, which the worker does once for each key not in memory."""

from collections.abc import Sequence
from functools import partial

from benchmarks.harness import Benchmark, Effort, Table, compare
from benchmarks.samples import Keys
from cryptography.hazmat.primitives.serialization import load_der_public_key
from dkim import load_pk_from_dns

from postroom.crypto.rsa_ed25519 import Algorithm
from postroom.protocols.nlweb.key_record import parse_key_record

NOTES = """\
`parse_key_record` reads a DKIM record and checks the key: a single valid encoding, the size, the exponent, and the
prime-order group of points. *Bare* is cryptography's loader for the same key, without a record; *dkimpy* reads the same
record.
"""

_KEYS: tuple[tuple[str, Algorithm], ...] = (("RSA-2048", "rsa"), ("Ed25519", "ed25519"))


def measure(effort: Effort) -> Sequence[Table]:
    """A table for each algorithm."""
    return [_compared(title, Keys.generate(algorithm), effort) for title, algorithm in _KEYS]


def _compared(title: str, keys: Keys, effort: Effort) -> Table:
    def dns(_name: bytes, timeout: int = 5) -> bytes:  # noqa: ARG001
        return keys.record

    ways = (
        ("parse_key_record", partial(parse_key_record, [keys.record])),
        ("bare", partial(load_der_public_key, keys.private.public.spki())),
        ("dkimpy", partial(load_pk_from_dns, b"pk1._domainkey.any-sender.com.", dns)),
    )
    return compare(title, ways, effort)


BENCHMARK = Benchmark("key_record", "A key record", NOTES, measure)
