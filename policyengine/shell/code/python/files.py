"""The calls of Python's library that touch files, and what they do."""

from __future__ import annotations

import ast
from collections.abc import Callable

from policyengine.shell.code.acts import Act, Kind
from policyengine.shell.code.python.values import Scope
from policyengine.shell.values import UNKNOWN, Value

Handler = Callable[[ast.Call, Scope], list[Act]]


def argument_of(node: ast.Call, at: int, *names: str) -> ast.expr | None:
    """A positional argument or the keyword of that name."""
    if at < len(node.args):
        return node.args[at]
    return next((keyword.value for keyword in node.keywords if keyword.arg in names), None)


def on(kind: Kind, at: int = 0, *more: str) -> Handler:
    """A call that does something with the text of one argument."""

    def handler(node: ast.Call, scope: Scope) -> list[Act]:
        value = scope.text(argument_of(node, at, "path", "name", "filename", "src", "url"))
        return [Act(kind, value, more)]

    return handler


def _open(node: ast.Call, scope: Scope) -> list[Act]:
    """`open(path, mode)`: text written through it is not followed."""
    value = scope.text(argument_of(node, 0, "file", "filename", "path"))
    mode = argument_of(node, 1, "mode")
    return [Act(_kind_of(scope.text(mode)), value)] if mode is not None else [Act(Kind.READ, value)]


def _write_opened(node: ast.Call, scope: Scope) -> list[Act]:
    """`open(path, "w").write(text)`, and `f.write(text)` for an `f` that was opened before."""
    assert isinstance(node.func, ast.Attribute)
    return _into(node.func.value, node.args[0], scope) if node.args else []


def _into(file: ast.expr, text: ast.expr, scope: Scope) -> list[Act]:
    """A text that goes into an open file: the first one takes the place of what was there, further ones are added."""
    opened = scope.handles.get(file.id) if isinstance(file, ast.Name) else file
    if not isinstance(opened, ast.Call):
        return []
    name = scope.name_of(opened.func) or ""
    if name in ("open", "io.open", "codecs.open"):
        acts = _open(opened, scope)
    elif isinstance(opened.func, ast.Attribute) and opened.func.attr == "open":
        acts = _path_open(opened, scope)
    else:
        return []
    again = getattr(opened, "written", False)  # marked below: nodes are objects of this reading alone
    opened.written = True  # type: ignore[attr-defined]
    words = (scope.text(text),)
    return [
        act._replace(kind=Kind.APPEND if again else act.kind, words=words)
        for act in acts if act.kind in (Kind.WRITE, Kind.APPEND)
    ]  # fmt: skip


def _print(node: ast.Call, scope: Scope) -> list[Act]:
    """`print(text, file=f)`."""
    file = next((keyword.value for keyword in node.keywords if keyword.arg == "file"), None)
    return _into(file, node.args[0], scope) if file is not None and node.args else []


def _kind_of(mode: Value) -> Kind:
    if not mode.exact:
        return Kind.WRITE
    return Kind.APPEND if "a" in mode.text else Kind.WRITE if set(mode.text) & set("wx+") else Kind.READ


def _path_method(kind: Kind) -> Handler:
    """A method of a path: `Path(x).unlink()`; of other objects with a method of that name nothing is said."""

    def handler(node: ast.Call, scope: Scope) -> list[Act]:
        assert isinstance(node.func, ast.Attribute)
        owner = node.func.value
        if not _is_path(owner, scope):
            return []
        words = (scope.text(node.args[0]),) if node.args and kind is Kind.WRITE else ()
        return [Act(kind, scope.text(owner), words=words)]

    return handler


def _is_path(node: ast.expr, scope: Scope) -> bool:
    while isinstance(node, ast.BinOp):
        node = node.left
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("home", "cwd", "joinpath")
    ):
        node = node.func.value
    name = scope.name_of(node.func) if isinstance(node, ast.Call) else scope.name_of(node)
    return name is not None and name.startswith("pathlib.")


def _path_open(node: ast.Call, scope: Scope) -> list[Act]:
    assert isinstance(node.func, ast.Attribute)
    if not _is_path(node.func.value, scope):
        return []
    mode = argument_of(node, 0, "mode")
    return [Act(_kind_of(scope.text(mode)) if mode is not None else Kind.READ, scope.text(node.func.value))]


def _chmod_method(node: ast.Call, scope: Scope) -> list[Act]:
    assert isinstance(node.func, ast.Attribute)
    if not _is_path(node.func.value, scope):
        return []
    return [Act(Kind.ATTRIBUTE, scope.text(node.func.value), ("mode", _octal(argument_of(node, 0, "mode"))))]


def _move(node: ast.Call, scope: Scope) -> list[Act]:
    source, target = scope.text(argument_of(node, 0, "src")), scope.text(argument_of(node, 1, "dst"))
    return [Act(Kind.READ, source), Act(Kind.DELETE, source), Act(Kind.WRITE, target)]


def _copy(node: ast.Call, scope: Scope) -> list[Act]:
    return [
        Act(Kind.READ, scope.text(argument_of(node, 0, "src"))),
        Act(Kind.WRITE, scope.text(argument_of(node, 1, "dst"))),
    ]


def _chmod(node: ast.Call, scope: Scope) -> list[Act]:
    return [
        Act(Kind.ATTRIBUTE, scope.text(argument_of(node, 0, "path")), ("mode", _octal(argument_of(node, 1, "mode"))))
    ]


