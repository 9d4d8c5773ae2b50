"""What all commands have in common: help at once, exit codes, never a stack trace."""

import errno
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import Mock

import pytest
import typer
from dns.exception import FormError
from dns.rdtypes.ANY.TXT import TXT
from tests.cli.conftest import Postroom
from tests.core.test_shown_text import HOSTILE
from tests.patience import PATIENCE
from typer.testing import CliRunner

from postroom import cli
from postroom.cli import main
from postroom.cli.app import COMMANDS, app
from postroom.cli.exits import Commands, Exit, NotFoundFault, RefusalFault, UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import note
from postroom.core.errors import NotNowError, OurError, SettingsError, TheirError
from postroom.core.reasons import NOT_JSON
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.zones import ZoneTree
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

HEAVY = {
    "boto3", "botocore", "coincurve", "cryptography", "dns", "httpcore", "ministack", "nacl", "rich", "samtranslator",
}  # fmt: skip


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        command, capture_output=True, text=True, env=kept | environment, timeout=PATIENCE, check=False
    )


def loaded_by(*words: str) -> list[str]:
    """The modules that a command line loads."""
    script = f"import sys; sys.argv = {['postroom', *words]}\n"
    script += "import atexit, json; atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
    script += "import postroom.cli; postroom.cli.main()"
    ended = run(sys.executable, "-c", script)
    assert ended.returncode == 0
    modules: list[str] = json.loads(ended.stderr)
    return modules


def test_help_loads_nothing_heavy() -> None:
    loaded = {name.partition(".")[0] for name in loaded_by("--help")}
    assert "typer" in loaded
    assert loaded & HEAVY == set()


def test_a_command_loads_no_other_command() -> None:
    loaded = loaded_by("keygen", "--help")
    of_commands = {f"postroom.cli.{place.module}" for place in COMMANDS.values()}
    assert of_commands.intersection(loaded) == {"postroom.cli.keygen"}


def test_the_version_is_the_distributions() -> None:
    ended = run(str(Path(sys.executable).parent / "postroom"), "--version")
    assert ended.stdout.split()[0] == "postroom"
    assert ended.stdout.split()[1][0].isdigit()


@pytest.mark.parametrize("arguments", [["frobnicate"], ["sign", "--frobnicate"], ["domain", "frobnicate"], ["verify"]])
def test_an_unknown_command_or_option_is_a_usage_error(postroom: Postroom, arguments: list[str]) -> None:
    result = postroom(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr


def failing(error: BaseException) -> typer.Typer:
    made = typer.Typer(cls=Commands)

    @made.command()
    def fail(as_json: AsJson = False) -> None:
        raise error

    @made.callback()
    def root() -> None:
        """Make it a group."""

    return made


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (TheirError(NOT_JSON, "at byte 3"), 1, "NotJson: at byte 3"),
        (NotNowError(KEY_LOOKUP_FAILED, "timed out"), 3, "KeyLookupFailed: timed out"),
        (SettingsError("no DNS resolver is set"), 2, "no DNS resolver is set"),
        (OurError("stack x is ROLLBACK_COMPLETE"), 3, "stack x is ROLLBACK_COMPLETE"),
        (PermissionError(13, "Permission denied", "key.pem"), 2, "key.pem: Permission denied"),
        (FileNotFoundError(2, "No such file", "key.pem"), 5, "key.pem: No such file"),
        (OSError(errno.ENOSPC, "No space left on device", "mail.json"), 3, "mail.json: No space left on device"),
        (OSError(errno.EIO, "Input/output error", "mail.json"), 3, "mail.json: Input/output error"),
        (ValueError("surprise"), 3, "an error in postroom itself (ValueError: surprise); please report it"),
    ],
)
def test_an_error_is_one_sentence_and_an_exit_code(error: Exception, code: int, sentence: str) -> None:
    result = CliRunner(env={"POSTROOM_DEBUG": None}).invoke(failing(error), ["fail"])
    assert result.exit_code == code
    assert result.stderr.startswith(f"postroom: {sentence}")
    assert result.stderr.count("\n") == 1


def test_the_stack_trace_is_shown_on_request() -> None:
    with pytest.raises(ValueError, match="surprise"):
        CliRunner(env={"POSTROOM_DEBUG": "1"}).invoke(failing(ValueError("surprise")), ["fail"], catch_exceptions=False)


def test_an_interrupt_is_not_an_error() -> None:
    assert CliRunner().invoke(failing(KeyboardInterrupt()), ["fail"]).exit_code == 130


def test_an_interrupt_that_a_library_wraps_is_still_an_interrupt() -> None:
    error = FormError()
    error.__cause__ = KeyboardInterrupt()
    assert CliRunner().invoke(failing(error), ["fail"]).exit_code == 130


def test_an_interrupt_while_a_zone_is_read_is_still_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts = Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr(TXT, "from_text", interrupts)
    with pytest.raises(SettingsError) as raised:
        ZoneTree().put("sender.example", "name TXT text")
    assert interrupts.called
    assert CliRunner().invoke(failing(raised.value), ["fail"]).exit_code == 130


