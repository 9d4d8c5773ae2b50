"""Benchmark `peers`: verification of a message, compared with DKIM in five languages, Matrix and ActivityPub."""

import json
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.bench_verify import dkimpy, ours
from benchmarks.harness import Benchmark, Effort, Table, marked, over_processes, ratios
from benchmarks.peer_process import PeerEndedError, PeerTimer
from benchmarks.samples import KINDS, SENDER, SIZE, Keys, envelope, mail
from nacl.signing import SigningKey
from signedjson.key import generate_signing_key, get_verify_key
from signedjson.sign import sign_json, verify_signed_json
from tests.peers.made import Recipe, UnavailableError, made

from postroom.core.ijson import JsonValue
from postroom.crypto.rsa_ed25519 import Algorithm

LEAST_TO_FEDIFY: Final = 3.0
_WARM_TURNS: Final = 100
"""Runs before a peer is measured, so that Node has compiled its code and Node and Go have grown their heaps."""
_MOST_PROCESSES, _MOST_ROUNDS = 3, 9
"""Fewer than usual, because each process starts and warms up every peer, and three are enough for such ratios."""
_ALGORITHMS: Final[tuple[Algorithm, ...]] = ("ed25519", "rsa")
_SOURCES: Final = Path(__file__).parent / "peers"

NOTES: Final = f"""\
*Ours* is that of `verify`, with the envelope "text". Each peer verifies the same message of {SIZE} bytes repeatedly and
measures the time in its own process. Its sender's key is in memory, or its key record is returned immediately; no peer
uses DNS.

The DKIM verifiers get the mail of `verify`. They read the key record each time, except mail-auth, which has the key in
its cache. *signedjson* is `verify_signed_json` of Matrix, after `json.loads`, for an object with the same body.
*fedify, proof alone* is `verifyProof` (eddsa-jcs-2022) of an activity, after `JSON.parse`: the closest to ours, but it
checks no schema, receiver or time. *fedify, request* is `verifyRequest`: Digest, Date and HTTP signature of a request
with an activity as its body. *fedify, object* is `verifyObject`, as its inbox calls it: it also parses the activity
into its vocabulary, and checks the attribution. The proof is in addition to the {SIZE} bytes.

The peers are installed or built in build/peers-bench by npm, go and cargo where these exist; otherwise the table says
what is missing. Versions are locked for npm and go, and pinned for cargo, whose lock file would name a registry.
mail-auth is an older version, because the newest needs a newer Rust than most machines have. The newest mailauth and
fedify require Node 22, and run on 20.
Goal: fedify ≥ {LEAST_TO_FEDIFY} × ours. "—": not supported by the peer.
"""


_NODE: Final = Recipe(
    "peers-bench/node",
    _SOURCES / "node",
    (".npmrc", "package.json", "package-lock.json", "peer.mjs", "fedify.mjs", "mailauth.mjs"),
    ("node", "npm"),
    ("npm", "ci"),
    seconds=300,
)
_GO: Final = Recipe(
    "peers-bench/go",
    _SOURCES / "go",
    ("go.mod", "go.sum", "main.go"),
    ("go",),
    ("go", "build", "-o", "peer", "."),
    seconds=300,
)
_RUST: Final = Recipe(
    "peers-bench/rust",
    _SOURCES / "rust",
    ("Cargo.toml", "src/main.rs"),
    ("cargo",),
    ("cargo", "build", "--release", "--quiet"),
    seconds=1200,
)


@dataclass(frozen=True, slots=True)
class Program:
    """A peer that is a program: how it is built, its command, what it verifies, and the goal for its ratio."""

    name: str
    recipe: Recipe
    command: tuple[str, ...]
    algorithms: tuple[Algorithm, ...] = _ALGORITHMS
    least: float = 0


