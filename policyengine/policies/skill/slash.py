"""`/name task` at the beginning of what the user wrote: the one way in which a person activates a skill.

    slash    ::= "/" name (white space | end)
    name     ::= group ("-" group)*
    group    ::= [a-z0-9]+

Only the newest message counts that a person really sent, and of it the text that the server keeps, never one that has
passed through a model, a wrapper or a client's own fields.
"""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.patterns import lazily
from policyengine.records import NamedTuple, Record

# Commands of the host's own, which no skill can take over.
RESERVED = frozenset({"bootstrap", "goal", "help", "memory", "models", "new", "status"})

_SLASH = lazily(r"/([a-z0-9]+(?:-[a-z0-9]+)*)(?=\s|\Z)").match


class UserMessage(Record):
    """A message in the user's name.

    Attributes:
        id: as the host names it; may be empty.
        text: what the server received, before anything was added or escaped.
        genuine: whether the server knows that a person sent it; false for what a framework adds in the user's name.
    """

    id: str
    text: str
    genuine: bool


class Command(NamedTuple):
    """A slash command: a skill's name, and the task that follows."""

    name: str
    rest: str


def newest(messages: Iterable[UserMessage]) -> UserMessage | None:
    """Give the newest genuine message of those given, which are in the order of time."""
    found = None
    for message in messages:
        found = message if message.genuine is True else found
    return found


def command_of(text: str) -> Command | None:
    """Read a slash command; None where the text is none, or one of the host's own."""
    match = _SLASH(text)
    if match is None or match[1] in RESERVED:
        return None
    return Command(match[1], text[match.end() :].lstrip())
