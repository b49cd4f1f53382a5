"""Casbin's `model.conf`: which fields a request and a policy line have, the roles, the effect, the matcher.

Read as pycasbin reads it, but strictly: what it would pass over in silence (unknown sections, a second definition that
no decision asks, conditional roles whose functions nobody registered) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyengine.errors import LoadError
from policyengine.policies.rbac import Combining
from policyengine.records import NamedTuple, Record

SECTIONS = {
    "request_definition": "r",
    "policy_definition": "p",
    "role_definition": "g",
    "policy_effect": "e",
    "matchers": "m",
}
PRIORITIES = ("priority(p_eft) || deny", "subjectPriority(p_eft) || deny")  # the effects that pycasbin also knows
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*\Z")
_DOT = re.compile(r"\b([rp])\.")


class Model(Record):
    """A model as it is written.

    `roles` gives for each hierarchy how many fields its lines have (2, or 3 with a domain); `matcher` is without
    comments. `lines` says where each definition stands.
    """

    text: str
    file: str
    request: tuple[str, ...]
    policy: tuple[str, ...]
    roles: dict[str, int]
    combining: Combining
    matcher: str
    lines: dict[str, int]

    def error(self, message: str, field: str, expected: str) -> LoadError:
        """Make a refusal that points at a definition."""
        return LoadError(message, file=self.file, line=self.lines.get(field), field=field, expected=expected)

    @property
    def effect(self) -> int | None:
        """Position of a policy line's effect; None where lines have none."""
        return self.policy.index("eft") if "eft" in self.policy else None


class _Definition(NamedTuple):
    value: str
    line: int


def model_of(text: str, file: str) -> Model:
    """Read a model; `file` is what messages call it.

    Raises:
        LoadError: something is missing, unknown, twice or not supported.
    """
    found: dict[str, _Definition] = {}
    for section, key, definition in _definitions(text, file):
        _check_key(section, key, definition.line, file)
        if key in found:
            raise LoadError("a second definition", file=file, line=definition.line, field=key, expected="one")
        found[key] = definition
    for section, key in SECTIONS.items():
        if key not in found and key != "g":
            raise LoadError(f"no `{key}`", file=file, field=section, expected=f"[{section}] with `{key} = …`")
    _check_numbers([key for key in found if key[0] == "g"], found, file)
    lines = {key: definition.line for key, definition in found.items()}
    effect = _bare(found["e"].value)
    known = {combining.value: combining for combining in Combining} | dict.fromkeys(PRIORITIES, Combining.OTHER)
    if not effect or effect not in known:
        expected = " | ".join((*(one.value for one in Combining if one.value), *PRIORITIES))
        raise LoadError("an effect that Casbin does not know", file=file, line=lines["e"], field="e", expected=expected)
    return Model(
        text=text,
        file=file,
        request=_fields(found["r"], "r", file),
        policy=_fields(found["p"], "p", file),
        roles={key: _arity(one, key, file) for key, one in found.items() if key[0] == "g"},
        combining=known[effect],
        matcher=_bare(found["m"].value),
        lines=lines,
    )


def _definitions(text: str, file: str) -> Iterator[tuple[str, str, _Definition]]:
    """Section, key and value of every definition; a backslash at the end of a line continues it."""
    section, gathered, start = "", "", 0
    for number, raw in enumerate((*text.splitlines(), ""), 1):
        line = raw.strip()
        if not gathered and (not line or line[0] in "#;"):
            continue
        if not gathered and line[0] == "[" and line[-1] == "]":
            section = line[1:-1]
            continue
        start = start if gathered else number
        if line.endswith("\\"):
            gathered += line[:-1].strip() + " "
            continue
        key, equals, value = (gathered + line).partition("=")
        gathered = ""
        if not equals:
            raise LoadError("no definition", file=file, line=start, field=section, expected="`key = value`")
        yield section, key.strip(), _Definition(value.strip(), start)


def _check_key(section: str, key: str, line: int, file: str) -> None:
    letter = SECTIONS.get(section)
    if letter is None:
        raise LoadError("a section that Casbin does not know", file=file, line=line, field=section,
                        expected=", ".join(SECTIONS))  # fmt: skip
    if key != letter and re.fullmatch(rf"{letter}[0-9]+", key) is None:
        raise LoadError(
            f"a key that [{section}] does not have", file=file, line=line, field=key, expected=f"`{letter}`"
        )
    if letter not in (key, "g"):
        raise LoadError("a further definition, which no decision would ask", file=file, line=line, field=key,
                        expected=f"`{letter}` alone, and other models in files of their own")  # fmt: skip


def _check_numbers(keys: list[str], found: dict[str, _Definition], file: str) -> None:
    """Refuse a hierarchy that pycasbin would not find: it counts up from `g` and stops at the first that is missing."""
    expected = ["g", *(f"g{number}" for number in range(2, len(keys) + 1))][: len(keys)]
    for key in keys:
        if key not in expected:
            raise LoadError("a role definition that Casbin does not find", file=file, line=found[key].line, field=key,
                            expected=", ".join(expected))  # fmt: skip


def _fields(definition: _Definition, key: str, file: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in definition.value.split(","))
    wrong = next((name for name in names if not _NAME.match(name) or names.count(name) > 1), None)
    if wrong is not None:
        raise LoadError(f"`{wrong}` is no field, or a field twice", file=file, line=definition.line, field=key,
                        expected="names of letters and digits, separated by commas")  # fmt: skip
    return names


def _arity(definition: _Definition, key: str, file: str) -> int:
    fields = [field.strip() for field in definition.value.split(",")]
    if set(fields) != {"_"} or len(fields) not in (2, 3):
        raise LoadError(
            "a role definition that is not read: conditions would need functions that no file can give, and without "
            "them Casbin takes every link",
            file=file, line=definition.line, field=key, expected="`_, _` or `_, _, _`",
        )  # fmt: skip
    return len(fields)


def _bare(value: str) -> str:
    """A value without its comment, with `r_sub` for `r.sub`."""
    return _DOT.sub(r"\1_", value).partition("#")[0].strip()
