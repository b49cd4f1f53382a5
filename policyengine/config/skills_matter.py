"""The front matter of a SKILL.md: its name, and what `allowed-tools` leaves.

`allowed-tools` is a list of entries, or a text of them with commas or, where it has none, with white space between them
(agentskills.io, "Specification"; Claude Code, "Skills"). Parentheses hold an entry together. What cannot be read makes
the whole file refused: a restriction that is misspelt, repeated or ambiguous must not become none.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

from policyengine.config.yamlfile import read_text
from policyengine.errors import LoadError
from policyengine.policies.permissions.syntax import TOOLS, pattern_of
from policyengine.records import NamedTuple

if TYPE_CHECKING:
    from policyengine.config.yamlfile import Document, Plain

KEY = "allowed-tools"
MAX_FILE = 1024 * 1024  # bytes of a SKILL.md
MAX_MATTER = 64 * 1024  # characters between the fences
MAX_ENTRIES = 256
MAX_ENTRY = 512  # characters
FENCE = "---"
# Line breaks of YAML 1.1 that other readers take for ordinary characters: the same file would have other keys for them.
DOUBTFUL_BREAKS = re.compile("\r(?!\n)|[\u0085\u2028\u2029]")
# Free text that people do not quote, though it has colons or brackets in it: taken as it stands where YAML refuses it.
FREE_TEXT = re.compile(r"(description|argument-hint|when_to_use|when-to-use): +([^\s\"'|>&!#%@`].*)\Z")
MISSPELT = frozenset({"allowedtools", "allowedtool", "allowtools", "alowedtools", "allowedtoools"})
RESTRICTING = frozenset({"disallowedtools", "disallowedtool", "deniedtools", "denytools", "blockedtools"})
FOLDER = ("${CLAUDE_SKILL_DIR}", "{baseDir}")  # what stands for the skill's own folder
PLACEHOLDER = re.compile(r"\$\{?[A-Za-z_]|\{[A-Za-z]\w*\}")


class Declared(NamedTuple):
    """What a front matter says. `allowed` is None where it declares nothing; `notes` are for people who look."""

    name: str = ""
    allowed: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


def declared(data: bytes, file: str, folder: str, key: str = KEY) -> Declared:
    """Read the front matter of a SKILL.md.

    Args:
        data: the whole file.
        file: as messages call it.
        folder: the skill's folder as the agent sees it, for entries that refer to it.
        key: what holds the entries; definitions of agents call it `tools`.

    Raises:
        LoadError: it is refused, with the reason.
    """
    document, notes = _document(_matter(_text(data, file), file), file, key)
    value = document.value
    if value is None:
        return Declared()
    if not isinstance(value, dict):
        raise document.error("the front matter is no mapping", expected="keys with values")
    _refuse_lookalikes(document, key)
    name = value.get("name", "")
    if not isinstance(name, str):
        raise document.error("the name is no text", ("name",))
    if key != "tools" and "tools" in value:
        notes.append(f"`tools` is not read here: what restricts a skill is `{KEY}`")
    if key not in value:
        return Declared(name, None, tuple(notes))
    allowed = tuple(_filled(entry, folder, notes) for entry in _entries(value[key], document, key))
    return Declared(name, allowed, tuple(notes))


# ------------------------------------------------------------------------------------------------------------ the file
def _text(data: bytes, file: str) -> str:
    if len(data) > MAX_FILE:
        raise LoadError(f"longer than {MAX_FILE} bytes", file=file)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise LoadError("not UTF-8", file=file, line=data[: error.start].count(b"\n") + 1) from error


def _matter(text: str, file: str) -> str:
    """What stands between the fences."""
    first, _, rest = text.partition("\n")
    if first.rstrip(" \t") != FENCE:
        raise LoadError("no front matter", file=file, line=1, expected=f"`{FENCE}` as the first line")
    end = re.search(rf"(?m)^{FENCE}[ \t]*$", rest)
    if end is None:
        raise LoadError("the front matter is not closed", file=file, expected=f"a second line `{FENCE}`")
    matter = rest[: end.start()]
    if len(matter) > MAX_MATTER:
        raise LoadError(f"a front matter of more than {MAX_MATTER} characters", file=file)
    doubtful = DOUBTFUL_BREAKS.search(matter)
    if doubtful is not None:
        line = matter[: doubtful.start()].count("\n") + 2
        raise LoadError("a line break that readers of YAML take differently", file=file, line=line)
    return f"\n{matter}"  # the fence's own line, so that lines are those of the file


def _document(matter: str, file: str, key: str) -> tuple[Document, list[str]]:
    """Read the YAML; if it is none, once more with free text taken as it stands.

    The second reading only counts where it finds entries: what is broken must not end as "no restriction".
    """
    try:
        return read_text(matter, file), []
    except LoadError as error:
        mended = _mended(matter)
        if mended == matter:
            raise
        try:
            document = read_text(mended, file)
        except LoadError:
            raise error from None
        if not isinstance(document.value, dict) or key not in document.value:
            raise
        return document, [f"not valid YAML ({error.message}); free text was taken as it stands"]


def _mended(matter: str) -> str:
    lines = matter.split("\n")
    for at, line in enumerate(lines):
        found = FREE_TEXT.match(line)
        goes_on = at + 1 < len(lines) and lines[at + 1][:1] in (" ", "\t")
        if found is not None and not goes_on:
            lines[at] = f"{found[1]}: {json.dumps(found[2].rstrip())}"  # a JSON text is one of YAML
    return "\n".join(lines)


def _refuse_lookalikes(document: Document, key: str) -> None:
    """Refuse keys that were meant to restrict and would be passed over."""
    assert isinstance(document.value, dict)
    metadata = document.value.get("metadata")
    holders: list[tuple[tuple[str, ...], dict[str, Plain]]] = [((), document.value)]
    if isinstance(metadata, dict):
        holders.append((("metadata",), metadata))
    for place, holder in holders:
        for name in holder:
            if name == key and not place:
                continue
            letters = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))
            if letters in MISSPELT:
                raise document.error(f"the key `{name}` would not be read", (*place, name), expected=f"`{KEY}`")
            if letters in RESTRICTING:
                raise document.error(f"the key `{name}` is not supported", (*place, name), expected=f"`{KEY}`")


# ---------------------------------------------------------------------------------------------------------- the entries
def _entries(value: Plain, document: Document, key: str) -> list[str]:
    if isinstance(value, str):
        entries = split(value, lambda message: document.error(message, (key,)))
    elif isinstance(value, list):
        entries = [_listed(item, document, (key, at)) for at, item in enumerate(value)]
    else:
        raise document.error("neither a list nor a text", (key,), expected="entries, or `[]` for no tools")
    if len(entries) > MAX_ENTRIES:
        raise document.error(f"more than {MAX_ENTRIES} entries", (key,))
    for at, entry in enumerate(entries):
        _check(entry, document, (key, at) if isinstance(value, list) else (key,))
    return list(dict.fromkeys(entries))


def _listed(item: Plain, document: Document, place: tuple[str | int, ...]) -> str:
    if not isinstance(item, str):
        raise document.error("an entry that is no text", place, expected="`Tool` or `Tool(specifier)`")
    entry = item.strip()
    if len(split(entry, lambda message: document.error(message, place))) > 1:
        raise document.error("several entries in one item of a list", place, expected="one item for each")
    return entry


def split(text: str, fault: Callable[[str], LoadError]) -> list[str]:
    """Split a text of entries at commas, or at white space where there are none; never inside parentheses.

    Raises:
        LoadError: made by `fault`: parentheses do not match, or a comma is missing.
    """
    items, words = _split(text, fault)
    if len(items) == 1:
        return words
    for item in items:
        inner = _split(item, fault)[1]
        if len(inner) > 1 and any("(" in word or word in TOOLS for word in inner):
            raise fault(f"`{item[:80]}` is two entries without a comma, or one with white space")
    return [item for item in items if item]


def _split(text: str, fault: Callable[[str], LoadError]) -> tuple[list[str], list[str]]:
    """Give the parts between commas, and those between commas or white space, outside parentheses."""
    commas, spaces, depth, escaped = [-1], [-1], 0, False
    for at, character in enumerate(text):
        if not escaped and character in "()":
            depth += 1 if character == "(" else -1
        if depth < 0:
            raise fault("a parenthesis that nothing opens")
        escaped = character == "\\" and not escaped
        if depth == 0 and character == ",":
            commas.append(at)
            spaces.append(at)
        elif depth == 0 and character.isspace():
            spaces.append(at)
    if depth:
        raise fault("a parenthesis that is not closed")
    return [item.strip() for item in _between(text, commas)], [word for word in _between(text, spaces) if word]


def _between(text: str, marks: list[int]) -> list[str]:
    return [text[start + 1 : end] for start, end in itertools.pairwise([*marks, len(text)])]


def _check(entry: str, document: Document, place: tuple[str | int, ...]) -> None:
    if len(entry) > MAX_ENTRY or not entry.isprintable():
        raise document.error(f"an entry of more than {MAX_ENTRY} characters, or with unprintable ones", place)
    try:
        pattern = pattern_of(entry)
    except LoadError as error:
        raise document.error(error.message, place, expected=error.expected) from None
    if not pattern.tool.strip("*"):
        raise document.error("an entry for every tool", place, expected=f"names, or no `{KEY}` for no restriction")


def _filled(entry: str, folder: str, notes: list[str]) -> str:
    """Put the skill's folder in; say where something else would have to be put in."""
    for placeholder in FOLDER:
        entry = entry.replace(placeholder, folder)
    if PLACEHOLDER.search(entry):
        notes.append(f"`{entry}` holds something that nobody fills in, so that it covers nothing")
    return entry
