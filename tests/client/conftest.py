from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.client.mailbox_net import Host, Open
from tests.http.api_stack import ApiStack
from tests.http.conftest import api as api
from tests.http.dcp_peers import OWNER_SIGNING_KEY, give_keys

over_http = pytest.mark.parametrize("opened", ["sync", "async"], indirect=True)
"""Of tests of tokens, statuses and headers, which requests over DCP do not have."""


@pytest.fixture
def host(api: ApiStack) -> Host:
    return Host(api)


@pytest.fixture(params=["sync", "async", "sync over DCP", "async over DCP"])
def opened(request: pytest.FixtureRequest, host: Host) -> Iterator[Open]:
    closing: list[Callable[[], None]] = []
    over_dcp = request.param.endswith("DCP")
    if over_dcp:
        give_keys(host.api)

    def opening(*given: Any, **options: Any) -> Any:
        if over_dcp:
            options = {"dcp": True, **({} if len(given) > 1 else {"key": OWNER_SIGNING_KEY}), **options}
        if request.param.startswith("sync"):
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
