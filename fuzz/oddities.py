"""Where bash 5.2 itself is odd, so that a difference is no fault of the reader. Each has a row in the corpus.

Otherwise only acceptance may differ: what bash runs is not excused, save where bash runs other words than it was given.
"""

from __future__ import annotations

import re
from typing import Final

from fuzz.oracles import Case, Finding
from policyengine.shell import read as tolerant
from policyengine.shell.nodes import CommandSubstitution, SimpleCommand, Unread, walk

# Texts that bash rejects although its manual's grammar has them.
_REJECTED: Final = (
    # `$(time case a in b) …`, `$(time for a; do …`, `$(time declare a=(b))`: the first `time` of a substitution is a
    # word, so that the `)` of the pattern ends the substitution, and `for` and `declare` are arguments.
    re.compile(r"[$<>]\\?\n?\([ \t\\\n]*time\b.*(\b(case|for|select)\b|=\(|\[\[|\[.*<<)", re.DOTALL),
    # `((a)<newline>)`: two subshells in a file, yet a fault in a string.
    re.compile(r"\(\(.*\)\n\s*\)", re.DOTALL),
    # `"${a:-<(}"`: even in double quotes an operand may hold no process substitution that is not closed.
    re.compile(r"\$\{[^}]*[<>]\(", re.DOTALL),
    # `$(a <<b)<newline>` in `${…}` or before quotes that hold a newline: it waits for a line that is in them.
    re.compile(r"[$<>]\([^()\n]*<<[^()\n]*\)[^\n]*\n"),
    # `for ((;${;))`: here it looks for the `}`, though it defers the fault in `((${))`.
    re.compile(r"for\s*\(\(.*\$\{", re.DOTALL),
    # `for (( $(a <<E …) ; ; ))`: it counts parentheses and quotes in a here-document of the head.
    re.compile(r"for\s*\(\(.*\$\(.*<<", re.DOTALL),
    # `cat <<E; x=(a<newline>b)`: a here-document due before an array's newline; its delimiter's memory is used again.
    re.compile(r"<<[^\n]*=\([^\n]*\n"),
)

# `"$(case a in (esac) … '$(b)'`: what is printed of it ends at the `esac`; the rest is in double quotes then, comments
# left out. The reader reports what may be expanded in it, comments or not.
_ESAC_AS_PATTERN: Final = re.compile(r"(?:\"|<<).*\$\(.*\(\s*esac\s*[|)]", re.DOTALL)

# `x[$(case a in b) c;; d) e ];; esac)]=f g`: bash finds another `]`, so that this is no assignment, and looks for a
# program of that name. The reader reports the assignment, and `g`.
_SUBSCRIPTED: Final = re.compile(r"\w+\[.*\]\+?=", re.DOTALL)
_CASE_IN_SUBSCRIPT: Final = re.compile(r"\w\[.*\$\(.*\bcase\b.*\besac\b", re.DOTALL)


# What stands in or behind a `$(time case a in b) …` or an array with an escaped character in a substitution: bash reads
# these twice, with different ends. The reader reports the commands of both, or that it does not know.
_READ_TWICE: Final = (
    re.compile(r"[$<>](?:\\\n)*\((?:[ \t]|\\\n)*time\b[^\n]*?\b(case|for|select)\b"),
    re.compile(r"[$<>]\(.*=\(.*\\", re.DOTALL),
    re.compile(r"[$<>]\(.*(?:\$\{[^}]*|[?*+@!]\([^)]*)\$'", re.DOTALL),
)

# `$(declare x=(["$(a)"]=\())`: a substitution in an element's subscript breaks bash's memory ("free(): invalid next
# size"), and an escape behind it may hide an operator or a quote, or not. The reader refuses it.
_MEMORY: Final = re.compile(r"[$<>](?:\\\n)*\(.*=\(.*\[[^]]*\$\(.*\\[;&|()<>'\"]", re.DOTALL)


