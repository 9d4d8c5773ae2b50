"""`postroom chat clean`: a picture or a sound without its metadata, or why there is none."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Postroom
from tests.protocols.status.media.pictures import EXIF, SECRET, ZIP, animated, jpeg, pixels, png, webp
from tests.protocols.status.media.sounds import ID3V1, adts, amr

HOLIDAY = jpeg(exif=EXIF, comment=SECRET) + ZIP


@pytest.fixture
def holiday(tmp_path: Path) -> Path:
    path = tmp_path / "holiday.jpg"
    path.write_bytes(HOLIDAY)
    return path


def said(postroom: Postroom, *arguments: str, **given: Any) -> Any:
    done = postroom("chat", "clean", *arguments, "--json", **given)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_a_picture_is_written_without_its_metadata(postroom: Postroom, holiday: Path) -> None:
    done = postroom("chat", "clean", str(holiday), "--type", "JPEG", "--out", "clean.jpg")
    left = Path("clean.jpg").read_bytes()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"clean.jpg: {len(left)} of {len(HOLIDAY)} bytes, 48 x 32 pixels, 1 frame",
        f"  dropped: EXIF, {len(EXIF) + 4} bytes",
        f"  dropped: comment, {len(SECRET) + 4} bytes",
        f"  dropped: trailing bytes, {len(ZIP)} bytes",
    ]
    assert SECRET not in left
    assert pixels(left, "JPEG") == pixels(HOLIDAY, "JPEG")
    assert holiday.read_bytes() == HOLIDAY


def test_for_programs_all_members_are_there(postroom: Postroom, holiday: Path) -> None:
    assert said(postroom, str(holiday), "--type", "jpeg", "--out", "clean.jpg") == {
        "bytes_in": len(HOLIDAY),
        "bytes_out": Path("clean.jpg").stat().st_size,
        "dropped": {"EXIF": len(EXIF) + 4, "comment": len(SECRET) + 4, "trailing bytes": len(ZIP)},
        "width": 48,
        "height": 32,
        "frames": 1,
        "duration_ms": None,
    }


@pytest.mark.parametrize(
    ("kind", "data", "sizes"),
    [
        ("PNG", animated("PNG", 3), (48, 32, 3, None)),
        ("WEBP", webp(), (48, 32, 1, None)),
        ("GIF", animated("GIF", 2), (48, 32, 2, None)),
        ("AAC", adts(5), (None, None, 5, 232)),
        ("AMR", amr(), (None, None, 5, 100)),
    ],
)
def test_every_type_is_read_from_standard_input(
    postroom: Postroom, kind: str, data: bytes, sizes: tuple[int | None, ...]
) -> None:
    shown = said(postroom, "-", "--type", kind, "--out", "out", input=data)
    assert (shown["width"], shown["height"], shown["frames"], shown["duration_ms"]) == sizes
    assert Path("out").read_bytes() == data


def test_of_a_sound_the_duration_is_shown(postroom: Postroom) -> None:
    done = postroom("chat", "clean", "-", "--type", "AAC", "--out", "out", input=adts(5) + ID3V1)
    first, second = done.stdout.splitlines()
    assert first.endswith(" bytes, 232 ms, 5 frames")
    assert second == "  dropped: ID3, 128 bytes"


def test_what_is_cleaned_again_is_the_same(postroom: Postroom, holiday: Path) -> None:
    said(postroom, str(holiday), "--type", "JPEG", "--out", "clean.jpg")
    once = Path("clean.jpg").read_bytes()
    assert said(postroom, "clean.jpg", "--type", "JPEG", "--out", "clean.jpg")["dropped"] == {}
    assert Path("clean.jpg").read_bytes() == once


def test_the_file_is_replaced_as_a_whole(
    postroom: Postroom, holiday: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    Path("clean.jpg").write_bytes(b"before")

    def fails(_descriptor: int) -> None:
        raise OSError(28, "No space left on device", "clean.jpg")

    monkeypatch.setattr(os, "fsync", fails)
    done = postroom("chat", "clean", str(holiday), "--type", "JPEG", "--out", "clean.jpg")
    assert done.exit_code == 3
    assert Path("clean.jpg").read_bytes() == b"before"
    assert sorted(path.name for path in Path().iterdir()) == ["clean.jpg", "holiday.jpg"]


@pytest.mark.parametrize(
    ("kind", "data", "reason", "detail"),
    [
        ("PNG", HOLIDAY, "MediaInvalid", "it is said to be PNG, and begins as JPEG"),
        ("JPEG", HOLIDAY[:300], "MediaInvalid", "it has no end"),
        ("JPEG", b"", "MediaInvalid", "it does not begin as a JPEG"),
        ("GIF", b"GIF89a\xff\xff\xff\xff\0\0\0", "MediaTooLarge", "65535 x 65535 pixels"),
        ("PNG", png().ljust(400_001), "MediaTooLarge", "400,000 bytes"),
        ("AMR", bytes((1 << 20) + 9), "MediaTooLarge", "1,048,576 bytes"),
        ("AMR", b"#!AMR-WB\n" + bytes(99), "MediaInvalid", "it does not begin as AMR"),
    ],
)
def test_a_refusal_has_a_reason_and_leaves_no_file(
    postroom: Postroom, kind: str, data: bytes, reason: str, detail: str
) -> None:
    arguments = ("chat", "clean", "-", "--type", kind, "--out", "out")
    done = postroom(*arguments, "--json", input=data)
    assert (done.exit_code, done.stderr) == (1, "")
    refused = json.loads(done.stdout)
    assert set(refused) == {"reason", "detail"}
    assert refused["reason"] == reason
    assert detail in refused["detail"]
    done = postroom(*arguments, input=data)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"postroom: {reason}: {refused['detail']}\n"
    assert list(Path().iterdir()) == []


def test_a_refusal_leaves_the_file_that_is_there(postroom: Postroom) -> None:
    Path("out").write_bytes(b"before")
    assert postroom("chat", "clean", "-", "--type", "PNG", "--out", "out", input=b"").exit_code == 1
    assert Path("out").read_bytes() == b"before"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("-", "--type", "BMP", "--out", "out"), 2, "it must be one of JPEG, PNG, WEBP, GIF, AAC, AMR"),
        (("gone.jpg", "--type", "JPEG", "--out", "out"), 5, "gone.jpg: No such file"),
        (("-", "--type", "PNG", "--out", "gone/out"), 5, "gone/out: No such file"),
        (("-", "--type", "PNG", "--out", "."), 2, "is not a file"),
        (("-", "--type", "PNG"), 2, "--out"),
    ],
)
def test_wrong_usage_is_no_refusal(postroom: Postroom, arguments: tuple[str, ...], code: int, sentence: str) -> None:
    done = postroom("chat", "clean", *arguments, input=png())
    assert done.exit_code == code
    assert sentence in " ".join(done.stderr.split())
    assert list(Path().iterdir()) == []
