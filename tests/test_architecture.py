"""Who may import whom, where the outside world may be touched, and how large things may grow."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "policyengine"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "rules" not in path.relative_to(PACKAGE).parts[:1])
NAMES = [
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__") for path in MODULES
]

# Module or folder (the longest prefix counts) → what of ours it may import at run time, besides itself.
FOUNDATION = ("patterns", "records", "errors", "frozen", "effects", "model", "state")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "": (*FOUNDATION, "policy", "engine", "config", "shell"),  # the public names, loaded when they are asked for
    "__main__": ("cli",),
    "errors": (),
    "patterns": (),
    "records": (),
    "effects": ("records", "errors"),
    "visible": (),
    "frozen": ("errors",),
    "model": ("records", "errors", "frozen", "effects"),
    "state": ("records", "errors", "frozen", "effects", "model"),
    "principal": FOUNDATION,
    "policy": FOUNDATION,
    "engine": (*FOUNDATION, "policy"),
    "shell": ("patterns", "records", "errors", "effects"),
    "analysis": (*FOUNDATION, "shell"),
    "policies": (*FOUNDATION, "policy"),
    "policies.rbac": (*FOUNDATION, "policy", "principal"),
    "bundle": FOUNDATION,
    "signing": (*FOUNDATION, "policy"),
    "stores": FOUNDATION,
    "audit": FOUNDATION,
    "config": (
        *FOUNDATION, "principal", "policy", "engine", "shell", "analysis", "policies", "bundle", "signing", "stores",
        "audit",
    ),
    "gate": (
        *FOUNDATION, "principal", "policy", "engine", "analysis", "policies", "signing", "stores", "audit", "config",
        "visible",
    ),
    "adapters": (*FOUNDATION, "principal", "policy", "engine", "config", "gate", "visible"),
    "cli": (
        *FOUNDATION,
        "policy",
        "engine",
        "shell",
        "analysis",
        "policies",
        "bundle",
        "config",
        "signing",
        "stores",
        "audit",
        "gate",
        "adapters",
        "visible",
    ),
}  # fmt: skip

# Where I/O, the clock, the environment and randomness may be used.
OUTSIDE_WORLD = (
    "config", "bundle", "audit", "stores", "gate", "adapters", "cli", "__main__", "policies.opa", "policies.guardrails",
)  # fmt: skip
IMPURE_MODULES = frozenset({
    "asyncio", "concurrent", "datetime", "fcntl", "getpass", "glob", "http", "io",
    "logging", "multiprocessing", "os", "pathlib", "pickle", "platform", "random", "secrets",
    "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess",
    "sys", "tempfile", "threading", "time", "urllib", "uuid", "warnings",
})  # fmt: skip
IMPURE_CALLS = frozenset({"open", "print", "input", "eval", "exec", "compile", "__import__"})
MAY_CALL = {"records": "exec"}  # constructors, of field names; `dataclasses` would cost every hook 30 ms
FOREIGN: dict[str, tuple[str, ...]] = {  # everything that is not the standard library, and who may import it
    "pydantic": ("config",),
    "yaml": ("config",),
    "re2": ("policies.ruleset", "policies.guardrails", "config"),
    "casbin": ("config.rbac.enforcer", "cli.rbac_bench"),  # for a model that cannot be indexed; measured beside ours
    "cryptography": ("signing", "config"),  # where something is signed, or a signed bundle is checked
    "redis": ("stores.redis",),  # an extra
    "langchain": ("adapters.langchain",),
    "langchain_core": ("adapters.langchain",),
    "langgraph": ("adapters.langchain",),
    "opa_client": ("policies.opa.administration", "cli.opa"),  # an extra; no decision passes through it
    "requests": ("policies.opa.administration",),  # what that raises
    "presidio_analyzer": ("policies.guardrails.presidio.worker",),  # an extra, in a process of its own
    "spacy": ("policies.guardrails.presidio.worker",),
    "tldextract": ("policies.guardrails.presidio.worker",),
}

MAX_LINES = 400
LONGER = {
    "policyengine.shell.parser": 700,  # one function per production
    "policyengine.effects": 450,  # catalogues: flat lists of small types
    "policyengine.shell.nodes": 450,
}
MAX_BODY = 50


every_module = pytest.mark.parametrize(("path", "name"), list(zip(MODULES, NAMES, strict=True)), ids=NAMES)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every module that is imported at run time, with its line; imports for type checkers are left out."""
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield from _from_import(node)


