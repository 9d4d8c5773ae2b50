"""`postroom chat list|show|who|discarded`: the chats, one of them, the people in them, and what is not shown."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postroom.cli.chat.options import ChatOptions
from postroom.cli.chat.people import name_of, people_of
from postroom.cli.chat.send import To
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_either, print_json, print_table
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.client.chat import Chats
    from postroom.client.chat.memory import ChatMemory
    from postroom.core.ijson import JsonValue
    from postroom.protocols.status.chat_view import ShownChat, ShownChatMessage


def list_chats(options: ChatOptions, as_json: AsJson = False) -> None:
    """List the chats, with their newest message.

    Below a group stands its ID if the group cannot be named otherwise.
    """
    from postroom.cli.chat.shown import chat_line
    from postroom.client.chat.targets import groups_named_by_id

    with options.open() as chats:
        view = chats.view()
        found = [(chat, view.messages(chat.ref, 1)) for chat in view.chats()]
        people = people_of(chats, found)
        shown = [_with_deliveries(chats.memory, chat, messages) for chat, messages in found]
        by_id = groups_named_by_id(view.groups())
    if as_json:
        print_json({"chats": list(shown), "people": people})
    else:
        for each in shown:
            print_line(chat_line(each, people))
            if each["id"] in by_id:
                print_line(f"  ID {each['id']}")


def show(
    to: To,
    options: ChatOptions,
    last: Annotated[int | None, typer.Option(metavar="N", help="Only the newest N messages.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Show the messages of a chat, the oldest first.

    Beside yours stands who has not got them, or has refused them and why.
    """
    from postroom.cli.chat.shown import chat_lines

    with options.open() as chats:
        ref = chats.find(to).ref
        view = chats.view()
        chat, messages = view.chat(ref), view.messages(ref, last)
        people = people_of(chats, [(chat, messages)])
        shown = _with_deliveries(chats.memory, chat, messages)
    if as_json:
        print_json({**shown, "people": people})
        return
    for line in chat_lines(shown, people):
        print_line(line)


def who(
    options: ChatOptions,
    own: Annotated[bool, typer.Option("--own", help="Print your own chat key instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the people of all chats: their names, pseudonyms and keys.

    Of an NLWeb domain, the key that counts is `trusted` or `pinned`; any `other` has written from there, too. `said` is
    a domain that others say is theirs, whose key you do not know: only messages of a group with them go there.
    """
    with options.open() as chats:
        if own:
            print_either(as_json, {"key": chats.own, "name": chats.name}, chats.own)
            return
        people, has_domains = _people(chats), bool(chats.memory.domains)
    if as_json:
        print_json(people)
        return
    rows = [
        (
            person["name"] or "-", person["pseudonym"], person["ens_name"] or person["display_name"] or "-",
            *([_standing(person["domains"])] if has_domains else []), key,
        )
        for key, person in people.items()
    ]  # fmt: skip
    print_table(("name", "pseudonym", "says", *(["domain's key"] if has_domains else []), "key"), rows)


def _people(chats: "Chats") -> dict[str, Any]:
    """Everybody in the chats, and whoever has written from a domain, by key: as `people_as_json` has them, with all
    names, and what the key is for each domain."""
    from postroom.client.chat.domain_keys import standing_of
    from postroom.client.chat.nlweb_carrier import domain_at
    from postroom.protocols.status.view_json import people_as_json

    view, memory = chats.view(), chats.memory
    found = [(chat, view.messages(chat.ref)) for chat in view.chats()]
    others = [key for domain in memory.domains.values() for key in domain.all_keys]
    people: dict[Any, Any] = people_as_json(view, found, others, name_of=partial(name_of, chats))
    for key, person in people.items():
        said = memory.names_said(key, lambda _: True)
        domains_said = [domain for name in said if (domain := domain_at(name)) is not None]
        person["names"] = list(dict.fromkeys(filter(None, (person["name"], *memory.names_of(key), *said))))
        person["domains"] = {**dict.fromkeys(domains_said, "said"), **standing_of(memory.domains, key)}
    return people


def _standing(domains: Mapping[str, str]) -> str:
    return ", ".join(f"{domain}: {standing}" for domain, standing in domains.items()) or "-"


def discarded(options: ChatOptions, as_json: AsJson = False) -> None:
    """List the messages that are not shown, and why.

    A message is discarded if it fails a check of its own. One that is not shown may count later: when the group's
    founding comes, or when you join its channel.
    """
    from postroom.cli.chat.shown import not_shown_lines
    from postroom.protocols.status.view_json import not_shown_as_json, people_as_json

    with options.open() as chats:
        view, memory = chats.view(), chats.memory
        facts = view.not_shown()
        people = people_as_json(view, [], (fact.author for fact, _ in facts), name_of=partial(name_of, chats))
    not_shown = [not_shown_as_json(view, fact, reason) for fact, reason in facts]
    if as_json:
        print_json({
            "discarded": [
                {
                    "partner": each.partner, "message_hash": each.message_hash, "reason": str(each.error.reason),
                    "detail": each.error.detail,
                }
                for each in memory.discarded
            ],
            "not_shown": list(not_shown),
            "people": people,
        })  # fmt: skip
        return
    for each in memory.discarded:
        print_line(f"discarded: {each.message_hash[:10]} with {each.partner}: {each.error}")
    for line in not_shown_lines(not_shown, people):
        print_line(line)


def _with_deliveries(
    memory: "ChatMemory", chat: "ShownChat", messages: "list[ShownChatMessage]"
) -> "dict[str, JsonValue]":
    """A chat as JSON, each of its messages with who has not got it."""
    from postroom.client.chat.undelivered import DeliveryState, find_undelivered
    from postroom.protocols.status.view_json import chat_as_json, shown_as_json

    states, delivered = find_undelivered(memory, chat, messages), DeliveryState()
    shown = [{**shown_as_json(each), **states.get(each.id, delivered).as_json()} for each in messages]
    return {**chat_as_json(chat, []), "messages": list(shown)}
