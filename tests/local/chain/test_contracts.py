"""The contracts of the local chain: the bytecode beside a source is what Vyper makes of it.

`python -m tests.local.chain.test_contracts` compiles them anew.
"""

from pathlib import Path
from typing import Final

import pytest
from vyper import compile_code

HERE: Final = Path(__file__).parents[3] / "layers/postroom/postroom/local/chain/contracts"
SOURCES: Final = sorted(HERE.glob("*.vy"))
IN_THE_FIRST_BLOCK: Final = {"public_resolver", "registry", "universal_resolver"}


def compiled(source: Path) -> str:
    form = "bytecode_runtime" if source.stem in IN_THE_FIRST_BLOCK else "bytecode"
    made: str = compile_code(source.read_text(), output_formats=[form])[form]
    return made.removeprefix("0x") + "\n"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_the_bytecode_is_what_its_source_is_compiled_to(source: Path) -> None:
    assert source.with_suffix(".hex").read_text() == compiled(source)


def test_the_owner_of_the_root_is_where_the_first_block_has_it() -> None:
    source = HERE / "registry.vy"
    [layout] = compile_code(source.read_text(), output_formats=["layout"]).values()
    assert [(name, place["slot"]) for name, place in layout["storage_layout"].items()] == [("records", 0)]


def test_every_source_has_bytecode_and_all_bytecode_a_source() -> None:
    assert {path.stem for path in HERE.glob("*.hex")} == {source.stem for source in SOURCES}


if __name__ == "__main__":
    for path in SOURCES:
        path.with_suffix(".hex").write_text(compiled(path))
