import pytest
from tests.aws import Deployed

from postroom.storage.layout import RowKey
from postroom.storage.mail.seen import Known, Seen

FIRST, SECOND = RowKey("a.com#0", "m#0000000001000#one"), RowKey("a.com#0", "m#0000000002000#two")


@pytest.fixture
def seen(deployed: Deployed) -> Seen:
    return deployed.storage.seen


def test_the_first_writer_names_the_home_and_all_others_adopt_it(seen: Seen) -> None:
    assert seen.claim_home("n#1", "hash", FIRST, now=100, forget_at=200) == Known("hash", FIRST)
    assert seen.claim_home("n#1", "hash", SECOND, now=101, forget_at=201) == Known("hash", FIRST)
    assert seen.claim_home("n#1", "hash", FIRST, now=102, forget_at=202) == Known("hash", FIRST)
    assert seen.find("n#1", now=100) == Known("hash", FIRST)


def test_another_hash_under_the_same_key_gets_the_stored_hash(seen: Seen) -> None:
    seen.claim_home("n#1", "hash", FIRST, now=100, forget_at=200)
    assert seen.claim_home("n#1", "other", SECOND, now=101, forget_at=201) == Known("hash", FIRST)


def test_an_expired_row_allows_a_new_home_before_it_is_swept(seen: Seen) -> None:
    seen.claim_home("n#1", "hash", FIRST, now=100, forget_at=200)
    assert seen.claim_home("n#1", "other", SECOND, now=200, forget_at=300) == Known("hash", FIRST)
    assert seen.find("n#1", now=200) == Known("hash", FIRST)
    assert seen.find("n#1", now=201) is None
    assert seen.claim_home("n#1", "other", SECOND, now=201, forget_at=301) == Known("other", SECOND)


def test_an_unseen_message_has_no_row(seen: Seen) -> None:
    assert seen.find("n#1", now=0) is None


def test_a_home_named_for_one_message_is_not_that_of_another(seen: Seen) -> None:
    seen.claim_home("n#1", "hash", FIRST, now=100, forget_at=200)
    assert seen.claim_home("n#2", "hash", SECOND, now=100, forget_at=200) == Known("hash", SECOND)


def test_the_row_is_what_the_protocol_says(seen: Seen, deployed: Deployed) -> None:
    seen.claim_home("n#1", "hash", FIRST, now=100, forget_at=200)
    assert deployed.rows("SeenTable") == [
        {
            "pk": {"S": "n#1"},
            "hash": {"S": "hash"},
            "home": {"M": {"pk": {"S": FIRST.pk}, "sk": {"S": FIRST.sk}}},
            "ttl": {"N": "200"},
        }
    ]


def test_a_key_that_contains_the_hash_has_none_in_its_row(seen: Seen) -> None:
    first = seen.claim_home("d#1", None, FIRST, now=100, forget_at=100 + 100)
    again = seen.claim_home("d#1", None, SECOND, now=100, forget_at=100 + 100)
    assert first == again == Known(None, FIRST)
    assert seen.claim_home("d#1", None, SECOND, now=100 + 101, forget_at=100 + 200) == Known(None, SECOND)
