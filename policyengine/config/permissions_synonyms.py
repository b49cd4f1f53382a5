"""Other spellings of what a rule names, as the program's description has them: `npm i` for `npm install`, `rm -R`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policyengine.policies.permissions.commands import MAX_BUNDLE
from policyengine.shell.programs import Program, Programs


def synonyms_of(words: Sequence[str], programs: Programs) -> Mapping[str, str]:
    """Give the spellings of a rule's subcommands and options, and the rule's own word for each."""
    return {other: word for other, word in _pairs(words, programs) if other != word}


def _pairs(words: Sequence[str], programs: Programs) -> Iterator[tuple[str, str]]:
    grammar = programs.find(words[0].rpartition("/")[2])
    for word in words[1:]:
        if grammar is None:
            return
        for one in _options(word, grammar) if word[:1] == "-" else [word]:
            yield from ((other, one) for other in grammar.spellings(one))
        if word[:1] != "-":
            grammar = grammar.subcommand(word) or grammar


def _options(word: str, grammar: Program) -> Sequence[str]:
    """An option, or those that a short bundle holds."""
    if word in grammar.options or word[:2] == "--" or len(word) > MAX_BUNDLE + 1:
        return [word]
    return [f"-{letter}" for letter in word[1:]]
