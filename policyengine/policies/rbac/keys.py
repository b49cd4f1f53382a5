"""What of a request is looked up: pieces of its fields, in one text.

A text costs less than a tuple of texts: it is one object to look into instead of several, and with a million lines each
of them is memory that has to be waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import TypeAlias

from policyengine.policies.rbac.asking import NAME, OBJECT, Many
from policyengine.records import NamedTuple

Parts: TypeAlias = Sequence[str]  # the fields of a request, or of a line
KeyOf: TypeAlias = Callable[[Parts], str]

# No line of an index has these in a field. A key says with them where a piece ends, and of which field it has a prefix.
# So the key of a request, whatever stands in its fields, equals a line's only if both have as many of each; and as many
# come with the way that the key is made.
BETWEEN, AROUND_POSITION = "\0", "\1"


class Way(NamedTuple):
    """How the key of a request is made.

    Attributes:
        key_of: makes it.
        last: position of the field that it ends with; -1 for a key of no fields.
        length: of that field's prefix that it ends with; None for the whole text.
        others: positions of the fields before.
    """

    key_of: KeyOf
    last: int
    length: int | None
    others: tuple[int, ...]

    def keys(self, asked: Many) -> Iterable[str]:
        """Make the keys of many requests."""
        named = {NAME, OBJECT}
        if not named.isdisjoint(self.others):
            return map(self.key_of, asked.requests())
        common, length = self.key_of(asked.parts), self.length
        if self.last not in named:
            return repeat(common, len(asked.names))
        names = asked.names if self.last == NAME else asked.things
        return [common + name for name in names] if length is None else [common + name[:length] for name in names]


NO_FIELDS = Way(lambda _: "", -1, None, ())


def way_of(others: Sequence[int], last: int, length: int | None) -> Way:
    """Give the way to a key of the fields at these positions, the last one whole or as a prefix."""
    return Way(key_maker(others, last, length, last), last, length, tuple(others))


def key_maker(others: Sequence[int], last: int, length: int | None, mark: int) -> KeyOf:
    """Give what makes keys of a request or a line; `mark` is where the request has the field of a prefix."""
    between = BETWEEN if length is None else f"{AROUND_POSITION}{mark}{AROUND_POSITION}"
    if len(others) != 1:
        picked = itemgetter(*others) if others else itemgetter(slice(0))
        return lambda parts: f"{BETWEEN.join(picked(parts))}{between}{parts[last][:length]}"
    (other,) = others
    if length is None:
        return lambda parts: f"{parts[other]}{between}{parts[last]}"
    return lambda parts: f"{parts[other]}{between}{parts[last][:length]}"
