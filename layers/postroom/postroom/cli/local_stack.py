"""The local stack that a command works with: the one that is named, or the one that runs in this folder."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer

from postroom.cli.descriptor import DEFAULT_PATH, read_descriptor
from postroom.cli.options import OptionGroup
from postroom.cli.output import note


@dataclass(frozen=True, kw_only=True)
class LocalOptions(OptionGroup):
    """`--local`. It takes precedence over a stack of this folder, which is used if no other option leads elsewhere."""

    local: Annotated[
        Path | None,
        typer.Option(
            "--local",
            envvar="POSTROOM_LOCAL",
            metavar="PATH",
            help="Local stack: its local.json, or the folder with it.",
            show_default=".postroom, if it runs there",
        ),
    ] = None

    def stack(self, *, elsewhere: bool = False) -> Path | None:
        """The descriptor's path; None: the command works with the Internet, or with AWS.

        `elsewhere`: whether another option of the command line leads elsewhere. Raises UsageFault.
        """
        if self.local is not None:
            return self.local
        return None if elsewhere or os.environ.get("POSTROOM_STACK") else self._of_this_folder

    @cached_property
    def _of_this_folder(self) -> Path | None:
        if not DEFAULT_PATH.exists() or not read_descriptor(DEFAULT_PATH).is_running():
            return None
        note(f"using the local stack of {DEFAULT_PATH}")
        return DEFAULT_PATH
