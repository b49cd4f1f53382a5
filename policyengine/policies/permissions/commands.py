"""Which commands a `Bash(…)` specifier names: by the words that a program is started with, never by a line's text.

`*` is any text; one that stands alone is any words, and at the end none as well (`ls *` and `ls:*` cover `ls`). Where
something is allowed, every word has to be known and to stand where the rule has it (`covers`). What is denied or asked
about is looked for more broadly (`catches`): a rule without a star goes for every way to go on (`npm` for `npm
install`), options count wherever they stand, bundled or spelled out, and an unknown word may be anything.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import TypeAlias

from policyengine.effects import Execute
from policyengine.errors import LoadError
from policyengine.policies.permissions.globs import fits, meets
from policyengine.records import Record, replace

STAR = "*"
# Where the system's own programs lie: a path into these names what the bare name does.
SYSTEM_FOLDERS = (
    "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin",
)  # fmt: skip
# Programs none of whose words writes a file, runs a program or changes anything: an unknown word may be any of them.
PLAIN = frozenset({
    "echo", "printf", "true", "false", ":", "test", "[", "pwd", "cd", "basename", "dirname", "cat", "head", "tail",
    "wc", "ls", "stat", "seq", "sleep", "expr", "cut", "tr", "uname", "whoami", "id", "nl", "tac", "rev", "fold",
    "realpath", "readlink", "grep", "egrep", "fgrep", "sha256sum", "md5sum", "cmp", "which", "type",
})  # fmt: skip
MAX_BUNDLE = 3  # letters of an option up to which it may be a bundle of several; beyond, it is a long one
UNKNOWN = "\0"  # stands for an unknown word, which a star alone covers
ANY = "\0*"  # stands for one where it is asked what it would have to be
MAX_STEPS = 20_000  # of one comparison; beyond, a deny may match and an allow does not
Words = Sequence[str | None]
Synonyms: TypeAlias = Callable[[tuple[str, ...]], Mapping[str, str]]
DISPATCHERS = frozenset({"git", "docker", "podman", "kubectl", "cargo", "helm"})  # `x-y` is what their `x y` runs


class Match(IntEnum):
    """How far a pattern fits, where words may be unknown."""

    NO = 0
    MAYBE = 1
    YES = 2


class CommandPattern(Record):
    """A specifier as words.

    Attributes:
        words: quotes removed; `*` in them is any text.
        open: it ends in a star of its own (`ls *`, `ls:*`), so that any words may follow.
        exact: it has no star at all.
        rest: further commands that the specifier has, where it is a line of several, or one with redirections.
        simple: it is one command and nothing else.
        paths: where the program may lie; empty for the system's own folders.
        literal: a star in the words stands for itself.
    """

    words: tuple[str, ...]
    open: bool
    exact: bool
    rest: tuple[CommandPattern, ...] = ()
    simple: bool = True
    paths: tuple[str, ...] = ()
    literal: bool = False


def command_pattern(specifier: str) -> CommandPattern:
    """Read a specifier.

    Raises:
        LoadError: a quote is not closed, or it is empty.
    """
    text = specifier.strip()
    prefix = text.endswith(":*")
    try:
        parts, simple = _parts(text[:-2] if prefix else text)
    except ValueError as error:
        raise LoadError(f"a command that cannot be read ({str(error).lower()})", expected="closed quotes") from error
    if not parts:
        raise LoadError("a command without a word", expected="the name of a program")
    made = [_made(part, opened=prefix and at == len(parts) - 1) for at, part in enumerate(parts)]
    exact = all(one.exact for one in made)
    return replace(made[0], rest=tuple(made[1:]), simple=simple, exact=exact)


def _made(words: list[str], *, opened: bool) -> CommandPattern:
    starred = len(words) > 1 and words[-1] == STAR
    kept = tuple(words[:-1] if starred and not opened else words)
    exact = not (opened or starred or any(STAR in word for word in kept))
    return CommandPattern(words=kept, open=opened or starred, exact=exact)


def _parts(text: str) -> tuple[list[list[str]], bool]:
    """The commands of a specifier as words without quotes, and whether it is one without redirections."""
    if _QUOTING.isdisjoint(text):
        return [text.split()] if text.strip() else [], True
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    parts: list[list[str]] = [[]]
    simple, target = True, False
    for word in lexer:
        if word and frozenset(word) <= _OPERATORS:
            simple = False
            target = not frozenset("<>").isdisjoint(word)
            parts += [] if target else [[]]
        elif target:
            target = False
        else:
            parts[-1].append(word)
    return [part for part in parts if part], simple


_OPERATORS = frozenset("|&;<>")
_QUOTING = frozenset("\"'\\|&;<>\n\r")  # what makes reading words more than splitting them


# ---------------------------------------------------------------------------------------------------------------- allow
def covers_command(pattern: CommandPattern, command: Execute, folder: str = "") -> bool:
    """Whether a command is one that an allow rule names: program and every word known, each in its place.

    `folder` is where a relative path of a program begins (`./build.sh`).
    """
    if command.unknown or not command.program:
        return False
    if not pattern.simple or not _is_program(pattern, command, folder):
        return False
    if None in command.arguments and (command.program not in PLAIN or command.path):
        return False
    return _follows(pattern, [UNKNOWN if word is None else word for word in command.arguments])


def would_cover(pattern: CommandPattern, command: Execute, folder: str = "") -> bool:
    """Whether an allow rule may name a command, were its unknown words known."""
    if command.unknown or not pattern.simple or not _is_program(pattern, command, folder):
        return False
    return _follows(pattern, [ANY if word is None else word for word in command.arguments])


def _is_program(pattern: CommandPattern, command: Execute, folder: str) -> bool:
    name = pattern.words[0]
    if "/" in name:
        path = name if name.startswith("/") else f"{folder.rstrip('/')}/{name.removeprefix('./')}"
        return _fits(pattern, path, command.path) if command.path else _is_system(path, command.program)
    if command.path:
        own = command.path in pattern.paths if pattern.paths else command.path.rpartition("/")[0] in SYSTEM_FOLDERS
        return own and _fits(pattern, name, command.program)
    return _fits(pattern, name, command.program)


def _is_system(path: str, program: str) -> bool:
    """Whether a path is where the system keeps a program that is run by its bare name."""
    folder, _, name = path.rpartition("/")
    return folder in SYSTEM_FOLDERS and name == program


def _fits(pattern: CommandPattern, wanted: str, given: str) -> bool:
    return wanted == given if pattern.literal else fits(wanted, given)


def _follows(pattern: CommandPattern, given: Sequence[str]) -> bool:
    """Whether arguments are those of the pattern: rows of what may have been read after each word of it."""
    wanted = pattern.words[1:]
    if len(wanted) * len(given) > MAX_STEPS:
        return False
    reached = [True] + [False] * len(given)
    for place, word in enumerate(wanted):
        last = place == len(wanted) - 1
        reached = _step(pattern, word, given, reached, loose=last and word[-1:] == STAR and not pattern.literal)
    if not wanted and pattern.words[0][-1:] == STAR and not pattern.literal:
        return True
    return any(reached) if pattern.open else reached[-1]


def _step(pattern: CommandPattern, word: str, given: Sequence[str], reached: list[bool], *, loose: bool) -> list[bool]:
    """Where one may stand after a word of the pattern; `loose`: it ends in a star, which goes on over further words."""
    now = [False] * (len(given) + 1)
    for at, text in enumerate(given):
        fitting = word == STAR if text == UNKNOWN else text == ANY or _fits(pattern, word, text)
        if fitting and (reached[at] or (word == STAR and now[at] and not pattern.literal)):
            now[at + 1] = True
        if loose and now[at]:
            now[at + 1] = True
    return now


# --------------------------------------------------------------------------------------------------------- deny and ask
def spelled_out(command: Execute) -> Execute | None:
    """Give a command as it is called otherwise: `git push` for `git-push`, `curl` for `curl.exe`; None for no other."""
    name = command.program.removesuffix(".exe")
    head, _, tail = name.partition("-")
    if tail and head in DISPATCHERS:
        return command._replace(program=head, arguments=(tail, *command.arguments))
    return command._replace(program=name) if name != command.program else None


def none_known(words: tuple[str, ...]) -> Mapping[str, str]:
    """Know no other spellings."""
    del words
    return {}


def catches_command(pattern: CommandPattern, command: Execute, synonyms: Synonyms = none_known) -> Match:
    """How far a command is one that a deny or ask rule is about."""
    named = _program_caught(pattern.words[0], command)
    if named is Match.NO:
        return named
    wanted = [word for word in pattern.words[1:] if word != STAR or pattern.literal]
    known = [word for word in command.arguments if word is not None]
    found = _arguments_caught(wanted, _as_rules_say(known, synonyms(pattern.words)))
    return min(named, found if len(known) == len(command.arguments) else max(found, Match.MAYBE))


def _as_rules_say(given: Sequence[str], others: Mapping[str, str]) -> Sequence[str]:
    """Arguments with the rule's own spellings: options anywhere, subcommands up to the first word that is none."""
    if not others:
        return given
    letters = str.maketrans({other[1]: word[1:] for other, word in others.items() if _is_letter(other, word or other)})
    said, leading = [], True
    for at, word in enumerate(given):
        option = _is_option(word)
        known = word in others and (option or leading)
        leading = leading and (known or option or _is_option(given[at - 1] if at else ""))
        spread = word.translate(letters) if option and word[1] != "-" else word
        said.append(others[word] if known else spread)
    return said


