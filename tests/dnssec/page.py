"""The page docs/evidence/dnssec.md: the table of cases, with equal ones in one row."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.dnssec.case import Case, Peer, Status
from tests.dnssec.ground import Verdicts
from tests.dnssec.programs import version

PAGE = Path(__file__).parent.parent.parent / "docs" / "evidence" / "dnssec.md"
MARK = "<!-- written by python -m tests.dnssec --write -->\n"
_HEAD = "| Asked | Zones | Expected | unbound | delv | ours | Why |\n|---|---|---|---|---|---|---|\n"


class Row(NamedTuple):
    """What was said of cases of one title, which differ in their zones only."""

    title: str
    expected: Status
    unbound: Status
    delv: Status
    ours: Status
    why: str

    def line(self, zones: Sequence[str]) -> str:
        """The row in Markdown; a verdict that is not the expected one stands out."""
        said = [f"**{one}**" if one is not self.expected else one for one in (self.unbound, self.delv, self.ours)]
        return f"| {' | '.join([self.title, ', '.join(zones), self.expected, *said, self.why])} |\n"


def results(sections: Mapping[str, Sequence[Case]], verdicts: Mapping[str, Verdicts]) -> str:
    """Who was asked, and a table in Markdown for each section."""
    servers = f"Served by BIND {version('named')} and Knot {version('knotd')}"
    peers = f"{servers}; judged by unbound {version('unbound')} and delv {version('delv')}.\n"
    tables = (f"\n## {title}\n\n{''.join(_table(cases, verdicts))}" for title, cases in sections.items())
    return peers + "".join(tables)


def _table(cases: Sequence[Case], verdicts: Mapping[str, Verdicts]) -> Iterator[str]:
    grouped: dict[Row, list[str]] = {}
    for case in cases:
        grouped.setdefault(_row(case, verdicts[case.label]), []).append(case.zone_label)
    yield _HEAD
    yield from (row.line(zones) for row, zones in grouped.items())


def _row(case: Case, said: Verdicts) -> Row:
    differs = [f"*{peer}* {found.why}" for peer, found in case.differs.items()]
    why = ". ".join([case.why, *differs])
    return Row(case.title, case.expected, said.unbound.status, said.delv.status, said.ours.status, why)


def written(text: str) -> dict[str, dict[Peer, str]]:
    """What a page says that everybody said, by the labels of cases."""
    found: dict[str, dict[Peer, str]] = {}
    for line in text.splitlines():
        cells = [cell.strip("* ") for cell in line.strip("|").split("|")]
        if line.startswith("| ") and f"{line}\n" not in _HEAD:
            title, zones, _, unbound, delv, ours, _ = cells
            said = {Peer.UNBOUND: unbound, Peer.DELV: delv, Peer.OURS: ours}
            found |= {f"{zone}: {title}": said for zone in zones.split(", ")}
    return found
