"""Keccak-256 as Ethereum uses it: the sponge that became SHA-3, with the padding it had before (FIPS 202 differs).

The reference hashes messages with it for its postmarks, and addresses show it in the case of their letters.
No hash library that is at hand has it. A few hundred kilobytes take a second; nothing on a service's way needs it.
"""

from typing import Final

_RATE: Final = 136
"""Bytes per block: 1600 bits of state less twice the 256 bits of the digest."""
_MASK: Final = (1 << 64) - 1
_ROUNDS: Final = 24


def keccak_256(data: bytes) -> bytes:
    """The 32 bytes of the digest."""
    return sponge(data, 0x01)


def sponge(data: bytes, domain: int) -> bytes:
    """Keccak[512] of `data` with its first byte of padding: 0x01 for Keccak-256, 0x06 for SHA3-256 (FIPS 202 §6.1)."""
    padded = bytearray(data)
    padded += bytes(_RATE - len(data) % _RATE)
    padded[len(data)] = domain
    padded[-1] |= 0x80
    state = [0] * 25
    for start in range(0, len(padded), _RATE):
        for lane in range(_RATE // 8):
            at = start + 8 * lane
            state[lane] ^= int.from_bytes(padded[at : at + 8], "little")
        state = _permute(state)
    return b"".join(lane.to_bytes(8, "little") for lane in state[:4])


def _permute(state: list[int]) -> list[int]:
    """Keccak-f[1600] (FIPS 202 §3.3); lane (x, y) stands at x + 5y."""
    for constant in _ROUND_CONSTANTS:
        column = [state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20] for x in range(5)]
        parity = [column[x - 1] ^ _rotate(column[(x + 1) % 5], 1) for x in range(5)]
        moved = [0] * 25
        for lane, (target, turn) in enumerate(_MOVES):
            moved[target] = _rotate(state[lane] ^ parity[lane % 5], turn)
        state = [
            moved[y + x] ^ (~moved[y + (x + 1) % 5] & _MASK & moved[y + (x + 2) % 5])
            for y in range(0, 25, 5)
            for x in range(5)
        ]
        state[0] ^= constant
    return state


def _rotate(lane: int, bits: int) -> int:
    return ((lane << bits) | (lane >> (64 - bits))) & _MASK


def _moves() -> list[tuple[int, int]]:
    """For each lane: where it goes (π, FIPS 202 §3.2.3), and by how much it is turned (ρ, §3.2.2)."""
    turns = [0] * 25
    x, y = 1, 0
    for step in range(_ROUNDS):
        turns[x + 5 * y] = (step + 1) * (step + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return [(y + 5 * ((2 * x + 3 * y) % 5), turns[x + 5 * y]) for y in range(5) for x in range(5)]


def _round_constants() -> list[int]:
    """The constants of ι (FIPS 202 §3.2.5): bits of a linear feedback shift register."""
    constants, register = [], 1
    for _ in range(_ROUNDS):
        constant = 0
        for power in range(7):
            if register & 1:
                constant |= 1 << (2**power - 1)
            register = (register << 1) ^ (0x171 * (register >> 7))
        constants.append(constant)
    return constants


_MOVES: Final = _moves()
_ROUND_CONSTANTS: Final = _round_constants()
