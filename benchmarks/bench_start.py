"""Benchmark `start`: cold starts, as whole processes that import a function and end."""

import json
import re
import statistics
import subprocess
import sys
import timeit
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from typing import Final, NamedTuple

from benchmarks.harness import Benchmark, Effort, Table, ratios, times
from benchmarks.lambdas import ENVIRONMENT, FUNCTIONS, LAYER

NOTES = """\
Each is a whole Python process, from start to end. The functions are imported as in Lambda, with the variables that the
template sets. *Above* is the time beyond that of a process that imports nothing; *clients* is the time of another
process for boto3 and the AWS clients that the function creates at its start; *left* is the difference. The ratios are
to the process that imports nothing. The milliseconds are these ratios times the duration of that process on the machine
that wrote this page; other machines differ, and Lambda's are slower.

Goals: at most 350 ms left for the inbox, and 250 ms for the client of a mailbox, which is no function. The other rows
of the inbox show the effect of single measures.
*Dm3, pinned names only* is dm3 without the registries that everybody can publish in. *Dm3, first look-up in ENS* is a
look-up at two endpoints that refuse connections, with what is imported and made for it; there, *clients* is the start
of dm3 before it. Packages that libraries import only where they are installed, and that are not in the layer, are left
out. At most 120 ms may be left of it; dm3 may take 20 ms more than with pinned names only.
*Without Powertools*: nothing replaces it. *Every client late*: the first event has to wait for the clients, with less
processor time than Lambda gives to a start. *Garbage collected*: garbage collection is not paused, neither in the
function nor while its clients are created. *Nothing compiled*: there are no .pyc files for anything in the layer,
including boto3, as when the layer was built with another Python version than the runtime's
([deploy.md](../operate/deploy.md)); Lambda cannot store those that it compiles.

The second table shows the command line, whose commands are imported when they are used, and compares it with one
that imports all.

The third table shows shares of the whole start, by `-X importtime`. Creating clients is part of the function itself.
For single modules, run `python -X importtime -c "import app"` in the folder of a function, with the variables of
`benchmarks/lambdas.py`; `tests/functions/test_imports.py` tests which packages are imported.
"""

_CLIENT: Final = "client of a mailbox"
_LOOKING_UP: Final = "dm3, first look-up in ENS"
_WANTED_MS: Final = {"inbox": 350, _CLIENT: 250, _LOOKING_UP: 120}
_TOP: Final = 12

_WITHOUT_POWERTOOLS: Final = """
import sys, types
class Nothing(types.ModuleType):
    def __init__(self, *_, **__): super().__init__("nothing")
    def __getattr__(self, _): return Nothing()
    def __call__(self, *_, **__): return self
for name in ("", ".metrics", ".utilities", ".utilities.typing"):
    sys.modules["aws_lambda_powertools" + name] = Nothing()
"""
_EVERY_CLIENT_LATE: Final = """
import boto3
class Late:
    meta = events = property(lambda self: self)
    def register(self, *_): pass
boto3.client = lambda *_, **__: Late()
"""
_GARBAGE_COLLECTED: Final = """
import gc
gc.disable = lambda: None
"""
_NOTHING_COMPILED: Final = """
import importlib._bootstrap_external as loaders, sysconfig
compiled, pythons = loaders.cache_from_source, sysconfig.get_path("stdlib")
def cache_from_source(path, *more, **options):
    if not path.startswith(pythons) or "site-packages" in path: raise NotImplementedError
    return compiled(path, *more, **options)
loaders.cache_from_source = cache_from_source
"""
_PINNED_ONLY: Final = """
import os
os.environ["DM3_REGISTRIES"] = "pinned"
"""
_ONLY_OF_THE_LAYER: Final = """
import sys
sys.modules |= dict.fromkeys(("anyio", "cffi", "h2"))
"""
_LOOK_UP: Final = """
import app, os
from postroom.core.errors import NotNowError
from postroom.core.settings import read_settings
from postroom.runtime.deployment import Deployment
from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls
ChainEndpointUrls.get = lambda _: ("http://127.0.0.1:9/",) * 2
try: Deployment(read_settings(os.environ), app.clients, app.own_faults).names.chain().text("alice.eth", "key")
except NotNowError: pass
"""
_TELL_CLIENTS: Final = """
import boto3, json
client, made = boto3.client, []
boto3.client = lambda service, **options: made.append(service) or client(service, **options)
import {}
print(json.dumps(made))
"""
_EVERY_COMMAND: Final = """
import sys, typer
from postroom.cli import main
from postroom.cli.app import app
def load(command):
    for each in getattr(command, "commands", {}).values(): load(each)
load(typer.main.get_command(app))
sys.argv = ["postroom", "keygen", "--help"]
main()
"""


class Process(NamedTuple):
    """A Python script, and the folder in which it runs."""

    script: str
    folder: str = ""

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *options, "-c", self.script], cwd=FUNCTIONS / self.folder,
            env={**ENVIRONMENT, "PYTHONPATH": str(LAYER)}, capture_output=True, text=True, check=True,
        )  # fmt: skip


class Start(NamedTuple):
    """A start, and a process that only creates the same AWS clients."""

    name: str
    whole: Process
    clients: Process


