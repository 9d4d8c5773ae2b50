"""A small blocking DNS client: questions in, answers out; nothing is validated here."""

from postroom.names.dns.answer import Answer, Malformed
from postroom.names.dns.question import Ask, AskAnotherResolver, Question
from postroom.names.dns.resolvers import Resolvers
from postroom.names.dns.servers import Server, parse_servers

__all__ = ["Answer", "Ask", "AskAnotherResolver", "Malformed", "Question", "Resolvers", "Server", "parse_servers"]
