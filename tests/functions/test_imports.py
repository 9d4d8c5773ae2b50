"""What a start of each function imports, as a list: nothing may creep in unseen, for every cold start pays for it."""

import json
import subprocess
import sys

import pytest
from benchmarks.lambdas import ENVIRONMENT, FUNCTIONS, LAYER

EVERYWHERE = {
    "aws_lambda_powertools", "boto3", "botocore", "certifi", "cryptography", "dateutil", "jiter",
    "jmespath", "multiprocessing", "nacl", "orjson", "pybase64", "rfc8785", "s3transfer", "six", "typing_extensions",
    "urllib3",
    "postroom.api", "postroom.core", "postroom.crypto", "postroom.net", "postroom.net.aws_errors",
    "postroom.outbound", "postroom.pipeline", "postroom.protocols", "postroom.protocols.dm3",
    "postroom.protocols.nlweb", "postroom.runtime", "postroom.storage", "postroom.storage.aws",
    "postroom.storage.secrets",
}  # fmt: skip
MAIL = {"postroom.protocols.dcp", "postroom.reasons", "postroom.storage.mail"}
MESSAGES = {
    *MAIL, "coincurve", "postroom.http", "postroom.storage.directory", "postroom.storage.limits",
}  # fmt: skip
"""Of whoever has to do with more than dead letters."""
DNS = {"dns", "idna", "postroom.names", "postroom.names.dns"}
IMPORTED = {
    "inbox/app": {*MESSAGES, *DNS, "postroom.names.dnssec"},
    "dm3/app": {*MESSAGES, "postroom.names", "postroom.net.timebox", "postroom.pipeline.judges"},
    "worker/app": {*MESSAGES, *DNS, "postroom.names.dnssec", "postroom.pipeline.judges"},
    "worker/dead_letters": MAIL,
    "waiting/app": {*MESSAGES - MAIL, *DNS, "postroom.names.dnssec"},
    "courier/app": {
        *MESSAGES - {"postroom.storage.limits"}, *DNS, "h11", "httpcore", "postroom.net.address_locks",
        "postroom.net.failing_addresses", "postroom.net.https", "postroom.net.pinned_connection", "postroom.net.reuse",
        "postroom.net.timed", "standardwebhooks",
    },
    "courier/feedback": {
        *MESSAGES, *DNS, "h11", "httpcore", "postroom.net.address_locks", "postroom.net.failing_addresses",
        "postroom.net.https", "postroom.net.pinned_connection", "postroom.net.reuse", "postroom.net.timed", "yaml",
    },
    "mailbox/app": {*MESSAGES, "jwt", "msgspec", "postroom.names", "postroom.storage.containers"},
    "dcp/app": {*MESSAGES, "jwt", "msgspec", "postroom.names", "postroom.storage.containers"},
}  # fmt: skip
"""Beside EVERYWHERE. Packages of others by their first name; of ours, packages and the modules of the first
floor and of `net`; of Python's own, those of SLOW."""

SLOW = {"asyncio", "multiprocessing", "sqlite3", "unittest"}
WHERE_THEY_ARE = {"anyio", "h2", "hpack", "hyperframe"}
"""httpcore takes them where it finds them: here they are the local stack's, and the client's."""
SCRIPT = """
import json, sys
before = set(sys.modules)
import {}
print(json.dumps({{name: hasattr(sys.modules[name], "__path__") for name in set(sys.modules) - before}}))
"""


def modules_of(function: str) -> dict[str, bool]:
    """The modules that a start of a function imports, and whether each is a package."""
    folder, _, module = function.partition("/")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(module)], cwd=FUNCTIONS / folder,
        env={**ENVIRONMENT, "PYTHONPATH": str(LAYER)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, bool] = json.loads(done.stdout)
    return found


def imported_by(function: str) -> set[str]:
    module, found = function.partition("/")[2], modules_of(function)
    ours = {
        name
        for name, is_package in found.items()
        if name.startswith("postroom.") and (is_package or name.count(".") == 1 or name.startswith("postroom.net."))
    }
    tops = {name.partition(".")[0] for name in found} - {"postroom", module, "cython_runtime"} - WHERE_THEY_ARE
    # What begins with _ is a part of another package, or of how Python was started.
    return ours | {top for top in tops if not top.startswith("_") and top not in sys.stdlib_module_names - SLOW}


@pytest.mark.parametrize("function", IMPORTED)
def test_a_start_imports_what_is_listed_and_nothing_else(function: str) -> None:
    imported, listed = imported_by(function), EVERYWHERE | IMPORTED[function]
    new, gone = sorted(imported - listed), sorted(listed - imported)
    assert not new, (
        f"functions/{function}.py now imports {', '.join(new)} at its start; every cold start pays for it. What few "
        "events need is imported where they need it (as `postroom.protocols.nlweb.names` does with idna), or stands in "
        "a module that this function does not import. If every start needs it, see what it costs "
        "(python -m benchmarks start), and put it into this list."
    )
    assert not gone, f"functions/{function}.py imports {', '.join(gone)} no longer: take it out of this list."


def test_the_mailbox_api_imports_nothing_that_only_dcp_needs() -> None:
    of_dcp = {name for name in modules_of("mailbox/app") if "dcp" in name or "keccak" in name}
    assert of_dcp == {"postroom.protocols.dcp", "postroom.protocols.dcp.reasons"}


def test_every_function_is_looked_at() -> None:
    files = {str(path.relative_to(FUNCTIONS).with_suffix("")) for path in FUNCTIONS.rglob("*.py")}
    assert files == IMPORTED.keys()


@pytest.mark.parametrize("function", IMPORTED)
def test_garbage_is_collected_after_the_start_and_not_before(function: str) -> None:
    folder, _, module = function.partition("/")
    script = f"""
import gc, json, sys
collections = []
gc.callbacks.append(lambda phase, _: collections.append(phase))
import {module}
print(json.dumps([len(collections), gc.isenabled(), gc.get_freeze_count()]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=FUNCTIONS / folder, env={**ENVIRONMENT, "PYTHONPATH": str(LAYER)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    collections, enabled, frozen = json.loads(done.stdout)
    assert enabled
    assert frozen > 50_000, "the objects of the start are looked through by each later collection"
    assert collections < 20, "garbage_collection is to be imported first"