NOTHING: Final = Process("pass")
STARTS: Final = {
    "inbox": ("app", "inbox"),
    "dm3": ("app", "dm3"),
    "worker": ("app", "worker"),
    "waiting": ("app", "waiting"),
    "dead-letters": ("dead_letters", "worker"),
    "courier": ("app", "courier"),
    "feedback": ("feedback", "courier"),
    "mailbox": ("app", "mailbox"),
    "dcp": ("app", "dcp"),
}
COMMAND_LINES: Final = (
    "--version", "keygen --help", "verify --help", "chat list --help", "dm3 send --help", "archive search --help"
)  # fmt: skip


def measure(effort: Effort) -> Sequence[Table]:
    """Tables of whole processes, of commands, and of the shares of packages."""
    # Each turn is one process. Fewer turns are enough, because it takes far longer than the minimum.
    fewer = Effort(rounds=min(effort.rounds, 5), turns=min(effort.turns, 3), turn_seconds=0)
    return [_of_starts(fewer), _of_commands(fewer), _of_packages(fewer)]


def _of_starts(effort: Effort) -> Table:
    starts = _starts()
    processes = list(dict.fromkeys((NOTHING, *(process for start in starts for process in start[1:]))))
    took = dict(zip(processes, ratios([_way(process) for process in processes], effort), strict=True))
    nothing_ms = 1000 * min(timeit.repeat(_way(NOTHING), number=1, repeat=effort.rounds * effort.turns))
    rows = []
    for name, whole, clients in starts:
        above, share = took[whole] - 1, took[clients] - 1
        left = above - share
        in_ms = [f"{ratio * nothing_ms:.0f}" for ratio in (above, share, left)]
        if left * nothing_ms > _WANTED_MS.get(name, inf):
            in_ms[-1] = f"✗ {in_ms[-1]}"
        rows.append((name, *in_ms, times(above), times(share), times(left)))
    return Table("", ("start", "above, ms", "clients, ms", "left, ms", "above", "clients", "left"), tuple(rows))


def _starts() -> list[Start]:
    starts = []
    for name, (module, folder) in STARTS.items():
        made = sorted(set(json.loads(Process(_TELL_CLIENTS.format(module), folder).run().stdout)))
        starts.append(Start(name, Process(f"import {module}", folder), Process(_make(made))))
    inbox, dm3 = starts[:2]
    return [
        *starts,
        dm3._replace(name="dm3, pinned names only", whole=_after(_PINNED_ONLY, dm3.whole)),
        Start(
            _LOOKING_UP,
            _after(_ONLY_OF_THE_LAYER, Process(_LOOK_UP, "dm3")),
            _after(_ONLY_OF_THE_LAYER, dm3.whole),
        ),
        inbox._replace(name="inbox, without Powertools", whole=_after(_WITHOUT_POWERTOOLS, inbox.whole)),
        Start("inbox, every client late", _after(_EVERY_CLIENT_LATE, inbox.whole), Process("import boto3")),
        Start("inbox, garbage collected", *(_after(_GARBAGE_COLLECTED, process) for process in inbox[1:])),
        Start("inbox, nothing compiled", *(_after(_NOTHING_COMPILED, process) for process in inbox[1:])),
        Start(_CLIENT, Process("from postroom.client import AsyncMailbox, Mailbox"), NOTHING),
    ]


def _make(services: Sequence[str]) -> str:
    # As in a function at its start (runtime/garbage_collection.py).
    return f"import gc\ngc.disable()\nimport boto3\nfor service in {services}: boto3.client(service)"


def _after(script: str, process: Process) -> Process:
    return process._replace(script=script + process.script)


def _of_commands(effort: Effort) -> Table:
    ways = [_way(process) for process in (NOTHING, Process(_EVERY_COMMAND), *map(_command, COMMAND_LINES))]
    _, above_all, *above = (ratio - 1 for ratio in ratios(ways, effort))
    rows = [("`postroom keygen --help`, all commands imported", times(above_all), times(1))]
    rows += [
        (f"`postroom {words}`", times(each), times(each / above_all))
        for words, each in zip(COMMAND_LINES, above, strict=True)
    ]
    return Table("Commands", ("start", "above", "above : that of all"), tuple(rows))


def _command(words: str) -> Process:
    return Process(f"import sys; sys.argv = {['postroom', *words.split()]}\nfrom postroom.cli import main; main()")


def _way(process: Process) -> Callable[[], object]:
    return lambda: process.run()


def _of_packages(effort: Effort) -> Table:
    found = {name: _shares(Process(f"import {module}", folder), effort) for name, (module, folder) in STARTS.items()}
    most = Counter[str]()
    for shares in found.values():
        most |= shares
    rows = [
        (package, *(f"{shares[package]:.2f}" for shares in found.values())) for package, _ in most.most_common(_TOP)
    ]
    return Table("Shares of the import time", ("package", *found), tuple(rows))


def _shares(process: Process, effort: Effort) -> Counter[str]:
    """The share of each package in the import time of a start, without the packages that it imports."""
    runs = []
    for _ in range(effort.rounds):
        took = Counter[str]()
        for microseconds, module in re.findall(
            r"^import time: +(\d+) \| +\d+ \| +(\S+)$", process.run("-X", "importtime").stderr, re.MULTILINE
        ):
            top = module.partition(".")[0]
            own = dict.fromkeys((module for module, _ in STARTS.values()), "the function itself")
            took["Python's own" if top in sys.stdlib_module_names else own.get(top, top)] += int(microseconds)
        runs.append({package: time / took.total() for package, time in took.items()})
    return Counter({package: statistics.median(run.get(package, 0) for run in runs) for package in runs[0]})


BENCHMARK = Benchmark("start", "A cold start", NOTES, measure)
