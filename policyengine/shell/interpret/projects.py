"""Files of a project that programs run without being told: `make` its makefile, `npm test` scripts, `pytest` tests.

What this run wrote into them is read as the code that it is. Shell text (scripts, recipes, hooks) counts in full. Of
tests and settings in other languages only what they are known to do counts: a test that computes what it removes is
everyday work, one that removes the home directory is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from policyengine.effects import CLEAN, HOLE, EvaluateCode, Execute, FileWrite, Where, WrittenFile
from policyengine.records import NamedTuple
from policyengine.shell.interpret.arrivals import project_taint
from policyengine.shell.interpret.evaluate import HIDDEN, Code, ScriptFile, evaluate, run_file, run_vaguely
from policyengine.shell.interpret.invocation import Invocation
from policyengine.shell.interpret.known import vaguely
from policyengine.shell.interpret.machine import Machine
from policyengine.shell.interpret.settings import run_settings
from policyengine.shell.paths import Path, base_name, is_below, resolve
from policyengine.shell.values import Value, from_template

MAX_FILES = 16  # of one project that are read for one command
MAX_TEXT = 32 * 1024  # characters of them together
MAX_LINES = 32  # that were put into a file, and are looked at
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)+)\"")


class Project(NamedTuple):
    """What a program runs.

    Attributes:
        first: names in its directory, of which the first that is there counts.
        every: patterns of file names in its directory and below; all that this run wrote count.
        language: of those files; empty for shell text that `texts` finds in them.
        texts: gives the shell lines in a file for the words of the command.
        words: the subcommands that run something; all, where there are none.
        idle: subcommands that run nothing.
        settings: whether git's settings may name what it runs.
        also: what it runs besides.
    """

    first: tuple[str, ...] = ()
    every: tuple[str, ...] = ()
    language: str = ""
    texts: Callable[[str, Sequence[str]], list[str]] | None = None
    words: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    settings: bool = False
    also: Project | None = None


def run_project(invocation: Invocation, project: Project) -> None:
    """Interpret the files of a project that a call makes a program run."""
    machine = invocation.machine
    if project.settings and (machine.files or machine.situation.written or "runs" in invocation.reading.flags):
        run_settings(invocation)
    words = [value.text for value in invocation.arguments if value.exact and value.text[:1] != "-"]
    if machine.where is not Where.HERE or (project.words and project.words.isdisjoint(words)):
        return
    if words and words[0] in project.idle:
        return
    _elsewhere(invocation, project)
    taint = project_taint(invocation)
    language = project.language or ("sh" if project.texts is not None else "")
    if taint and language:
        machine.effects.append(
            EvaluateCode(language, "file", False, taint, machine.where, invocation.span, invocation.origin)
        )
    for part in (project, project.also) if project.also is not None else (project,):
        _run_files(invocation, part, words)


def _run_files(invocation: Invocation, project: Project, words: Sequence[str]) -> None:
    machine = invocation.machine
    for file in _files(invocation, project):
        if project.texts is not None and file.text is None:
            machine.effects.append(
                EvaluateCode("sh", "file", False, file.taint, machine.where, invocation.span, invocation.origin)
            )
        elif project.texts is not None and file.text is not None:
            for text in _shell_texts(project, file, words):
                code = Code("sh", Value(text, taint=file.taint, span=invocation.span), "file", base_name(file.path))
                vaguely(machine, from_template(file.text, file.taint), lambda code=code: _evaluated(machine, code))  # type: ignore[misc]
        elif project.texts is None:
            script = ScriptFile(file.path, False, (), invocation.span, project.language)
            run = run_file if project.language in ("make", "") else run_vaguely
            machine.forked(lambda run=run, script=script, file=file: run(machine, script, (file,)))  # type: ignore[misc]


def _elsewhere(invocation: Invocation, project: Project) -> None:
    """Report what lies outside the workspace and is run, or a repository there that is changed."""
    if project.settings:
        _changes_elsewhere(invocation)
    else:
        _runs_elsewhere(invocation, project)


def _is_outside(machine: Machine, path: str) -> bool:
    roots = machine.situation.workspace
    return path not in ("", machine.situation.cwd, *roots) and not is_below(path, roots)


_PLACES = frozenset({"chdir", "stat", "read"})


def _runs_elsewhere(invocation: Invocation, project: Project) -> None:
    """What runs lies outside the workspace, in a directory that the call names or where it was changed to."""
    machine = invocation.machine
    places = [
        invocation.path(use)
        for use in invocation.reading.uses
        if use.role in _PLACES and use.value.text[:1] in ("/", ".", "~") and use.value.text not in (".", "./")
    ]
    if invocation.cwd.exact and _is_outside(machine, invocation.cwd.path):
        places.append(Path(resolve((*project.first, ".")[0], invocation.cwd).path))
    for place in dict.fromkeys(places):
        if _is_outside(machine, place.path):
            machine.effects.append(
                Execute(
                    invocation.origin, place.path, (), place.unknown, CLEAN, machine.where, invocation.span,
                    invocation.origin,
                )
            )  # fmt: skip


def _changes_elsewhere(invocation: Invocation) -> None:
    """A repository outside the workspace is changed."""
    machine, cwd = invocation.machine, invocation.cwd
    changes = any(draft.kind == "vcs.change" for draft in invocation.reading.drafts)
    if changes and cwd.exact and _is_outside(machine, cwd.path):
        path = f"{cwd.path.rstrip('/')}/.git"
        machine.effects.append(
            FileWrite(path, False, False, False, CLEAN, True, machine.where, invocation.span, invocation.origin)
        )


def _evaluated(machine: Machine, code: Code) -> None:
    machine.forked(lambda: evaluate(machine, code))


def _shell_texts(project: Project, file: WrittenFile, words: Sequence[str]) -> list[str]:
    """The shell lines of a file; of one of which only what was put into it is known, all that may be such."""
    text = file.text or ""
    if project.texts is None or HOLE not in text:
        return project.texts(text, words) if project.texts is not None else []
    lines = [line for line in text.replace(HOLE, "").split("\n") if line.strip()][:MAX_LINES]
    return [*lines, *[found for line in lines for found in _QUOTED.findall(line)]]


def _files(invocation: Invocation, project: Project) -> list[WrittenFile]:
    machine, found = invocation.machine, list[WrittenFile]()
    paths = [resolve(name, invocation.cwd).path for name in project.first]
    known = next((versions for versions in map(machine.file, paths) if versions), ())
    found += [file for file in known if _counts(file)]
    if project.every:
        found += _below(machine, invocation.cwd.path.rstrip("/") + "/", project.every)
    size, kept = 0, list[WrittenFile]()
    for file in found[-MAX_FILES:]:
        size += len(file.text or "")
        if size <= MAX_TEXT:
            kept.append(file)
    return kept


def _below(machine: Machine, top: str, patterns: tuple[str, ...]) -> Iterator[WrittenFile]:
    """The files below a directory that this run wrote and whose names fit."""
    for path in {**dict.fromkeys(machine.situation.written), **dict.fromkeys(machine.files)}:
        if path.startswith(top) and any(fnmatchcase(base_name(path), pattern) for pattern in patterns):
            yield from [file for file in machine.file(path) if _counts(file)]


def _counts(file: WrittenFile) -> bool:
    """Whether there is something to say of a file: what it holds, or that this came from elsewhere."""
    return file.text is not None or not file.taint.isdisjoint(HIDDEN)


# -------------------------------------------------------------------------------------------------- shell text in files
_NPM_INSTALLING = frozenset({"install", "i", "add", "ci", "install-test", "it", "clean-install", "link", "rebuild"})
_SHORT = {"t": "test", "tst": "test"}


def _package_scripts(text: str, words: Sequence[str]) -> list[str]:
    """Scripts of a `package.json` that a call runs, with those before and after it (docs.npmjs.com, scripts)."""
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return []
    if not isinstance(scripts, dict):
        return []
    names = [_SHORT.get(word, word) for word in words]
    if not _NPM_INSTALLING.isdisjoint(words) or not words:  # yarn alone installs
        names += ["preinstall", "install", "postinstall", "prepare", "prepublish", "preprepare", "postprepare"]
    names += [f"{time}{name}" for name in names for time in ("pre", "post")]
    return [script for name in dict.fromkeys(names) if isinstance(script := scripts.get(name), str)]


_COMMANDS = re.compile(r"^[ \t]*commands(?:_pre|_post)?[ \t]*=[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_ENTRY = re.compile(r"^[ \t]*-?[ \t]*entry:[ \t]*['\"]?(.*?)['\"]?[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"^[ \t]*(?:-[ \t]+(?:cmd:[ \t]*)?|cmds?:[ \t]+)['\"]?([^\s'\"\[].*?)['\"]?[ \t]*$", re.MULTILINE)


def _lines_after(pattern: re.Pattern[str]) -> Callable[[str, Sequence[str]], list[str]]:
    return lambda text, _: [found[1].strip() for found in pattern.finditer(text) if found[1].strip()]


_COMMAND = re.compile(r"^[ \t]*command[ \t]*=[ \t]*(.*(?:\$\n.*)*)", re.MULTILINE)  # ninja-build.org/manual.html
_STARTED = re.compile(  # doc.rust-lang.org/cargo/reference/config.html
    r"^[ \t]*(?:rustc(?:-wrapper|-workspace-wrapper)?|rustdoc|linker|runner)[ \t]*=[ \t]*\[?[ \t]*"
    r"['\"]([^'\"\n]+)['\"]",
    re.MULTILINE,
)
_NPM_SHELL = re.compile(r"^[ \t]*(?:script-shell|shell|editor|viewer|git)[ \t]*=[ \t]*['\"]?([^'\"\n]+)", re.MULTILINE)
_BACKTICKS = re.compile(r"`([^`\n]+)`")


def _just_recipes(text: str, words: Sequence[str]) -> list[str]:
    """Lines of recipes, which blanks or a tab begin, and what stands in backticks (just manual, Recipes)."""
    del words
    lines = [line.strip().lstrip("@-") for line in text.split("\n") if line[:1] in (" ", "\t")]
    return [line for line in (*lines, *_BACKTICKS.findall(text)) if line]


_TESTS = ("conftest.py", "test_*.py", "*_test.py", "tests.py")
_PACKAGE = Project(
    ("package.json",), texts=_package_scripts, also=Project((".npmrc",), texts=_lines_after(_NPM_SHELL)),
    idle=frozenset({"view", "info", "show", "list", "ls", "ll", "outdated", "audit", "config", "help", "search", "why",
                    "whoami", "login", "logout", "version", "init", "create", "cache", "root", "prefix", "bin", "pkg"}),
)  # fmt: skip
_SCRIPT = ("*.test.[cmjt]*", "*.spec.[cmjt]*")
_HOOKED = frozenset({"commit", "push", "merge", "pull", "checkout", "switch", "rebase", "am", "worktree"})

_CARGO = frozenset({"build", "b", "run", "r", "test", "t", "check", "c", "install", "bench", "clippy", "doc", "d"})

PROJECTS: dict[str, Project] = {
    "make": Project(("GNUmakefile", "makefile", "Makefile"), language="make"),  # GNU make manual 3.2
    "just": Project(("justfile", "Justfile", ".justfile"), texts=_just_recipes),
    "npm": _PACKAGE,
    "pnpm": _PACKAGE,
    "yarn": _PACKAGE,
    "bun": _PACKAGE,
    "pytest": Project(every=_TESTS, language="python"),
    "unittest": Project(every=_TESTS, language="python"),
    "tox": Project(("tox.ini",), texts=_lines_after(_COMMANDS)),
    "nox": Project(("noxfile.py",), language="python"),
    "pre-commit": Project((".pre-commit-config.yaml",), texts=_lines_after(_ENTRY)),
    "task": Project(("Taskfile.yml", "Taskfile.yaml"), texts=_lines_after(_TASK)),
    "pip": Project(("setup.py",), language="python", words=frozenset({"install", "wheel", "download", "."})),
    "rake": Project(("Rakefile", "rakefile", "Rakefile.rb"), language="ruby"),
    "bundle": Project(("Gemfile",), language="ruby"),
    "jest": Project(("jest.config.js", "jest.config.cjs", "jest.config.ts"), _SCRIPT, "node"),
    "vitest": Project(("vitest.config.ts", "vite.config.ts", "vite.config.js"), _SCRIPT, "node"),
    "mocha": Project((".mocharc.js", ".mocharc.cjs"), _SCRIPT, "node"),
    "eslint": Project(("eslint.config.js", "eslint.config.mjs", ".eslintrc.js", ".eslintrc.cjs"), language="node"),
    "webpack": Project(("webpack.config.js", "webpack.config.ts"), language="node"),
    "vite": Project(("vite.config.ts", "vite.config.js", "vite.config.mjs"), language="node"),
    "rollup": Project(("rollup.config.js", "rollup.config.mjs"), language="node"),
    "babel": Project(("babel.config.js", ".babelrc.js"), language="node"),
    "go": Project(every=("*.go",), language="go", words=frozenset({"run", "test", "generate"})),
    "cargo": Project(
        ("build.rs",), language="rust", words=_CARGO,
        also=Project((".cargo/config.toml", ".cargo/config"), texts=_lines_after(_STARTED)),
    ),
    "mvn": Project(language="java"),
    "gradle": Project(language="groovy"),
    "cmake": Project(language="cmake"),
    "meson": Project(language="meson"),
    "ninja": Project(("build.ninja",), texts=_lines_after(_COMMAND)),
    "composer": Project(language="php", words=frozenset({"install", "i", "update", "u", "require", "run"})),
    "uv": Project(("setup.py",), language="python", words=frozenset({"sync", "run", "build", "install"})),
    "poetry": Project(("build.py",), language="python", words=frozenset({"install", "run", "build"})),
    "git": Project(
        every=("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-push", "post-checkout",
               "post-merge", "pre-rebase", "post-rewrite", "applypatch-msg", "pre-applypatch", "pre-merge-commit"),
        words=_HOOKED, settings=True,
    ),
}  # fmt: skip
