"""Which packages may import which, what protocol rules may never do, which words names may not contain, and how long
tests wait.

The import contracts are in pyproject.toml ([tool.importlinter]); here they are checked, each also with a breach.
"""

import ast
import copy
import importlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "layers" / "postroom" / "postroom"
CONFIGURATION = read_configuration(str(ROOT / "pyproject.toml"))
KINDS = {"forbidden": ForbiddenContract, "independence": IndependenceContract, "layers": LayersContract}

RULES = [
    PACKAGE / "reasons.py",
    *(path for package in ("api", "core", "crypto", "protocols") for path in sorted((PACKAGE / package).rglob("*.py"))),
    *(PACKAGE / "names" / "ipfs" / f"{name}.py" for name in ("car", "cid", "errors", "unixfs", "uri", "wire")),
    *(PACKAGE / "doctor" / f"{name}.py" for name in ("answers", "checks", "host", "keys", "expiry", "zone")),
    *(PACKAGE / "cli" / "admin" / f"{name}.py" for name in ("findings", "operation_checks", "setup_checks")),
]
FUNCTIONS = sorted((ROOT / "functions").rglob("*.py"))


def file_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("postroom", include_external_packages=True, cache_dir=None)


def broken(graph: grimp.ImportGraph) -> set[str]:
    """The ids of the contracts that this graph breaks."""
    found = set()
    for options in CONFIGURATION["contracts_options"]:
        contract = KINDS[options["type"]](
            name=options["name"], session_options=CONFIGURATION["session_options"], contract_options=options
        )
        if not contract.check(graph, verbose=False).kept:
            found.add(options["id"])
    return found


def test_the_contracts_are_kept(graph: grimp.ImportGraph) -> None:
    assert broken(graph) == set(), "run `lint-imports` to see which import breaks them"


@pytest.mark.parametrize(
    ("importer", "imported", "contract"),
    [
        ("postroom.protocols.nlweb.verify", "time", "rules"),
        ("postroom.crypto.rsa_ed25519", "os", "rules"),
        ("postroom.protocols.nlweb.manifest", "httpcore", "rules"),
        ("postroom.protocols.nlweb.key_record", "dns", "rules"),
        ("postroom.core.canonical", "socket", "rules"),
        ("postroom.core.ijson", "asyncio", "rules"),
        ("postroom.reasons", "botocore", "rules"),
        ("postroom.core.errors", "boto3", "rules"),
        ("postroom.core.settings", "os", "rules"),
        ("postroom.protocols.nlweb.verify", "postroom.names.keys", "floors"),
        ("postroom.core.reasons", "time", "rules"),
        ("postroom.core.errors", "postroom.reasons", "floors"),
        ("postroom.protocols.dm3.envelope", "postroom.reasons", "floors"),
        ("postroom.api.operations", "postroom.reasons", "floors"),
        ("postroom.reasons", "postroom.net.aws_errors", "floors"),
        ("postroom.protocols.nlweb.verify", "postroom.protocols.dm3.reasons", "protocols"),
        ("postroom.names.ipfs.car", "httpcore", "rules"),
        ("postroom.names.ipfs.unixfs", "time", "rules"),
        ("postroom.names.keys", "postroom.protocols.nlweb.envelope", "names"),
        ("postroom.names.keys", "postroom.storage.layout", "floors"),
        ("postroom.names.keys", "postroom.pipeline.worker", "floors"),
        ("postroom.names.keys", "boto3", "names"),
        ("postroom.storage.mail.seen", "httpcore", "storage"),
        ("postroom.storage.mail.seen", "postroom.net.https", "storage"),
        ("postroom.storage.mail.seen", "postroom.names.keys", "floors"),
        ("postroom.storage.mail.seen", "postroom.pipeline.worker", "floors"),
        ("postroom.pipeline.worker", "postroom.local.dns", "floors"),
        ("postroom.local.dns", "postroom.cli", "floors"),
        ("postroom.doctor.zone", "time", "doctor"),
        ("postroom.doctor.host", "ssl", "doctor"),
        ("postroom.cli.admin.operation_checks", "boto3", "doctor"),
        ("postroom.client.sending", "postroom.doctor.checks", "floors"),
        ("postroom.doctor.examine", "rich", "tools"),
        ("postroom.runtime.inbox", "rich", "tools"),
        ("postroom.storage.directory.operators", "typer", "tools"),
        ("postroom.net.https", "trustme", "tools"),
        ("postroom.names.ens.ens", "eth", "tools"),
        ("postroom.http.dcp_service", "websockets", "sockets"),
        ("postroom.http.handlers", "httpx", "client"),
        ("postroom.client.sending", "httpx", "client"),
        ("postroom.client.mailbox.passes", "time", "steps"),
        ("postroom.client.mailbox.session", "httpx", "steps"),
        ("postroom.storage.mail.segments", "pyspark", "spark"),
        ("postroom.local.deploy", "pyspark", "spark"),
        ("postroom.client.mailbox.core", "postroom.http.request", "server"),
        ("postroom.client.archive.s3", "postroom.runtime.function_clients", "floors"),
        ("postroom.protocols.dm3.explain", "postroom.protocols.nlweb.envelope", "protocols"),
        ("postroom.client.chat.pictures", "PIL", "pictures"),
        ("postroom.cli.chat.clean", "PIL", "pictures"),
        ("postroom.client.chat.chats", "textual", "terminal"),
        ("postroom.cli.app", "textual", "terminal"),
        ("postroom.core.side_by_side", "time", "values"),
        ("postroom.api.schemas", "botocore", "values"),
        ("postroom.attic", "postroom.reasons", "floors"),
    ],
)
def test_a_breach_is_noticed(graph: grimp.ImportGraph, importer: str, imported: str, contract: str) -> None:
    breached = copy.deepcopy(graph)
    breached.add_import(importer=importer, imported=imported, line_number=1, line_contents=f"import {imported}")
    assert contract in broken(breached)


