"""Each message that waits is shown once, however late it was filed, whatever befalls who asks."""

import itertools
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.aws import Clients, deployment
from tests.client.conftest import over_http
from tests.client.mailbox_net import Host, Open, busy, lost_after, lost_before
from tests.http.api_stack import NOW, SHOP_KEY, ApiStack, Owner
from tests.tiers import amount

from postroom.client.mailbox import MessageUnreadableError, Retries, UnavailableError, UnreadableMessageWarning
from postroom.client.mailbox.passes import REST_SECONDS, Passes

TEXT = '{"Header":{}}'


def while_waiting(api: ApiStack, at: dict[float, Callable[[], object]]) -> None:
    """Do something when the clock, on which somebody waits for messages, is so many seconds after NOW."""

    def sleep(seconds: float) -> None:
        api.clock.now += seconds
        for due in [each for each in at if NOW + each <= api.clock.now]:
            at.pop(due)()

    api.sleep = sleep


@over_http
def test_without_waiting_there_is_one_pass(host: Host, api: ApiStack, mailbox: Any) -> None:
    filed = sorted(api.file(*[TEXT] * 150))
    unread = mailbox.unread()
    assert [message.id for message in unread] == filed
    api.file(TEXT, at=9)
    assert list(unread) == []
    assert host.paths().count("GET /messages") == 2


def test_a_waiting_client_gets_new_messages_at_once(api: ApiStack, mailbox: Any) -> None:
    while_waiting(api, {30: lambda: api.file(TEXT, at=30), 45: lambda: api.file(TEXT, at=45)})
    seen = []
    for message in mailbox.unread(wait=50):
        seen.append(api.clock.now - NOW)
        message.acknowledge()
    assert seen == [30, 45]
    assert api.clock.now == NOW + 45 + 50


@over_http
def test_the_waiting_time_begins_after_the_last_message(api: ApiStack, mailbox: Any) -> None:
    api.file(TEXT)
    for message in mailbox.unread(wait=10):
        api.clock.now += 1000
        message.acknowledge()
    assert api.clock.now == NOW + 1000 + 10


def test_waiting_for_ever_does_not_end(api: ApiStack, mailbox: Any) -> None:
    while_waiting(api, {100: lambda: api.file(TEXT, at=100)})
    assert next(mailbox.unread(wait=True)).received_at.timestamp() == NOW + 100


def test_a_late_message_is_shown_at_once_if_all_others_were_acknowledged(api: ApiStack, mailbox: Any) -> None:
    api.file(TEXT, at=-1)
    while_waiting(api, {7: lambda: api.file(TEXT, at=-1000)})
    unread = mailbox.unread(wait=30)
    next(unread).acknowledge()
    assert next(unread).received_at.timestamp() == NOW - 1000
    assert api.clock.now == NOW + 7


def test_a_late_message_is_shown_at_once_if_others_stay(api: ApiStack, mailbox: Any) -> None:
    api.file(*[TEXT] * 3, at=-1)
    while_waiting(api, {7: lambda: api.file(TEXT, at=-1000)})
    unread = mailbox.unread(wait=300)
    assert [next(unread).received_at.timestamp() for _ in range(4)] == [NOW - 1] * 3 + [NOW - 1000]
    assert api.clock.now == NOW + 7


