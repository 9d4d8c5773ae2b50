"""Exit codes and errors of commands: an error becomes a sentence, or with --json an object, and a code.

The table of codes in docs/reference/cli.md is made from `Exit`.
"""

import errno
import json
import logging
import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperGroup

from postroom.cli.terminal import LoggedLines, print_error
from postroom.core.errors import NotNowError, OurError, SettingsError, TheirError


class Exit(IntEnum):
    """The exit codes. `meaning`: the text of the reference; the name in lower case is the `code` of an error's JSON."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "Exit":
        """A code with its meaning."""
        made = int.__new__(cls, value)
        made._value_ = value
        made.meaning = meaning
        return made

    GOOD = 0, "Done. Of a check: good, perhaps with warnings; of a look-up: secure."
    REFUSED = 1, "The message, the domain or the request is not accepted, and will not be. Of a look-up: bogus."
    USAGE = 2, "The command line, or a file or setting that it names, is wrong. Nothing was done."
    UNAVAILABLE = 3, "The result is unknown, or it could not be done now. Try again. Of a look-up: indeterminate."
    PROBLEMS = 4, "`audit` or `archive verify` found problems. Of a look-up: proven to be insecure."
    NOT_FOUND = (
        5,
        "Something named on the command line does not exist: a file, stack, domain, mailbox, message, conversation; "
        "or a name has no profile.",
    )
    INTERRUPTED = 130, "Interrupted by Ctrl-C. What was started is stopped."
    NOBODY_READS = 141, "The reader of the output has closed it (SIGPIPE)."


class CommandFault(Exception):  # noqa: N818 - its subclasses say whose it is
    """An error that ends a command. `hint`: what to do. `reason`: the machine code of a refusal (reasons.md)."""

    exit: Exit

    def __init__(self, message: str, *, hint: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.reason = reason


class UsageFault(CommandFault):
    """The command line cannot be executed; the sentence says what to change."""

    exit = Exit.USAGE


class NotFoundFault(CommandFault):
    """Something named on the command line does not exist."""

    exit = Exit.NOT_FOUND


class RefusalFault(CommandFault):
    """The request was refused, and would be again; the sentence says why."""

    exit = Exit.REFUSED


class UnavailableFault(CommandFault):
    """The result is unknown, or it could not be done now; the sentence says why."""

    exit = Exit.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a command that failed."""

    exit: Exit
    message: str
    hint: str = ""
    reason: str = ""

    def print(self) -> None:
        """Print one line on standard error: a sentence for people, or with --json an object."""
        if not in_json():
            print_error(f"postroom: {self.message}{f'; {self.hint}' if self.hint else ''}")
            return
        error = {
            "code": self.exit.name.lower(), "exit": int(self.exit), "message": self.message,
            "hint": self.hint or None, "reason": self.reason or None,
        }  # fmt: skip
        print_error(json.dumps({"error": error}))


_in_json: Final[ContextVar[bool]] = ContextVar("in_json", default=False)


def in_json() -> bool:
    """Whether the running command was called with --json."""
    return _in_json.get()


class Commands(TyperGroup):
    """The root of all commands. It turns every error into a sentence, or an object, and an exit code."""

    def main(self, args: Sequence[str] | None = None, *positional: Any, **kwargs: Any) -> Any:
        """Run as a program, with any locale and any reader of the output."""
        words = list(sys.argv[1:] if args is None else args)
        # Checked here, because it also applies to a command line that cannot be parsed.
        token = _in_json.set("--json" in words[: words.index("--") if "--" in words else None])
        resort, logging.lastResort = logging.lastResort, LoggedLines(as_json=in_json())
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by the parent process: nobody reads it, which is not an error
                setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            try:
                return super().main(words, *positional, **kwargs)
            finally:
                sys.stdout.flush()
        except (BrokenPipeError, SystemExit) as error:
            # Typer and rich turn a broken pipe into exit code 1, which here means that the message is bad.
            if not any(isinstance(each, BrokenPipeError) for each in (error, error.__context__)):
                raise
            _give_output_up()
            sys.exit(Exit.NOBODY_READS)
        except OSError as error:
            if not _is_full(error):
                raise
            _give_output_up()
            ending = Ending(Exit.UNAVAILABLE, f"the output could not be written: {error.strerror}")
            ending.print()
            sys.exit(ending.exit)
        finally:
            logging.lastResort = resort
            _in_json.reset(token)

    def make_context(self, *args: Any, **kwargs: Any) -> typer.Context:
        """Read the command line of the root."""
        try:
            return super().make_context(*args, **kwargs)  # type: ignore[return-value]
        except typer.TyperException as error:
            raise _ended_by_usage(error) from None

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a command."""
        try:
            return super().invoke(ctx)
        except typer.TyperException as error:
            raise _ended_by_usage(error) from None
        except KeyboardInterrupt:
            raise _interrupted() from None
        except Exception as error:
            if _began_with_an_interrupt(error):
                raise _interrupted() from None
            ending = _ending(error)
            if ending is None or os.environ.get("POSTROOM_DEBUG"):
                raise
            sys.stdout.flush()
            ending.print()
            raise typer.Exit(ending.exit) from None


def _ended_by_usage(error: typer.TyperException) -> Exception:
    """Show Typer's own error with the usage; with --json like any other error."""
    if not in_json():
        return error
    Ending(Exit.USAGE, error.format_message()).print()
    return typer.Exit(Exit.USAGE)


