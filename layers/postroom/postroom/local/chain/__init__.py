"""Ethereum on one machine: a chain with ENS and a token, its JSON-RPC, and gateways for names and for IPFS.

This package imports py-evm before its modules do, and keeps Python's recursion limit: py-evm and py_ecc raise it to
100,000, with which Python 3.11 crashes upon a deeply nested JSON text instead of raising RecursionError.
"""

import sys

_RECURSION_LIMIT = sys.getrecursionlimit()

import eth  # noqa: E402, F401 - the limit has to be read before

sys.setrecursionlimit(_RECURSION_LIMIT)
