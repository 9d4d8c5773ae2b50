import pytest
from tests.client.unasync import AIO, SYNC, unasync


def test_the_synchronous_client_is_generated_from_the_asynchronous_one() -> None:
    assert SYNC.read_text() == unasync(AIO.read_text()), "aio.py was changed, or sync.py by hand: run `make unasync`"


def test_an_unused_rule_is_an_error() -> None:
    with pytest.raises(ValueError, match="take its rule away"):
        unasync("async def wait() -> None: ...")
