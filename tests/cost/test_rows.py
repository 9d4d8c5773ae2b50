"""Every row of the store stays under 1 kB, one write unit, with the longest names that any protocol allows."""

import pytest
from tests.aws import Deployed
from tests.cost.items import UNIT_BYTES, item_bytes, write_units

from postroom.core.ens_names import MAX_NAME_BYTES
from postroom.core.reason import Kind
from postroom.protocols.nlweb.feedback import conversation_about
from postroom.protocols.nlweb.names import read_host_name
from postroom.reasons import REASONS
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import row_key, seen_key_nlweb, segment_name

HOST = f"{'.'.join(['a' * 63] * 3)}.{'b' * 61}"
DM3_NAME = "n" * MAX_NAME_BYTES
NOW_MS = 1_795_253_400_000
FAR = 99_999_999_999
CLAIM, CORRELATION = "f" * 32, "5f0d8f9e-0000-4000-8000-000000000001"
WELL_UNDER = 0.8 * UNIT_BYTES
LONGEST = pytest.mark.parametrize("name", [HOST, DM3_NAME], ids=["NLWeb", "dm3"])


def test_these_are_the_longest_names() -> None:
    assert read_host_name(HOST) == HOST
    assert read_host_name(HOST + "b") is None
    assert len(conversation_about(CORRELATION)) < len(HOST)


@LONGEST
def test_a_row_from_live_to_acknowledged_is_one_unit(deployed: Deployed, name: str) -> None:
    register = deployed.storage.register
    key = row_key(name, 10_000, NOW_MS, CLAIM)
    register.file(key, Place(segment_name(NOW_MS, "f" * 32), 99_999_999, 5_000_000), name)
    [live] = deployed.rows("PostTable")
    assert item_bytes(live) < WELL_UNDER
    register.acknowledge(key, FAR)
    [gone] = deployed.rows("PostTable")
    assert item_bytes(gone) < item_bytes(live)


@LONGEST
def test_a_discarded_row_is_one_unit_up_to_the_end_of_its_feedback(deployed: Deployed, name: str) -> None:
    register, told = deployed.storage.register, deployed.storage.feedback_log
    key = row_key(name, 10_000, NOW_MS, CLAIM)
    longest = max((reason for reason in REASONS if reason.kind is not Kind.RETRY), key=lambda reason: len(str(reason)))
    register.discard(key, longest, FAR)
    told.note(key, HOST, CORRELATION, NOW_MS)
    told.sent(key, "delivered")
    [row] = deployed.rows("PostTable")
    assert item_bytes(row) < WELL_UNDER


@LONGEST
def test_the_row_that_remembers_a_message_is_one_unit(deployed: Deployed, name: str) -> None:
    home = row_key(name, 10_000, NOW_MS, CLAIM)
    seen = deployed.storage.seen
    seen.claim_home(seen_key_nlweb(name, name, CORRELATION), "0" * 64, home, now=NOW_MS // 1000, forget_at=FAR)
    [row] = deployed.rows("SeenTable")
    assert item_bytes(row) < WELL_UNDER


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1024, 1), (1025, 2), (3072, 3)])
def test_a_unit_is_1_kib_and_a_part_of_one_counts_whole(size: int, units: int) -> None:
    assert write_units(size) == units


def test_the_size_of_an_item_is_that_of_its_names_and_values() -> None:
    assert item_bytes({"pk": {"S": "aé"}, "ttl": {"N": "1795253400"}}) == (2 + 3) + (3 + 6)
    assert item_bytes({"home": {"M": {"pk": {"S": "a"}}}}) == 4 + 3 + (1 + 2 + 1)
