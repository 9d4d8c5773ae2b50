"""The record of the proof, which is committed: what each part of it came to, when, and at which commit."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = Path(__file__).parent.parent / "proof.json"


@dataclass(frozen=True)
class Entry:
    """How a part ended. `date`: in UTC. `inputs`: the digest of what it can reach. `seconds`: how long it took."""

    passed: bool
    commit: str
    date: str
    inputs: str
    seconds: int

    def why_due(self, inputs: str) -> str:
        """Why the part is due again; empty: it is proven."""
        if not self.passed:
            return f"it failed at {self.commit[:8]} on {self.date}"
        if self.inputs != inputs:
            return f"its inputs have changed since {self.commit[:8]} of {self.date}"
        return ""


def read(file: Path = FILE) -> dict[str, Entry]:
    """The entries by the names of parts."""
    if not file.exists():
        return {}
    return {name: Entry(**entry) for name, entry in json.loads(file.read_text(encoding="utf-8")).items()}


def note(name: str, entry: Entry, parts: set[str], file: Path = FILE) -> None:
    """Write an entry, a line for each, and forget those of parts that are no more."""
    known = {**read(file), name: entry}
    lines = [f"{json.dumps(each)}: {json.dumps(asdict(known[each]))}" for each in sorted(parts & known.keys())]
    written = file.with_suffix(".new")
    written.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    written.replace(file)
