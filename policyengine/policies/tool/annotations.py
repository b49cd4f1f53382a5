"""Annotations of the Model Context Protocol (`ToolAnnotations`) as hints: a server's word about itself only tightens.

By the specification a hint that is missing stands for its worst case. So it does here for a tool that nobody declared;
where an operator has declared one, only what a server does say counts, and only against the tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policyengine.policies.tool.metadata import CHANGING, Hint, SideEffect

# The wire's spelling, and that of the Python package.
_READ_ONLY = ("readOnlyHint", "read_only_hint")
_DESTRUCTIVE = ("destructiveHint", "destructive_hint")
_OPEN_WORLD = ("openWorldHint", "open_world_hint")
_OUTWARD = frozenset({SideEffect.NETWORK, SideEffect.EXTERNAL_SERVICE})


def hint_of(annotations: object) -> Hint:
    """Read a tool's annotations; None, or no object at all, hints at nothing.

    `idempotentHint` and `title` say nothing that is judged. A hint that is neither true nor false counts as the worst.
    """
    if not isinstance(annotations, Mapping):
        return Hint()
    read_only = _said(annotations, _READ_ONLY, worst=False)
    destructive = _said(annotations, _DESTRUCTIVE, worst=True)
    outward = _said(annotations, _OPEN_WORLD, worst=True)
    does, does_not = set[SideEffect](), set[SideEffect]()
    if outward is not None:
        (does if outward else does_not).update(_OUTWARD)
    if read_only:  # then `destructiveHint` means nothing, by the specification
        does_not |= CHANGING
    elif destructive is not None:
        (does if destructive else does_not).add(SideEffect.DESTRUCTIVE)
    return Hint(does=frozenset(does), does_not=frozenset(does_not))


def _said(annotations: Mapping[Any, object], names: tuple[str, ...], *, worst: bool) -> bool | None:
    """What a hint says; None where it says nothing."""
    given = [annotations[name] for name in names if annotations.get(name) is not None]
    if not given:
        return None
    return worst if worst in given or not all(type(value) is bool for value in given) else not worst
