"""Groups of options that several commands share, and options that may be repeated.

A group is one parameter of a command for all its options:

    @dataclass(frozen=True, kw_only=True)
    class DeploymentOptions(OptionGroup):
        stack_name: Annotated[str | None, typer.Option("--stack-name")] = None
        local: LocalOptions

    app = CommandTyper()

    @app.command("list")
    def list_domains(deployment: DeploymentOptions) -> None: ...

Typer knows no such groups: it reads the options from a function's signature. So a command is handed to it as a
function with the options of its groups as parameters, which makes the groups and calls the command.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, Final, TypeVar, get_type_hints

import typer

Command = TypeVar("Command", bound=Callable[..., None])

_CONTEXT: Final = "context"
_GIVEN: Final = "given"


def repeatable(help_: str, *names: str, **settings: Any) -> object:
    """An option that may be given several times, as its help says. `settings`: as `typer.Option` takes them."""
    return typer.Option(*names, help=f"{help_}; repeat it for more.", **settings)


@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """Options or arguments, and possibly other groups, as the fields of a dataclass.

    A run of a command has one object of a
    group. Groups may share an option, if both declare it alike: the
    command has it once.
    """

    given: frozenset[str] = frozenset()
    """The options that the command line itself has, by field: a value may be the environment's, too."""


class CommandTyper(typer.Typer):
    """A Typer whose commands may take groups of options."""

    def command(self, *args: Any, **kwargs: Any) -> Callable[[Command], Command]:
        """As Typer's."""
        register = super().command(*args, **kwargs)

        def decorate(function: Command) -> Command:
            register(with_options(function))
            return function

        return decorate


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """The function as Typer reads it: each group replaced by its options. Raises TypeError for contradictory groups."""
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if _is_group(hint)}
    parameters: dict[str, Parameter] = {}
    for own in signature(function).parameters.values():
        found = _options_of(groups[own.name]) if own.name in groups else [own.replace(annotation=hints[own.name])]
        for parameter in found:
            same = parameters.setdefault(parameter.name, parameter.replace(kind=Parameter.KEYWORD_ONLY))
            if same.annotation != parameter.annotation or same.default != parameter.default:
                raise TypeError(f"{function.__name__} has two options {parameter.name}")
    parameters[_CONTEXT] = Parameter(_CONTEXT, Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @wraps(function)
    def run(*, context: typer.Context, **values: Any) -> None:
        given = frozenset(name for name in values if _is_given(context, name))
        made: dict[type[OptionGroup], OptionGroup] = {}
        own = {name: values[name] for name in hints if name in values and name not in groups}
        function(**own, **{name: _make(group, values, given, made) for name, group in groups.items()})

    # Typer reads these two.
    run.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return run


def _is_group(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, OptionGroup)


def _members(group: type[OptionGroup]) -> Iterator[tuple[str, Any, Any]]:
    """Name, annotation and default of each field but `given`."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if field.name != _GIVEN:
            default = Parameter.empty if field.default is MISSING else field.default
            yield field.name, hints[field.name], default


def _options_of(group: type[OptionGroup]) -> Iterator[Parameter]:
    for name, hint, default in _members(group):
        if _is_group(hint):
            yield from _options_of(hint)
        else:
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _make(
    group: type[OptionGroup],
    values: Mapping[str, Any],
    given: frozenset[str],
    made: dict[type[OptionGroup], OptionGroup],
) -> OptionGroup:
    if group not in made:
        members = {
            name: _make(hint, values, given, made) if _is_group(hint) else values[name]
            for name, hint, _ in _members(group)
        }
        made[group] = group(**members, given=given & members.keys())
    return made[group]


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