def _is_letter(*words: str) -> bool:
    return all(len(word) == 2 and _is_option(word) for word in words)


def _program_caught(name: str, command: Execute) -> Match:
    if command.unknown or not command.program:
        return Match.MAYBE
    wanted, have = name.casefold(), command.program.casefold()
    if "/" in name:
        path = command.path.casefold()
        inner = "/" + wanted.removeprefix("./").removeprefix("~/").lstrip("/")
        same = (fits(wanted, path) or fits(f"*{inner}", path)) if path else wanted.rpartition("/")[2] == have
        return Match.YES if same else Match.NO
    return Match.YES if fits(wanted, have) else Match.NO


def _arguments_caught(wanted: Sequence[str], given: Sequence[str]) -> Match:
    """Whether all words that the pattern has are among the arguments, operands in order and options anywhere."""
    options = [word for word in wanted if _is_option(word)]
    if not all(_has_option(option, given) for option in options):
        return Match.NO
    operands = [word for word in wanted if not _is_option(word)]
    places = _in_order(operands, given)
    if places is None:
        return Match.NO
    return Match.YES if not places or _is_first_operand(given, places[0]) else Match.MAYBE


def _is_option(word: str) -> bool:
    return word[:1] == "-" and len(word) > 1


def _in_order(operands: Sequence[str], given: Sequence[str]) -> list[int] | None:
    places: list[int] = []
    at = 0
    for operand in operands:
        at = next((place for place in range(at, len(given)) if _same_operand(operand, given[place])), -1) + 1
        if not at:
            return None
        places.append(at - 1)
    return places


