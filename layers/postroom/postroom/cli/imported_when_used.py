"""Commands that are imported when they are used, so that one does not wait for the others."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import typer
from typer.core import TyperGroup

from postroom.cli.options import CommandTyper

if TYPE_CHECKING:
    from typer.core import MarkupMode, TyperCommand

_PACKAGE: Final = "postroom.cli"


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """The place of a command. `module`: below postroom.cli. `name`: of its function, or of the Typer of a group.

    `cls`: of its class; empty: Typer's.
    """

    module: str
    name: str
    cls: str = ""


class ImportedCommands(TyperGroup):
    """A group of commands that are imported when they are used. `places`: by their names, in order."""

    places: ClassVar[Mapping[str, CommandPlace]]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Typer only reads it.
        self.commands = cast("MutableMapping[str, Any]", _Commands(self.places, self.rich_markup_mode))


@dataclass(frozen=True, slots=True)
class _Commands(Mapping[str, "TyperCommand | TyperGroup"]):
    """Commands by their names. To look one up imports it."""

    places: Mapping[str, CommandPlace]
    markup: "MarkupMode"
    _imported: "dict[str, TyperCommand | TyperGroup]" = field(default_factory=dict, init=False)

    def __getitem__(self, name: str) -> "TyperCommand | TyperGroup":
        """A command. Raises KeyError."""
        if name not in self._imported:
            self._imported[name] = self._import(name, self.places[name])
        return self._imported[name]

    def __iter__(self) -> Iterator[str]:
        """The names, in order."""
        return iter(self.places)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.places)

    def _import(self, name: str, place: CommandPlace) -> "TyperCommand | TyperGroup":
        module = import_module(f"{_PACKAGE}.{place.module}")
        found, cls = getattr(module, place.name), getattr(module, place.cls) if place.cls else None
        alone = CommandTyper(rich_markup_mode=self.markup)
        if isinstance(found, typer.Typer):
            alone.add_typer(found, name=name)
        else:
            alone.command(name, cls=cls)(found)
        return typer.main.get_group(alone).commands[name]  # type: ignore[return-value]
