"""The tables of this room: examples, what is a program's inside, and why reported effects need not happen."""

from __future__ import annotations

import fnmatch
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

HERE: Final = Path(__file__).parent
PACKAGES: Final = HERE / "packages.txt"


class Example(NamedTuple):
    """A command line of a program, and the world that it runs in."""

    program: str
    run: str
    files: Mapping[str, str]
    setup: str = ""
    stdin: str = ""
    needs: tuple[str, ...] = ()


class Subject(NamedTuple):
    """What an excuse is looked for: an item or effect, the command line, and the kinds of its reported effects."""

    program: str
    kind: str
    target: str
    text: str
    kinds: frozenset[str]


class Excuse(NamedTuple):
    """A row of `noise.yaml` or `explained.yaml`: the reason, and globs that all have to match (`|` between several).

    `program` is who did it or is said to do it, `target` the path, program or address, `text` the command line;
    `beside` a kind of effect that has to be among the reported ones.
    """

    reason: str
    kind: str = "*"
    program: str = "*"
    target: str = "*"
    text: str = "*"
    beside: str = ""

    def holds(self, subject: Subject) -> bool:
        """Whether the row is about this item or effect."""
        pairs = (
            (self.program, subject.program),
            (self.kind, subject.kind),
            (self.target, subject.target),
            (self.text, subject.text),
        )
        return (not self.beside or self.beside in subject.kinds) and all(
            any(fnmatch.fnmatchcase(value, glob) for glob in globs.split("|")) for globs, value in pairs
        )


def examples(names: frozenset[str] = frozenset()) -> Iterator[Example]:
    """Every example, or those of some programs, in the order of the files."""
    shared = _load(HERE / "world.yaml")["files"]
    for path in sorted((HERE / "programs").glob("*.yaml")):
        for program, described in _load(path).items():
            if not names or program in names:
                yield from _of_program(program, described, shared)


def _of_program(program: str, described: Any, shared: Mapping[str, str]) -> Iterator[Example]:
    common = described if isinstance(described, dict) else {"run": described}
    needs = tuple(common.get("needs", [program]))
    for row in common["run"]:
        own = row if isinstance(row, dict) else {"run": row}
        files = {**shared, **common.get("files", {}), **own.get("files", {})}
        setup = "\n".join(filter(None, (common.get("setup", ""), own.get("setup", ""))))
        yield Example(program, own["run"], files, setup, own.get("stdin", ""), needs)


def lacking(example: Example) -> str:
    """The first program that an example needs and this machine lacks, or an empty string."""
    return next((name for name in example.needs if _found(name) is None), "")


def _found(name: str) -> str | None:
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin")


def noise() -> tuple[Excuse, ...]:
    """What is a program's inside."""
    return _excuses("noise.yaml")


def explained() -> tuple[Excuse, ...]:
    """Why a reported effect need not happen."""
    return _excuses("explained.yaml")


def _excuses(name: str) -> tuple[Excuse, ...]:
    return tuple(Excuse(**row) for row in _load(HERE / name))


def _load(path: Path) -> Any:
    """Read one table; its shape is checked by use."""
    return yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
