"""Scripts in which real programs run other programs: `env`, `xargs`, `find -exec`, `sh -c` and their kind.

`«TAIL»` is a command as separate words (a marker program or another wrapper around one), `«LINE»` shell text without
single quotes, `«D»` data that must not be taken for a program. A template lists the programs it needs; those that
this machine does
not have are left out and named.
"""

from __future__ import annotations

import re
import shutil
from typing import Final, NamedTuple

from fuzz.choices import Choices

MAX_DEPTH = 3  # wrappers inside wrappers
MARKER_PROGRAMS = 40


class Wrapped(NamedTuple):
    """A script, and the templates it was made from."""

    text: str
    templates: tuple[str, ...]


# Wrappers whose last words are the command.
TAILS: Final = {
    "env": "env «TAIL»",
    "env.set": "env A=1 B='x y' «TAIL»",
    "env.unset": "env -u A --unset=B «TAIL»",
    "env.empty": "env -i PATH=/bin «TAIL»",
    "env.dashes": "env -- «TAIL»",
    "env.chdir": "env -C . «TAIL»",
    "env.chdir-long": "env --chdir=/ A=1 «TAIL»",
    "timeout": "timeout 5 «TAIL»",
    "timeout.signal": "timeout -s KILL 5s «TAIL»",
    "timeout.long": "timeout --preserve-status --kill-after=1 --signal=TERM 5 «TAIL»",
    "timeout.bundle": "timeout -k1 -v 5 «TAIL»",
    "nice": "nice «TAIL»",
    "nice.option": "nice -n 5 «TAIL»",
    "nice.old": "nice -5 «TAIL»",
    "nice.long": "nice --adjustment=3 «TAIL»",
    "nohup": "nohup «TAIL»",
    "setsid": "setsid -w «TAIL»",
    "setsid.fork": "setsid --wait --fork «TAIL»",
    "stdbuf": "stdbuf -oL -e0 «TAIL»",
    "stdbuf.long": "stdbuf --output=L «TAIL»",
    "ionice": "ionice -c 3 «TAIL»",
    "ionice.long": "ionice --class idle «TAIL»",
    "taskset": "taskset 1 «TAIL»",
    "taskset.list": "taskset -c 0 «TAIL»",
    "flock": "flock lock «TAIL»",
    "flock.option": "flock -x -w 1 lock «TAIL»",
    "prlimit": "prlimit --nofile=50 «TAIL»",
    "setpriv": "setpriv --no-new-privs «TAIL»",
    "find.exec": "find . -maxdepth 0 -exec «TAIL» {} ';'",
    "find.escaped": "find . -maxdepth 0 -type d -exec «TAIL» \\;",
    "find.plus": "find . -maxdepth 0 -exec «TAIL» {} +",
    "find.dir": "find . -maxdepth 0 ! -name '«D»' -execdir «TAIL» {} ';'",
    "xargs.none": "xargs «TAIL»",
    "xargs.option": "xargs -0 -n 1 -P2 «TAIL»",
    "xargs.replace": "xargs -I {} «TAIL» {}",
    "xargs.long": "xargs --no-run-if-empty --max-args=1 «TAIL»",
}  # fmt: skip

