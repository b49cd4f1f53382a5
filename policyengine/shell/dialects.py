"""What the shells that may read a text make of it: one row of differences for each dialect.

`bash` is bash 5.2 started without options. `sh` is POSIX sh as dash and busybox read it; `/bin/sh` is bash on other
machines, so text for an unknown shell is read in more than one dialect by the caller. `zsh` is read as bash, except
that
what zsh would read dangerously differently is refused.
"""

from __future__ import annotations

from policyengine.errors import UsageError
from policyengine.records import NamedTuple

# POSIX 2.4 and bash manual 3.2.2 to 3.2.5, 3.2.6; `in` and `]]` are reserved where a command begins too [bash -n].
_POSIX_WORDS = frozenset(
    ["!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while"]
)
_BASH_WORDS = _POSIX_WORDS | frozenset(["[[", "]]", "coproc", "function", "select", "time"])


class Dialect(NamedTuple):
    """One shell's reading.

    Attributes:
        name: `bash`, `sh` or `zsh`.
        reserved: words with a meaning of their own where a command begins.
        arithmetic_commands: `((` begins an arithmetic command; otherwise it is two subshells.
        arrays: `a=(…)` and `a[i]=…` are assignments.
        process_substitution: `<(…)` and `>(…)` run commands.
        dollar_quotes: `$'…'` and `$"…"` are quotes; otherwise the `$` is a character before a plain quote.
        wide_redirects: `&>`, `&>>`, `<<<`, `{name}>` and `|&` are operators; otherwise `&>` is a background `&` and a
        `>`.
        equals_expansion: an unquoted word `=name` becomes the path of a program, `>!` and `>&!` are operators, `repeat`
            and `{name}` begin compound commands, `${(e)x}` and `$~x` expand a value again (zsh); such text is refused,
            since no node says it. Nor are there extended globs with a letter before `(`: that is code for zsh.
        quotes_in_operands: in double quotes, single quotes in the operand of a parameter hide what would close it.
    """

    name: str
    reserved: frozenset[str]
    arithmetic_commands: bool
    arrays: bool
    process_substitution: bool
    dollar_quotes: bool
    wide_redirects: bool
    equals_expansion: bool
    quotes_in_operands: bool


DIALECTS = {
    "bash": Dialect("bash", _BASH_WORDS, True, True, True, True, True, False, True),
    "sh": Dialect("sh", _POSIX_WORDS, False, False, False, False, False, False, False),
    "zsh": Dialect("zsh", _BASH_WORDS, True, True, True, True, True, True, False),
}


def dialect_named(name: str) -> Dialect:
    """The dialect of that name. Raises UsageError for any other."""
    if name not in DIALECTS:
        raise UsageError(f"no shell dialect `{name}`, expected one of {', '.join(DIALECTS)}")
    return DIALECTS[name]
