import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.spark import session

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.spark(tier="proof")]


def account(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"account": [os.environ["AWS_ACCESS_KEY_ID"]]})


def test_a_second_session_uses_its_own_account(tmp_path: Path) -> None:
    for caller in ("100000000001", "100000000002"):
        with session(caller, master="local[1]") as spark:
            assert os.environ["AWS_ACCESS_KEY_ID"] == caller
            found = spark.range(0, 1, 1, 1).mapInArrow(account, "account string")
            found.write.text(str(tmp_path / caller))
        assert os.environ.get("AWS_ACCESS_KEY_ID") != caller
        assert [part.read_text() for part in (tmp_path / caller).glob("part-*")] == [f"{caller}\n"]
