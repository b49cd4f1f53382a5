"""A run's state as JSON, for hosts that start one process for each call.

Whoever can write the stored text can change what the run remembers, so a store belongs where the agent cannot write.
What is read back is checked in every part: a damaged state is refused, never taken for an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from policyengine.effects import Taint, Taints, WrittenFile
from policyengine.errors import RequestError
from policyengine.state.run import (
    MAX_COUNTERS,
    MAX_LINKS,
    MAX_PROMOTIONS,
    MAX_READS,
    MAX_RESTRICTIONS,
    MAX_SHELL,
    MAX_TREES,
    MAX_WRITTEN,
    Label,
    RunState,
)
from policyengine.state.skills import MAX_ENTRIES, MAX_OUTER, MAX_SKILLS, ActiveSkill, Entries, SkillState, Slash

FORMAT = 3
MAX_BYTES = 8 * 1024 * 1024
T = TypeVar("T")


def to_json(state: RunState) -> str:
    """Write a state as one line of ASCII JSON; the same state always as the same text."""
    stored = {
        "format": FORMAT,
        "version": state.version,
        "written": [[file.path, file.text, sorted(file.taint)] for file in state.written.values()],
        "digests": dict(state.digests),
        "forgotten": None if state.forgotten is None else sorted(state.forgotten),
        "cwd": state.cwd,
        "exports": dict(state.exports),
        "functions": dict(state.functions),
        "aliases": dict(state.aliases),
        "trees": {path: sorted(taint) for path, taint in state.trees.items()},
        "links": dict(state.links),
        "labels": sorted(state.labels),
        "counters": dict(state.counters),
        "reads": dict(state.reads),
        "promotions": sorted(state.promotions),
        "restrictions": {source: sorted(tools) for source, tools in state.restrictions.items()},
        "skills": _skills_value(state.skills),
    }
    return json.dumps(stored, separators=(",", ":"))


def from_json(text: str) -> RunState:
    """Read a state that `to_json` wrote.

    Raises:
        RequestError: it is anything else (`state.malformed`), or of another format (`state.format`).
    """
    stored = _object(_decoded(text))
    if stored.get("format") != FORMAT:
        raise RequestError("state.format", f"expected a state of format {FORMAT}")
    if set(stored) != _KEYS:
        raise _malformed("its keys are not those of a state")
    return RunState(
        version=_whole(stored["version"]),
        written={file.path: file for file in _list(stored["written"], _file, MAX_WRITTEN)},
        digests=_map(stored["digests"], _digest, MAX_WRITTEN),
        forgotten=None if stored["forgotten"] is None else _taints(stored["forgotten"]),
        cwd=None if stored["cwd"] is None else _text(stored["cwd"]),
        exports=_map(stored["exports"], _text, MAX_SHELL),
        functions=_map(stored["functions"], _text, MAX_SHELL),
        aliases=_map(stored["aliases"], _text, MAX_SHELL),
        trees=_map(stored["trees"], _taints, MAX_TREES),
        links=_map(stored["links"], _text, MAX_LINKS),
        labels=frozenset(_list(stored["labels"], _label, len(Label))),
        counters=_map(stored["counters"], _whole, MAX_COUNTERS + 1),
        reads=_map(stored["reads"], _whole, MAX_READS),
        promotions=frozenset(_list(stored["promotions"], _text, MAX_PROMOTIONS)),
        restrictions=_map(stored["restrictions"], _names, MAX_RESTRICTIONS),
        skills=_skills(stored["skills"], outermost=True),
    )


_KEYS = frozenset({"format", *RunState._fields})


def _decoded(text: str) -> Any:  # Any: JSON, taken apart below
    if len(text) > MAX_BYTES:
        raise _malformed(f"it is longer than {MAX_BYTES}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _malformed("it is no JSON") from error


def _malformed(why: str) -> RequestError:
    return RequestError("state.malformed", f"not a stored state: {why}")


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _malformed("expected an object")
    return value


def _map(value: Any, read: Callable[[Any], T], most: int) -> dict[str, T]:
    entries = _object(value)
    if len(entries) > most:
        raise _malformed(f"more than {most} entries")
    return {name: read(item) for name, item in entries.items()}


def _list(value: Any, read: Callable[[Any], T], most: int) -> list[T]:
    if not isinstance(value, list) or len(value) > most:
        raise _malformed(f"expected a list of at most {most}")
    return [read(item) for item in value]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _malformed("expected a text")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise _malformed("expected a whole number")
    return value


def _digest(value: Any) -> str:
    if len(_text(value)) != 64 or not set(value) <= set("0123456789abcdef"):
        raise _malformed("expected a digest")
    return str(value)


def _names(value: Any) -> frozenset[str]:
    return frozenset(_list(value, _text, MAX_BYTES))


def _label(value: Any) -> Label:
    try:
        return Label(_text(value))
    except ValueError as error:
        raise _malformed("a label that is not known") from error


def _taints(value: Any) -> Taints:
    try:
        return frozenset(Taint(taint) for taint in _list(value, _text, len(Taint)))
    except ValueError as error:
        raise _malformed("a taint that is not known") from error


def _file(value: Any) -> WrittenFile:
    if not isinstance(value, list) or len(value) != 3:
        raise _malformed("expected a path, a text and taints")
    path, text, taints = value
    return WrittenFile(_text(path), None if text is None else _text(text), _taints(taints))


# --------------------------------------------------------------------------------------------------------------- skills
def _skills_value(skills: SkillState) -> dict[str, Any]:
    """The fields of a record, in their order; named tuples and tuples become lists."""
    fields = {name: getattr(skills, name) for name in SkillState._fields}
    return fields | {"loaded": dict(skills.loaded), "outer": [_skills_value(outer) for outer in skills.outer]}


def _skills(value: Any, *, outermost: bool) -> SkillState:
    stored = _object(value)
    if set(stored) != set(SkillState._fields):
        raise _malformed("its skills' keys are not those of skills")
    return SkillState(
        agent=_text(stored["agent"]),
        run=_text(stored["run"]),
        message=_text(stored["message"]),
        reply=_whole(stored["reply"]),
        slash=None if stored["slash"] is None else _slash(stored["slash"]),
        loaded=_map(stored["loaded"], _active, MAX_SKILLS),
        held=_whole(stored["held"]),
        ceiling=_entries(stored["ceiling"]),
        before=_entries(stored["before"]),
        outer=tuple(_list(stored["outer"], _outer, MAX_OUTER if outermost else 0)),
    )


def _outer(value: Any) -> SkillState:
    return _skills(value, outermost=False)  # those of outer runs are kept flat


def _entries(value: Any) -> Entries:
    return None if value is None else tuple(_list(value, _text, MAX_ENTRIES))


def _slash(value: Any) -> Slash:
    if not isinstance(value, list) or len(value) != len(Slash._fields):
        raise _malformed("expected a path, a digest and entries")
    path, digest, allowed = value
    return Slash(_text(path), _text(digest), _entries(allowed))


def _active(value: Any) -> ActiveSkill:
    if not isinstance(value, list) or len(value) != len(ActiveSkill._fields):
        raise _malformed("expected an active skill")
    digest, allowed, reply, *flags = value
    return ActiveSkill(_text(digest), _entries(allowed), _whole(reply), *map(_truth, flags))


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise _malformed("expected true or false")
    return value
