"""Reports of damaged lines: a JSON object for each object that has some. The object itself is kept."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final

import orjson

from postroom.jobs.bucket import Bucket
from postroom.jobs.reading import Damaged
from postroom.jobs.tally import Tally
from postroom.storage.layout import quarantine_name

MOST_SHOWN: Final = 100
_SHOWN_BYTES: Final = 8_192
"""The part of each line that is reported. The whole line is where it was found."""


class Quarantine:
    """Reports damaged lines. Raises NotNowError(STORE_UNAVAILABLE). `dry_run`: reports are only counted."""

    def __init__(self, bucket: Bucket, tally: Tally, *, dry_run: bool) -> None:
        self._bucket = bucket
        self._tally = tally
        self._dry_run = dry_run

    def put(self, name: str, damaged: Sequence[Damaged]) -> None:
        """Report the damaged lines of an object, unless that was done before."""
        for line in damaged:
            self._tally.add(f"quarantined.{line.damage}")
        self._tally.add("quarantined.objects")
        if self._dry_run:
            return
        shown = [
            {
                "offset": line.offset,
                "length": line.length,
                "reason": line.damage,
                "begins": b64encode(line.data[:_SHOWN_BYTES]).decode(),
            }
            for line in damaged[:MOST_SHOWN]
        ]
        data = orjson.dumps({"object": name, "count": len(damaged), "lines": shown})
        self._bucket.put_new(quarantine_name(name), data, "application/json")
