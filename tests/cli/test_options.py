"""Groups of options: one parameter of a command for the options that several commands share."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from postroom.cli.app import app as postroom_app
from postroom.cli.options import CommandTyper, OptionGroup, with_options

Colour = Annotated[str, typer.Option("--colour", envvar="TEST_COLOUR")]


@dataclass(frozen=True, kw_only=True)
class ShapeOptions(OptionGroup):
    colour: Colour = "red"
    size: Annotated[int, typer.Option("--size")] = 1


@dataclass(frozen=True, kw_only=True)
class PlaceOptions(OptionGroup):
    where: Annotated[str, typer.Option("--where")]
    shape: ShapeOptions


def run(command: object, *arguments: str, **environment: str) -> str:
    app = CommandTyper()
    app.command()(command)  # type: ignore[type-var]
    result = CliRunner(env=environment).invoke(app, list(arguments), catch_exceptions=False)
    return result.stdout if result.exit_code == 0 else result.stderr


def test_a_group_is_one_parameter_with_the_values_of_its_options() -> None:
    def command(name: str, shape: ShapeOptions) -> None:
        print(name, shape.colour, shape.size)

    assert run(command, "box", "--size", "3") == "box red 3\n"


def test_groups_hold_groups_and_an_option_that_two_have_is_one() -> None:
    def command(place: PlaceOptions, shape: ShapeOptions) -> None:
        print(place.where, place.shape is shape, shape.size)

    assert run(command, "--where", "here", "--size", "2") == "here True 2\n"
    assert run(command, "--help").count("--size") == 1


def test_an_option_without_a_default_is_required() -> None:
    def command(place: PlaceOptions) -> None:
        print(place.where)

    assert "Missing option '--where'" in run(command)


def test_command_line_values_are_distinguished_from_environment_values() -> None:
    def command(shape: ShapeOptions) -> None:
        print(shape.colour, sorted(shape.given))

    assert run(command, "--size", "1", TEST_COLOUR="blue") == "blue ['size']\n"
    assert run(command, "--colour", "green", TEST_COLOUR="blue") == "green ['colour']\n"


def test_groups_that_declare_an_option_differently_are_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Other(OptionGroup):
        size: Annotated[int, typer.Option("--size")] = 2

    def command(shape: ShapeOptions, other: Other) -> None:
        """Never runs."""

    with pytest.raises(TypeError, match="two options size"):
        with_options(command)


def commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], typer.core.TyperCommand]]:
    """Each command of postroom, by the words that call it."""
    found = getattr(group, "commands", None)
    if found is None:
        assert isinstance(group, typer.core.TyperCommand)
        yield path, group
    else:
        for name, command in found.items():
            yield from commands(command, (*path, name))


ALL = dict(commands(typer.main.get_command(postroom_app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_options_for_deployments_and_owners_mean_the_same_in_all_commands(path: tuple[str, ...]) -> None:
    variables = {"stack_name": "STACK", "local": "LOCAL", "at": "AT", "home": "HOME"}
    for parameter in ALL[path].params:
        if parameter.name in variables and path != ("up",):
            assert parameter.envvar == f"POSTROOM_{variables[parameter.name]}", parameter.name
