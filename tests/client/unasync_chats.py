"""The rules that make client/chat/aio.py of the classes of chats; `make unasync` writes it."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "layers" / "postroom" / "postroom" / "client" / "chat"
AIO = FOLDER / "aio.py"
CLASSES = ("owner_chats", "chats", "groups", "own_devices")
"""The modules with the class `Chats` and its bases."""
OTHERWISE = ("memory", "name", "own", "view", "watch")
"""What `ChatsInThread` has, and what must be used in one thread."""

HEAD = '''\
# Written by `make unasync` from {modules}, which are the ones to edit.
"""A user's chats for asyncio."""

from functools import partial
{imports}
from postroom.client.chat.in_thread import ChatsInThread
from postroom.client.chat.owner_chats import SentChatMessage


class AsyncChats(ChatsInThread):
    """The chats of the archive's owner, for asyncio.

        chats = AsyncChats(Chats(archive, Dm3Sender("alice.eth", keys, profiles, https)))
        sent = await chats.send("bob.eth", "hello")
        async for change in chats.watch(mailbox):
            print(change.message.text)

    Each method does what the method of `Chats` with its name does, in a thread.
    """
'''


def async_chats(modules: Mapping[str, str]) -> str:
    """The module for asyncio. `modules`: the texts of those with the class `Chats` and its bases, by name."""
    bodies = [node for text in modules.values() for node in ast.parse(text).body]
    imports = "\n".join(ast.unparse(node) for node in bodies if isinstance(node, ast.Import | ast.ImportFrom))
    names = ", ".join(f"{name}.py" for name in modules)
    made = HEAD.format(imports=imports, modules=names) + "\n".join(_methods(bodies))
    # Remove imports that are not used, and format the lines.
    for command in (("check", "--fix-only", "--select=F401,F811,I"), ("format",)):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", AIO, "-"]
        made = subprocess.run(ruff, input=made, capture_output=True, text=True, check=True).stdout
    return made


def read_classes() -> dict[str, str]:
    """The texts of the modules that it is made of, by name."""
    return {name: (FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in CLASSES}


def _methods(bodies: Iterable[ast.stmt]) -> Iterator[str]:
    classes = [node for node in bodies if isinstance(node, ast.ClassDef) and node.name.endswith("Chats")]
    for node in (each for cls in classes for each in cls.body):
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
    AIO.write_text(async_chats(read_classes()), encoding="utf-8")
