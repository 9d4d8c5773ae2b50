"""Ethereum on one machine: a chain with ENS and a token, its JSON-RPC, and gateways for names and for IPFS."""
