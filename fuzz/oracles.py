"""The laws that a reader's view of a text must keep, given what bash made of it.

1. *Nothing missed*: every command that bash executed was reported, with the same words where they are static. Rejecting
   a text that bash runs misses everything in it; of a text that bash rejects, what ran before the fault counts.
2. *Nothing invented*: no marker that is data, or code only for `eval` and its kind, is reported as a command.
3. *Same language*: accepted exactly if `bash -n` accepts, with extended globs off and on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fuzz.bash import Observation
from fuzz.reading import Reading, Reported
from fuzz.trace import Run

_NOT_COMMANDS = re.compile(r"[dev]\d+$")
_MARKER = re.compile(r"(m|f)\d+(-a\.b)?$|al\d+$")
_DEFERRED = re.compile(r"\b(eval|trap|alias|source|PROMPT_COMMAND|complete|bind|bash|sh)\b|(^|[\s;&|(])\. |@P\}|-C ")
_QUOTING = re.compile(r"[\\'\"]")
# What is written in a `$(…)` that is an argument of `eval` runs: data by `printf`, and by bash itself the report of
# `time` and complaints.
_PRINTED = re.compile(r"\beval\b.*\$\(.*\b(printf|echo)\b", re.DOTALL).search
_WRITTEN = re.compile(r"(real|user|sys) [0-9ms.]+$|/bin/server: line [0-9]+: ").match
_DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})
# Command words other than markers that the grammar writes.
_BUILTINS = """: true echo printf test [ let read mapfile command builtin exec unset shift wait cd set shopt alias trap
    eval break continue return exit"""
KNOWN_NAMES = _DECLARING | frozenset(_BUILTINS.split())


class Finding(NamedTuple):
    """One broken law. `law` is `missed`, `invented`, `rejects`, `accepts`, `crash`, `span` or `split`."""

    law: str
    detail: str


class Case(NamedTuple):
    """A text to check. `commands` are the markers known to be commands, or None where the text is not the grammar's
    own.
    """

    text: str
    extglob: bool
    commands: frozenset[str] | None


def check(case: Case, seen: Observation, plain: Reading, extended: Reading) -> list[Finding]:
    """Every broken law. `plain` and `extended` are the readings with extended globs off and on."""
    reading = extended if case.extglob else plain
    found = [Finding("crash", reading.crashed)] if reading.crashed else []
    found += _language(case, seen, plain, extended)
    valid = seen.valid_extglob if case.extglob else seen.valid
    if not valid and reading.error:  # bash runs the lines before a fault
        return found + [Finding("missed before", one.detail) for one in _missed(case, seen.runs, reading.commands)]
    if not valid or not reading.accepted:
        return found
    found += _missed(case, seen.runs, reading.commands)
    found += _spans(case.text, reading.commands)
    if case.commands is not None:
        found += _invented(reading.commands)
        found += _unreported(case.commands, reading.commands)
    return found


def _language(case: Case, seen: Observation, plain: Reading, extended: Reading) -> Iterator[Finding]:
    """Law 3. What stalled the server has no exit status and is not judged.

    A text that turns extended globs on runs with them on; `bash -n` never executes its `shopt` and may reject it.
    """
    if seen.runs[1].status is None:
        return
    for name, valid, reading in (("off", seen.valid, plain), ("on", seen.valid_extglob, extended)):
        if valid and reading.error:
            yield Finding("rejects", f"extglob {name}: {reading.error}")
        elif not valid and reading.accepted and not (name == "off" and case.extglob):
            yield Finding("accepts", f"extglob {name}")


def _missed(case: Case, runs: tuple[Run, Run], commands: tuple[Reported, ...]) -> Iterator[Finding]:
    """Law 1."""
    if case.commands is None and _DEFERRED.search(_QUOTING.sub("", case.text)):
        return
    reported, known = _by_name(commands), case.commands or frozenset()
    for words in {_without_coproc(words) for run in runs for words in run.executed}:
        dynamic = () if words[0] in known else reported[None]  # what is written as a command is never covered by `$x`
        if not _deferred(case, words) and not any(
            _same(words, one.words) for one in (*reported.get(words[0], ()), *dynamic)
        ):
            yield Finding("missed", " ".join(words)[:200])


def _deferred(case: Case, words: tuple[str, ...]) -> bool:
    """Whether these words ran because they were data that something evaluated."""
    if "eval" in case.text and _WRITTEN(" ".join(words)):
        return True
    known = case.commands
    if known is None:
        return False
    evaluated = words[0][:1] == "e" and _NOT_COMMANDS.match(words[0]) is not None
    return evaluated or (words[0] not in known | KNOWN_NAMES and _PRINTED(case.text) is not None)


def _without_coproc(words: tuple[str, ...]) -> tuple[str, ...]:
    """In substitutions bash 5.2 reads `coproc m1` back as `coproc COPROC m1` and runs `COPROC` with m1 as argument.

    Once more for each substitution around that one.
    """
    while words[0] == "COPROC" and len(words) > 1:
        words = words[1:]
    return words


def _by_name(commands: tuple[Reported, ...]) -> dict[str | None, tuple[Reported, ...]]:
    """Reported commands by static command word; under None those whose command word is not static."""
    found: dict[str | None, list[Reported]] = {None: []}
    for command in commands:
        if command.words:
            found.setdefault(command.words[0], []).append(command)
    return {name: tuple(several) for name, several in found.items()}


def _same(executed: tuple[str, ...], reported: tuple[str | None, ...]) -> bool:
    """Whether executed words can come from reported ones: a word that is not static stands for any number of words."""
    if reported[0] in _DECLARING:
        return executed[0] == reported[0]
    if None not in reported:
        return executed == reported
    possible = {0}  # how many executed words the reported ones so far can account for
    for word in reported:
        if word is None:
            possible = set(range(min(possible), len(executed) + 1))
        else:
            possible = {at + 1 for at in possible if at < len(executed) and executed[at] == word}
        if not possible:
            return False
    return len(executed) in possible


def _spans(text: str, commands: tuple[Reported, ...]) -> Iterator[Finding]:
    """Spans lie inside the text, and a command word that is written plainly stands where it is said to stand."""
    for command in commands:
        if not 0 <= command.start <= command.name_start <= command.name_end <= len(text) or command.end > len(text):
            yield Finding("span", f"{command} of {len(text)}")
        elif command.words and command.words[0] is not None:
            written = text[command.name_start : command.name_end]
            if written.isalnum() and written != command.words[0]:
                yield Finding("span", f"{command.words[0]} stands at {written!r}")


def _invented(commands: tuple[Reported, ...]) -> Iterator[Finding]:
    """Law 2."""
    for name in {command.words[0] for command in commands if command.words and command.words[0] is not None}:
        if _NOT_COMMANDS.match(name):
            yield Finding("invented", name)
        elif not _MARKER.match(name) and name not in KNOWN_NAMES:
            yield Finding("invented", f"unknown {name[:100]!r}")


def _unreported(known: frozenset[str], commands: tuple[Reported, ...]) -> Iterator[Finding]:
    """Commands that the grammar knows of and the reader does not, executed or not: dead code counts."""
    missing = known - {command.words[0] for command in commands if command.words}
    if missing:
        yield Finding("missed", f"unreported {' '.join(sorted(missing))}")
