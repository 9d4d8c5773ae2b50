"""docs/reference/cli.md: the commands, the environment, exit codes and errors; made from the commands themselves.

`python -m tests.cli.test_reference` writes it. Here, too: help that fits 80 columns, and commands that pages name.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Postroom
from tests.contents import with_contents
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from postroom.cli.app import app
from postroom.cli.exits import Exit

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "cli.md"
HEAD = """# The command line

All commands of `postroom`, what they read from the environment, their exit codes and errors. `postroom COMMAND --help`
shows the options of one.

(This page is written by `python -m tests.cli.test_reference`, from the commands.)

## Which deployment, which post office

A command that works with a deployment, or looks a name up, finds out where in this order:

1. **An option**: `--stack-name NAME` for a deployment on AWS, `--local PATH` for a local stack (its folder or its
   `local.json`), `--at URL` for an owner's post office. Options such as `--resolver` and `--ca-file` replace one
   setting of a local stack that is named.
2. **An environment variable**: one of the table below. Two variables that name two deployments are an error.
3. **`.postroom` in the current folder**, if `postroom up` runs there. Commands that look names up or connect say so on
   standard error: `postroom: using the local stack of .postroom/local.json`. `--resolver`, `--endpoint`, `--ca-file`
   (of an owner) and `--to-url` lead elsewhere, and so does `POSTROOM_STACK`.

Without any of these, look-ups and connections use the Internet, and a command that needs a deployment asks for one.
`--deployment NAME` picks a deployment of a local stack; the default is the first.

`--key` is always a private key, `--public-key` a public one.
"""
VARIABLES = {
    "POSTROOM_STACK": "The deployment on AWS: the name of its CloudFormation stack.",
    "POSTROOM_LOCAL": "The local stack: its `local.json`, or the folder with it.",
    "POSTROOM_AT": "The owner's post office, `https://HOST`. Then `read` and `mailbox notify` are the owner's.",
    "POSTROOM_KEY": "The owner's private key: a PEM file, or what `postroom dm3 keygen` writes. For `postroom dcp`, "
    "a keystore, too.",
    "POSTROOM_KEY_PASSPHRASE": "The passphrase of an encrypted private key, of a PEM file or a keystore; without it, "
    "it is asked for at the terminal.",
    "POSTROOM_HOME": "The home of the archive: a folder, `s3://bucket/prefix`, or `https://HOST/NAME`.",
    "POSTROOM_DEBUG": "If it is set, an error ends with Python's traceback.",
}
OPTIONLESS = {"POSTROOM_DEBUG", "POSTROOM_KEY_PASSPHRASE"}
ERRORS = """## Errors

Standard output has the result and nothing else. An error is one line on standard error: `postroom: ` and a sentence. An
error in the command line itself is shown with the usage of the command.

With `--json`, each line on standard error is a JSON object. The last one is the error, where there is one:

```json
{"error": {"code": "not_found", "exit": 5, "message": "shop.example is not in the directory", "hint": "`postroom domain add shop.example` adds it", "reason": null}}
```

`code` and `exit` are those of the table below; `hint` says what helps, or is null; `reason` is the machine code of
whoever refused a message or a request ([reasons](REASONS)), or null. What is worth knowing beside a result is
`{"note": "…"}`.
"""  # noqa: E501 - an example is one line

Words = tuple[str, ...]


def commands(group: TyperGroup, path: Words = ()) -> Iterator[tuple[Words, TyperCommand]]:
    """Each command by the words that call it."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, (*path, name))
        else:
            assert isinstance(command, TyperCommand)
            yield (*path, name), command


def groups(group: TyperGroup, path: Words = ()) -> Iterator[tuple[Words, TyperGroup]]:
    yield path, group
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from groups(command, (*path, name))


ROOT_COMMAND = get_command(app)
assert isinstance(ROOT_COMMAND, TyperGroup)
COMMANDS = dict(commands(ROOT_COMMAND))
GROUPS = dict(groups(ROOT_COMMAND))


def summary(command: TyperCommand | TyperGroup) -> str:
    return (command.help or "").partition("\n\n")[0].replace("\n", " ")


