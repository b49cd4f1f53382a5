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
    # `$( time if …`: a reserved word directly after the first `time` of a substitution is not recognised.
    re.compile(r"[$<>]\\?\n?\((?:\s|#[^\n]*\n)*time\b"),
    # `case a in b) for x in esac`: `esac` after the `in` of a loop ends the outer case.
    re.compile(r"\bcase\b.*\bin\s+esac\b", re.DOTALL),
    # `case a in b) for x<newline>in c; do`: inside an arm, a loop's `in` is not recognised after a newline.
    re.compile(r"\bcase\b.*\b(for|select)\s+\w+\s*(#[^\n]*)?\n\s*in\b", re.DOTALL),
    # `$( x=$( case a in (esac) b;; esac ) )`: what is printed of it is `esac) b`.
    re.compile(r"\$\(.*\(\s*esac\s*\)", re.DOTALL),
    # `for (( $(case a in b) c;; esac) ; ; ))`: it looks for the `;` of the head without reading what nests in it.
    re.compile(r"for\s*\(\(.*\$\(.*(\besac\b|<<)", re.DOTALL),
    # `@(a|$(b # it's<newline>))`: in an extended glob it counts parentheses and quotes, comments included.
    re.compile(r"[?*+@!]\(.*\$\(.*(#|\besac\b|<<)", re.DOTALL),
    # `cat <<E; x=(a<newline>b)`: a here-document due before an array's newline; its delimiter's memory is used again.
    re.compile(r"<<[^\n]*=\([^\n]*\n"),
)

# `x[$(case a in b) c;; esac)]=d`: bash loses the end of the subscript and looks for a program of that name.
_SUBSCRIPTED: Final = re.compile(r"\w+\[")


def excused(case: Case, finding: Finding) -> bool:
    """Whether an oddity of bash explains a finding."""
    if finding.law in ("invented", "effects invented"):
        return finding.detail.removeprefix("unknown ").strip("'") in _perhaps_commands(case)
    if finding.law == "accepts" and any(pattern.search(case.text) for pattern in _REJECTED):
        return True
    if finding.law == "missed" and _SUBSCRIPTED.match(finding.detail):
        return True
    if finding.law == "missed" and finding.detail.startswith("unreported "):
        return _is_unread(case, finding.detail.split(" ")[1:])
    if finding.law == "missed":
        return "<<" in case.text and _is_joined(case, finding.detail)
    return False


def _is_joined(case: Case, ran: str) -> bool:
    """Whether what ran is one reported command with another one after it.

    Bash prints the text of a substitution and reads it again when it runs. After a here-document a `;` can get lost:
    `<( m1 <<E; m2; m3` runs `m2 m3`.
    """
    names: set[str] = set()
    whole: set[str] = set()
    for command in tolerant(case.text, extglob=case.extglob).script.commands():
        static = [word.static or "" for word in command.words]
        names.update(static[:1])
        whole.add(" ".join(static))
    words = ran.split(" ")
    return any(" ".join(words[:at]) in whole and words[at] in names for at in range(1, len(words)))


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
