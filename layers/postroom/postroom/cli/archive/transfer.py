"""`postroom archive export|import|move`."""

from contextlib import ExitStack
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.homes import FORMS, open_home
from postroom.cli.archive.inputs import ArchiveOptions, archive_errors, open_archive
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, mailbox_name
from postroom.cli.output import print_either, replace_private
from postroom.cli.owner import OptionalAt
from postroom.cli.progress import progress

if TYPE_CHECKING:
    from postroom.client.archive import Home


def export_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write; it is encrypted, as the archive is.")
    ],
    options: ArchiveOptions,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the whole archive into one encrypted file.

    Its form is that of dm3 §3.2; `import` reads it with the same key.
    """
    from postroom.client.archive import export_record

    if file.exists() and not force:
        raise UsageFault(f"{file} exists; use --force to replace it")
    written = BytesIO()
    with (
        options.open() as archive,
        progress("reading", lambda: len(archive.conversations())) as met,
    ):
        export_record(archive, written, lambda _: met(1))
    replace_private(file, written.getvalue())
    size = written.tell()
    print_either(as_json, {"file": str(file), "bytes": size}, f"{file}: {size} bytes")


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file by `export`, with the same key.")],
    options: ArchiveOptions,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The owner's mailbox, if the home is still empty.", parser=mailbox_name
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add the messages of an exported file to the archive.

    The whole file is checked first.
    """
    from postroom.client.archive import import_record

    with options.open(name) as archive:
        import_record(file.read_bytes(), archive)
    text = f"{file}: all its messages are in the archive of {archive.owner}"
    print_either(as_json, {"file": str(file), "owner": archive.owner}, text)


def move(
    options: ArchiveOptions,
    to: Annotated[str, typer.Option("--to", metavar="HOME", help=f"The new home: {FORMS}.")],
    at: OptionalAt = None,
    remove: Annotated[bool, typer.Option("--remove", help="Then remove all messages from the old home.")] = False,
    as_json: AsJson = False,
) -> None:
    """Move the archive to another home.

    It is copied and compared, then the old home records where it is now. It may be interrupted, and run again.
    """
    from postroom.client.archive.moving import move as carry
    from postroom.client.archive.moving import vacate

    with archive_errors(), options.place() as old:
        source = open_archive(old.home, options.key, moved=True)
        service = (at, source.owner) if at else None
        with open_home(to, options, service=service) as new, ExitStack() as others:
            if old.address == new.address:
                raise UsageFault(f"--home and --to are the same: {new.address}")
            target = replace(source, home=new.home)

            def open_address(text: str) -> "Home":
                return others.enter_context(open_home(text, options)).home

            with progress("copying", lambda: len(source.conversations())) as met:
                carry(source, target, new.address, open_address, lambda _: met(1))
            if remove:
                vacate(source, target)
    stays = "is empty" if remove else "is not changed; --remove empties it"
    text = f"the archive of {source.owner} is at {new.address} now; the old home {stays}"
    print_either(as_json, {"owner": source.owner, "home": new.address, "removed": remove}, text)