PROGRAMS: Final = (
    Program("mailauth (npm)", _NODE, ("node", "peer.mjs", "mailauth", "dkim")),
    Program("go-msgauth (Go)", _GO, ("./peer",)),
    Program("mail-auth (Rust)", _RUST, ("./target/release/peer",)),
    Program("fedify, proof alone (npm)", _NODE, ("node", "peer.mjs", "fedify", "proof"), ("ed25519",), LEAST_TO_FEDIFY),
    Program("fedify, object (npm)", _NODE, ("node", "peer.mjs", "fedify", "object"), ("ed25519",), LEAST_TO_FEDIFY),
    Program("fedify, request (npm)", _NODE, ("node", "peer.mjs", "fedify", "request"), ("rsa",), LEAST_TO_FEDIFY),
)
_VERSIONS: Final = (("node", "--version"), ("go", "version"), ("rustc", "--version"))
_LIBRARIES: Final = ("dkimpy (Python)", "signedjson (Python)")


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for each peer, a column for each algorithm."""
    folders: dict[str, Path] = {}
    missing: dict[str, str] = {}
    for program in PROGRAMS:
        try:
            folder = made(program.recipe)
            _try(program, folder)
        except UnavailableError as why:
            missing[program.name] = str(why).partition("\n")[0]
        except PeerEndedError:
            missing[program.name] = f"does not run here: {' '.join(program.command)}"
        else:
            folders[program.name] = folder
    less = replace(effort, processes=min(effort.processes, _MOST_PROCESSES), rounds=min(effort.rounds, _MOST_ROUNDS))
    found = [
        dict(zip(_peers_of(algorithm, folders), row, strict=True))
        for algorithm, row in zip(_ALGORITHMS, over_processes(partial(measure_here, folders), less), strict=True)
    ]
    least = {program.name: program.least for program in PROGRAMS}
    rows = [
        (name, *(_cell(ratios_found.get(name), least.get(name, 0), missing.get(name)) for ratios_found in found))
        for name in (*_LIBRARIES, *least)
    ]
    return [Table(_runtimes(), ("peer", "Ed25519, peer : ours", "RSA-2048, peer : ours"), tuple(rows))]


def _runtimes() -> str:
    """The versions of Python and of the peers' runtimes."""
    said = [f"Python {platform.python_version()}"]
    for command in _VERSIONS:
        if shutil.which(command[0]):
            told = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split("\n")[0]
            said.append(f"Node {told}" if command[0] == "node" else told)
    return ", ".join(said)


def _try(program: Program, folder: Path) -> None:
    """Verify once: npm also installs packages that need a newer Node, and one peer must not end all benchmarks."""
    algorithm = program.algorithms[0]
    keys = Keys.generate(algorithm)
    with _given(mail(keys), keys.record) as given, _timer(program, folder, given, algorithm, warm_seconds=0):
        pass


def measure_here(folders: Mapping[str, Path], effort: Effort) -> list[list[float]]:
    """For each algorithm, the ratios to ours of the peers that support it, in the order of `_peers_of`."""
    return [_measure(algorithm, folders, effort) for algorithm in _ALGORITHMS]


def _peers_of(algorithm: Algorithm, folders: Mapping[str, Path]) -> list[str]:
    libraries = _LIBRARIES if algorithm == "ed25519" else _LIBRARIES[:1]
    return [*libraries, *(program.name for program in _programs(algorithm, folders))]


def _programs(algorithm: Algorithm, folders: Mapping[str, Path]) -> list[Program]:
    return [program for program in PROGRAMS if program.name in folders and algorithm in program.algorithms]


def _measure(algorithm: Algorithm, folders: Mapping[str, Path], effort: Effort) -> list[float]:
    keys = Keys.generate(algorithm)
    message, text = mail(keys), KINDS[0]
    ways = [ours(envelope(text, keys.private), keys.private.public), dkimpy(message, keys.record)]
    if algorithm == "ed25519":
        ways.append(_signedjson(text.body))
    warm = _WARM_TURNS * effort.turn_seconds
    with _given(message, keys.record) as given, ExitStack() as running:
        timers = [
            running.enter_context(_timer(program, folders[program.name], given, algorithm, warm))
            for program in _programs(algorithm, folders)
        ]
        return ratios([*ways, *timers], effort)[1:]


@contextmanager
def _given(message: bytes, record: bytes) -> Iterator[str]:
    """A folder with the input of the peers that are programs."""
    with TemporaryDirectory() as folder:
        Path(folder, "mail").write_bytes(message)
        Path(folder, "record").write_bytes(record)
        yield folder


def _timer(program: Program, folder: Path, given: str, algorithm: Algorithm, warm_seconds: float) -> PeerTimer:
    return PeerTimer((*program.command, given, algorithm, str(SIZE)), folder, warm_seconds)


def signed_json(body: Callable[[int], JsonValue], key: SigningKey) -> bytes:
    """An object of SIZE bytes, signed as in Matrix."""

    def made(size: int) -> bytes:
        return json.dumps(sign_json({"content": body(size)}, SENDER, key)).encode()

    return made(SIZE - len(made(0)))


def _signedjson(body: Callable[[int], JsonValue]) -> Callable[[], object]:
    key = generate_signing_key("1")
    data = signed_json(body, key)
    public = get_verify_key(key)
    return lambda: verify_signed_json(json.loads(data), SENDER, public)


def _cell(ratio: float | None, least: float, missing: str | None) -> str:
    if ratio is None:
        return missing or "—"
    return marked(ratio, reached=ratio >= least)


BENCHMARK = Benchmark("peers", "Verification by other software", NOTES, measure)