def _octal(node: ast.expr | None) -> str:
    return f"{node.value:o}" if isinstance(node, ast.Constant) and isinstance(node.value, int) else ""


def _chown(node: ast.Call, scope: Scope) -> list[Act]:
    return [Act(Kind.ATTRIBUTE, scope.text(argument_of(node, 0, "path")), ("owner", ""))]


def _lines_of(node: ast.Call, scope: Scope) -> list[Act]:
    """`fileinput.input(files, inplace=True)` writes what is printed into the files."""
    files = argument_of(node, 0, "files")
    names = scope.words(files)
    kind = Kind.WRITE if scope.truth(node, "inplace") else Kind.READ
    return [Act(kind, value) for value in (names if names is not None else [scope.text(files)])]


def _move_method(node: ast.Call, scope: Scope) -> list[Act]:
    """`Path(a).rename(b)`; texts have a method `replace`, too, which takes two."""
    assert isinstance(node.func, ast.Attribute)
    owner = node.func.value
    if not _is_path(owner, scope) or len(node.args) > 1:
        return []
    source, target = scope.text(owner), scope.text(argument_of(node, 0, "target"))
    return [Act(Kind.READ, source), Act(Kind.DELETE, source), Act(Kind.WRITE, target)]


def _link(node: ast.Call, scope: Scope) -> list[Act]:
    """`os.symlink(target, link)`."""
    target, link = scope.text(argument_of(node, 0, "src")), scope.text(argument_of(node, 1, "dst"))
    return [Act(Kind.LINK, link, words=(target,))]


def _link_method(node: ast.Call, scope: Scope) -> list[Act]:
    """`Path(link).symlink_to(target)`."""
    assert isinstance(node.func, ast.Attribute)
    owner = node.func.value
    target = scope.text(argument_of(node, 0, "target"))
    return [Act(Kind.LINK, scope.text(owner), words=(target,))] if _is_path(owner, scope) else []


def _unpacked(node: ast.Call, scope: Scope) -> list[Act]:
    """`tarfile.open(f).extractall(d)`, `zipfile.ZipFile(f).extractall(d)`."""
    assert isinstance(node.func, ast.Attribute)
    maker = node.func.value
    maker = scope.handles.get(maker.id, maker) if isinstance(maker, ast.Name) else maker
    archive = scope.text(argument_of(maker, 0, "name", "file")) if isinstance(maker, ast.Call) else UNKNOWN
    return [Act(Kind.UNPACK, _directory(node, scope, 0), words=(archive,))]


def _unpack_archive(node: ast.Call, scope: Scope) -> list[Act]:
    """`shutil.unpack_archive(f, d)`."""
    archive = scope.text(argument_of(node, 0, "filename"))
    return [Act(Kind.UNPACK, _directory(node, scope, 1), words=(archive,))]


def _directory(node: ast.Call, scope: Scope, at: int) -> Value:
    given = argument_of(node, at, "path", "extract_dir")
    return Value(".") if given is None else scope.text(given)


_REMOVE, _TREE, _WRITE = on(Kind.DELETE), on(Kind.DELETE_TREE), on(Kind.WRITE)

FILE_CALLS: dict[str, Handler] = {
    "open": _open,
    "print": _print,
    "io.open": _open,
    "codecs.open": _open,
    "gzip.open": _open,
    "os.remove": _REMOVE,
    "os.unlink": _REMOVE,
    "os.rmdir": _REMOVE,
    "os.removedirs": _REMOVE,
    "os.truncate": _WRITE,
    "shutil.rmtree": _TREE,
    "os.rename": _move,
    "os.replace": _move,
    "shutil.move": _move,
    "shutil.copy": _copy,
    "shutil.copy2": _copy,
    "shutil.copyfile": _copy,
    "shutil.copytree": _copy,
    "os.mkdir": _WRITE,
    "os.makedirs": _WRITE,
    "os.mkfifo": _WRITE,
    "os.chmod": _chmod,
    "os.chown": _chown,
    "fileinput.input": _lines_of,
    "fileinput.FileInput": _lines_of,
    "os.open": lambda node, scope: (
        [
            Act(
                Kind.WRITE if "O_W" in ast.dump(node) or "O_RDWR" in ast.dump(node) else Kind.READ,
                scope.text(node.args[0]),
            )
        ]
        if node.args
        else []
    ),
    "os.chdir": on(Kind.CHDIR),
    "os.link": _link,
    "os.symlink": _link,
    "tarfile.open.extractall": _unpacked,
    "tarfile.TarFile.extractall": _unpacked,
    "zipfile.ZipFile.extractall": _unpacked,
    "shutil.unpack_archive": _unpack_archive,
}

FILE_METHODS: dict[str, Handler] = {
    "unlink": _path_method(Kind.DELETE),
    "rmdir": _path_method(Kind.DELETE),
    "write_text": _path_method(Kind.WRITE),
    "write_bytes": _path_method(Kind.WRITE),
    "read_text": _path_method(Kind.READ),
    "read_bytes": _path_method(Kind.READ),
    "write": _write_opened,
    "writelines": _write_opened,
    "touch": _path_method(Kind.WRITE),
    "mkdir": _path_method(Kind.WRITE),
    "chmod": _chmod_method,
    "open": _path_open,
    "rename": _move_method,
    "replace": _move_method,
    "symlink_to": _link_method,
    "hardlink_to": _link_method,
}
