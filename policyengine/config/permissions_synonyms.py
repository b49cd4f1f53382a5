"""Other spellings of what a rule names, as the program's description has them: `npm i` for `npm install`, `rm -R`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policyengine.policies.permissions.commands import MAX_BUNDLE
from policyengine.shell.programs import Program, Programs
from policyengine.shell.programs.parts import Option


def synonyms_of(words: Sequence[str], programs: Programs) -> Mapping[str, str]:
    """Give the spellings of a rule's subcommands and options, and the rule's own word for each.

    A letter that would pass for a long option's, and that the description has for another, stands for nothing (``).
    """
    pairs = list(_pairs(words, programs))
    own = {other for other, word in pairs if word}
    return {other: word for other, word in pairs if other != word and (word or other not in own)}


def _pairs(words: Sequence[str], programs: Programs) -> Iterator[tuple[str, str]]:
    grammar = programs.find(words[0].rpartition("/")[2])
    for word in words[1:]:
        if grammar is None:
            return
        for one in _options(word, grammar) if word[:1] == "-" else [word]:
            yield from ((other, one) for other in grammar.spellings(one) | {one})
            yield from ((other, "") for other in _letters_of_others(one, grammar))
        if word[:1] != "-":
            grammar = grammar.subcommand(word) or grammar


def _options(word: str, grammar: Program) -> Sequence[str]:
    """An option, or those that a short bundle holds."""
    if word in grammar.options or word[:2] == "--" or len(word) > MAX_BUNDLE + 1:
        return [word]
    return [f"-{letter}" for letter in word[1:]]


def _letters_of_others(option: str, grammar: Program) -> Sequence[str]:
    """The letters that a long option begins with, where they are known to be another's: `-a` and `--amend`."""
    meaning = grammar.options.get(option)
    if meaning is None or option[:2] != "--":
        return []
    letters = (f"-{option[2:3].lower()}", f"-{option[2:3].upper()}")
    return [letter for letter in letters if _unnamed(grammar.options.get(letter, meaning)) != _unnamed(meaning)]


def _unnamed(option: Option) -> Option:
    return option._replace(name="")
