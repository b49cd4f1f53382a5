"""Character-level mutation: real-looking scripts and generated ones, broken a little, so that bash rejects about half.

What is code in a mutated script is not known any more; only bash can say.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from fuzz.choices import Choices

SEEDS: Final = Path(__file__).parent / "seeds"
MAX_EDITS = 4
# What the lexer treats specially; inserted anywhere.
_SPACED = """$( ) $(( )) (( ${ } $' $" $[ ] <<E <<-E <<'E' <<< >( <( && || |& ;; ;& ;;& &> >& 2>&1 [[ ]] == =~ f()
+( @( a[
    if then else fi do done case in esac for while function time ! select coproc x=( \\\n # \nE\n \r\n"""
_TOKENS: Final[tuple[str, ...]] = (
    *"'\"`$\\#;&|<>(){}[]!*?=~\n\t\r ",
    *(token.replace("\\n", "\n").replace("\\r", "\r") for token in _SPACED.split()),
    *(f" {token} " for token in _SPACED.split() if token.isalpha()),
)


@cache
def seeds() -> tuple[str, ...]:
    """The scripts that mutation starts from: whole, and each line alone."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(SEEDS.glob("*.sh"))]
    return (*texts, *(line + "\n" for text in texts for line in text.splitlines() if line.strip()))


def mutate(text: str, choices: Choices) -> str:
    """`text` with one to `MAX_EDITS` edits."""
    for _ in range(1 + choices.below(MAX_EDITS)):
        text = _EDITS[choices.below(len(_EDITS))](text, choices)
    return text.replace("\0", "")


def _span(text: str, choices: Choices, most: int) -> tuple[int, int]:
    start = choices.below(len(text) + 1)
    return start, min(len(text), start + choices.below(most))


def _insert(text: str, choices: Choices) -> str:
    at = choices.below(len(text) + 1)
    return text[:at] + _TOKENS[choices.below(len(_TOKENS))] + text[at:]


def _delete(text: str, choices: Choices) -> str:
    start, end = _span(text, choices, 4)
    return text[:start] + text[end:]


def _delete_more(text: str, choices: Choices) -> str:
    start, end = _span(text, choices, 40)
    return text[:start] + text[end:]


def _replace(text: str, choices: Choices) -> str:
    start, end = _span(text, choices, 3)
    return text[:start] + _TOKENS[choices.below(len(_TOKENS))] + text[end:]


def _repeat(text: str, choices: Choices) -> str:
    start, end = _span(text, choices, 30)
    at = choices.below(len(text) + 1)
    return text[:at] + text[start:end] + text[at:]


def _splice(text: str, choices: Choices) -> str:
    other = seeds()[choices.below(len(seeds()))]
    start, end = _span(other, choices, 60)
    at = choices.below(len(text) + 1)
    return text[:at] + other[start:end] + text[at:]


def _carriage_returns(text: str, choices: Choices) -> str:
    return text.replace("\n", "\r\n", 1 + choices.below(4))


def _truncate(text: str, choices: Choices) -> str:
    return text[: choices.below(len(text) + 1)]


_COMMON = (_insert, _delete, _replace)
_EDITS: Final[tuple[Callable[[str, Choices], str], ...]] = (
    *_COMMON,
    *_COMMON,
    _delete_more,
    _repeat,
    _splice,
    _truncate,
    _carriage_returns,
)