# --- what an import alone does not tell --------------------------------------------------------------------------

FORBIDDEN_NAMES = {"breakpoint", "eval", "exec", "input", "open", "print", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    ("date", "today"),
    ("datetime", "now"),
    ("datetime", "today"),
    ("datetime", "utcnow"),
    ("os", "environ"),
    ("os", "getenv"),
    ("time", "time"),
}


def impurities(tree: ast.AST) -> Iterator[str]:
    """What a rule must not do, by line: read a clock, an environment, a file, or chance; keep state between calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            yield f"line {node.lineno}: {node.id}"
        elif isinstance(node, ast.Attribute):
            holder = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if (holder, node.attr) in FORBIDDEN_ATTRIBUTES or holder in ("random", "secrets"):
                yield f"line {node.lineno}: {holder}.{node.attr}"
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield f"line {node.lineno}: {', '.join(node.names)} changed from within a function"


@pytest.mark.parametrize("path", RULES, ids=file_id)
def test_a_rule_reads_no_clock_no_environment_no_file_and_no_chance(path: Path) -> None:
    assert list(impurities(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    "code",
    [
        "time.time()",
        "datetime.now(tz=UTC)",
        "datetime.datetime.utcnow()",
        "date.today()",
        "os.environ['A']",
        "os.getenv('A')",
        "open('/etc/passwd')",
        "random.random()",
        "secrets.token_bytes(8)",
        "print('here')",
        "def f():\n    global seen\n    seen = 1",
    ],
)
def test_an_impure_rule_is_noticed(code: str) -> None:
    assert list(impurities(ast.parse(code)))


def imported_by(path: Path) -> set[str]:
    """Modules that a file imports, by their full names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", FUNCTIONS, ids=file_id)
def test_a_function_is_a_thin_skin(path: Path) -> None:
    """No rules, no look-ups, no tools of the local stack."""
    rooms = {"api", "client", "core", "http", "net", "outbound", "pipeline", "reasons", "runtime", "storage"}
    for name in imported_by(path):
        first, _, rest = name.partition(".")
        if first == "postroom":
            assert rest.partition(".")[0] in rooms, name
        else:
            assert first in sys.stdlib_module_names or first in {"aws_lambda_powertools", "boto3"}, name


