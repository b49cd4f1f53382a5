"""Readers that are broken on purpose: each must be caught by the oracles, or the oracles prove nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fuzz.bash import Observation
from fuzz.choices import Seeded
from fuzz.hunt import generated, mutated
from fuzz.oracles import Case, check
from fuzz.reading import Reader, Reading, read
from policyengine.shell import read as tolerant
from policyengine.shell.nodes import CommandSubstitution, walk

_HEREDOC = re.compile(r"(?<!<)<<-?[ ]?\\?(['\"]?)E\w*\1(?!<)")


def canary_cases() -> list[Case]:
    """Scripts for broken readers: generated and mutated ones, half of them with here-documents and substitutions."""
    plain = [generated(Seeded(f"canary:{at}")).case for at in range(60)]
    broken = [mutated(Seeded(f"canary mutated:{at}")).case for at in range(30)]
    more = (generated(Seeded(f"canary more:{at}")).case for at in range(300))
    rich = [case for case in more if _HEREDOC.search(case.text) or " $( " in case.text]
    return plain + broken + rich[:60]


def caught(cases: Sequence[Case], seen: Sequence[Observation]) -> dict[str, int]:
    """For each broken reader, in how many cases the oracles find a law broken that the sound reader keeps."""
    sound = [_findings(read, case, one) for case, one in zip(cases, seen, strict=True)]
    return {
        name: sum(_findings(reader, case, one) > fine for case, one, fine in zip(cases, seen, sound, strict=True))
        for name, reader in BROKEN.items()
    }


def _findings(reader: Reader, case: Case, seen: Observation) -> int:
    plain, extended = reader(case.text, False), reader(case.text, True)
    return len(check(case, seen, plain, extended))


def _drops_every_seventh(text: str, extglob: bool) -> Reading:
    reading = read(text, extglob)
    kept = tuple(command for at, command in enumerate(reading.commands, 1) if at % 7)
    return reading._replace(commands=kept)


def _reads_heredocs_as_code(text: str, extglob: bool) -> Reading:
    return read(_HEREDOC.sub(" ", text), extglob)


def _knows_no_comments(text: str, extglob: bool) -> Reading:
    return read(re.sub(r"(^|\s)#", r"\1:", text), extglob)


def _ignores_substitutions(text: str, extglob: bool) -> Reading:
    reading = read(text, extglob)
    script = tolerant(text, extglob=extglob).script
    inner = [(node.start, node.end) for node in walk(script) if isinstance(node, CommandSubstitution)]
    kept = tuple(one for one in reading.commands if not any(start <= one.start < end for start, end in inner))
    return reading._replace(commands=kept)


def _keeps_quotes(text: str, extglob: bool) -> Reading:
    reading = read(text, extglob)
    quoted = (
        one._replace(words=tuple(word and word.replace(" ", "\\ ") for word in one.words)) for one in reading.commands
    )
    return reading._replace(commands=tuple(quoted))


def _reads_quotes_as_code(text: str, extglob: bool) -> Reading:
    return read(text.replace("'; d", "\nd"), extglob)


def _accepts_everything(text: str, extglob: bool) -> Reading:
    reading = read(text, extglob)
    return Reading() if reading.error else reading


def _rejects_case(text: str, extglob: bool) -> Reading:
    return Reading(error="no case") if "case " in text else read(text, extglob)


BROKEN: Final[dict[str, Reader]] = {
    "drops every seventh command": _drops_every_seventh,
    "reads heredocs as code": _reads_heredocs_as_code,
    "does not recognise comments": _knows_no_comments,
    "ignores substitutions": _ignores_substitutions,
    "keeps quotes": _keeps_quotes,
    "reads quoted text as code": _reads_quotes_as_code,
    "accepts everything": _accepts_everything,
    "rejects case": _rejects_case,
}
