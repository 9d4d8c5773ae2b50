"""Known answers of other people's software: CIDs, CARs and the files in them (`tests/vectors/names.json`, `ipfs`)."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any, Final, NamedTuple

IPFS: Final[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "vectors" / "names.json").read_bytes())["ipfs"]
CASES: Final[dict[str, dict[str, Any]]] = IPFS["cases"]


class Answer(NamedTuple):
    """A CAR, and the URI that it is the answer for."""

    uri: str
    car: bytes


def answer(case: dict[str, Any]) -> Answer:
    path = f"/{case['path']}" if "path" in case else ""
    return Answer(f"ipfs://{case['cid']}{path}", b64decode(case["car_base64"]))


ANSWERS: Final = {name: answer(case) for name, case in CASES.items()}