def test_the_program_is_the_same_as_the_app() -> None:
    ended = run(str(Path(sys.executable).parent / "postroom"), "verify", "missing.json")
    assert (ended.returncode, ended.stdout) == (5, "")
    assert ended.stderr == "postroom: missing.json: No such file or directory\n"
    assert app.info.name == "postroom"


POSTROOM = str(Path(sys.executable).parent / "postroom")


def test_closed_standard_input_is_one_sentence() -> None:
    ended = run("/bin/sh", "-c", f'"{POSTROOM}" verify - <&-')
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "postroom: standard input is closed; name a file, or pipe one in\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("verify message.json --resolver tcp://127.0.0.1:1", 3),
        ("verify message.json --resolver tcp://127.0.0.1:1 --json", 3),
        ("--help", 0),
    ],
)
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_closed_standard_output_does_not_change_the_exit_code(
    tmp_path: Path, envelope: Callable[..., str], arguments: str, code: int, closed: str
) -> None:
    """Not 1, with which Python itself ends when it could not print."""
    (tmp_path / "message.json").write_text(envelope(), encoding="utf-8")
    ended = subprocess.run(
        ["/bin/sh", "-c", f'"{POSTROOM}" {arguments} {closed}'], capture_output=True, text=True, cwd=tmp_path,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", "")


@pytest.mark.parametrize("arguments", [("verify", "message.json", "--json"), ("verify", "message.json"), ("--help",)])
def test_a_closed_pipe_ends_quietly_with_its_own_exit_code(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "message.json").write_text("[]")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        ended = subprocess.run(
            [POSTROOM, *arguments], stdout=nobody, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}],
    ids=["the C locale", "ascii"],
)
def test_the_locale_does_not_change_json_output(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "key.pem").write_bytes(PrivateKey.generate("ed25519").to_pem())
    (tmp_path / "body.json").write_text('{"Say": "🤝"}', encoding="utf-8")
    kept = {"PATH": os.environ["PATH"]} | environment

    def postroom(*arguments: str) -> bytes:
        ended = subprocess.run(
            [POSTROOM, *arguments], capture_output=True, cwd=tmp_path, env=kept, timeout=PATIENCE, check=False
        )
        assert b"an error in postroom" not in ended.stderr, ended.stderr
        return ended.stdout

    signed = postroom(
        "sign", "body.json", "--key", "key.pem", "--from", "a.example", "--to", "b.example", "--subject", "A@B"
    )
    assert json.loads(signed.decode("utf-8"))["Body"] == {"Say": "🤝"}
    (tmp_path / "signed.json").write_bytes(signed.replace(b"nlweb.org/MSG:1", "é/MSG:1".encode()))
    printed = postroom("verify", "signed.json", "--json", "--resolver", "tcp://127.0.0.1:1")
    assert "é/MSG:1" in printed.decode("utf-8")
    assert b"\\xe9/MSG:1" in postroom("verify", "signed.json", "--resolver", "tcp://127.0.0.1:1")


