from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.client.mailbox_net import Host, Open
from tests.http.api_stack import ApiStack
from tests.http.conftest import api as api


@pytest.fixture
def host(api: ApiStack) -> Host:
    return Host(api)


@pytest.fixture(params=["sync", "async"])
def opened(request: pytest.FixtureRequest, host: Host) -> Iterator[Open]:
    closing: list[Callable[[], None]] = []

    def opening(*given: Any, **options: Any) -> Any:
        if request.param == "sync":
            mailbox = host.open(*given, **options)
            closing.append(mailbox.close)
            return mailbox
        awaited = host.open_async(*given, **options)
        closing.append(awaited.end)
        return awaited

    yield opening
    for close in closing:
        close()


@pytest.fixture
def mailbox(opened: Open) -> Any:
    return opened()
