"""Code that is fetched and run by one and the same statement."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence

from policyengine.patterns import lazily
from policyengine.shell.code.acts import Act, Kind

_END = lazily(r"[;\n]")  # of a statement


def makes_code(act: Act) -> bool:
    """Whether code is made at run time, or not understood."""
    return act.kind is Kind.OPAQUE or (act.kind is Kind.CODE and not act.value.exact)


def runs_fetched(text: str, acts: Sequence[Act]) -> bool:
    """Whether one statement fetches something and makes code at run time: `fetch(u).then(eval)`."""
    fetched = [act.start for act in acts if act.kind is Kind.FETCH]
    made = [act.start for act in acts if makes_code(act)] if fetched else []
    ends = [end.start() for end in _END.finditer(text)] if made else []
    return not {bisect(ends, at) for at in made}.isdisjoint([bisect(ends, at) for at in fetched])