# Whole commands; they take no further words.
LINES: Final = {
    "sh": "sh -c '«LINE»'",
    "sh.arguments": "sh -c '«LINE»' x «D» z",
    "sh.bundle": "sh -ec '«LINE»'",
    "bash": "bash -c '«LINE»'",
    "bash.option": "bash --norc -o pipefail -c '«LINE»'",
    "bash.here-string": "bash <<< '«LINE»'",
    "bash.heredoc": "bash <<'END'\n«LINE»\nEND",
    "bash.heredoc-open": "bash <<END\n«LINE»\nEND",
    "sh.stdin": "sh -s x <<< '«LINE»'",
    "sh.pipe": "echo '«LINE»' | sh",
    "bash.printf": "printf '%s\\n' '«LINE»' | bash",
    "bash.file": "echo '«LINE»' > s.sh; bash s.sh",
    "bash.executable": "echo '«LINE»' > s.sh; chmod +x s.sh; ./s.sh",
    "bash.cat": "cat > s.sh <<'END'\n«LINE»\nEND\nsh ./s.sh",
    "bash.tee": "echo '«LINE»' | tee s.sh; sh s.sh",
    "dot": "echo '«LINE»' > s.sh; . ./s.sh",
    "source": "echo '«LINE»' > s.sh; source ./s.sh",
    "bash.substitution": "bash <(echo '«LINE»')",
    "env.split": "env -S '«M» a b'",
    "env.split-long": "env --split-string='«M» a b' c",
    "flock.command": "flock lock -c '«LINE»'",
    "script": "script -qc '«LINE»' /dev/null",
    "eval": "eval '«LINE»'",
    "eval.words": "eval «M» 'a;' '«M»' b",
    "command": "command «TAIL»",
    "command.path": "command -p «TAIL»",
    "exec": "exec «TAIL»",
    "exec.name": "exec -a «D» «TAIL»",
    "exec.clear": "exec -c /bin/«M» a",
    "builtin": "builtin eval '«LINE»'",
    "builtin.command": "builtin command «TAIL»",
    "trap": "trap '«LINE»' EXIT",
    "time": "time -p «TAIL»",
    "coproc": "coproc «TAIL»; wait",
    "background": "«TAIL» & wait",
    "xargs": "echo a | xargs «TAIL»",
    "xargs.lines": "printf 'a\\nb\\n' | xargs -L 1 «TAIL»",
    "xargs.shell": "echo x | xargs -I% sh -c '«LINE»' «D» %",
    "xargs.input": "echo '«M» a' | xargs env",
    "xargs.command": "echo '«M» a' | xargs -I{} sh -c {}",
    "find.shell": "find . -maxdepth 0 -exec sh -c '«LINE»' «D» {} ';'",
    "alias": "shopt -s expand_aliases\nalias w='«TAIL»'\nw x",
    "function": "w() { «LINE»\n}\nw a",
    "variable": "w='«M» a'; $w b",
    "array": "w=(«TAIL»); \"${w[@]}\" b",
    "path": "/bin/«M» a",
    "path.odd": "/bin/../bin/./«M» a",
    "link": "PATH=/bin «TAIL»",
    "substitution": "echo \"$(«TAIL»)\" `«TAIL»`",
    "output": "$(echo «M») a",
    "mapfile": "mapfile -t w <<< '«M»'; \"${w[0]}\" a",
    "read": "read -r w v <<< '«M» b'; $w \"$v\"",
    "printf.variable": "printf -v w '%s%d' m «N»; \"$w\" a",
    "hex": "$'\\x6d«N»' a",
    "slice": "w=xm«N»; ${w:1} a",
    "set": "set -- «TAIL»; \"$@\"",
    "awk": "awk 'BEGIN { system(\"«M» a\") }'",
    "awk.pipe": "awk 'BEGIN { print 1 | \"«M» a\"; \"«M» b\" | getline x }'",
    "sed": "echo x | sed 'e «M» a'",
    "sed.substitute": "echo 'x«M» a' | sed 's/x//e'",
    "tar": "tar -cf x.tar --checkpoint=1 --checkpoint-action='exec=«M» a' lock*",
    "tar.program": "tar -I '«M» a' -cf x.tar .",
    "perl": "perl -e 'system(\"«M» a\"); exec \"«M»\", \"b c\"'",
    "make": "printf 'all:\\n\\t«M» a\\n' | make -s -f -",
    "quoted": "echo '«D» a; «D»' \"; «D»\" # «D»",
    "grep": "grep -e «D» -- '$(«D»)' /dev/null",
}  # fmt: skip
_PROGRAMS = """env timeout nice nohup setsid stdbuf ionice taskset flock prlimit setpriv find xargs sh bash script
awk sed tar
    perl make cat tee chmod grep"""
NEEDED: Final = frozenset(_PROGRAMS.split())


def programs() -> tuple[frozenset[str], frozenset[str]]:
    """The programs that wrappers need: those this machine has, and those it lacks."""
    here = frozenset(name for name in NEEDED if shutil.which(name))
    return here, NEEDED - here


class Wrapping:
    """Writes scripts from the templates whose programs are all there."""

    def __init__(self, here: frozenset[str]) -> None:
        lacking = NEEDED - here
        self._tails = _usable(TAILS, lacking)
        self._lines = _usable(LINES, lacking)
        self.names = [name for name, _ in (*self._tails, *self._lines)]

    def write(self, choices: Choices, first: int | None = None) -> Wrapped:
        """One script; `first` is the index in `names` of its outermost template."""
        state = _State(choices)
        count = len(self._tails) + len(self._lines)
        at = choices.below(count) if first is None else first
        chosen = (*self._tails, *self._lines)[at]
        return Wrapped(self._fill(chosen, state, 0) + "\n", tuple(state.used))

    def _fill(self, template: tuple[str, str], state: _State, depth: int) -> str:
        state.used.append(template[0])
        return re.sub("«([A-Z]+)»", lambda hole: self._hole(hole[1], state, depth), template[1])

    def _hole(self, kind: str, state: _State, depth: int) -> str:
        if kind in ("M", "N", "D"):
            return state.marker(kind)
        tail = self._tail(state, depth)
        if kind == "TAIL":
            return tail
        end = (f'; {state.marker("M")} "b  c"', f" && {state.marker('M')} $x", "", " # it")[state.choices.below(4)]
        return tail.replace("'", '"') + end

    def _tail(self, state: _State, depth: int) -> str:
        if depth >= MAX_DEPTH or state.choices.below(3):
            return state.marker("M") + (" a", "", " -c a", " -- 'b  c'", ' "$HOME"')[state.choices.below(5)]
        return self._fill(self._tails[state.choices.below(len(self._tails))], state, depth + 1)


class _State:
    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.used: list[str] = []
        self._number = 0

    def marker(self, kind: str) -> str:
        """A fresh marker: program, bare number of one, or data."""
        self._number = self._number % (MARKER_PROGRAMS - 1) + 1
        return {"M": "m", "N": "", "D": "d"}[kind] + str(self._number)


def _usable(table: dict[str, str], lacking: frozenset[str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, template)
        for name, template in table.items()
        if not lacking & set(re.findall("[a-z]+", f"{name} {template}"))
    )
