"""The code of Status's payloads is what protoc makes of payloads.proto: `make protos`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool

import postroom.protocols.status.proto.payloads_pb2 as _made  # noqa: F401 - it puts its file in the pool

ROOT = Path(__file__).parents[3]
LIBRARY = ROOT / "layers" / "postroom"
PROTO = Path("postroom", "protocols", "status", "proto")
PROTOS_VENV = ROOT / os.environ.get("PROTOS_VENV", ".venv-protos")
IN_GO = Path("tests", "peers", "status", "payloads", "payloads.pb.go")


def make_protos(out: Path, *variables: str) -> None:
    assert (PROTOS_VENV / ".installed").exists(), f"there is no {PROTOS_VENV}: `make test-all` installs protoc there"
    # It is installed: a newer lock is for `make protos` itself.
    installed = [f"PROTOS_VENV={PROTOS_VENV}", f"--old-file={PROTOS_VENV}/.installed"]
    made = ["make", "protos", f"OUT={out}", *installed, *variables]
    done = subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.protoc
def test_protoc_makes_the_committed_code_again(tmp_path: Path) -> None:
    # Without Go, whose plugin takes long to compile.
    make_protos(tmp_path, "GO=")
    for name in ("payloads_pb2.py", "payloads_pb2.pyi"):
        assert (tmp_path / PROTO / name).read_bytes() == (LIBRARY / PROTO / name).read_bytes(), "run `make protos`"
    assert {path.name for path in (tmp_path / PROTO).iterdir()} == {"payloads_pb2.py", "payloads_pb2.pyi"}


@pytest.mark.proof
@pytest.mark.protoc
@pytest.mark.tools
def test_protoc_makes_the_committed_code_of_the_go_program_again(tmp_path: Path) -> None:
    make_protos(tmp_path)
    [made] = tmp_path.rglob(IN_GO.name)
    assert made.read_bytes() == (ROOT / IN_GO).read_bytes(), "run `make protos`"


def test_its_name_in_the_pool_is_ours() -> None:
    # A name that another package has, too, would fail when the second of both is imported.
    found = descriptor_pool.Default().FindMessageTypeByName("postroom.status.ChatMessage")
    assert found.file.name == "postroom/protocols/status/proto/payloads.proto"
    assert found.file.package == "postroom.status"


def test_it_is_protoc_6_31_which_protobuf_6_31_to_7_run() -> None:
    code = (LIBRARY / PROTO / "payloads_pb2.py").read_text(encoding="utf-8")
    assert "# Protobuf Python Version: 6.31." in code
    # A runtime that is too new or too old for the code says so when it is imported.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import postroom.protocols.status.proto.payloads_pb2"],
        cwd=LIBRARY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