def _interrupted() -> typer.Exit:
    if sys.stderr.isatty():
        print_error()  # the terminal shows ^C
    Ending(Exit.INTERRUPTED, "interrupted").print()
    return typer.Exit(Exit.INTERRUPTED)


def _began_with_an_interrupt(error: BaseException) -> bool:
    """Whether an interrupt caused it: dnspython turns one while it reads a message or a zone into an error of its own.

    Of a zone it hides the cause (`from None`), which the context still has.
    """
    cause = error.__cause__ or error.__context__
    return cause is not None and (isinstance(cause, KeyboardInterrupt) or _began_with_an_interrupt(cause))


def _is_full(error: OSError) -> bool:
    """Whether the output has no room: an error of one of our files has a name."""
    return error.errno == errno.ENOSPC and error.filename is None


def _give_output_up() -> None:
    # Buffered output would fail again when Python ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ending(error: Exception) -> Ending | None:
    """How an error ends a command; None: the error is not handled here."""
    match error:
        case typer.Exit() | typer.Abort() | typer.TyperException():
            return None
        case CommandFault():
            return Ending(error.exit, str(error), error.hint, error.reason)
        case SettingsError():
            return Ending(Exit.USAGE, str(error))
        case OurError():
            return Ending(Exit.UNAVAILABLE, str(error))
        case TheirError():
            return Ending(Exit.REFUSED, str(error), reason=str(error.reason))
        case NotNowError():
            return Ending(Exit.UNAVAILABLE, str(error), reason=str(error.reason))
        case OSError() if error.errno == errno.EPIPE or _is_full(error):
            return None
        case OSError() if error.filename is not None:
            return Ending(_exit_of_file(error), f"{error.filename}: {error.strerror}")
    if _is_from_aws(error):
        return Ending(Exit.UNAVAILABLE, f"the request to AWS failed: {error}", _what_helps(error))
    return Ending(
        Exit.UNAVAILABLE,
        f"an error in postroom itself ({type(error).__name__}: {error})",
        "please report it, with the output of POSTROOM_DEBUG=1",
    )


_PASSES: Final = frozenset(
    {errno.EBUSY, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.ESTALE}
)
"""Errors of the machine, which another command line would not avoid."""


def _exit_of_file(error: OSError) -> Exit:
    if isinstance(error, FileNotFoundError):
        return Exit.NOT_FOUND
    return Exit.UNAVAILABLE if error.errno in _PASSES else Exit.USAGE


_SAY_REGION: Final = "set the deployment's region: export AWS_DEFAULT_REGION=eu-west-1"
_SAY_WHO: Final = "`aws sts get-caller-identity` must work first"
_CREDENTIALS: Final = {
    "NoRegionError": _SAY_REGION,
    "EndpointConnectionError": "check the region and the network",
    **dict.fromkeys(
        (
            "CredentialRetrievalError", "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound",
            "SSOTokenLoadError", "TokenRetrievalError", "UnauthorizedSSOTokenError",
            "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
        ),
        _SAY_WHO,
    ),
}  # fmt: skip
"""What to do, by the class of botocore's error or the code of AWS's."""


def _what_helps(error: Exception) -> str:
    # Not at the top: most commands never load boto3.
    from botocore.exceptions import ClientError

    from postroom.net.aws_errors import error_code

    return _CREDENTIALS.get(error_code(error) if isinstance(error, ClientError) else type(error).__name__, "")


def _is_from_aws(error: Exception) -> bool:
    # Looked up, not imported: most commands never load boto3.
    exceptions = sys.modules.get("botocore.exceptions")
    return exceptions is not None and isinstance(error, (exceptions.BotoCoreError, exceptions.ClientError))