def _same_operand(wanted: str, given: str) -> bool:
    return fits(wanted, given) or (wanted[-1:] == "/" and fits(wanted[:-1], given))


def _is_first_operand(given: Sequence[str], place: int) -> bool:
    """Whether all words before a place are options or may be an option's value."""
    return all(_is_option(word) or (at > 0 and _is_option(given[at - 1])) for at, word in enumerate(given[:place]))


def _has_option(option: str, given: Sequence[str]) -> bool:
    """Whether an option is among the arguments, in any spelling: `-rf` as `-r -f`, `-fr` or `--recursive --force`."""
    options = [word for word in given if _is_option(word)]
    if any(fits(option, word) or word.startswith(f"{option}=") for word in options):
        return True
    if option.startswith("--"):
        return any(_is_long(option, word) for word in options)
    letters = option[1:].replace(STAR, "")
    return len(letters) <= MAX_BUNDLE and all(any(_has_letter(letter, word) for word in options) for letter in letters)


def _is_long(option: str, word: str) -> bool:
    """An abbreviation of a long option (getopt_long(3)), or the letter that it begins with."""
    name = word.partition("=")[0]
    if name.startswith("--"):
        return len(name) > 2 and meets(option, f"{name}*")
    return len(word) > 1 and option[2].casefold() in word[1:].casefold()


def _has_letter(letter: str, word: str) -> bool:
    if word.startswith("--"):
        return word[2:3].casefold() == letter.casefold()
    return letter in word[1:]
