"""Known answers of the reference implementation of DCP (`tests/vectors/dcp.json`)."""

import json
from pathlib import Path
from typing import Any, Final

DCP: Final[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "vectors" / "dcp.json").read_bytes())
SECRETS: Final = {each["name"]: bytes.fromhex(each["private_key"][2:]) for each in DCP["addresses"]}
