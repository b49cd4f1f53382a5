"""A value that is one of several, or of which only so much is certain."""

from __future__ import annotations

from collections.abc import Sequence

from policyengine.effects import Taint, Taints
from policyengine.shell.interpret.streams import MAX_TEXT, shared_start
from policyengine.shell.values import Value

MAX_CHOICES = 4  # alternatives kept of one variable
SURROUNDINGS: Taints = frozenset({Taint.SURROUNDINGS})  # of one of several values alone: its default is another one


def join_values(choices: Sequence[Value]) -> tuple[Value, ...]:
    """Alternatives without repetition; beyond `MAX_CHOICES` only what they have in common."""
    distinct = tuple(dict.fromkeys(choices))
    if len(distinct) <= MAX_CHOICES:
        return distinct
    texts = [value.text for value in distinct if value.exact]
    return (common(distinct)._replace(rest="\n".join(texts)[:MAX_TEXT]),)


def common(choices: Sequence[Value]) -> Value:
    """What is certain of a value that may be any of these or more like them: the beginning that they share."""
    start = shared_start([value.text for value in choices])
    taint = frozenset().union(*[value.taint for value in choices])
    return Value(start, exact=False, taint=taint - SURROUNDINGS if taint else taint)