def test_a_full_disk_is_not_our_fault() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([POSTROOM, "cost"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == Exit.UNAVAILABLE
    assert ended.stderr == "postroom: the output could not be written: No space left on device\n"


def printed(*words: str, error: BaseException) -> tuple[int, dict[str, object]]:
    made = typer.Typer(cls=Commands)

    @made.command()
    def fail(as_json: AsJson = False) -> None:
        note("by the way")
        raise error

    @made.callback()
    def root() -> None:
        """Make it a group."""

    result = CliRunner(env={"POSTROOM_DEBUG": None}).invoke(made, list(words))
    assert result.stdout == ""
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert lines[:-1] == [{"note": "by the way"}] * (len(lines) - 1)
    return result.exit_code, lines[-1]["error"]


@pytest.mark.parametrize(
    ("error", "exit_", "code", "reason"),
    [
        (TheirError(NOT_JSON, "at byte 3"), 1, "refused", "NotJson"),
        (RefusalFault("no", reason="NotTheOwner"), 1, "refused", "NotTheOwner"),
        (UsageFault("so not"), 2, "usage", None),
        (NotNowError(KEY_LOOKUP_FAILED, "timed out"), 3, "unavailable", "KeyLookupFailed"),
        (NotFoundFault("no shop"), 5, "not_found", None),
        (FileNotFoundError(2, "No such file", "key.pem"), 5, "not_found", None),
        (KeyboardInterrupt(), 130, "interrupted", None),
    ],
)
def test_with_json_an_error_is_an_object(error: BaseException, exit_: int, code: str, reason: str | None) -> None:
    ended, said = printed("fail", "--json", error=error)
    assert set(said) == {"code", "exit", "message", "hint", "reason"}
    assert (ended, said["exit"], said["code"], said["reason"]) == (exit_, exit_, code, reason)
    assert said["message"]


def run_main(monkeypatch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    """The exit code of a command line."""
    monkeypatch.setattr(sys, "argv", ["postroom", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


class Interrupted(ModuleType):
    """A module during whose import Ctrl-C is pressed."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise KeyboardInterrupt


@pytest.mark.parametrize("words", [("fail",), ("fail", "--json")])
def test_an_interrupt_while_the_command_line_loads_is_printed_as_one_of_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "postroom.cli.app", Interrupted("postroom.cli.app"))
    code = run_main(monkeypatch, *words)
    running = CliRunner().invoke(failing(KeyboardInterrupt()), list(words))
    assert (code, capsys.readouterr().err) == (running.exit_code, running.stderr)


def wrapped_interrupt() -> RuntimeError:
    """What Python 3.11 makes of an interrupt while a class is made."""
    error = RuntimeError("Error calling __set_name__")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(
    ("interrupted", "error", "word"),
    [
        ("importlib.metadata.version", KeyboardInterrupt(), "--version"),
        ("postroom.cli.app.app", wrapped_interrupt(), "up"),
    ],
    ids=["while the words are read", "while a class is made"],
)
def test_an_interrupt_outside_of_a_command_is_printed_as_well(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    interrupted: str,
    error: BaseException,
    word: str,
) -> None:
    monkeypatch.setattr(interrupted, Mock(side_effect=error))
    assert run_main(monkeypatch, word) == 130
    assert capsys.readouterr().err == "postroom: interrupted\n"


def test_an_interrupt_of_a_command_is_printed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("postroom.cli.app.app", failing(KeyboardInterrupt()))
    assert run_main(monkeypatch, "fail") == 130
    assert capsys.readouterr().err == "postroom: interrupted\n"


@pytest.mark.parametrize("option", [(), ("--json",)], ids=["people", "programs"])
def test_what_a_command_logs_neither_controls_the_terminal_nor_begins_a_line(
    monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...]
) -> None:
    """Whichever library logs it: commands configure no logging, and Python's last resort is standard error."""
    other = typer.Typer(cls=Commands)

    @other.callback()
    def _root() -> None:
        pass

    @other.command()
    def logs(as_json: AsJson = False) -> None:
        log = logging.getLogger("asyncio")
        log.info("of no interest")
        log.warning("%s", HOSTILE * 1000)
        log.error("it failed", exc_info=ValueError(HOSTILE))

    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    before = logging.lastResort
    result = CliRunner().invoke(other, ["logs", *option])
    assert (result.exit_code, result.stdout) == (0, "")
    lines = result.stderr.removesuffix("\n").split("\n")
    assert all(line.isprintable() for line in lines)
    if option:
        warning, error = (json.loads(line)["note"] for line in lines)
        assert warning.isprintable()
        assert error.startswith("it failed\n  ValueError: ")
    else:
        assert [line[:20] for line in lines if not line.startswith("  ")] == [
            r"postroom: \x1b]0;owned\x07"[:20], "postroom: it failed",
        ]  # fmt: skip
        assert len(lines[0]) < 25_000
    assert logging.lastResort is before


def test_a_hint_is_a_member_in_json_and_part_of_the_sentence_otherwise() -> None:
    fault = NotFoundFault("no shop", hint="`add` makes one")
    _, said = printed("fail", "--json", error=fault)
    assert (said["message"], said["hint"]) == ("no shop", "`add` makes one")
    assert CliRunner().invoke(failing(fault), ["fail"]).stderr == "postroom: no shop; `add` makes one\n"


@pytest.mark.parametrize(
    "arguments", [("frobnicate", "--json"), ("domain", "frobnicate", "--json"), ("domain", "add", "--json"),
                  ("cost", "--size", "x", "--json"), ("cost", "--front", "x", "--json")]
)  # fmt: skip
def test_a_usage_error_is_an_object_with_json_too(postroom: Postroom, arguments: tuple[str, ...]) -> None:
    result = postroom(*arguments)
    said = json.loads(result.stderr)["error"]
    assert (result.exit_code, result.stdout, said["code"]) == (2, "", "usage")


def test_arguments_after_two_hyphens_are_not_options(postroom: Postroom) -> None:
    assert postroom("verify", "--", "--json").stderr == "postroom: --json: No such file or directory\n"


def test_no_two_exit_codes_are_the_same() -> None:
    assert len(Exit) == len({code.meaning for code in Exit}) == len({int(code) for code in Exit})


@pytest.fixture
def interruptible(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Interrupts as in a command, which a process of pytest-xdist may ignore."""
    monkeypatch.setattr(sys, "unraisablehook", cli._interrupt_again)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Named:
    """Something that a weak reference can lead to."""


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_python_drops_in_a_callback_comes_again() -> None:
    """An import removes its lock in such a callback, and `postroom up` went on after a Ctrl-C in one."""

    def wait() -> None:
        named = Named()
        _reference = weakref.ref(named, lambda _: signal.raise_signal(signal.SIGINT))
        del named
        threading.Event().wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt):
        wait()


@pytest.mark.usefixtures("interruptible")
def test_other_errors_that_python_drops_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    named = Named()
    reference = weakref.ref(named, lambda _: 1 // 0)
    del named
    assert reference() is None
    assert "ZeroDivisionError" in capsys.readouterr().err