def printing(tree: ast.AST) -> Iterator[int]:
    """The lines that print something: `print`, or a write to standard output or error as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write"):
                yield node.lineno


def test_one_module_of_the_command_line_prints() -> None:
    """It escapes what could control the terminal; tables and styles of `cli/output.py` are made of such texts."""
    prints = {path.name for path in (PACKAGE / "cli").rglob("*.py") if any(printing(ast.parse(path.read_text())))}
    assert prints == {"terminal.py"}


@pytest.mark.parametrize("code", ["print(x)", "def f():\n    typer.echo(x)", "sys.stderr.write(x)"])
def test_a_print_is_noticed(code: str) -> None:
    assert list(printing(ast.parse(code)))


# --- one table codec -----------------------------------------------------------------------------------------------

CODEC = PACKAGE / "storage" / "aws" / "attributes.py"
WIRE_TYPES = {"B", "BOOL", "BS", "L", "M", "N", "NS", "NULL", "S", "SS"}
"""The types of DynamoDB, under which values stand on the wire."""


def wire_values(tree: ast.AST) -> Iterator[str]:
    """Where values of DynamoDB are built or taken apart by hand: `{"S": …}`, `…["S"]`, `….get("S")`."""
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=[ast.Constant(value=name)]) if name in WIRE_TYPES:
                yield f"line {node.lineno}: {name}"
            case ast.Subscript(slice=ast.Constant(value=name)) if name in WIRE_TYPES:
                yield f"line {node.lineno}: {name}"
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=name), *_]) if name in WIRE_TYPES:
                yield f"line {node.lineno}: {name}"


def test_only_the_table_codec_knows_how_dynamodb_writes_values() -> None:
    files = {*PACKAGE.rglob("*.py"), *FUNCTIONS, *(ROOT / "glue_jobs").rglob("*.py")} - {CODEC}
    found = {file_id(path): list(wire_values(ast.parse(path.read_text()))) for path in sorted(files)}
    assert {file: places for file, places in found.items() if places} == {}
    assert list(wire_values(ast.parse(CODEC.read_text())))


@pytest.mark.parametrize(
    "code",
    [
        'row = {"ttl": {"N": str(now)}}',
        'values = {":live": {"S": LIVE}}',
        'flag = {"BOOL": True}',
        'state = row["st"]["S"]',
        'state = row.get("st", {}).get("S")',
        'pieces = [each["M"] for each in row["pieces"]["L"]]',
    ],
)
def test_a_value_as_dynamodb_writes_it_is_noticed(code: str) -> None:
    assert list(wire_values(ast.parse(code)))


# --- names ---------------------------------------------------------------------------------------------------------


def classes(files: Iterable[Path]) -> dict[str, set[str]]:
    """The files in which a class of each name stands."""
    found = defaultdict(set)
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].add(str(path))
    return found


def test_a_class_name_stands_in_one_module_only() -> None:
    found = classes([*PACKAGE.rglob("*.py"), *FUNCTIONS, *(ROOT / "glue_jobs").rglob("*.py")])
    assert {name: sorted(files) for name, files in found.items() if len(files) > 1} == {}


def test_a_class_name_that_stands_in_two_modules_is_noticed(tmp_path: Path) -> None:
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for path in files:
        path.write_text("def build():\n    class Message: ...\n")
    assert classes(files) == {"Message": {str(path) for path in files}}


REPLACED = {
    "announcement": {"announce", "announced", "announcement", "announcements", "announcer"},
    "asked": {"asked"},
    "counter": {"counter", "counters"},
    "desk": {"desk", "desks"},
    "door": {"door", "doors"},
    "gathering": {"gather", "gathered", "gathering"},
    "house": {"house", "houses"},
    "keeper": {"keeper", "keepers"},
    "letter": {"letter", "letters"},
    "notice": {"notice", "notices"},
    "office": {"office", "offices"},
    "room": {"room", "rooms"},
    "shelf": {"shelf", "shelve", "shelves", "shelving"},
    "swing": {"swing", "swings", "swung"},
    "telling": {"tell", "telling", "tellings"},
    "told": {"told"},
    "town": {"town", "towns"},
    "turn": {"turn", "turns"},
    "world": {"world", "worlds"},
}
"""The words that the glossary replaces, with the forms in which they would stand in names."""
TERMS = re.compile(r"dead_letters?|post_offices?")
"""Terms of the field that have one of these words in them."""
EXCEPTIONS = {
    "COUNTER_CLOSED": "named after its code on the wire, `CounterClosed`",
    "CountersAccumulator": "of instances of `collections.Counter`",
}
"""Names with such a word, and why. The code in backticks is in the glossary, too."""


def words_not_to_use() -> set[str]:
    """The right column of the table under "Words to use" in the glossary."""
    glossary = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    rows = glossary.partition("## Words to use")[2].partition("|---|---|\n")[2].partition("\n\n")[0].splitlines()
    return {word for row in rows for word in row.strip("| ").rpartition(" | ")[2].split(", ")}


def names(tree: ast.AST) -> Iterator[str]:
    """The names that a module gives: of classes, functions, parameters, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def replaced_in(name: str) -> set[str]:
    """The replaced words in a name, which is split where a word begins: `open_letter`, `_OpenLetter`."""
    parts = "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)).lower()
    return set(TERMS.sub("", parts).split("_")) & set().union(*REPLACED.values())


