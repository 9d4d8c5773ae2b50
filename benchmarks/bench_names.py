"""Benchmark `names`: what it takes to look names up and to prove what was found, compared with others and bare work."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from random import Random
from typing import Final

from benchmarks.ens_chain import EnsClients, ens_clients
from benchmarks.harness import Benchmark, Effort, KnownMiss, Table, marked, ratios
from tests.names.ipfs.trees import Tree, car_of, file_of

from postroom.names.ipfs.car import MAX_BLOCKS, read_blocks
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.unixfs import MAX_FILE_BYTES, read_file

LEAST_TO_OURS: Final = {
    "on chain": {"web3.py": 10.0, "ethers": 4.0, "viem": 2.0},
    "off chain": {"ethers": 3.0, "viem": 2.0},
}
MOST_TO_BARE: Final = 2.0
MOST_OF_TWO: Final = 1.3
LEAST_TO_KEPT: Final = 50.0

NOTES: Final = f"""\
Names in ENS are looked up on one chain by all clients, each in a process of its own: anvil, with contracts of others
(`tests/peers/ens`), and a gateway over TLS for names off chain. The ratios are of processor time of the client, except
that of two endpoints. Each look-up finds a text anew; *ours* is `Ens.text` with one endpoint. *Posts* are the requests
that each endpoint gets of ours; within the TTL, a text that is kept takes none (`tests/cost/test_names.py`). *Bare* is
the same requests by httpcore, orjson of them and of the answers, and the hashes of the name. An account's rules are an
address in ENS, and a nonce and a balance; others do not have them. web3.py finds no names off chain.

Goals: web3.py, ethers and viem at least 10, 4 and 2 × ours on chain; ethers and viem at least 3 and 2 × off chain, with
connections that are kept; ours at most {MOST_TO_BARE:g} × bare; two endpoints at most {MOST_OF_TWO} × one; a text on
chain at least {LEAST_TO_KEPT:g} × one that is kept.

Two endpoints on this machine share its processors with the client: *bare posts* are the same bodies posted by httpcore,
to each endpoint in a thread, and nothing else. *10 ms away*, each endpoint waits for so long before it answers.

Off chain, each client keeps its connection to the gateway: ours for a few seconds, and only if it leads to an address
that was judged for this request. *Over new connections*, the gateway ends each, and most of the time is that of TLS.

A file of IPFS of {MAX_FILE_BYTES:,} bytes, the largest that is read, from the CAR of a gateway: each block is hashed,
and the file is put together. The first row is SHA-256 of the same bytes, and nothing else. The goals are 2 × for one
block and 15 × for {MAX_BLOCKS}, the most that are read.
"""

_LEAVES: Final = MAX_BLOCKS - 1
"""With the root above them."""
_CLIENTS: Final = ("web3.py", "ethers", "viem")


def measure(effort: Effort) -> Sequence[Table]:
    """The tables of names in ENS, and of files of IPFS."""
    with ens_clients(effort) as clients:
        return [_look_ups(clients), _ours(clients), _files(effort)]


def _look_ups(clients: EnsClients) -> Table:
    rows = [(kind, *_look_up(clients, "text", kind)) for kind in LEAST_TO_OURS]
    clients.gateway.keeps = False
    rows.append(("off chain, over new connections", *_look_up(clients, "text", "off chain", has_goals=False)))
    rows.append(("an account's rules", *_look_up(clients, "account", "on chain")))
    columns = ("look-up", "posts", *(f"{client} : ours" for client in _CLIENTS), "ours : bare")
    return Table("Names in ENS", columns, tuple(rows))


def _look_up(clients: EnsClients, way: str, kind: str, *, has_goals: bool = True) -> tuple[str, ...]:
    """The cells of a row."""
    least = LEAST_TO_OURS[kind] if way == "text" else {}
    peers = [client for client in least if client in clients.theirs]
    timers = [clients.other(peer, kind) for peer in peers]
    _, ours, *theirs = ratios([clients.ours(f"bare {way}", kind), clients.ours(way, kind), *timers], clients.effort)
    found = {
        peer: marked(ratio / ours, reached=not has_goals or ratio / ours >= least[peer])
        for peer, ratio in zip(peers, theirs, strict=True)
    }
    absent = {client: why for client, why in clients.missing.items() if client in least}
    cells = (found.get(client) or absent.get(client) or "–" for client in _CLIENTS)
    return str(clients.posts(way, kind)), *cells, marked(ours, reached=ours <= MOST_TO_BARE)


def _ours(clients: EnsClients) -> Table:
    _, of_chain = ratios([clients.ours("kept", "on chain"), clients.ours("text", "on chain")], clients.effort)
    rows = (
        ("two endpoints : one, wall time", _two_to_one(clients, "text")),
        ("bare posts to two : to one, wall time", _two_to_one(clients, "posts", has_goal=False)),
        ("two endpoints : one, 10 ms away", _two_to_one(clients, "distant")),
        ("a text on chain : one that is kept", marked(of_chain, reached=of_chain >= LEAST_TO_KEPT)),
    )
    return Table("Ours", ("look-ups", "ratio"), rows)


def _two_to_one(clients: EnsClients, way: str, *, has_goal: bool = True) -> str:
    one, two = (clients.ours(way, "on chain", endpoints=number, clock="wall") for number in (1, 2))
    _, ratio = ratios([one, two], clients.effort)
    return marked(ratio, reached=not has_goal or ratio <= MOST_OF_TWO)


def _files(effort: Effort) -> Table:
    data = Random(1).randbytes(MAX_FILE_BYTES)
    one, many = file_of(data, MAX_FILE_BYTES), file_of(data, -(-MAX_FILE_BYTES // _LEAVES))
    reads = [partial(_read, Cid.from_bytes(tree.root.cid), _car(tree)) for tree in (one, many)]
    _, of_one, of_many = ratios([lambda: sha256(data).digest(), *reads], effort)
    rows = (
        ("SHA-256 of the file", "1.00 ×"),
        (f"the file in {len(one.blocks)} block", marked(of_one, reached=of_one <= 2)),
        (f"the file in {len(many.blocks)} blocks", marked(of_many, reached=of_many <= 15)),
    )
    return Table("Files of IPFS", ("way", "ratio"), rows)


def _car(tree: Tree) -> bytes:
    return car_of(tree.blocks, [tree.root.cid])


def _read(cid: Cid, car: bytes) -> bytes:
    return read_file(cid, (), read_blocks(car))


KNOWN: Final = (
    KnownMiss("viem : ours", ("off chain",), "as near to the goal as the results of runs are to each other."),
    KnownMiss(
        "ratio",
        ("two endpoints : one, wall time",),
        "the endpoints share two processors with the client, and bare posts take as long.",
    ),
)
BENCHMARK = Benchmark("names", "Names", NOTES, measure, known=KNOWN)
