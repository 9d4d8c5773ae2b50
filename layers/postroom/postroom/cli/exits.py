"""Exit codes: 0 good, 1 the message is bad, 2 usage, 3 could not find out, 4 an audit found problems.

Of a look-up: 0 secure, 1 bogus, 3 indeterminate, 4 insecure. Of the doctor: 0 good, 1 something is bad, 3 something
could not be found out. An error is one sentence.
"""

import errno
import os
import sys
from enum import IntEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperGroup

from postroom.core.errors import NotNowError, OurError, SettingsError, TheirError


class Exit(IntEnum):
    """The exit codes."""

    GOOD = 0
    BAD_MESSAGE = 1
    USAGE = 2
    NOT_FOUND_OUT = 3
    PROBLEMS = 4
    INSECURE = 4
    NOBODY_READS = 141
    """As the shell tells of a program that SIGPIPE ended."""


class UsageFault(Exception):  # noqa: N818 - it is the user's, and reads as such
    """What was asked for cannot be done that way; the sentence says what to do. Exit code 2."""


class Refusal(Exception):  # noqa: N818 - as above
    """Who was asked says no, and will say so again; the sentence says why. Exit code 1."""


class NotFoundOut(Exception):  # noqa: N818 - as above
    """It could not be found out or done just now; the sentence says why. Exit code 3."""


class Commands(TyperGroup):
    """The root of all commands, where every error becomes a sentence and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run as a program, with whatever locale and whatever reader there is."""
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by who started us: then nobody reads, and nothing is wrong
                setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                sys.stdout.flush()
        except (BrokenPipeError, SystemExit) as error:
            # Typer and rich turn a broken pipe into exit code 1, which says here that the message is bad.
            if not any(isinstance(each, BrokenPipeError) for each in (error, error.__context__)):
                raise
            _give_output_up()
            sys.exit(Exit.NOBODY_READS)
        except OSError as error:
            if not _is_full(error):
                raise
            _give_output_up()
            print(f"postroom: the output could not be written: {error.strerror}", file=sys.stderr)
            sys.exit(Exit.NOT_FOUND_OUT)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            told = _sentence(error)
            if told is None or os.environ.get("POSTROOM_DEBUG"):
                raise
            code, sentence = told
            sys.stdout.flush()
            print(f"postroom: {sentence}", file=sys.stderr)
            raise typer.Exit(code) from None


def _is_full(error: OSError) -> bool:
    """Whether it is the output that has no room: a file of ours would be named."""
    return error.errno == errno.ENOSPC and error.filename is None


def _give_output_up() -> None:
    # What is still buffered would fail once more when Python ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception) -> tuple[Exit, str] | None:
    """The exit code and the sentence for an error; None: it has its own way out."""
    match error:
        case typer.Exit() | typer.Abort() | typer.TyperException():
            return None
        case UsageFault() | SettingsError():
            return Exit.USAGE, str(error)
        case NotFoundOut() | OurError():
            return Exit.NOT_FOUND_OUT, str(error)
        case Refusal() | TheirError():
            return Exit.BAD_MESSAGE, str(error)
        case NotNowError():
            return Exit.NOT_FOUND_OUT, str(error)
        case OSError() if error.errno == errno.EPIPE or _is_full(error):
            return None
        case OSError() if error.filename is not None:
            return Exit.USAGE, f"{error.filename}: {error.strerror}"
    if _is_from_aws(error):
        return Exit.NOT_FOUND_OUT, f"AWS could not be asked: {error}{_what_helps(error)}"
    return Exit.NOT_FOUND_OUT, (
        f"a fault of postroom itself ({type(error).__name__}: {error}); "
        "please report it, with what POSTROOM_DEBUG=1 prints"
    )


_SAY_REGION: Final = " Say the deployment's: export AWS_DEFAULT_REGION=eu-west-1"
_SAY_WHO: Final = "; `aws sts get-caller-identity` must work first"
_CREDENTIALS: Final = {
    "NoRegionError": _SAY_REGION,
    "EndpointConnectionError": "; is there such a region, and a network?",
    **dict.fromkeys(
        (
            "CredentialRetrievalError", "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound",
            "SSOTokenLoadError", "TokenRetrievalError", "UnauthorizedSSOTokenError",
            "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
        ),
        _SAY_WHO,
    ),
}  # fmt: skip
"""What helps, by the class of botocore's error or the code of AWS's."""


def _what_helps(error: Exception) -> str:
    # Not above: most commands never load boto3.
    from botocore.exceptions import ClientError

    from postroom.net.aws import error_code

    return _CREDENTIALS.get(error_code(error) if isinstance(error, ClientError) else type(error).__name__, "")


def _is_from_aws(error: Exception) -> bool:
    # Looked up, not imported: most commands never load boto3.
    exceptions = sys.modules.get("botocore.exceptions")
    return exceptions is not None and isinstance(error, (exceptions.BotoCoreError, exceptions.ClientError))
