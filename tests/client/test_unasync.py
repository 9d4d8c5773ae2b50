import pytest
from tests.client.unasync import AIO, SYNC, unasync


def test_the_synchronous_client_is_that_of_asyncio_without_async() -> None:
    assert SYNC.read_text() == unasync(AIO.read_text()), "aio.py was changed, or sync.py by hand: run `make unasync`"


def test_a_rule_that_has_nothing_to_do_is_told() -> None:
    with pytest.raises(ValueError, match="take its rule away"):
        unasync("async def wait() -> None: ...")
