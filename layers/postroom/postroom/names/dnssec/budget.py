"""Limits of the work for one look-up; a second attempt is allowed if the first ends bogus.

Whoever answers chooses the signatures, keys, hashes and aliases: KeyTrap (CVE-2023-50387) and the NSEC3 attack
(CVE-2023-50868) are answers of a few kilobytes that took resolvers minutes.
"""

from typing import Final

MAX_QUESTIONS: Final = 64
"""Questions for each walk, which also limits its depth. An honest one asks two for each zone and one for each alias."""

MAX_CHECKS: Final = 80
"""Signature and digest checks for each walk; costly ones count as several.

An honest walk of 8 aliases through 5 zones needs fewer, with P-384 77; zones full of invalid signatures and digests
would need hundreds.
"""

MAX_HASHES: Final = 4_000
"""SHA-1 runs for NSEC3 in each walk, and as many for remembered records.

A name of 9 labels in a zone of 150 iterations takes 1,500, others below 10.
"""

MAX_STEPS: Final = 500
"""Zones and absences examined in each walk, also known ones, so that every loop ends."""


class Exceeded(Exception):  # noqa: N818 - a finding that becomes a verdict
    """A limit was reached before there was a result; the text says which."""


class Budget:
    """What one walk has left. Every method raises `Exceeded` when its share is spent."""

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
        """Count a zone or an absence that is examined."""
        self._steps -= 1
        if self._steps < 0:
            raise Exceeded(f"more than {MAX_STEPS} steps would be needed")

    def hash(self, runs: int) -> None:
        """Count the runs of the hash for one name: its iterations, and one."""
        self._hashes -= runs
        if self._hashes < 0:
            raise Exceeded(f"more than {MAX_HASHES} hashes would be needed for NSEC3")
