"""A local stack whose state is kept, and a sender who posts to it until all is killed: a program of its own.

`python -m tests.end_to_end.killed_stack FOLDER` prints the Hash of each message that was answered 200.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from postroom.demo.scenes import Story
from postroom.demo.stack import DemoStack
from postroom.local.checkout import template_path
from postroom.local.stack import LocalStack

SENDERS = 8
LARGE = 1_000_000


def post_for_ever(folder: Path) -> None:
    with LocalStack(template_path(), state_dir=folder) as stack:
        demo_stack = DemoStack(stack, folder / "keys")
        story = Story(demo_stack, lambda _: None)

        def post(_: int) -> None:
            for number in count():
                # Some are too large for the queue: an object has them until they are filed.
                text = "." * (LARGE if number % 4 == 0 else 10)
                sent = story.envelope(demo_stack.sender, {"Text": text})
                if story.post(sent)[0] == 200:
                    sys.stdout.write(f"{sent['Hash']}\n")
                    sys.stdout.flush()

        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(post, range(SENDERS)))


if __name__ == "__main__":
    post_for_ever(Path(sys.argv[1]))
