"""A stage as one task does it."""

import sys
from collections import Counter
from zipfile import ZipFile
from zipimport import zipimporter

import pytest

from postroom.jobs.tally import Counts
from postroom.jobs.tasks import counted


class Sum:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, term: Counts) -> None:
        self.counts.update(term)


def test_the_counts_of_a_stage_are_added_when_it_has_ended() -> None:
    total = Sum()
    stage = counted(total, lambda tally, _pool, batches: (tally.add("seen") or batch * 2 for batch in batches))
    half = stage([1, 2])
    assert next(half) == 2
    assert not total.counts
    assert list(half) == [4]
    assert total.counts == {"seen": 2}


def test_archives_are_read_once_for_all_tasks(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = f"{tmp_path}/archive.zip"
    with ZipFile(archive, "w") as made:
        made.writestr("only_in_an_archive_1.py", "")
        made.writestr("only_in_an_archive_2.py", "")
    monkeypatch.syspath_prepend(archive)
    __import__("only_in_an_archive_1")
    assert isinstance(sys.path_importer_cache[archive], zipimporter)
    list(counted(Sum(), lambda _tally, _pool, batches: iter(batches))([]))
    assert not any(isinstance(finder, zipimporter) for finder in sys.path_importer_cache.values())
    __import__("only_in_an_archive_2")