def test_a_late_message_is_shown_soon_if_too_many_others_stay(
    api: ApiStack, mailbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.http.message_listing.MOST_WATCHED", 2)
    api.file(*[TEXT] * 3, at=-1)
    while_waiting(api, {7: lambda: api.file(TEXT, at=-1000)})
    unread = mailbox.unread(wait=300)
    assert [next(unread).received_at.timestamp() for _ in range(4)] == [NOW - 1] * 3 + [NOW - 1000]
    assert api.clock.now == NOW + REST_SECONDS


def test_an_unreadable_message_gives_one_warning_and_blocks_no_other(host: Host, api: ApiStack, mailbox: Any) -> None:
    one, two, three = (api.file(TEXT, at=at)[0] for at in range(-3, 0))
    lie_at = sorted(api.deployed.objects())
    api.deployed.clients.s3.delete_object(Bucket=api.deployed.bucket, Key=lie_at[1])
    unread = mailbox.unread(wait=50)
    # As an error, too: it takes nothing along.
    with pytest.raises(UnreadableMessageWarning, match=two):
        next(unread)
    assert [message.id for message in unread] == [one, three]
    assert host.paths().count("GET /messages") <= 2 * 50 / REST_SECONDS + 3
    with pytest.raises(MessageUnreadableError):
        mailbox.message(two)


def test_a_short_wait_does_not_miss_a_late_message(api: ApiStack, mailbox: Any) -> None:
    api.file(TEXT, at=-1)
    while_waiting(api, {2: lambda: api.file(TEXT, at=-1000)})
    assert len(list(mailbox.unread(wait=5))) == 2
    # After it more may come for as long.
    assert api.clock.now == NOW + 2 + 5


def test_a_steady_stream_does_not_delay_a_late_message(api: ApiStack, mailbox: Any) -> None:
    api.file(TEXT, at=-1)
    stream = {float(at): lambda at=at: api.file(TEXT, at=at) for at in range(1, 60)}
    while_waiting(api, {**stream, 5.5: lambda: api.file(TEXT, at=-1000)})
    for message in mailbox.unread(wait=30):
        if message.received_at.timestamp() == NOW - 1000:
            break
    else:
        pytest.fail("it was not shown")
    assert api.clock.now <= NOW + 5.5 + REST_SECONDS + 1


def test_messages_that_stay_do_not_cause_repeated_requests(
    host: Host, api: ApiStack, mailbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.http.mail_handlers.POLL_SECONDS", 5.0)
    filed = sorted(api.file(*[TEXT] * 5))
    assert [message.id for message in mailbox.unread(wait=60)] == filed
    assert api.clock.now == NOW + 60
    # A pass, and who waits at its end: every 20 seconds.
    assert host.paths().count("GET /messages") <= 2 * 60 / REST_SECONDS + 3


def refuse_waits(api: ApiStack) -> None:
    """Let no request wait."""
    api.router = api.parts(mailbox_api_reserved_concurrency=1).mailbox_api.router


@over_http
def test_a_client_whose_request_may_not_wait_pauses_as_long_as_the_host_says(
    host: Host, api: ApiStack, mailbox: Any
) -> None:
    refuse_waits(api)
    assert list(mailbox.unread(wait=12)) == []
    assert host.slept == [5, 5, 2]
    assert host.paths().count("GET /messages") == 4
    assert api.clock.now == NOW + 12


@over_http
def test_a_client_whose_request_may_not_wait_shows_a_message_after_a_pause(
    host: Host, api: ApiStack, mailbox: Any
) -> None:
    refuse_waits(api)
    api.file(TEXT, at=-1)
    unread = mailbox.unread(wait=300)
    next(unread)
    # It is filed after the third listing.
    host.watch = lambda *_: host.paths().count("GET /messages") == 3 and api.file(TEXT, at=-1000)
    assert next(unread).received_at.timestamp() == NOW - 1000
    # The other message stays: the next pass begins after a rest at the latest.
    assert api.clock.now <= NOW + 5 + REST_SECONDS + 5


@over_http
def test_a_client_waits_again_once_its_request_may(host: Host, api: ApiStack, mailbox: Any) -> None:
    may = api.router
    refuse_waits(api)

    def free(request: httpx.Request, _response: httpx.Response) -> None:
        if request.url.path.endswith("/messages"):
            api.router = may

    host.watch = free
    assert list(mailbox.unread(wait=30)) == []
    assert host.slept == [5]
    # The refused request, one of 20 s and one of 5 s.
    assert host.paths().count("GET /messages") == 3


def test_only_existing_messages_are_remembered(host: Host, api: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.http.mail_handlers.POLL_SECONDS", 5.0)
    [stays] = api.file(TEXT, at=-1)
    with host.open() as mailbox:
        passes = Passes(mailbox._core, True, "", api.clock)
        pages = filter(None, (mailbox._make(passes.next_page()).messages for _ in itertools.count()))
        assert [it.id for it in next(pages)] == [stays]
        for at in range(1, 30):
            while_waiting(api, {at * 10: lambda at=at: api.file(TEXT, at=at * 10)})
            mailbox.acknowledge([it.id for it in next(pages)])
            assert len(passes._known | passes._met) <= 6


@over_http
def test_a_pass_that_failed_to_begin_forgets_nothing(host: Host, api: ApiStack, opened: Open) -> None:
    mailbox = opened(retries=Retries(1))
    filed = sorted(api.file(TEXT, TEXT))
    unread = mailbox.unread(wait=50)
    assert [next(unread).id, next(unread).id] == filed
    for _ in range(3):
        host.faults = [lost_before]
        with pytest.raises(UnavailableError):
            next(unread)
    assert list(unread) == []


@over_http
def test_waiting_continues_through_an_outage(host: Host, api: ApiStack, opened: Open) -> None:
    mailbox = opened(retries=Retries(1))
    unread = mailbox.unread(wait=10)
    while_waiting(api, {10: lambda: host.faults.append(lost_before)})
    api.file(TEXT)
    next(unread)
    with pytest.raises(UnavailableError):
        next(unread)
    api.clock.now += 1000
    api.file(TEXT, at=100)
    assert len(list(unread)) == 1


class Pickup(RuleBasedStateMachine):
    """Somebody reads a mailbox, acknowledging or not, while it is filed into, late and in time, and much goes wrong."""

    name = "m.com"

    def __init__(self, clients: Clients, opening: str) -> None:
        super().__init__()
        # moto's queries read all that earlier examples left.
        self.deployment = deployment(clients)
        self.api = ApiStack(self.deployment.__enter__())
        self.api.mailboxes.set_keys(self.name, [b64encode(SHOP_KEY.public.spki()).decode()])
        self.host = Host(self.api, page_size=3)
        self.mailbox: Any = getattr(self.host, opening)(self.name, retries=Retries(2))
        self.filed: set[str] = set()
        self.pages: list[set[str]] = []
        """What each page showed."""
        self.acknowledged: dict[str, int] = {}
        """And after how many pages."""
        self.host.watch = self.watch
        self.other: Owner | None = None

    def watch(self, request: httpx.Request, response: httpx.Response) -> None:
        if request.url.path.endswith("/messages") and response.status_code == 200:
            self.pages.append({each["id"] for each in response.json()["messages"]})

    @initialize(wait=st.sampled_from([25, 3, False]), count=st.integers(1, 7))
    def begin(self, wait: float, count: int) -> None:
        self.wait = wait
        self.file(count)
        self._read_anew()

    def _read_anew(self) -> None:
        self.unread = self.mailbox.unread(wait=self.wait)
        self.shown: list[str] = []
        self.there_before = self.filed - set(self.acknowledged)

    @rule(count=st.integers(1, 4))
    def file(self, count: int) -> None:
        self.api.clock.now += 1
        self._file(count, self.api.clock.now)

    @rule(count=st.integers(1, 4))
    def file_behind_what_was_shown(self, count: int) -> None:
        came = [int(each[:13]) / 1000 for each in self.shown]
        self._file(count, min(came, default=self.api.clock.now) - 1)

    def _file(self, count: int, at: float) -> None:
        self.filed |= set(self.api.file(*[TEXT] * count, mailbox=self.name, at=at - NOW))

    @rule(data=st.data())
    def acknowledge_by_another_device(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.filed)))
        if self.other is None:
            self.other = Owner(self.api, self.name)
        self.other.token = self.api.sign_in(self.name)
        self.other.acknowledge(chosen)
        self.acknowledged.setdefault(chosen, len(self.pages))

    @rule(
        faults=st.lists(st.sampled_from([lost_before, lost_after, busy(503), busy(429, retry_after="5")]), max_size=8)
    )
    def fail_the_next_requests(self, faults: list[Any]) -> None:
        self.host.faults = faults

    @rule()
    def end_the_token(self) -> None:
        self.api.clock.now += 3601

    @rule()
    def sign_out(self) -> None:
        self.api.mailboxes.revoke_tokens(self.name, int(self.api.clock.now))
        self.api.clock.now += 61

    @rule(count=st.integers(1, 5), acknowledge=st.booleans())
    def read(self, count: int, acknowledge: bool) -> None:
        for _ in range(count):
            if not self._read_one(acknowledge=acknowledge):
                return

    def _read_one(self, *, acknowledge: bool) -> bool:
        """Whether it goes on."""
        try:
            message = next(self.unread)
        except UnavailableError:
            return True  # with the same iterator
        except StopIteration:
            self._ended()
            return False
        self.shown.append(message.id)
        last_fetched = max(number for number, page in enumerate(self.pages) if message.id in page)
        assert last_fetched < self.acknowledged.get(message.id, len(self.pages))
        if acknowledge:
            self._acknowledge(message)
        return True

    def _acknowledge(self, message: Any) -> None:
        while True:
            try:
                message.acknowledge()
                break
            except UnavailableError:
                continue  # as often as it takes: saying it twice does no harm
        self.acknowledged.setdefault(message.id, len(self.pages))

    def _ended(self) -> None:
        must = self.filed if self.wait else self.there_before
        assert must - set(self.acknowledged) <= set(self.shown)
        assert next(self.unread, None) is None
        self._read_anew()

    @invariant()
    def each_is_shown_once(self) -> None:
        assert len(self.shown) == len(set(self.shown))
        assert set(self.shown) <= self.filed

    def teardown(self) -> None:
        try:
            self._read_to_the_end()
        finally:
            self.deployment.__exit__(None, None, None)

    def _read_to_the_end(self) -> None:
        self.host.faults = []
        while self._read_one(acknowledge=False):
            self.each_is_shown_once()
        # Whatever happened: a device that comes now finds all that nobody acknowledged, and no more.
        assert {message.id for message in self.mailbox.unread()} == self.filed - set(self.acknowledged)
        self.mailbox.end() if hasattr(self.mailbox, "end") else self.mailbox.close()


@pytest.mark.parametrize("opening", ["open", "open_async"])
def test_each_message_is_shown_once_whatever_happens(
    clients: Clients, opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is filed while somebody waits here: few looks see what many do.
    monkeypatch.setattr("postroom.http.mail_handlers.POLL_SECONDS", 10.0)
    run_state_machine_as_test(
        lambda: Pickup(clients, opening),
        settings=settings(
            max_examples=amount(quick=3, all=10, proof=300),
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        ),
    )