# `((a <<E<newline>b<newline>E<newline>) | c)`: bash looks for the body behind the lines that it first read as
# arithmetic, and runs `b` and `E`. The reader refuses it.
_DOCUMENT_IN_ARITHMETIC: Final = re.compile(r"\(\(.*\n.*<<|\(\(.*<<.*\n", re.DOTALL)

# `$(time { a)`: behind the first `time` of a substitution `{` is a word, and when bash reads the text again a fault, so
# that nothing of it runs. The reader refuses it.
_TIMED: Final = re.compile(r"[$<>](?:\\\n)*\((?:\s|\\\n)*time\b")

# `x=([<<(])`: looking for the `]`, bash takes what two angles open for no process substitution, and when it expands the
# subscript for one. The reader refuses one that is not closed.
_TWO_ANGLES: Final = re.compile(r"\[[^]\n]*(?:<<|>>)\(")


def excused(case: Case, finding: Finding) -> bool:
    """Whether an oddity of bash explains a finding."""
    if finding.law in ("invented", "effects invented"):
        if _ESAC_AS_PATTERN.search(case.text) or any(pattern.search(case.text) for pattern in _READ_TWICE):
            return True
        return finding.detail.removeprefix("unknown ").strip("'") in _perhaps_commands(case)
    if finding.law == "rejects":
        if "expected a" in finding.detail and _TIMED.search(case.text):
            return True
        if "unclosed" in finding.detail and _TWO_ANGLES.search(case.text):
            return True
        refused = "reads arithmetic first" in finding.detail or "unexpected end" in finding.detail
        return _MEMORY.search(case.text) is not None or (
            refused and _DOCUMENT_IN_ARITHMETIC.search(case.text) is not None
        )
    if finding.law == "accepts" and any(pattern.search(case.text) for pattern in _REJECTED):
        return True
    if finding.law == "missed" and _SUBSCRIPTED.match(finding.detail):
        return _CASE_IN_SUBSCRIPT.search(case.text) is not None
    if finding.law == "missed" and finding.detail.startswith("unreported "):
        names = finding.detail.split(" ")[1:]
        return _is_unread(case, names) or any(pattern.search(case.text) for pattern in _READ_TWICE)
    if finding.law == "missed" and any(pattern.search(case.text) for pattern in (_ESAC_AS_PATTERN, *_READ_TWICE)):
        return _computes_commands(case)
    return False


def _computes_commands(case: Case) -> bool:
    """Whether some command is known only when it runs: there the rest of a text that bash read twice may run."""
    commands = tolerant(case.text, extglob=case.extglob).script.commands()
    words = [[word.static for word in command.words] for command in commands]
    return any(command and (command[0] is None or (command[0] == "eval" and None in command)) for command in words)


def _is_unread(case: Case, names: list[str]) -> bool:
    """Whether these commands stand behind faults in texts that bash reads only when it runs them.

    The grammar knows of them, but bash gives up before them (what it runs all the same is another finding).
    """
    script = tolerant(case.text, extglob=case.extglob).script
    texts = [node.text for node in walk(script) if isinstance(node, Unread)]
    return all(any(re.search(rf"\b{name}\b", text) for text in texts) for name in names)


def _perhaps_commands(case: Case) -> frozenset[str | None]:
    """Names in a `$((…))` that bash takes for commands or for arithmetic, depending on how it prints what nests in it.

    The reader reports the commands, whichever it is.
    """
    substitutions = [
        node
        for node in walk(tolerant(case.text, extglob=case.extglob).script)
        if isinstance(node, CommandSubstitution) and _ARITHMETIC(case.text, node.start)
    ]
    inside = [below for node in substitutions for below in walk(node)]
    return frozenset(node.words[0].static for node in inside if isinstance(node, SimpleCommand) and node.words)


_ARITHMETIC: Final = re.compile(r"\$[\\\n]*+\(\(").match
