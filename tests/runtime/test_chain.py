"""What asks ENS is made when it is needed, and anew when the endpoints change."""

from collections.abc import Callable
from typing import cast

import pytest

from postroom.core.errors import NotNowError
from postroom.core.own_faults import FaultKind, OwnFaults
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE
from postroom.names.ens.endpoints import EndpointVerdict
from postroom.names.ens.ens import Ens
from postroom.names.ens.rpc import Block
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED
from postroom.runtime.chain import FAIR_SECONDS, ChainInUse, EndpointFaults


class StoredUrls:
    """The stored endpoints, and what was made of them."""

    def __init__(self, *urls: str) -> None:
        self.urls: tuple[str, ...] = urls
        self.made: list[tuple[str, ...]] = []

    def get(self) -> tuple[str, ...]:
        return self.urls

    def make(self, urls: tuple[str, ...]) -> Ens:
        self.made.append(urls)
        return cast("Ens", object())


def in_use(stored: StoredUrls, urls: Callable[[], tuple[str, ...]] | None = None) -> ChainInUse:
    return ChainInUse(urls or stored.get, stored.make)


def test_it_is_made_once_for_the_same_endpoints_and_anew_for_others() -> None:
    stored = StoredUrls("https://a.example/")
    chain = in_use(stored)
    first = chain()
    assert chain() is first
    stored.urls = ("https://b.example/",)
    assert chain() not in (None, first)
    assert stored.made == [("https://a.example/",), ("https://b.example/",)]


def test_without_endpoints_there_is_none() -> None:
    stored = StoredUrls()
    assert (in_use(stored)(), stored.made) == (None, [])


def test_endpoints_that_cannot_be_read_are_a_failed_look_up() -> None:
    def unavailable() -> tuple[str, ...]:
        raise NotNowError(SIGNING_KEY_UNAVAILABLE)

    with pytest.raises(NotNowError) as caught:
        in_use(StoredUrls(), unavailable)()
    assert caught.value.reason is PROFILE_LOOKUP_FAILED


BLOCK = Block(16, 1_800_000_000)


@pytest.mark.parametrize(
    ("verdict", "kinds"),
    [
        (EndpointVerdict("rpc.example", BLOCK), []),
        (EndpointVerdict("rpc.example", None, "it answered with status 503"), [FaultKind.ENDPOINT_FAILED]),
        (EndpointVerdict("rpc.example", None, "it did not answer in time", FAIR_SECONDS), [FaultKind.ENDPOINT_FAILED]),
        (EndpointVerdict("rpc.example", None, "it did not answer in time", FAIR_SECONDS / 2), []),
        (EndpointVerdict("rpc.example", BLOCK, differs=True), [FaultKind.ENDPOINT_DISAGREED]),
    ],
    ids=["answered", "failed", "late", "had no time", "disagreed"],
)
def test_an_operator_is_told_of_endpoints_that_fail_or_disagree(
    verdict: EndpointVerdict, kinds: list[FaultKind]
) -> None:
    own_faults = OwnFaults()
    EndpointFaults(own_faults).note([verdict, verdict])
    faults = own_faults.take()
    assert [fault.kind for fault in faults] == kinds
    assert all(fault.sentence.startswith("endpoint rpc.example of the chain: it ") for fault in faults)
