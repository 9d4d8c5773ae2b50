"""The wheel: what is in it, what it asks for, and what it gives in an environment that has that and nothing else."""

import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import BytesParser
from importlib.metadata import PackageNotFoundError, PathDistribution, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.distributions import BASE, EXTRAS, GROUPS, PYPROJECT, ROOT, closure
from tests.patience import PATIENCE

SOURCES = ROOT / "layers" / "postroom"
VERSION = PYPROJECT["project"]["version"]
INFO = f"postroom-{VERSION}.dist-info"
README = (ROOT / "README.md").read_text(encoding="utf-8")

# What the command line needs and Lambda functions do not; httpx is the client's of mailboxes, too, protobuf of chats.
OF_THE_COMMAND_LINE = {"anyio", "httpx", "protobuf", "rich", "typer", "websockets"}

pytestmark = pytest.mark.xdist_group("wheel")

# Its name is in the questions here, and nothing of it is started.
NAMES_THE_STACK = pytest.mark.stack(tier="quick")


def run(*command: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing of the caller's environment."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", **environment}
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


NAME = f"postroom-{VERSION}-py3-none-any.whl"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, because setuptools leaves its own folders where it builds."""
    folder = tmp_path_factory.mktemp("checkout")
    for path in ROOT.iterdir():
        if path.name not in ("build", "layers"):
            (folder / path.name).symlink_to(path)
    shutil.copytree(SOURCES, folder / "layers" / "postroom", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    """Built by setuptools itself, as pip lets it."""
    built = run(sys.executable, "-c", "from setuptools.build_meta import build_wheel as w; w('.')", folder=checkout)
    assert built.returncode == 0, built.stderr
    return checkout / NAME


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as opened:
        return BytesParser().parsebytes(opened.read(f"{INFO}/METADATA"))


# --- what is in it -------------------------------------------------------------------------------------------------


def test_the_wheel_has_the_whole_library_its_licence_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if not name.startswith(INFO)}
        own = {name.removeprefix(f"{INFO}/") for name in opened.namelist() if name.startswith(INFO)}
        licence = opened.read(f"{INFO}/licenses/LICENSE")
    files = (path.relative_to(SOURCES) for path in (SOURCES / "postroom").rglob("*") if path.is_file())
    assert held == {path.as_posix() for path in files if "__pycache__" not in path.parts}
    assert {"postroom/py.typed", "postroom/cost/prices.toml", "postroom/local/stack.py"} <= held
    assert own == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt"}
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_the_metadata_is_that_of_pyproject(metadata: Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == ("postroom", VERSION)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert set(metadata["Requires-Python"].split(",")) == {">=3.11", "<3.14"}
    required = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    assert {str(each) for each in required if not each.marker} == {str(Requirement(text)) for text in BASE}


def test_extras_are_named_by_their_use(metadata: Message) -> None:
    assert metadata.get_all("Provides-Extra") == list(EXTRAS)
    assert set(EXTRAS) == {"chat", "glue", "local", "peers"}


def test_the_layer_is_the_base_without_the_command_lines_packages() -> None:
    assert GROUPS["layer"] == [text for text in BASE if Requirement(text).name not in OF_THE_COMMAND_LINE]
    assert {Requirement(text).name for text in BASE} > OF_THE_COMMAND_LINE


# --- what it gives -------------------------------------------------------------------------------------------------


class Environment:
    """A fresh virtual environment with the wheel, and a folder with nothing in it."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.empty = folder / "empty"
        self.empty.mkdir()
        self.bin = folder / "venv" / "bin"
        self._ran(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        for path in files_of(closure(BASE)):
            (packages / path.name).symlink_to(path)
        # A wheel in pure Python is installed by unpacking it, and by a script for each of its entry points.
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(packages)
        for entry in PathDistribution(packages / INFO).entry_points.select(group="console_scripts"):
            script = self.bin / entry.name
            call = f"import sys\nfrom {entry.module} import {entry.attr}\nsys.exit({entry.attr}())\n"
            script.write_text(f"#!{self.bin / 'python'}\n{call}", encoding="utf-8")
            script.chmod(script.stat().st_mode | stat.S_IXUSR)

    def _ran(self, *command: str | Path) -> None:
        done = run(*command, folder=self.empty)
        assert done.returncode == 0, done.stderr

    def postroom(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(self.bin / "postroom", *arguments, folder=self.empty)

    def python(self, code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return run(self.bin / "python", "-c", code, *arguments, folder=self.empty, **environment)


def files_of(names: set[str]) -> set[Path]:
    """What these distributions have in the site-packages of this environment, by its uppermost files and folders."""
    owners = packages_distributions()
    found = set()
    for name in names:
        try:
            held = distribution(name)
        except PackageNotFoundError:
            continue  # for another system
        for top in {path.parts[0] for path in held.files or ()} - {"..", "__pycache__"}:
            # What others share would bring them along.
            assert {canonicalize_name(owner) for owner in owners.get(top, ())} <= names, top
            found.add(Path(str(held.locate_file(top))))
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("installed"), wheel)


@NAMES_THE_STACK
def test_the_environment_is_the_wheels_alone(installed: Environment) -> None:
    code = "import postroom, sys; print(postroom.__file__); print(*sys.path, sep='\\n')"
    printed = installed.python(code).stdout.splitlines()
    assert printed[0].startswith(str(installed.bin.parent))
    assert not [path for path in printed if path.startswith((str(ROOT), str(Path(sys.prefix) / "lib")))]
    for name in ("PIL", "textual", "ministack", "hypercorn", "eth", "pyspark", "pollyweb", "pytest"):
        assert installed.python(f"import {name}").returncode == 1


IMPORT_ALL = """
import importlib, json, pkgutil, postroom
missing = {}
for module in pkgutil.walk_packages(postroom.__path__, "postroom.", onerror=lambda name: None):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        missing[module.name] = error.name
print(json.dumps(missing))
"""


WITH_EXTRAS = (
    "postroom.cli.chat.terminal_client.",
    "postroom.cli.played_demo",
    "postroom.client.chat.picture_worker",
    "postroom.demo.",
    "postroom.local.",
)


def test_every_module_can_be_imported_but_those_with_packages_of_extras(installed: Environment) -> None:
    done = installed.python(IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    missing = json.loads(done.stdout)
    assert {name.partition(".")[0] for name in missing.values()} == {
        "PIL", "eth", "hypercorn", "ministack", "samtranslator", "textual", "trustme",
    }  # fmt: skip
    assert not [name for name in missing if not name.startswith(WITH_EXTRAS)]


HELP = """
import json, sys
from typer.main import get_command
from typer.testing import CliRunner
from postroom.cli.app import app

def paths(command, *path):
    yield path
    for name, each in getattr(command, "commands", {}).items():
        yield from paths(each, *path, name)

told = {}
for path in paths(get_command(app)):
    result = CliRunner().invoke(app, [*path, "--help"])
    told[" ".join(path)] = [result.exit_code, result.output[:60]]
print(json.dumps(told))
"""


def test_every_command_has_help(installed: Environment) -> None:
    done = installed.python(HELP)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert len(printed) > 50
    for command, (code, output) in printed.items():
        assert (code, output.split()[:1]) == (0, ["Usage:"]), command
    assert installed.postroom("--help").stdout.startswith("Usage: postroom")
    assert installed.postroom("--version").stdout == f"postroom {VERSION}\n"


def test_a_key_is_made_and_a_message_signed_and_read_without_a_network(installed: Environment) -> None:
    made = installed.postroom("keygen", "--domain", "shop.example", "--out", "shop.pem")
    assert made.returncode == 0, made.stderr
    (installed.empty / "hello.json").write_text('{"Text": "Good morning"}')
    signed = installed.postroom(
        "sign", "hello.json", "--key", "shop.pem", "--from", "shop.example", "--selector", "pk1",
        "--to", "receiver.example", "--subject", "Hello@Host",
    )  # fmt: skip
    assert signed.returncode == 0, signed.stderr
    (installed.empty / "message.json").write_text(signed.stdout)
    # Nobody answers at that port: all that needs no key is judged.
    verified = installed.postroom("verify", "message.json", "--resolver", "tcp://127.0.0.1:1")
    assert (verified.returncode, "KeyLookupFailed" in verified.stdout) == (3, True), verified.stdout + verified.stderr
    forged = signed.stdout.replace("Good morning", "Good evening")
    (installed.empty / "message.json").write_text(forged)
    verified = installed.postroom("verify", "message.json", "--resolver", "tcp://127.0.0.1:1")
    assert (verified.returncode, "HashMismatch" in verified.stdout) == (1, True), verified.stdout + verified.stderr


def test_the_mailbox_client_can_be_imported(installed: Environment) -> None:
    done = installed.python("from postroom.client import AsyncMailbox, Mailbox, Sender; print(Mailbox.__name__)")
    assert done.stdout == "Mailbox\n", done.stderr


# --- what takes more -----------------------------------------------------------------------------------------------


@NAMES_THE_STACK
@pytest.mark.parametrize(
    ("command", "code", "printed"),
    [
        ("up", 2, "run `make demo` or `make up` there"),
        ("demo", 2, "run `make demo` or `make up` there"),
        ("jobs compact --stack-name mail", 2, "clone the repository, run `make install` there"),
        ("jobs expire --stack-name mail", 2, "clone the repository, run `make install` there"),
        ("read receiver.example --local .postroom", 5, "`postroom up` starts a local stack"),
    ],
)
def test_commands_that_need_a_checkout_say_so(installed: Environment, command: str, code: int, printed: str) -> None:
    done = installed.postroom(*command.split())
    assert (done.returncode, done.stdout, printed in done.stderr) == (code, "", True), done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "extras"),
    [
        ("up", "local"),
        ("demo", "local,peers"),
        ("jobs compact --stack-name mail", "glue"),
        ("jobs expire --stack-name mail", "glue"),
    ],
)
def test_commands_that_need_an_extra_name_it(installed: Environment, command: str, extras: str) -> None:
    """The library is that of this checkout, the packages are those of the base."""
    code = "import sys; from postroom.cli import main; sys.argv[0] = 'postroom'; main()"
    done = installed.python(code, *command.split(), PYTHONPATH=str(SOURCES))
    printed = f"`pip install 'postroom[{extras}]'` installs them\n"
    assert (done.returncode, done.stdout, done.stderr.endswith(printed)) == (2, "", True), done.stderr
    assert len(done.stderr.splitlines()) == 1


PREPARE = """
from base64 import b64decode
from postroom.client.chat.pictures import prepare_picture
from postroom.core.errors import SettingsError
try:
    picture = prepare_picture(b64decode("R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs="))
    print(picture.type, picture.cleaned.width, picture.cleaned.height)
except SettingsError as error:
    print(error)
"""


def test_pictures_of_chats_need_an_extra(installed: Environment, tmp_path: Path) -> None:
    """The program that decodes them is a file of the wheel, and finds Pillow where Python does."""
    said = installed.python(PREPARE)
    assert said.stdout.endswith("`pip install 'postroom[chat]'` installs them\n"), said.stderr
    for path in files_of(closure(EXTRAS["chat"]) - closure(BASE)):
        (tmp_path / path.name).symlink_to(path)
    assert installed.python(PREPARE, PYTHONPATH=str(tmp_path)).stdout == "PNG 1 1\n"


# --- how it is made ------------------------------------------------------------------------------------------------


@pytest.mark.tools
@pytest.mark.skipif(find_spec("pip") is None and not os.environ.get("CI"), reason="pip is not installed")
def test_pip_builds_and_installs_the_same(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    """With no package index, because all that it needs is installed."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    built, target = tmp_path / "built", tmp_path / "installed"
    options = ("--quiet", "--no-deps", "--no-index")
    done = run(*pip, "wheel", *options, "--no-build-isolation", "--wheel-dir", built, ".", folder=checkout)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(built / NAME) as theirs, zipfile.ZipFile(wheel) as ours:
        assert {each.filename: each.CRC for each in theirs.infolist()} == {
            each.filename: each.CRC for each in ours.infolist()
        }
    done = run(*pip, "install", *options, "--target", target, built / NAME, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    script = run(sys.executable, target / "bin" / "postroom", "--version", folder=tmp_path, PYTHONPATH=str(target))
    assert script.stdout == f"postroom {VERSION}\n", script.stderr


def test_the_readme_says_how_it_is_made_and_installed() -> None:
    assert "`pip wheel --no-deps .`" in README
    assert f"`pip install postroom-{VERSION}-py3-none-any.whl`" in README


def test_the_changelog_has_this_version() -> None:
    assert f"\n## {VERSION} – " in (ROOT / "docs" / "CHANGELOG.md").read_text(encoding="utf-8")