def page() -> str:
    lines = [HEAD, "## Environment", "", "| Variable | Option | What it is |", "|---|---|---|"]
    for variable, meaning in VARIABLES.items():
        lines.append(f"| `{variable}` | {', '.join(f'`{option}`' for option in options_of(variable))} | {meaning} |")
    reasons = ROOT / "docs" / "reference" / "reasons.md"
    lines += ["", ERRORS.replace("REASONS", relative(reasons))]
    lines += ["## Exit codes", "", "| Exit code | `code` | Meaning |", "|---|---|---|"]
    lines += [f"| {int(code)} | {f'`{code.name.lower()}`' if code else ''} | {code.meaning} |" for code in Exit]
    lines += ["", "## Commands"]
    for path, group in GROUPS.items():
        title = " ".join(("postroom", *path))
        lines += ["", f"### {title}", "", summary(group), "", "| Command | |", "|---|---|"]
        for words, command in COMMANDS.items():
            if words[:-1] == path:
                lines.append(f"| `{' '.join(words)}` | {summary(command)} |")
    return with_contents("\n".join(lines) + "\n")


def relative(path: Path) -> str:
    return path.name if path.parent == PAGE.parent else f"../{path.relative_to(ROOT / 'docs')}"


def options_of(variable: str) -> list[str]:
    return sorted({
        parameter.opts[0] for command in COMMANDS.values() for parameter in command.params
        if parameter.envvar == variable
    })  # fmt: skip


def test_the_page_is_generated_from_the_commands() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "`python -m tests.cli.test_reference` writes it anew"


def test_each_variable_is_explained() -> None:
    used = {str(it.envvar) for command in COMMANDS.values() for it in command.params if it.envvar}
    assert used == set(VARIABLES) - OPTIONLESS


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_a_list_of_commands_shows_each_summary_whole_in_80_columns(
    postroom: Postroom, monkeypatch: pytest.MonkeyPatch, path: Words
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = postroom(*path, "--help").stdout
    assert "…" not in shown and "..." not in shown.partition("Commands:")[2]  # noqa: PT018 - click writes either
    assert max(map(len, shown.splitlines())) <= 80
    flat = " ".join(shown.split())
    for words, command in COMMANDS.items():
        if words[:-1] == path:
            assert f"{words[-1]} {summary(command).removesuffix('.')}" in flat


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_fits_80_columns(
    postroom: Postroom, monkeypatch: pytest.MonkeyPatch, path: Words
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = postroom(*path, "--help")
    assert (result.exit_code, result.stdout.startswith("Usage: ")) == (0, True)
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_summary_is_one_imperative_line(path: Words) -> None:
    line = summary(COMMANDS[path])
    assert re.fullmatch(r"[A-Z][a-z]+,? .*\.", line), line
    assert not line.split()[0].endswith("s"), line


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_key_is_a_private_key_and_every_public_key_is_called_so(path: Words) -> None:
    for parameter in COMMANDS[path].params:
        help_ = (getattr(parameter, "help", None) or "").lower()
        if parameter.opts[0] == "--key":
            assert "private key" in help_
        if "public key" in help_ and parameter.name != "file":
            assert parameter.opts[0].startswith("--public-key"), parameter.opts


PAIRS = {"add": "remove", "open": "close", "export": "import", "hold": "release", "put": "show"}


@pytest.mark.parametrize("path", [path for path in COMMANDS if path[-1] in PAIRS and path != ("dm3", "open")])
def test_every_verb_has_its_opposite(path: Words) -> None:
    assert (*path[:-1], PAIRS[path[-1]]) in COMMANDS


def named() -> Iterator[tuple[str, str]]:
    """Each command that a page names, with the page."""
    for page_ in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))):
        text = page_.read_text(encoding="utf-8").replace("\\\n", " ")
        fenced = "\n".join(re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
        blocks = re.findall(r"^(?:\$ )?(postroom [^\n]*)", fenced, re.MULTILINE)
        blocks += re.findall(r"^ {4}(postroom [^\n]*)", text, re.MULTILINE)
        spans = re.findall(r"`(postroom [^`]+)`", text)
        for command in dict.fromkeys((*blocks, *spans)):
            yield str(page_.relative_to(ROOT)), command


@pytest.mark.parametrize(("where", "command"), list(named()))
def test_commands_on_the_pages_exist_with_their_options(where: str, command: str) -> None:
    words = shlex.split(re.split(r"[|;>&#]| \(", command)[0].replace("…", ""), posix=True)[1:]
    path: Words = ()
    while words and (*path, words[0]) in {*COMMANDS, *GROUPS}:
        path = (*path, words.pop(0))
    if path in GROUPS:
        assert not words or words[0].startswith("-") or words[0].isupper(), f"there is no such command in {where}"
        return
    known = {option for it in COMMANDS[path].params for option in (*it.opts, *it.secondary_opts)} | {"--help"}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, (where, command)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