def test_the_words_that_are_replaced_are_those_of_the_glossary() -> None:
    assert words_not_to_use() == set(REPLACED)


def test_the_exceptions_are_those_of_the_glossary() -> None:
    glossary = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    sentence = glossary.partition("Exceptions: ")[2].partition("\n\n")[0]
    codes = [re.findall(r"`([\w.]+)`", why)[0] for why in EXCEPTIONS.values()]
    assert [code for code in re.findall(r"`([\w.]+)`", sentence) if code not in EXCEPTIONS] == codes


def test_no_name_contains_a_word_that_the_glossary_replaces() -> None:
    found = set()
    build = ROOT / "layers" / "postroom" / "build.py"
    for path in [*PACKAGE.rglob("*.py"), build, *FUNCTIONS, *(ROOT / "glue_jobs").rglob("*.py")]:
        found |= {
            name for name in (path.stem, path.parent.name, *names(ast.parse(path.read_text()))) if replaced_in(name)
        }
    assert found == set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("class OpenDoor: ...", {"door"}),
        ("def tell(): ...", {"tell"}),
        ("async def f(told): ...", {"told"}),
        ("def f(*, letters=()): ...", {"letters"}),
        ("self._office = 1", {"office"}),
        ("TURN_SECONDS: int = 1", {"turn"}),
        ("for each_room in found: ...", {"room"}),
        ("def dead_letters(post_office, DeadLetter): ...", set()),
        ("class PostOffice:\n    indoor: bool", set()),
        ("file.tell()", set()),
    ],
)
def test_a_replaced_word_in_a_name_is_noticed(code: str, words: set[str]) -> None:
    assert set().union(*map(replaced_in, names(ast.parse(code)))) == words


MOST_ARGUMENTS = 9
"""Required ones, of a constructor. Whoever needs more has several things to do, or takes apart what belongs together.
"""


def constructors_with_too_many_arguments(package: Path) -> Iterator[str]:
    """Classes whose own constructor takes more; records, which are rows, arguments or results, are not among them."""
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__" and _required(method.args):
                    yield f"{path.relative_to(package)} {node.name}"


def _required(arguments: ast.arguments) -> bool:
    positional = len(arguments.args) - 1 - len(arguments.defaults)
    return positional + arguments.kw_defaults.count(None) > MOST_ARGUMENTS


def test_no_constructor_takes_ten_arguments() -> None:
    assert list(constructors_with_too_many_arguments(PACKAGE)) == []


