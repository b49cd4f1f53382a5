"""What each role of a tool's argument does: one handler for each, in the order in which they depend on one another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from policyengine.analysis.tools import Argument, Arguments
from policyengine.effects import (
    CLEAN,
    Cause,
    Connect,
    Effect,
    FileDelete,
    FileRead,
    FileWrite,
    Left,
    Opaque,
    Process,
    Span,
    Transfer,
    WrittenFile,
)
from policyengine.model import Frozen
from policyengine.patterns import lazily
from policyengine.shell.interpret import Situation, interpret, interpret_code
from policyengine.shell.interpret.links import below, through
from policyengine.shell.interpret.trees import taint_below
from policyengine.shell.paths import Path, Place, normal, resolve, tilde
from policyengine.shell.programs import Programs
from policyengine.shell.urls import as_fetched, split_host, split_url

MAX_PATHS = 1000  # of one list argument
MAX_TEXT = 64 * 1024  # of a file whose text is followed through edits
_SURROGATE = re.compile("[\ud800-\udfff]").search
_PATCHED = lazily(r"^(?:\*\*\* (Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ |--- )([^\n\t]+)", re.MULTILINE)


class Analysis:
    """One call while it is analysed."""

    __slots__ = ("effects", "left", "moved", "origin", "other_cwd", "programs", "situation", "written")

    def __init__(self, origin: str, situation: Situation, programs: Programs, other_cwd: str = "") -> None:
        self.origin = origin
        self.situation = situation
        self.programs = programs
        self.effects: list[Effect] = []
        self.written: dict[str, WrittenFile] = {}
        self.moved: str | None = None
        self.left: Left | None = None
        self.other_cwd = other_cwd  # where a shell starts if it is not the one that earlier calls left

    def opaque(self, cause: Cause, detail: str, span: Span | None = None) -> None:
        """Record that something is not known."""
        self.effects.append(Opaque(cause, detail, span=span, origin=self.origin))

    def place(self) -> Place:
        """The working directory; an empty one is not known."""
        return Place(self.situation.cwd, bool(self.situation.cwd))

    def path(self, text: str) -> Path:
        """A path argument; a leading tilde counts and blanks around it do not, since tools differ in both."""
        text = text.strip() or text
        if text[:1] == "~":
            head, slash, rest = text.partition("/")
            home = tilde(head, self.situation.home, self.place(), self.situation.platform)
            text = (home or head) + slash + rest
        found = resolve(text, self.place())
        links = self.situation.left.links
        return found._replace(path=through(links, below(links, found.path))) if links else found


Given = Mapping[str, Frozen]
Handler = Callable[[Analysis, str, Arguments, Given], None]


def handle(analysis: Analysis, arguments: Arguments, given: Given) -> None:
    """Turn the given arguments into effects, working directory first."""
    for name in arguments.order(given):
        role, default, items = arguments[name]
        value = given.get(name)
        if value is None:
            value = default
        if value is None:
            continue
        if items is not None and isinstance(value, tuple):
            _items(analysis, items, value)
        elif role == "shell" and isinstance(value, str) and not _fault(value, role):
            _shell(analysis, value, arguments, given)
        else:
            for text in _texts(analysis, name, role, value):
                _HANDLERS.get(role, _code)(analysis, text, arguments, given)


def _items(analysis: Analysis, roles: Mapping[str, str], items: Sequence[Frozen]) -> None:
    inner = Arguments({name: Argument(role) for name, role in roles.items()})
    for item in items[:MAX_PATHS]:
        if isinstance(item, Mapping):
            handle(analysis, inner, item)
        else:
            analysis.opaque(Cause.UNPARSEABLE, "expected a list of objects")
    if len(items) > MAX_PATHS:
        analysis.opaque(Cause.LIMIT, f"more than {MAX_PATHS} items")


def _texts(analysis: Analysis, name: str, role: str, value: Frozen) -> Iterator[str]:
    """The texts of an argument: one, or for paths and URLs a list of them. Anything else is no such argument."""
    if role == "data" or role in _PASSIVE:
        return
    if role == "words":
        yield from _words(analysis, name, value)
        return
    values = value if isinstance(value, tuple) and role not in _SINGLE else (value,)
    if len(values) > MAX_PATHS:
        analysis.opaque(Cause.LIMIT, f"more than {MAX_PATHS} values in `{name}`")
    for item in values[:MAX_PATHS]:
        fault = _fault(item, role)
        if fault:
            analysis.opaque(Cause.UNPARSEABLE, f"the argument `{name}` {fault}")
        else:
            assert isinstance(item, str)
            yield item


def _words(analysis: Analysis, name: str, value: Frozen) -> Iterator[str]:
    """A command as a list of words, or as one text."""
    if isinstance(value, str):
        yield from _texts(analysis, name, "shell", value)
    elif (
        isinstance(value, tuple) and value and all(isinstance(word, str) and not _fault(word, "data") for word in value)
    ):
        yield " ".join(["'" + str(word).replace("'", "'\\''") + "'" for word in value])
    else:
        analysis.opaque(Cause.UNPARSEABLE, f"the argument `{name}` is neither a text nor a list of words")


def _fault(value: Frozen, role: str) -> str:
    """Why a value is no usable text, empty if it is one."""
    if not isinstance(value, str):
        return "is not a string"
    if "\0" in value:
        return "contains a NUL character"
    if not value.isascii() and _SURROGATE(value):
        return "contains a lone surrogate"
    return "is empty" if role in ("shell", "code") and not value.strip() else ""


_SINGLE = frozenset({"shell", "code", "patch"})
_PASSIVE = frozenset({"content", "old", "new", "method", "language", "body"})  # looked at by the handlers of others


def _text_in(role: str, arguments: Arguments, given: Given) -> str | None:
    """The text of the first given argument with a role."""
    for name, meaning in arguments.items():
        value = given.get(name)
        if meaning.role == role and isinstance(value, str):
            return value
    return None


# ----------------------------------------------------------------------------------------------------------------- code
def _shell(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    del arguments, given
    facts = interpret(text, analysis.situation, analysis.programs)
    analysis.effects += facts.effects
    analysis.written.update({file.path: file for file in facts.written})
    analysis.moved = facts.cwd if facts.cwd is not None else analysis.moved
    analysis.left = facts.left if facts.left is not None else analysis.left
    if analysis.other_cwd:  # each call may have a shell of its own, which starts where the context says
        facts = interpret(text, analysis.situation._replace(cwd=analysis.other_cwd), analysis.programs)
        analysis.effects += [effect for effect in facts.effects if effect not in set(analysis.effects)]
        for file in facts.written:
            analysis.written.setdefault(file.path, file)


def _code(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    """`code:LANG`, or `code` with the language in an argument of its own."""
    role = next(meaning.role for name, meaning in arguments.items() if given.get(name) == text)
    language = role.partition(":")[2] or (_text_in("language", arguments, given) or "python").lower()
    if language in ("bash", "sh", "shell", "zsh"):
        _shell(analysis, text, arguments, given)
        return
    facts = interpret_code(_LANGUAGES.get(language, language), text, analysis.situation, analysis.programs)
    analysis.effects += facts.effects
    analysis.written.update({file.path: file for file in facts.written})


_LANGUAGES = {
    "python3": "python",
    "py": "python",
    "javascript": "node",
    "js": "node",
    "nodejs": "node",
    "typescript": "node",
}


# ---------------------------------------------------------------------------------------------------------------- files
def _read(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    del arguments, given
    analysis.effects.append(FileRead(analysis.path(text).path, span=(0, len(text)), origin=analysis.origin))


def _search(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    del arguments, given
    path = analysis.path(text).path
    glob = any(character in text for character in "*?[")
    analysis.effects.append(FileRead(path, glob=glob, recursive=True, span=(0, len(text)), origin=analysis.origin))


def _write(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    _written(analysis, text, _text_in("content", arguments, given), append=False)
    source = _text_in("move", arguments, given)
    known = _known(analysis, source) if source is not None else None
    target = analysis.path(text)
    if known is not None and not target.unknown:
        analysis.written[target.path] = WrittenFile(target.path, known.text, known.taint)


def _known(analysis: Analysis, text: str) -> WrittenFile | None:
    path = analysis.path(text).path
    return analysis.written.get(path) or analysis.situation.written.get(path)


def _append(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    added = _text_in("content", arguments, given)
    known = analysis.situation.written.get(analysis.path(text).path)
    before = known.text if known is not None else None
    _written(analysis, text, before + added if before is not None and added is not None else None, append=True)


def _edit(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    """An edit in place: of a file whose text is known the new text is, too."""
    known = _known(analysis, text)
    after = known.text if known is not None else None
    edits = list(_edits(arguments, given))
    for old, new, everywhere in edits:
        after = after.replace(old, new, -1 if everywhere else 1) if after is not None else None
        if after is not None and len(after) > MAX_TEXT:
            after = None
    _written(analysis, text, after if edits else None, append=False)


def _edits(arguments: Arguments, given: Given) -> Iterator[tuple[str, str, bool]]:
    """What is exchanged for what, and whether everywhere: in the call itself, or in a list of objects."""
    groups = [(arguments, given)]
    for name, meaning in arguments.items():
        items = given.get(name)
        if meaning.items is not None and isinstance(items, tuple):
            inner = Arguments({key: Argument(role) for key, role in meaning.items.items()})
            groups += [(inner, item) for item in items[:MAX_PATHS] if isinstance(item, Mapping)]
    for meanings, item in groups:
        old, new = _text_in("old", meanings, item), _text_in("new", meanings, item)
        if old and new is not None:
            yield old, new, item.get("replace_all") is True


def _written(analysis: Analysis, text: str, content: str | None, *, append: bool) -> None:
    path = analysis.path(text)
    known = analysis.situation.written.get(path.path)
    old = known.taint if known is not None else taint_below(analysis.situation.left.trees, path.path)
    taint = old if append or content is None else CLEAN
    analysis.effects.append(
        FileWrite(path.path, path.unknown, append=append, taint=taint, span=(0, len(text)), origin=analysis.origin)
    )
    if not path.unknown:
        analysis.written[path.path] = WrittenFile(path.path, content, taint)


def _delete(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    del arguments
    path = analysis.path(text)
    recursive = given.get("recursive") is True
    analysis.effects.append(
        FileDelete(path.path, path.unknown, recursive=recursive, span=(0, len(text)), origin=analysis.origin)
    )


def _move(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    _read(analysis, text, arguments, given)
    _delete(analysis, text, arguments, given)


def _chdir(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    del arguments, given
    analysis.situation = analysis.situation._replace(cwd=normal(analysis.path(text).path))


def _patch(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    """A patch names its files (`*** Add File:`, `+++ b/x`); one without any is not understood."""
    del arguments, given
    found = list(_PATCHED.finditer(text))
    if not found:
        analysis.opaque(Cause.UNPARSEABLE, "a patch that names no file")
    for match in found:
        name = match[2].strip()
        if name == "/dev/null" or match[0].startswith("--- "):
            continue
        name = name[2:] if match[0].startswith("+++ ") and name[:2] in ("a/", "b/") else name
        path = analysis.path(name)
        span = match.span(2)
        if match[1] == "Delete":
            analysis.effects.append(FileDelete(path.path, path.unknown, span=span, origin=analysis.origin))
        else:
            analysis.effects.append(FileWrite(path.path, path.unknown, span=span, origin=analysis.origin))
            content = _added(text, match.end()) if match[1] == "Add" else None
            analysis.written[path.path] = WrittenFile(path.path, content)


def _added(text: str, at: int) -> str:
    """The lines of a file that a patch adds: those with a plus, up to the next header."""
    end = text.find("\n*** ", at)
    lines = text[at : end if end >= 0 else len(text)].split("\n")
    return "".join([line[1:] + "\n" for line in lines if line[:1] == "+"])


# -------------------------------------------------------------------------------------------------------------- network
def _url(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    url = split_url(as_fetched(text))
    span = (0, len(text))
    if url.scheme == "file":
        _read(analysis, url.path, arguments, given)
        return
    method = (_text_in("method", arguments, given) or "GET").upper()
    analysis.effects.append(Connect(url.host, url.port, text, method, span=span, origin=analysis.origin))
    has_body = any(meaning.role == "body" and given.get(name) for name, meaning in arguments.items())
    if has_body or method not in ("GET", "HEAD", "OPTIONS"):
        analysis.effects.append(Transfer(url.host, url=text, span=span, origin=analysis.origin))


def _host(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    del arguments, given
    host, port = split_host(text)
    analysis.effects.append(Connect(host, port, span=(0, len(text)), origin=analysis.origin))


def _upload(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    _read(analysis, text, arguments, given)
    url = _text_in("url", arguments, given)
    path = analysis.path(text).path
    host = split_url(url).host if url else ""
    analysis.effects.append(Transfer(host, path, url or "", not host, span=(0, len(text)), origin=analysis.origin))


def _job(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    del arguments, given
    analysis.effects.append(Process("signal", text, "job", span=(0, len(text)), origin=analysis.origin))


def _nothing(analysis: Analysis, text: str, arguments: Arguments, given: Given) -> None:
    """Metadata and data: no effect."""


_HANDLERS: dict[str, Handler] = {
    "shell": _shell,
    "words": _shell,
    "code": _code,
    "read": _read,
    "search": _search,
    "stat": _nothing,
    "write": _write,
    "append": _append,
    "edit": _edit,
    "delete": _delete,
    "move": _move,
    "chdir": _chdir,
    "patch": _patch,
    "url": _url,
    "host": _host,
    "upload": _upload,
    "job": _job,
}
