"""`postroom chat clean`: what is left of a picture or a sound without its metadata."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.chat.inputs import read_media
from postroom.cli.exits import Exit, UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json, replace_private
from postroom.cli.terminal import print_line
from postroom.core.errors import TheirError

if TYPE_CHECKING:
    from postroom.protocols.status.media import Cleaned, MediaType

MediaFile = Annotated[
    Path, typer.Option(metavar="FILE", help="The file to write; one that is there is replaced as a whole.")
]


def media_type(name: str) -> "MediaType":
    """The type with this name, in any case. Raises UsageFault."""
    from postroom.protocols.status.media import MediaType

    found = next((each for each in MediaType if each == name.upper()), None)
    if found is None:
        raise UsageFault(f"--type is {name!r}; it must be one of {', '.join(MediaType)}")
    return found


def clean(
    file: Annotated[str, typer.Argument(help="The picture or sound; - is standard input.", metavar="FILE|-")],
    type_: Annotated[str, typer.Option("--type", metavar="JPEG|PNG|WEBP|GIF|AAC|AMR", help="What it must be.")],
    out: MediaFile,
    as_json: AsJson = False,
) -> None:
    """Drop the metadata of a picture or a sound.

    Nothing is decoded: what is left looks and sounds the same. Exit code 1: it is refused, and nothing is written.
    """
    from postroom.protocols.status.media import MediaLimits
    from postroom.protocols.status.media import clean as clean_media

    kind = media_type(type_)
    limits = MediaLimits()
    data = read_media(file, max(limits.image_bytes, limits.audio_bytes))
    try:
        cleaned = clean_media(data, kind, limits)
    except TheirError as error:
        if not as_json:
            raise
        print_json({"reason": str(error.reason), "detail": error.detail})
        raise typer.Exit(Exit.REFUSED) from None
    write_cleaned(out, len(data), cleaned, as_json=as_json)


def write_cleaned(out: Path, bytes_in: int, cleaned: "Cleaned", *, as_json: bool) -> None:
    """Write what is left of a picture or a sound, and print what it is. Raises OSError, UsageFault."""
    replace_private(out, cleaned.data)
    if as_json:
        print_json({
            "bytes_in": bytes_in,
            "bytes_out": len(cleaned.data),
            "dropped": dict(cleaned.dropped),
            "width": cleaned.width,
            "height": cleaned.height,
            "frames": cleaned.frames,
            "duration_ms": cleaned.duration_ms,
        })  # fmt: skip
    else:
        _print(out, bytes_in, cleaned)


def _print(out: Path, bytes_in: int, cleaned: "Cleaned") -> None:
    size = f"{cleaned.width} x {cleaned.height} pixels" if cleaned.width else f"{cleaned.duration_ms} ms"
    frames = f"{cleaned.frames} {'frame' if cleaned.frames == 1 else 'frames'}"
    print_line(f"{out}: {len(cleaned.data)} of {bytes_in} bytes, {size}, {frames}")
    for what, count in cleaned.dropped.items():
        print_line(f"  dropped: {what}, {count} {'byte' if count == 1 else 'bytes'}")
