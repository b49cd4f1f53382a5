"""Readers that are broken on purpose: each must be caught by the oracles, or the oracles prove nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from fuzz.bash import Observation
from fuzz.grammar import Sample
from fuzz.oracles import Case, check
from fuzz.reading import Reader, Reading, read

_HEREDOC = re.compile(r"(?<!<)<<-?[ ]?\\?(['\"]?)E\w*\1(?!<)")


def caught(samples: Sequence[Sample], seen: Sequence[Observation]) -> dict[str, int]:
    """For each broken reader, in how many samples the oracles find a law broken that the sound reader keeps."""
    return {name: sum(map(_betrays(reader), samples, seen)) for name, reader in BROKEN.items()}


def _betrays(reader: Reader) -> Callable[[Sample, Observation], bool]:
    def betrays(sample: Sample, seen: Observation) -> bool:
        return len(_findings(reader, sample, seen)) > len(_findings(read, sample, seen))

    return betrays


def _findings(reader: Reader, sample: Sample, seen: Observation) -> list[object]:
    plain, extended = reader(sample.text, False), reader(sample.text, True)
    return [*check(Case(sample.text, sample.extglob, sample.commands), seen, plain, extended)]


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
    kept = tuple(one for one in reading.commands if text[: one.start].count("$(") <= text[: one.start].count(")"))
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
