"""The rules that make client/mailbox/sync.py of aio.py; `make unasync` writes it."""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "layers" / "postroom" / "postroom" / "client" / "mailbox"
AIO, SYNC = FOLDER / "aio.py", FOLDER / "sync.py"

RULES = (
    ("\\A", "# Written by `make unasync` from aio.py, which is the one to edit.\n"),
    ("for asyncio", "for programs without asyncio"),
    ("an asynchronous context", "a context"),
    ("among tasks", "among threads"),
    (r" A wait may be cancelled: .*", ""),
    (r"\basync (?=def|for|with)", ""),
    (r"\bawait ", ""),
    (r"\bAwaitable\[((?:[^][]|\[[^][]*\])*)\]", r"\1"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\b__a(?=enter__|exit__|next__)", "__"),
    (r"\ba(?=close\b|closing\b|iter_bytes\b)", ""),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bdrive_async\b", "drive"),
)


def unasync(text: str) -> str:
    """The synchronous form of a module. Raises ValueError if a rule does not apply."""
    for pattern, instead in RULES:
        text, times = re.subn(pattern, instead, text)
        if not times:
            raise ValueError(f"nothing in {AIO.name} is {pattern!r}: take its rule away")
    # Remove imports that are no longer used, and format lines that have become shorter.
    for command in (("check", "--fix-only", "--select=F401,I"), ("format",)):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", SYNC, "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    SYNC.write_text(unasync(AIO.read_text()))
