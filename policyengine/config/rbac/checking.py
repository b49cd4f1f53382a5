"""What is asked of every policy line before it counts.

Casbin drops what it does not understand: a denying line that is dropped, or never matches, allows. So what looks like a
mistake is refused, with its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from policyengine.config.rbac.conf import Model
from policyengine.config.rbac.lines import Block, Columns, Row
from policyengine.errors import LoadError
from policyengine.policies.rbac import Match, Shape
from policyengine.records import NamedTuple

_EVAL = re.compile(r"\beval\s*\(")
_COMMENT = re.compile(r"\s#")
EFFECTS = frozenset({"allow", "deny"})


class Checker(NamedTuple):
    """What a line has to be under a model."""

    file: str
    sizes: dict[str, int]
    fields: tuple[str, ...]
    effect: int | None
    prefixes: tuple[int, ...]  # positions under `keyMatch`

    def columns(self, block: Block) -> list[Columns]:
        """Pass rows that can be trusted to mean what they say, by type. Nearly all are looked at together.

        Raises:
            LoadError: one cannot.
        """
        columns = block.columns(self.sizes)
        if columns is None or not all(map(self._is_usual, columns)):
            for row in block.rows():
                self.check(row)
        return columns or []

    def _is_usual(self, columns: Columns) -> bool:
        """Whether nothing stands in these rows that `check` would have to look at closely."""
        fields = columns.fields
        text = "\n".join(map("\n".join, fields))
        if '"' in text or "#" in text or "eval" in text or any("" in column for column in fields):
            return False
        if columns.kind != "p":
            return True
        are_effects = self.effect is None or EFFECTS.issuperset(fields[self.effect])
        return are_effects and all(_has_stars_at_ends(fields[at]) for at in self.prefixes)

    def check(self, row: Row) -> None:
        """Pass a row that can be trusted to mean what it says.

        Raises:
            LoadError: it cannot.
        """
        number, kind, fields = row
        size = self.sizes.get(kind)
        if size is None:
            raise self._error(number, kind, "a line of a type that the model does not have", ", ".join(self.sizes))
        if len(fields) != size:
            names = ", ".join(self.fields) if kind == "p" else "the names of its definition"
            raise self._error(number, kind, f"{len(fields)} fields", f"{size}: {names}")
        text = ",".join(fields)
        if '"' in text or "#" in text or "eval" in text or "" in fields:
            self._check_texts(number, kind, fields)
        if kind == "p":
            if self.effect is not None and fields[self.effect] not in EFFECTS:
                raise self._error(number, "eft", f"the effect `{fields[self.effect]}`", "`allow` or `deny`")
            for position in self.prefixes:
                if "*" in fields[position][:-1]:
                    raise self._error(number, self.fields[position], "text after a `*`, which keyMatch does not read",
                                      "`*` at the end, or globMatch in the model")  # fmt: skip

    def _check_texts(self, number: int, kind: str, fields: Sequence[str]) -> None:
        for position, text in enumerate(fields):
            name = self.fields[position] if kind == "p" else kind
            if not text:
                raise self._error(number, name, "an empty field", "a value")
            if '"' in text:
                raise self._error(number, name, "a quote, which Casbin takes for a part of the value", "the bare value")
            if _COMMENT.search(text):
                raise self._error(number, name, "a comment behind a value, which Casbin takes for a part of it",
                                  "comments on lines of their own")  # fmt: skip
            if _EVAL.search(text):
                raise self._error(number, name, "`eval()`, which would run text of a policy as code", "a plain value")

    def _error(self, number: int, field: str, message: str, expected: str) -> LoadError:
        return LoadError(message, file=self.file, line=number, field=field, expected=expected)


def _has_stars_at_ends(column: Sequence[str]) -> bool:
    """Whether no field has a `*` before its end."""
    text = "\n".join((*column, ""))
    return text.count("\n") == len(column) and text.count("*") == text.count("*\n")


def checker_of(model: Model, shape: Shape | None, file: str) -> Checker:
    """Say what lines have to be under a model."""
    prefixes = () if shape is None else tuple(term.policy for term in shape.terms if term.match is Match.KEY)
    return Checker(file, {"p": len(model.policy)} | model.roles, model.policy, model.effect, prefixes)