@pytest.mark.parametrize(("count", "expected"), [(MOST_ARGUMENTS, []), (MOST_ARGUMENTS + 1, ["a.py Courier"])])
@pytest.mark.parametrize("star", ["", "*, "])
def test_a_constructor_with_ten_arguments_is_noticed(
    tmp_path: Path, star: str, count: int, expected: list[str]
) -> None:
    names = ", ".join(f"a{number}" for number in range(count))
    (tmp_path / "a.py").write_text(f"class Courier:\n    def __init__(self, {star}{names}, b=1): ...\n")
    assert list(constructors_with_too_many_arguments(tmp_path)) == expected


# --- public names ------------------------------------------------------------------------------------------------


def modules_that_say_what_is_public() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "__all__" in path.read_text():
            yield ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def hands_on_only(name: str) -> bool:
    """Whether a module defines nothing of its own."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    body = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()).body
    return not any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Expr) for node in body[1:])


@pytest.mark.parametrize("name", list(modules_that_say_what_is_public()))
def test_what_a_module_says_is_public_is_there_once(name: str) -> None:
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    assert not [public for public in module.__all__ if public.startswith("_") or not hasattr(module, public)]


@pytest.mark.parametrize("name", [name for name in modules_that_say_what_is_public() if hands_on_only(name)])
def test_a_module_that_only_hands_on_names_says_them_all(name: str) -> None:
    module = importlib.import_module(name)
    offered = {
        public
        for public, value in vars(module).items()
        if not public.startswith("_") and not isinstance(value, ModuleType)
    }
    assert sorted(offered) == sorted(module.__all__)


# --- waits of tests ---------------------------------------------------------------------------------------------------

WAITS = {"acquire", "exception", "join", "result", "settimeout", "timeout", "wait", "wait_for"}
"""Calls whose arguments are seconds."""
MOMENT = 2
"""Seconds for what must not come, or not in time: there, a busy machine makes the expected outcome more certain."""


def waits_with_a_bound(code: str) -> Iterator[ast.expr]:
    """The waits that end after a moment, and before PATIENCE, by a number or by a name that the module gives it."""
    tree = ast.parse(code)
    named = {
        target.id: node.value
        for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target]) if isinstance(target, ast.Name)
    }  # fmt: skip

    def is_bound(node: ast.expr) -> bool:
        match named.get(node.id, node) if isinstance(node, ast.Name) else node:
            case ast.Constant(value=int() | float() as seconds):
                return MOMENT <= seconds < PATIENCE
        return False

    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
                given = [each.value for each in node.keywords if each.arg and each.arg.endswith("timeout")]
                if any(map(is_bound, [*given, *(node.args if name in WAITS else ())])):
                    yield node
            case ast.BinOp(left=ast.Call(func=ast.Attribute(attr="monotonic")), op=ast.Add(), right=right):
                if is_bound(right):
                    yield node


def test_no_wait_of_a_test_has_a_bound_that_a_busy_machine_may_reach() -> None:
    found = [
        f"{file_id(path)}: {ast.unparse(wait)}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for wait in waits_with_a_bound(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "the bound of a wait is PATIENCE (tests/patience.py)"


@pytest.mark.parametrize(
    ("code", "has_one"),
    [
        ("process.wait(60)", True),
        ("SECONDS = 600\nprocess.communicate(timeout=SECONDS)", True),
        ("end = time.monotonic() + 30.0", True),
        ("asyncio.timeout(30)", True),
        ("process.wait(PATIENCE)", False),
        ("over.wait(0.5)", False),
        ("answer(60)", False),
    ],
)
def test_a_wait_with_a_bound_is_noticed(code: str, *, has_one: bool) -> None:
    assert bool(list(waits_with_a_bound(code))) is has_one


def test_no_health_check_judges_how_fast_examples_are_made() -> None:
    """What a test suppresses replaces what `tests/tiers.py` suppresses."""
    lists = [
        (file_id(path), listed)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for listed in re.findall(r"suppress_health_check=(\[[^\]]*\])", path.read_text(encoding="utf-8"))
    ]
    assert len(lists) > 5
    assert [path for path, listed in lists if "HealthCheck.too_slow" not in listed] == []