def _from_import(node: ast.ImportFrom) -> Iterator[tuple[str, int]]:
    module = node.module or ""
    if module == "policyengine":
        yield from ((f"policyengine.{alias.name}", node.lineno) for alias in node.names)
    else:
        yield module, node.lineno


def _ours(name: str) -> str:
    """A module's name without the package's."""
    return name.removeprefix("policyengine").removeprefix(".")


def _within(name: str, areas: tuple[str, ...]) -> bool:
    return any(name == area or (area and name.startswith(f"{area}.")) for area in areas)


def _area(name: str) -> str:
    """The longest entry of the table that a module belongs to."""
    found = [area for area in MAY_IMPORT if area and _within(name, (area,))]
    assert found or name == "", f"`{name}` is in no row of MAY_IMPORT: say what it may import"
    return max(found, key=len, default="")


@every_module
def test_a_module_imports_only_what_its_place_allows(path: Path, name: str) -> None:
    here = _ours(name)
    allowed = (*MAY_IMPORT[_area(here)], _area(here) or "policyengine")
    wrong = [
        f"{path.name}:{line} imports {module}"
        for module, line in _imports(_tree(path))
        if module.startswith("policyengine.") and not _within(_ours(module), allowed)
    ]
    assert wrong == []


@every_module
def test_foreign_packages_are_imported_only_where_they_are_named(path: Path, name: str) -> None:
    wrong = [
        f"{path.name}:{line} imports {module}"
        for module, line in _imports(_tree(path))
        if (root := module.split(".")[0]) not in sys.stdlib_module_names
        and root != "policyengine"
        and not _within(_ours(name), FOREIGN.get(root, ()))
    ]
    assert wrong == []


@every_module
def test_only_named_modules_touch_the_outside_world(path: Path, name: str) -> None:
    if _within(_ours(name), OUTSIDE_WORLD):
        return
    tree = _tree(path)
    wrong = [
        f"{path.name}:{line} imports {module}"
        for module, line in _imports(tree)
        if module.split(".")[0] in IMPURE_MODULES
    ]
    wrong += [
        f"{path.name}:{node.lineno} calls {node.func.id}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in IMPURE_CALLS
        and node.func.id != MAY_CALL.get(_ours(name))
    ]
    assert wrong == []


@every_module
def test_everything_public_says_what_it_is(path: Path, name: str) -> None:
    tree = _tree(path)
    missing = [] if ast.get_docstring(tree) else [f"{path.name} has no docstring"]
    missing += [f"{path.name}:{node.lineno} {node.name}" for node in _public(tree.body) if not ast.get_docstring(node)]
    assert missing == []


def _public(body: list[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body)


@every_module
def test_modules_and_functions_stay_small(path: Path, name: str) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= LONGER.get(name, 150 if name.startswith("policyengine.adapters.") else MAX_LINES)
    long = [
        f"{path.name}:{node.lineno} {node.name} has {length} lines"
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (length := _body_lines(node)) > MAX_BODY
    ]
    assert long == []


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@every_module
def test_nothing_is_left_for_later(path: Path, name: str) -> None:
    text = path.read_text(encoding="utf-8")
    marks = [mark for mark in ("TO" + "DO", "FIX" + "ME", "XX" + "X:") if mark in text]
    assert marks == []
