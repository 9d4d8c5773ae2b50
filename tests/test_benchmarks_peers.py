"""The peers of the benchmark: each is measured, or it is said what it wants. How fast any is, no test asks."""

import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks import __main__ as program
from benchmarks import bench_peers
from benchmarks.bench_status import OF_GO
from benchmarks.bench_status import ROWS as STATUS_ROWS
from benchmarks.harness import TINY
from benchmarks.peer_process import PeerEndedError, PeerTimer
from benchmarks.samples import KINDS, SIZE
from signedjson.key import generate_signing_key
from tests.peers import made
from tests.peers.made import Recipe


def printed_rows(capsys: pytest.CaptureFixture[str], benchmark: str = "peers") -> dict[str, str]:
    """What is printed in each row, by its first cell."""
    program.main([benchmark], TINY)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    return {first.strip(): rest for first, rest in (line[2:].split("|", 1) for line in lines)}


RATIO = re.compile(r" [0-9]+\.[0-9]{2} × ")


def without(*tools: str) -> Callable[[str], str | None]:
    which = shutil.which
    return lambda tool: None if tool in tools else which(tool)


@pytest.mark.tools
@pytest.mark.proof
@pytest.mark.skipif(shutil.which("npm") is None and not os.environ.get("CI"), reason="npm is not installed")
def test_peers_prints_the_ratios_of_the_available_programs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", without("go", "cargo"))
    printed = printed_rows(capsys)
    for row in ("dkimpy (Python)", "signedjson (Python)"):
        assert RATIO.search(printed[row])
    for peer in bench_peers.PROGRAMS:
        tool = peer.recipe.tools[0]
        cells = printed[peer.name]
        assert RATIO.search(cells) if tool == "node" else f"{tool} not found" in cells


@pytest.mark.tools
def test_peers_says_what_each_unavailable_program_needs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", without("go", "cargo", "node", "npm"))
    printed = printed_rows(capsys)
    for peer in bench_peers.PROGRAMS:
        assert "not found" in printed[peer.name]
    assert RATIO.search(printed["signedjson (Python)"])


@pytest.mark.stack
def test_status_says_what_go_needs_in_the_rows_that_go_opens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", without("go", "gcc"))
    printed = printed_rows(capsys, "status")
    for row in STATUS_ROWS:
        assert ("go and gcc not found" in printed[row]) is (row in OF_GO)
        assert RATIO.search(printed[row])


def test_signed_json_is_as_long_as_the_envelope_that_it_stands_beside() -> None:
    key = generate_signing_key("1")
    assert len(bench_peers.signed_json(KINDS[0].body, key)) == SIZE


@pytest.mark.tools
def test_a_peer_that_does_not_run_is_reported_and_the_others_are_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(made, "BUILD", tmp_path)
    recipe = Recipe("nothing", tmp_path, ("a",), ("true",), ("true",), seconds=10)
    (tmp_path / "a").touch()
    monkeypatch.setattr(bench_peers, "PROGRAMS", (bench_peers.Program("too new (C)", recipe, ("false", "run")),))
    printed = printed_rows(capsys)
    assert "does not run here: false run |" in printed["too new (C)"]
    assert RATIO.search(printed["dkimpy (Python)"])


def test_a_peer_that_ends_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PeerEndedError), PeerTimer(["false"], tmp_path, warm_seconds=0) as peer:
        peer.timeit(1)


def test_the_pins_of_the_peers_name_versions_and_no_registry() -> None:
    peers = Path(bench_peers.__file__).parent / "peers"
    asked, lock = (json.loads((peers / "node" / name).read_bytes()) for name in ("package.json", "package-lock.json"))
    packages = lock["packages"]
    assert packages.pop("")["dependencies"] == asked["dependencies"]
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert not any("resolved" in package for package in packages.values())
    crates = tomllib.loads((peers / "rust" / "Cargo.toml").read_text())["dependencies"]
    assert all((crate if isinstance(crate, str) else crate["version"]).startswith("=") for crate in crates.values())
