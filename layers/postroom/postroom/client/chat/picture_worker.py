"""The program that decodes and encodes one picture, which `picture_process` starts and gives no means to do more.

    python picture_worker.py MEMORY_BYTES SECONDS prepare TYPE MAX_PIXELS MAX_SIDE MAX_BYTES
    python picture_worker.py MEMORY_BYTES SECONDS decode TYPE MAX_PIXELS WIDTH HEIGHT

It imports nothing of postroom. Standard input has the picture, standard output the answer; each is four bytes, its
length, and then so many bytes. All that Pillow needs is imported, and the limits are set, before a byte is read: from
then on the process can open nothing, neither a file nor a socket.
"""

import copy
import sys
from io import BytesIO
from math import sqrt
from struct import Struct
from typing import BinaryIO, Final

from PIL import (
    GifImagePlugin,
    Image,
    ImageCms,
    ImageColor,
    ImageFile,
    ImageOps,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

TOO_LARGE: Final = 11
"""The exit code for a picture that is above a limit. 0: it is done; any other: it cannot be decoded."""

_LENGTH: Final = Struct(">I")
# What Pillow imports only when a picture needs it, which would be too late: no file can be opened then. Image.open uses
# the decoder of the type that it is given, whatever else is there.
_IMPORTED_AHEAD: Final = (
    copy,
    GifImagePlugin,
    ImageColor,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)
_QUALITIES: Final = (80, 70, 60, 50)
_LOSSLESS: Final = ("PNG", "GIF")
_WHITE: Final = (255, 255, 255)


class TooLargeError(Exception):
    """The picture is above a limit."""


def limit_process(memory_bytes: int, seconds: int) -> None:
    """Take the means to open anything from this process, and limit its memory and its time on a processor.

    No descriptor above the three that it has is allowed: no file and no socket can be opened, nor a pipe.
    """
    if resource is None:
        return
    limits = [
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_NPROC, 0),
    ]
    if sys.platform == "linux":  # macOS has the name, and refuses every value
        limits.append((resource.RLIMIT_AS, memory_bytes))
    for which, most in limits:
        resource.setrlimit(which, (most, most))


def prepare(data: bytes, type_: str, max_pixels: int, max_side: int, max_bytes: int) -> bytes:
    """A picture to send: upright, in sRGB, without metadata, within `max_side` pixels and `max_bytes` bytes.

    PNG and GIF become PNG if that fits. Otherwise what is transparent becomes WebP, and the rest JPEG.
    """
    image = _resizable(_open(data, type_, max_pixels))
    image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    return _encoded(_in_srgb(ImageOps.exif_transpose(image)), type_ in _LOSSLESS, max_bytes)


def decode(data: bytes, type_: str, max_pixels: int, width: int, height: int) -> bytes:
    """The pixels of a picture in this size, row by row, three bytes each: red, green, blue. Behind it is white."""
    opened = _open(data, type_, max_pixels)
    opened.draft(opened.mode, (width, height))
    image = _resizable(opened).resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2)
    if image.mode not in ("LA", "RGBA"):
        return image.convert("RGB").tobytes()
    over_white = Image.new("RGB", image.size, _WHITE)
    over_white.paste(image.convert("RGB"), mask=image.getchannel("A"))
    return over_white.tobytes()


def _open(data: bytes, type_: str, max_pixels: int) -> ImageFile.ImageFile:
    """The first picture of a file, not yet decoded."""
    Image.MAX_IMAGE_PIXELS = max_pixels
    opened = Image.open(BytesIO(data), formats=(type_,))
    if opened.width * opened.height > max_pixels:
        raise TooLargeError
    return opened


def _resizable(image: Image.Image) -> Image.Image:
    """The picture in a mode that can be resized: L, LA, RGB, RGBA or CMYK."""
    if image.mode == "I;16":
        # Pillow would cut the values off at 255. What is transparent is said in 16 bits, too.
        image = image.point(lambda value: value * (1 / 257)).convert("L")
        image.info.pop("transparency", None)
    is_grey = image.mode in ("1", "L", "LA")
    if image.has_transparency_data:
        return image.convert("LA" if is_grey else "RGBA")
    return image if image.mode == "CMYK" else image.convert("L" if is_grey else "RGB")


def _in_srgb(image: Image.Image) -> Image.Image:
    """A picture in RGB, or in RGBA if any of it is transparent, with nothing beside its pixels."""
    alpha = image.getchannel("A") if image.mode in ("LA", "RGBA") else None
    colours = image.convert({"LA": "L", "RGBA": "RGB"}[image.mode]) if alpha else image
    converted = _by_profile(colours, image.info.get("icc_profile"))
    if alpha is not None and alpha.getextrema() != (255, 255):
        converted.putalpha(alpha)
    converted.info = {}
    return converted


def _by_profile(image: Image.Image, profile: bytes | None) -> Image.Image:
    """The picture in RGB, from the colours that its profile says; one that cannot be used says nothing."""
    if profile:
        try:
            source, target = ImageCms.ImageCmsProfile(BytesIO(profile)), ImageCms.createProfile("sRGB")
            converted = ImageCms.profileToProfile(image, source, target, outputMode="RGB")
            if converted is not None:
                return converted
        except (ImageCms.PyCMSError, OSError):
            pass
    return image.convert("RGB")


def _encoded(image: Image.Image, is_lossless: bool, max_bytes: int) -> bytes:
    if is_lossless:
        data = _saved(image, "PNG")
        if len(data) <= max_bytes:
            return data
    type_ = "WEBP" if image.mode == "RGBA" else "JPEG"
    while True:
        for quality in _QUALITIES:
            data = _saved(image, type_, quality)
            if len(data) <= max_bytes:
                return data
        factor = min(0.9, sqrt(max_bytes / len(data)))
        image.thumbnail((image.width * factor, image.height * factor), Image.Resampling.LANCZOS)


def _saved(image: Image.Image, type_: str, quality: int = 0) -> bytes:
    file = BytesIO()
    image.save(file, type_, **({"quality": quality, "optimize": True} if quality else {}))
    return file.getvalue()


def read_frame(source: BinaryIO) -> bytes:
    """The bytes that stand behind their length. Raises ValueError: there are fewer."""
    head = source.read(_LENGTH.size)
    data = source.read(_LENGTH.unpack(head)[0])
    if len(data) != _LENGTH.unpack(head)[0]:
        raise ValueError("the input ends within a picture")
    return data


def main(memory_bytes: str, seconds: str, work: str, type_: str, *numbers: str) -> None:
    """Do the work on the picture in standard input."""
    Image.preinit()
    limit_process(int(memory_bytes), int(seconds))
    data = read_frame(sys.stdin.buffer)
    try:
        answer = {"prepare": prepare, "decode": decode}[work](data, type_, *map(int, numbers))
    except (TooLargeError, Image.DecompressionBombError, MemoryError):
        sys.exit(TOO_LARGE)
    sys.stdout.buffer.write(_LENGTH.pack(len(answer)) + answer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
