"""Requests to AWS for `admin status`: if one fails, one check has no result, and the others continue."""

from collections.abc import Callable
from typing import Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from postroom.cli.admin.findings import NamedDeployment, Unseen
from postroom.core.errors import NotNowError, SettingsError
from postroom.core.own_faults import DENIED, MISSING
from postroom.net.aws_errors import error_code, is_transient

Found = TypeVar("Found")

_DENIED: Final = DENIED | {"403", "AuthorizationErrorException"}
"""The last two come from services that functions do not call."""


def ask(place: NamedDeployment, permission: str, question: Callable[[], Found]) -> Found | Unseen:
    """The result of a request, or why there is none. `permission`: what it needs, such as `sqs:GetQueueAttributes`."""
    try:
        return question()
    except SettingsError as error:
        return Unseen(f"not checked: {error}", place.deploy)
    except (NotNowError, ClientError, BotoCoreError) as error:
        # The library's sentence for a fault of AWS says less than the fault.
        return _why(place, permission, error.__cause__ if isinstance(error, NotNowError) else error)


def _why(place: NamedDeployment, permission: str, error: BaseException | None) -> Unseen:
    if isinstance(error, ClientError):
        code = error_code(error)
        if code in _DENIED:
            return Unseen(
                f"unknown: your credentials lack {permission}",
                f"allow them {permission}, or use other credentials",
            )
        if code in MISSING:
            return Unseen(f"AWS says that it does not exist any more ({code})", place.deploy, is_gone=True)
    elif not isinstance(error, BotoCoreError):
        return Unseen("unknown for now", "try again later")
    return Unseen(
        f"unknown: {error}", "try again later" if is_transient(error) else "follow AWS's message, and check again"
    )
