"""The rules that make client/chat/aio.py of chats.py; `make unasync` writes it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "layers" / "postroom" / "postroom" / "client" / "chat"
CHATS, AIO = FOLDER / "chats.py", FOLDER / "aio.py"
OTHERWISE = ("memory", "name", "own", "pull_changes", "view", "watch")
"""What `ChatsInThread` has, and what must be used in one thread."""

HEAD = '''\
# Written by `make unasync` from chats.py, which is the one to edit.
"""A user's chats for asyncio."""

from functools import partial
{imports}
from postroom.client.chat.chats import SentChatMessage, WaitingMail
from postroom.client.chat.in_thread import ChatsInThread


class AsyncChats(ChatsInThread):
    """The chats of the archive's owner, for asyncio.

        chats = AsyncChats(Chats(archive, Dm3Sender("alice.eth", keys, profiles, https)))
        sent = await chats.send("bob.eth", "hello")
        async for change in chats.watch(mailbox):
            print(change.message.text)

    Each method does what the method of `Chats` with its name does, in a thread.
    """
'''


def async_chats(text: str) -> str:
    """The module for asyncio. `text`: that of chats.py."""
    module = ast.parse(text)
    [chats] = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "Chats"]
    imports = "\n".join(ast.unparse(node) for node in module.body if isinstance(node, ast.Import | ast.ImportFrom))
    made = HEAD.format(imports=imports) + "\n".join(_methods(chats))
    # Remove imports that are not used, and format the lines.
    for command in (("check", "--fix-only", "--select=F401,I"), ("format",)):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", AIO, "-"]
        made = subprocess.run(ruff, input=made, capture_output=True, text=True, check=True).stdout
    return made


def _methods(chats: ast.ClassDef) -> Iterator[str]:
    for node in chats.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name not in OTHERWISE:
            yield _method(node)


def _method(node: ast.FunctionDef) -> str:
    arguments = node.args
    given = [argument.arg for argument in arguments.args[1:]]
    given += [f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs]
    method = f"self._chats.{node.name}"
    call = f"partial({', '.join((method, *given))})" if given else method
    returns, doc = ast.unparse(node.returns) if node.returns else "None", ast.get_docstring(node, clean=False)
    if returns.startswith("Iterator["):
        call, returns = f"lambda: list({method}({', '.join(given)}))", returns.replace("Iterator", "list", 1)
    body = f"{'' if returns == 'None' else 'return '}await self._in_thread({call})"
    return f'    async def {node.name}({ast.unparse(arguments)}) -> {returns}:\n        """{doc}"""\n        {body}\n'


if __name__ == "__main__":
    AIO.write_text(async_chats(CHATS.read_text()))
