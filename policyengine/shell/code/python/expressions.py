"""What single Python expressions stand for, as far as their text is constant."""

from __future__ import annotations

import ast
import codecs
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from policyengine.effects import CLEAN, HOLE, Taint, Taints
from policyengine.shell.code.python.bindings import one_of, put_into
from policyengine.shell.code.python.decoders import DECODERS, decoded
from policyengine.shell.code.python.roundabout import (
    argument,
    braces,
    either,
    environment,
    operands,
    percent,
)
from policyengine.shell.values import UNKNOWN, Value, from_template

if TYPE_CHECKING:
    from policyengine.shell.code.python.values import Scope

LETTER = "\U00010480"  # stands for a hole where the code is parsed: a letter, so that it may be a name
_DECODED: Taints = frozenset({Taint.DECODED})
_FETCHED: Taints = frozenset({Taint.FETCHED})
OPAQUE_DECODERS = frozenset(
    {"marshal.loads", "pickle.loads", "codecs.decode", "gzip.decompress", "bz2.decompress", "lzma.decompress"}
)
FETCHING = (
    "urllib.request.urlopen",
    "requests.get",
    "requests.post",
    "urllib2.urlopen",
    "httpx.get",
    "urllib.urlopen",
)
_SAME = frozenset(
    {
        "str", "bytes", "bytearray", "compile", "shlex.quote", "os.fspath", "os.path.expanduser", "os.path.abspath",
        "os.path.realpath", "os.path.normpath", "shutil.which", "textwrap.dedent",
    }
)  # fmt: skip
_JOINING = frozenset({"os.path.join", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath"})
_SAME_METHODS = frozenset({"decode", "encode", "strip", "expanduser", "resolve", "absolute", "read", "text", "content"})
_HERE = frozenset({"os.getcwd", "pathlib.Path.cwd"})
# Files and directories that the code makes for itself (Python library reference, tempfile).
TEMPORARY = frozenset(
    {
        "tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.mktemp", "tempfile.NamedTemporaryFile",
        "tempfile.TemporaryDirectory", "tempfile.TemporaryFile",
    }
)  # fmt: skip
_TEMPORARIES, _BEGINNING = "/tmp", "/tmp"  # noqa: S108  what the code makes there is its own
_NAMES = {
    "sys.executable": "python3",
    "os.sep": "/",
    "os.curdir": ".",
    "os.devnull": "/dev/null",
    "__name__": "__main__",
}


def constant(value: object) -> Value:
    """The text of a literal."""
    if isinstance(value, str):
        return Value(value) if LETTER not in value else from_template(value.replace(LETTER, HOLE))
    if isinstance(value, bytes):
        return Value(value.decode("latin-1"))
    return Value(str(value)) if isinstance(value, int) and abs(value) < 10**18 else UNKNOWN


def _name(scope: Scope, node: ast.Name, depth: int) -> Value:
    del depth
    held = scope.constants.get(node.id)
    if held is not None:
        return held
    text = _NAMES.get(scope.names.get(node.id, node.id))
    return UNKNOWN if text is None else Value(text)


def _joined(scope: Scope, node: ast.JoinedStr, depth: int) -> Value:
    values = [scope.text(item.value if isinstance(item, ast.FormattedValue) else item, depth) for item in node.values]
    return _concatenated(values)


def _concatenated(values: list[Value]) -> Value:
    taint = frozenset().union(*[value.taint for value in values]) if values else CLEAN
    found = from_template("".join([value.template for value in values]), taint)
    return found._replace(glob=True) if any([value.glob for value in values]) else found


def _binary(scope: Scope, node: ast.BinOp, depth: int) -> Value:
    if isinstance(node.op, ast.Mod):
        return percent(scope.text(node.left, depth), operands(node.right, lambda item: scope.text(item, depth)))
    left, right = scope.text(node.left, depth), scope.text(node.right, depth)
    if isinstance(node.op, ast.Add):
        return _concatenated([left, right])
    if isinstance(node.op, ast.Div):  # pathlib
        return right if right.text.startswith("/") else _concatenated([left, Value("/"), right])
    return UNKNOWN


def _call(scope: Scope, node: ast.Call, depth: int) -> Value:
    name = scope.name_of(node.func) or ""
    home = environment(scope, node)
    if home is not None:
        return home
    computed = _COMPUTED.get(name)
    if computed is not None:
        return computed(scope, node, depth)
    if name in DECODERS:
        return decoded(DECODERS[name], _first(scope, node, depth))
    if name in OPAQUE_DECODERS:
        return Value("", exact=False, taint=_DECODED)
    if name.startswith(FETCHING):
        return Value("", exact=False, taint=_FETCHED)
    if isinstance(node.func, ast.Attribute):
        return _method(scope, node, node.func, depth)
    return UNKNOWN


def _first(scope: Scope, node: ast.Call, depth: int) -> Value:
    return scope.text(node.args[0], depth) if node.args else UNKNOWN


def _expanded(scope: Scope, node: ast.Call, depth: int) -> Value:
    value = _first(scope, node, depth)
    text = re.sub(r"^\$(?:HOME\b|\{HOME\})", "~", value.text)
    return value._replace(text=text) if value.exact and "$" not in text else UNKNOWN


def _substituted(scope: Scope, node: ast.Call, depth: int) -> Value:
    if len(node.args) < 3:
        return UNKNOWN
    return put_into(scope.text(node.args[2], depth), scope.text(node.args[1], depth))


def _joined_path(scope: Scope, node: ast.Call, depth: int) -> Value:
    return _path_joined([scope.text(argument, depth) for argument in node.args])


def _character(scope: Scope, node: ast.Call, depth: int) -> Value:
    del scope, depth
    first = node.args[0] if node.args else None
    code = first.value if isinstance(first, ast.Constant) else None
    return Value(chr(code)) if isinstance(code, int) and 0 <= code < 0x110000 else UNKNOWN


def _here(scope: Scope, node: ast.Call, depth: int) -> Value:
    del scope, node, depth
    return Value(".")


def _one(scope: Scope, node: ast.Call, depth: int) -> Value:
    """`next(iterator)`."""
    del depth
    words = scope.words(node.args[0]) if node.args else None
    return one_of(words) if words else UNKNOWN


def _method(scope: Scope, node: ast.Call, func: ast.Attribute, depth: int) -> Value:
    owner = scope.text(func.value, depth)
    if func.attr in _SAME_METHODS:
        return owner if owner.exact or owner.taint else UNKNOWN
    if func.attr == "joinpath":
        return _path_joined([owner, *[scope.text(argument, depth) for argument in node.args]])
    if func.attr == "join" and node.args and owner.exact:
        words = scope.words(node.args[0])
        if words is not None and all(word.exact for word in words):
            return Value(owner.text.join(word.text for word in words))
    if func.attr == "replace" and owner.exact and len(node.args) == 2:
        old, new = (scope.text(argument, depth) for argument in node.args)
        if old.exact and new.exact and old.text:
            return owner._replace(text=owner.text.replace(old.text, new.text))
    if func.attr == "replace" and len(node.args) == 2:
        return put_into(owner, scope.text(node.args[1], depth))
    if func.attr == "format":
        return braces(owner, [scope.text(item, depth) for item in node.args])
    return UNKNOWN._replace(taint=owner.taint)


def _path_joined(values: list[Value]) -> Value:
    parts: list[Value] = []
    for value in values:
        if value.exact and value.text.startswith("/"):
            parts = []
        parts += [Value("/"), value] if parts else [value]
    return _concatenated(parts)


def _temporary(scope: Scope, node: ast.Call, depth: int) -> Value:
    """A name below `/tmp`, or below the directory that is named."""
    given = next((keyword.value for keyword in node.keywords if keyword.arg == "dir"), None)
    top = Value(_TEMPORARIES) if given is None else scope.text(given, depth)
    return top._replace(text=top.text + _BEGINNING, exact=False)


def _temporaries(scope: Scope, node: ast.Call, depth: int) -> Value:
    del scope, node, depth
    return Value(_TEMPORARIES)


def _codec(scope: Scope, node: ast.Call, depth: int) -> Value:
    text, how = (scope.text(argument, depth) for argument in (*node.args, *[None] * 2)[:2])
    if not (text.exact and how.exact and how.text in ("rot13", "rot_13")):
        return Value("", exact=False, taint=_DECODED)
    return Value(codecs.decode(text.text, "rot13"), taint=_DECODED)


def _subscript(scope: Scope, node: ast.Subscript, depth: int) -> Value:
    given = environment(scope, node) or argument(scope, node)
    if given is not None:
        return given
    cut = node.slice
    words, at = scope.words(node.value), _integer(cut) if not isinstance(cut, ast.Slice) else None
    if words and len(words) == 1 and words[0].glob:
        return words[0]
    if isinstance(node.value, ast.Call) and scope.name_of(node.value.func) in TEMPORARY:
        return scope.text(node.value, depth)
    if words and isinstance(at, int) and -len(words) <= at < len(words):
        return words[at]
    owner = scope.text(node.value, depth)
    if not owner.exact or not isinstance(cut, ast.Slice):
        return UNKNOWN._replace(taint=owner.taint)
    lower, upper, step = map(_integer, (cut.lower, cut.upper, cut.step))
    if isinstance(lower, str) or isinstance(upper, str) or isinstance(step, str) or step == 0:
        return UNKNOWN
    return owner._replace(text=owner.text[lower:upper:step])


def _integer(node: ast.expr | None) -> int | str | None:
    if node is None:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int) else "?"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else "?"


def _attribute(scope: Scope, node: ast.Attribute, depth: int) -> Value:
    known = _NAMES.get(scope.name_of(node) or "")
    if known is not None:
        return Value(known)
    if node.attr == "name" and isinstance(node.value, ast.Name) and scope.objects.get(node.value.id) in TEMPORARY:
        return scope.text(node.value, depth)
    owner = scope.text(node.value, depth)
    return owner if node.attr in _SAME_METHODS and owner.taint else UNKNOWN


EXPRESSIONS: dict[type, Callable[..., Value]] = {
    ast.IfExp: either,
    ast.BoolOp: either,
    ast.Name: _name,
    ast.JoinedStr: _joined,
    ast.BinOp: _binary,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
}
_COMPUTED: dict[str, Callable[[Scope, ast.Call, int], Value]] = {
    **dict.fromkeys(_SAME, _first),
    **dict.fromkeys(_JOINING, _joined_path),
    **dict.fromkeys(_HERE, _here),
    **dict.fromkeys(TEMPORARY, _temporary),
    "tempfile.gettempdir": _temporaries,
    "codecs.decode": _codec,
    "re.sub": _substituted,
    "re.subn": _substituted,
    "os.path.expandvars": _expanded,
    "next": _one,
    "chr": _character,
}
