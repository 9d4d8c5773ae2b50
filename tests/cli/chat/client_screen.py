"""The terminal client on a screen of 80 x 24 that a test reads, with keys that it presses and jobs that it runs."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from unittest.mock import patch

from tests.client.chat.network import Device, Mailbox, Points
from tests.patience import PATIENCE
from textual.pilot import Pilot

from postroom.cli.chat.terminal_client.app import ChatClientApp
from postroom.cli.chat.terminal_client.drawing import PictureDrawer
from postroom.cli.chat.terminal_client.layout import Cells
from postroom.cli.chat.terminal_client.model import ClientModel
from postroom.cli.chat.terminal_client.read_marks import ReadMarks
from postroom.cli.chat.terminal_client.session import ChatSession
from postroom.cli.chat.terminal_client.snapshot import newest_came, read_snapshot
from postroom.protocols.status.message_media import MessageMedia

WIDTH, HEIGHT = 80, 24
IDLE_TURNS = 20
"""Of the event loop. A message that is being processed is in no queue."""


@dataclass
class StepRunner:
    """Jobs that run when the test says so."""

    jobs: list[Callable[[], None]] = field(default_factory=list)

    def submit(self, job: Callable[[], None]) -> None:
        self.jobs.append(job)

    def run(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()


@dataclass
class ClientScreen:
    """The client of one person. `kept`: all marks that were kept."""

    app: ChatClientApp
    pilot: Pilot[BaseException | None]
    runner: StepRunner
    kept: list[ReadMarks]

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self._until_idle()

    async def type(self, text: str) -> None:
        names = {" ": "space", "\n": "ctrl+j", "/": "slash", "@": "at", "#": "number_sign", ".": "full_stop"}
        await self.pilot.press(*(names.get(character, character) for character in text))
        await self._until_idle()

    async def work(self) -> None:
        """Everything that is to be done is done, and shown."""
        self.runner.run()
        await self.pilot.pause()
        await self._until_idle()

    async def _until_idle(self) -> None:
        """Wait until no part of the client has anything to do."""
        async with asyncio.timeout(PATIENCE):
            turns = 0
            while turns < IDLE_TURNS:
                await asyncio.sleep(0)
                pumps = [
                    self.app,
                    *(pump for screen in self.app.screen_stack for pump in screen.walk_children(with_self=True)),
                ]
                turns = 0 if any(pump.message_queue_size or pump._next_callbacks for pump in pumps) else turns + 1
        self.app.screen._on_timer_update()

    async def until_shown(self, pattern: str) -> None:
        """Wait until the messages have this."""
        async with asyncio.timeout(PATIENCE):
            while not re.search(pattern, self.messages):
                await self.pilot.pause()

    async def pull(self) -> None:
        await self.press("ctrl+r")
        await self.work()

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without styles."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)

    @property
    def messages(self) -> str:
        """The right part, without the border."""
        return "\n".join(line[26:].rstrip() for line in self.lines)

    @property
    def chats(self) -> list[str]:
        """The lines of the list of chats."""
        return [line[:25].rstrip() for line in self.lines[2:-4] if line[:25].strip()]

    @property
    def status(self) -> str:
        return self.lines[-2].strip()

    @property
    def keys(self) -> str:
        return self.lines[-1].strip()


Scenario = Callable[[ClientScreen], Awaitable[None]]


def show_client(
    device: Device,
    scenario: Scenario,
    *,
    marks: ReadMarks | None = None,
    draw: Callable[[MessageMedia], Sequence[Cells]] = lambda _: (),
) -> ChatClientApp:
    """Run the client of a device; the first pull is done."""
    chats, runner, kept = device.chats, StepRunner(), list[ReadMarks]()
    marks = marks or ReadMarks(chats.own, newest_came(chats))
    model = ClientModel(read_snapshot(chats), marks)
    session = ChatSession(chats, Mailbox(device.person.service, Points()), runner, StepRunner())
    app = ChatClientApp(model, session, PictureDrawer(runner, draw), kept.append)

    async def run() -> None:
        app.animation_level = "none"  # what moves takes a while
        async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
            client = ClientScreen(app, pilot, runner, kept)
            await client.work()
            await scenario(client)

    # The pilot sleeps twice for so long after each key, to see that the client is idle.
    with patch("textual._wait.SLEEP_GRANULARITY", 0.002):
        asyncio.run(run())
    return app
