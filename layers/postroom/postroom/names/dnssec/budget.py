"""Limits of the work for one look-up; a second attempt is allowed where the first ends bogus.

Signatures, keys, hashes and aliases are named by whoever answers: KeyTrap (CVE-2023-50387) and the NSEC3 bomb
(CVE-2023-50868) are answers of a few kilobytes that took resolvers minutes.
"""

from typing import Final

MAX_QUESTIONS: Final = 64
"""Asked per walk: also bounds its depth. An honest one asks two per zone and one per alias."""

MAX_CHECKS: Final = 80
"""Signature and digest checks per walk; costly ones count for several. An honest one of 8 aliases through 5 zones stays
below, by P-384 with 77; zones full of signatures and digests that hold for nothing would need hundreds."""

MAX_HASHES: Final = 4_000
"""SHA-1 runs for NSEC3 per walk, and as many for what is remembered: a name of 9 labels in a zone of 150 iterations
takes 1,500, others below 10."""

MAX_STEPS: Final = 500
"""Zones and absences looked into per walk, known ones too: so that no way of going round in circles is free."""


class Exceeded(Exception):  # noqa: N818 - a finding that becomes a verdict
    """A bound was reached before there was a finding; the text says which."""


class Budget:
    """What one walk has left. Every method raises `Exceeded` once its share is spent."""

    def __init__(self) -> None:
        self._questions = MAX_QUESTIONS
        self._checks = MAX_CHECKS
        self._hashes = MAX_HASHES
        self._steps = MAX_STEPS

    def ask(self) -> None:
        """Count a question."""
        self._questions -= 1
        if self._questions < 0:
            raise Exceeded(f"more than {MAX_QUESTIONS} questions would be needed")

    def check(self, cost: int = 1) -> None:
        """Count a signature or a digest."""
        self._checks -= cost
        if self._checks < 0:
            raise Exceeded(f"more than {MAX_CHECKS} signature checks would be needed")

    def step(self) -> None:
        """Count a zone or an absence that is looked into."""
        self._steps -= 1
        if self._steps < 0:
            raise Exceeded(f"more than {MAX_STEPS} steps would be needed")

    def hash(self, runs: int) -> None:
        """Count the runs of the hash that one name takes: its iterations, and one."""
        self._hashes -= runs
        if self._hashes < 0:
            raise Exceeded(f"more than {MAX_HASHES} hashes would be needed for NSEC3")
