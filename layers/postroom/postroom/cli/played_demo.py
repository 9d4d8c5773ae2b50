"""The demonstration as `postroom demo` plays it: its scenes, and a table of the results."""

import tempfile
import time
from pathlib import Path

from rich.console import Console

from postroom.cli.output import print_table
from postroom.demo.checks import DemoRow
from postroom.demo.scenes import Story
from postroom.demo.stack import RECEIVER, SENDER, DemoStack
from postroom.local.stack import LocalStack


def play(template: Path) -> None:
    """Run the scenes, and end with a table of the results."""
    console = Console(highlight=False, soft_wrap=True)
    begun = time.monotonic()
    console.print(
        "[bold]postroom[/bold]: the template is deployed twice, in an AWS that runs on this machine; it takes about "
        "ten seconds …"
    )
    with tempfile.TemporaryDirectory(prefix="postroom-") as folder, LocalStack(template) as stack:
        demo_stack = DemoStack(stack, Path(folder))
        console.print(f"ready after {time.monotonic() - begun:.1f} s: {SENDER} sends messages to {RECEIVER}\n")
        story = Story(demo_stack, lambda line: console.print(f"   {line}", markup=False))
        rows = play_scenes(story, console)
    print_table(
        ("", "what", "the inbox's answer", "outcome"),
        [(line.scene, line.what, line.answer, line.outcome) for line in rows],
    )
    console.print(f"All {len(rows)} steps had the expected result, in {time.monotonic() - begun:.0f} s.")


def play_scenes(story: Story, console: Console) -> list[DemoRow]:
    """Play all scenes; their results."""
    rows: list[DemoRow] = []
    try:
        for number, (title, play) in enumerate(story.scenes(), 1):
            console.print(f"[bold]{number}. {title}[/bold]")
            rows += play()
            console.print()
    except KeyboardInterrupt:
        # Ending what runs takes some seconds.
        console.print("\nstopping …")
        raise
    return rows
