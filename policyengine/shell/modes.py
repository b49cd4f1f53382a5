"""How text is read in each kind of place: which characters mean something there, and what they do.

A handler goes past one piece and returns it: a part, text that is literal, True at a construct that nests, or
False where the place ends.
"""

from __future__ import annotations

import re

from policyengine.shell.lexer import END, Cursor, Handler, Mode, new
from policyengine.shell.nodes import DoubleQuoted, Escaped, Literal, Parameter, SingleQuoted, Word, WordPart
from policyengine.shell.quotes import decode_ansi

_parameter = re.compile(r"([A-Za-z_]\w*+|[0-9@*#?$!-])|\{([A-Za-z_]\w*+|[0-9]++|[@*#?$!-])\}", re.ASCII).match
_name_tail = re.compile(r"(?:\\\n)++(\w++)", re.ASCII).match
_quoted_newline = re.compile(r"'[^']*\n").search
_single = re.compile(r"'([^'\0]*+)'").match
_ansi = re.compile(r"\$(?:\\\n)*+'((?:[^'\\\0]++|\\[^\0])*+)'").match
_plain_double = re.compile(r'"([^"$`\\\0]*+)"').match
_continuations = re.compile(r"(?:\\\n)*+").match
expands = re.compile(r"[$`]").search
closes = re.compile(r"[}\"]").search
_zsh_subscript = re.compile(r"\[(-?\w+|[@*])\]").match
# What means something in a text of commands where it is not quoted.
_meaning = re.compile(r"[^\w./:@%+,=-]").search
_OPENS_EXPANSION = re.compile(r"\$(?:\\\n)*+[({\[]|[<>]\(")
opens_expansion = _OPENS_EXPANSION.search
_opens_expansion = _OPENS_EXPANSION.match
process = re.compile(r"[<>](?:\\\n)*+\(").match
_opener = re.compile(r"\$(?:\\\n)*+(?=[{\[])").match
# Braces or brackets without anything in them that could close something around them.
_tame = re.compile(
    r"""\{(?:[^{}()\[\]"'`$\\\0]|\$[\w@*#?!-]|\[[^{}()\[\]"'`\\\0]*+\])*+\}|\[[^{}()\[\]"'`\\\0]*+\]"""
).match


# --------------------------------------------------------------------------------------------------------- the handlers
def _escape(cursor: Cursor, mode: Mode) -> str | WordPart:
    pos = cursor.pos
    quoted = cursor.text[pos + 1]
    if quoted == END:
        cursor.pos = pos + 1
        if _quoted_newline(cursor.text):  # then bash 5.2 may drop the backslash
            return new(Parameter, ("@", "", None, "", (), pos + cursor.base, pos + 1 + cursor.base))
        return "\\"
    cursor.pos = pos + 2
    if quoted == "\n":
        return ""
    if mode.escapes is None or quoted in mode.escapes:
        return new(Escaped, (quoted, pos + cursor.base, pos + 2 + cursor.base))
    return "\\" + quoted


def _escape_in_array(cursor: Cursor, mode: Mode) -> str | WordPart:
    """In the array literal of a substitution a backslash hides no operator and no quote [bash 5.2]."""
    pos = cursor.pos
    quoted = cursor.text[pos + 1]
    if quoted not in _NOT_HIDDEN or cursor.around == END or (cursor.around == '"' and quoted in _IN_DOUBLE):
        return _escape(cursor, mode)
    if quoted == "$" and cursor.text[pos + 2] not in "({['\"":
        return _escape(cursor, mode)
    cursor.changes[pos] = pos, ""
    cursor.pos = pos + 1
    return "\\"


_NOT_HIDDEN = frozenset(";&|()<>\"'`$")
_IN_DOUBLE = '$`"\\'


def _single_quoted(cursor: Cursor, _mode: Mode) -> str | WordPart:
    start, base = cursor.pos, cursor.base
    found = _single(cursor.text, start)
    if found is None:
        text = cursor.text[start + 1 : cursor.end]
        cursor.fail("unclosed single quote", "`'`")
        return SingleQuoted(text, False, start + base, cursor.end + base)
    cursor.pos = found.end()
    return new(SingleQuoted, (found[1], False, start + base, cursor.pos + base))


def _double_quoted(cursor: Cursor, _mode: Mode) -> bool | WordPart:
    start, base = cursor.pos, cursor.base
    found = _plain_double(cursor.text, start)
    if found is None:
        return True
    end = cursor.pos = found.end()
    inside = (new(Literal, (found[1], start + 1 + base, end - 1 + base)),) if end - start > 2 else ()
    return new(DoubleQuoted, (inside, False, start + base, end + base))


def _with_subscript(cursor: Cursor, name: str, start: int, end: int) -> WordPart:
    """`$name[subscript]` of zsh (zshparam(1)), where that is written out."""
    found, base = _zsh_subscript(cursor.text, end), cursor.base
    subscript = None
    if found is not None:
        at, end = end + 1 + base, found.end()
        subscript = new(Word, ((new(Literal, (found[1], at, at + len(found[1]))),), at, at + len(found[1])))
    cursor.pos = end
    return new(Parameter, (name, "", subscript, "", (), start + base, end + base))


def _dollar(cursor: Cursor, mode: Mode) -> str | bool | WordPart:
    text, start, base = cursor.text, cursor.pos, cursor.base
    after = start + 1
    if text[after] == "\\":
        after = _continuations(text, after).end()  # type: ignore[union-attr]  # the pattern matches everywhere
    found = _parameter(text, after)
    if found is not None:
        name, end = found[found.lastindex or 0], found.end()
        if text[end] == "\\" and found.lastindex == 1 and name[0] not in _ONE_CHARACTER:
            name, end = _joined_name(text, name, end)
        if text[end] == "[" and cursor.dialect.equals_expansion:
            return _with_subscript(cursor, name, start, end)
        cursor.pos = end
        return new(Parameter, (name, "", None, "", (), start + base, end + base))
    follower = text[after]
    if follower in "({[":
        return True
    if follower in "'\"" and not mode.quoted and cursor.dialect.dollar_quotes:
        return True if follower == '"' else _ansi_quoted(cursor, mode)
    if follower == "~" and cursor.dialect.equals_expansion:
        cursor.fail("zsh expands again what this parameter holds")
        return "$"
    cursor.pos = start + 1
    return "$"


_ONE_CHARACTER = "0123456789@*#?$!-"


def _joined_name(text: str, name: str, end: int) -> tuple[str, int]:
    while (tail := _name_tail(text, end)) is not None:
        name, end = name + tail[1], tail.end()
    return name, end


def _ansi_quoted(cursor: Cursor, mode: Mode) -> WordPart:
    start, base = cursor.pos, cursor.base
    found = _ansi(cursor.text, start)
    _note_decoded(cursor, mode, found)
    if found is None:
        text = cursor.text[start + 2 : cursor.end]
        cursor.fail("unclosed quote `$'`", "`'`")
        return SingleQuoted(decode_ansi(text), True, start + base, cursor.end + base)
    cursor.pos = found.end()
    return new(SingleQuoted, (decode_ansi(found[1]), True, start + base, cursor.pos + base))


def _note_decoded(cursor: Cursor, mode: Mode, found: re.Match[str] | None) -> None:
    """Note a `$'…'` that loses its quotes for when bash reads the substitution again (parse.y, parse_matched_pair)."""
    if found is None or cursor.closer == END or cursor.pattern or mode.is_word:
        return
    if (mode.quoted or cursor.around == '"') and _meaning(decoded := decode_ansi(found[1])):
        cursor.changes[found.start()] = found.end(), decoded


def _single_quoted_arithmetic(cursor: Cursor, mode: Mode) -> str | bool | WordPart:
    found = _single(cursor.text, cursor.pos)
    return True if found is not None and expands(found[1]) else _single_quoted(cursor, mode)


def _dollar_in_subscript(cursor: Cursor, mode: Mode) -> str | bool | WordPart:
    found = _ansi(cursor.text, cursor.pos)
    if found is None or not expands(decode_ansi(found[1])):
        return _dollar(cursor, mode)
    _note_decoded(cursor, mode, found)
    return True


def _dollar_in_quoted_operand(cursor: Cursor, mode: Mode) -> str | bool | WordPart:
    """In double quotes bash decodes `$'…'` in an operand, and expands what comes out (parse.y, parse_matched_pair)."""
    found = _ansi(cursor.text, cursor.pos) if cursor.dialect.dollar_quotes else None
    if found is None:
        return _dollar(cursor, mode)
    if not expands(decode_ansi(found[1])):
        return _ansi_quoted(cursor, mode)
    _note_decoded(cursor, mode, found)
    return True


def _single_in_quoted_operand(cursor: Cursor, mode: Mode) -> str | bool | WordPart:
    """In double quotes a single quote in an operand hides what would close it, yet it stays, and all is expanded.

    Only for bash, and not in its POSIX mode.
    """
    if not cursor.dialect.quotes_in_operands:
        cursor.pos += 1
        return "'"
    found = _single(cursor.text, cursor.pos)
    if found is None:
        return _single_quoted(cursor, mode)
    if expands(found[1]) or closes(found[1]):
        return True
    cursor.pos = found.end()
    return found[0]


def _dollar_in_arithmetic(cursor: Cursor, mode: Mode) -> str | bool | WordPart:
    """As elsewhere, but to find the end bash counts what is in `${…}` and `$[…]` too, so that they do not nest."""
    found = _opener(cursor.text, cursor.pos)
    if found is None or _tame(cursor.text, found.end()):
        return _dollar_in_subscript(cursor, mode)
    cursor.pos += 1
    return "$"


def _dollar_in_head(cursor: Cursor, mode: Mode) -> str | bool | WordPart:
    """As in arithmetic, but `$[…]` hides no `;`."""
    found = _opener(cursor.text, cursor.pos)
    if found is None or cursor.text[found.end()] != "[":
        return _dollar_in_arithmetic(cursor, mode)
    cursor.pos += 1
    return "$"


def _dollar_in_parentheses(cursor: Cursor, mode: Mode) -> str | bool | WordPart:
    """In a pattern's parentheses bash only counts, whatever `$(` and `${` hold, until it expands the pattern."""
    if _opens_expansion(cursor.text, cursor.pos) is None:
        return _dollar(cursor, mode)
    cursor.pos += 1
    return "$"


def _nests(_cursor: Cursor, _mode: Mode) -> bool:
    return True


def _angle(cursor: Cursor, _mode: Mode) -> bool:
    return process(cursor.text, cursor.pos) is not None and cursor.dialect.process_substitution


def _angle_inside(cursor: Cursor, mode: Mode) -> bool | str:
    if _angle(cursor, mode):
        return True
    cursor.pos += 1
    return cursor.text[cursor.pos - 1]


def _extended_glob(cursor: Cursor, _mode: Mode) -> bool:
    """At `(` after the mark of an extended glob, which a parameter like `$?` may have taken too [bash 5.2]."""
    pos, text = cursor.pos, cursor.text
    marked = text[pos - 1] in "?*+@!" and (pos > cursor.literal_from or text[pos - 2 : pos - 1] == "$")
    return cursor.extglob and marked


def _opens(cursor: Cursor, _mode: Mode) -> str:
    cursor.opened.append(cursor.pos)
    cursor.pos += 1
    return cursor.text[cursor.pos - 1]


def _closes(cursor: Cursor, _mode: Mode) -> str | bool:
    if not cursor.opened:
        return False
    start, end = cursor.opened.pop(), cursor.pos
    text, budget = cursor.text, cursor.budget
    if budget.uncertain and (text[start + 1] == "(" or text[start - 1] == "("):
        budget.parentheses[cursor.place_of(start)] = end - start
    cursor.pos = end + 1
    return text[end]


def _literally(cursor: Cursor, _mode: Mode) -> str:
    cursor.pos += 1
    return cursor.text[cursor.pos - 1]


_EXPANSIONS: dict[str, Handler] = {"\\": _escape, "$": _dollar, "`": _nests}
_QUOTES: dict[str, Handler] = _EXPANSIONS | {"'": _single_quoted, '"': _double_quoted}
_ARITHMETIC_QUOTES: dict[str, Handler] = _QUOTES | {"'": _single_quoted_arithmetic, "$": _dollar_in_subscript}
_COUNTED: dict[str, Handler] = _ARITHMETIC_QUOTES | {"$": _dollar_in_arithmetic}
_ANGLES: dict[str, Handler] = {"<": _angle_inside, ">": _angle_inside}
_IN_WORD: dict[str, Handler] = _QUOTES | {"<": _angle, ">": _angle, "(": _extended_glob}
_word_run = re.compile(r"[^ \t\n|&;()<>\"'`$\\\0]++").match
_operand_run = re.compile(r"[^}\"'`$\\<>\0]++").match
_quoted_operand_run = re.compile(r"[^}\"'`$\\\0]++").match

WORD = Mode(_word_run, _IN_WORD, is_word=True)
ELEMENT = WORD._replace(special=_IN_WORD | {"\\": _escape_in_array})  # of an array in a substitution
DOUBLE = Mode(re.compile(r'[^"$`\\\0]++').match, _EXPANSIONS, _IN_DOUBLE, quoted=True)
BODY = Mode(re.compile(r"[^$`\\\0]++").match, _EXPANSIONS, "$`\\", quoted=True)
# The operands of `${…}`: in double quotes a single quote is a character, except where the operand is a pattern.
OPERAND = Mode(_operand_run, _QUOTES | _ANGLES)
OPERAND_TO_SLASH = Mode(re.compile(r"[^}/\"'`$\\<>\0]++").match, _QUOTES | _ANGLES)
OPERAND_IN_ARITHMETIC = Mode(_operand_run, _ARITHMETIC_QUOTES | _ANGLES, arithmetic=True)
OPERAND_TO_COLON = OPERAND_IN_ARITHMETIC._replace(run=re.compile(r"[^}:\"'`$\\<>\0]++").match)
HERE_OPERAND = Mode(
    re.compile(r'[^}"$`\\\0]++').match, _EXPANSIONS | {'"': _double_quoted}, _IN_DOUBLE + "}", quoted=True
)
QUOTED_OPERAND = HERE_OPERAND._replace(
    run=_quoted_operand_run,
    special=HERE_OPERAND.special | {"$": _dollar_in_quoted_operand, "'": _single_in_quoted_operand},
)
QUOTED_TO_COLON = QUOTED_OPERAND._replace(run=re.compile(r"[^}:\"'$`\\\0]++").match)
# Balanced texts: extended globs and regular expressions in parentheses.
_PARENTHESES: dict[str, Handler] = {"(": _opens, ")": _closes}
PARENTHESISED = Mode(re.compile(r"[^()\"'`$\\\0]++").match, _QUOTES | _PARENTHESES | {"$": _dollar_in_parentheses})
IN_PARENTHESES = Mode(re.compile(r"[^\"'`$\\<>\0]++").match, _QUOTES | _ANGLES)  # to the end, as it is expanded
# Arithmetic in parentheses; `$[ ]` and subscripts in brackets.
ARITHMETIC = Mode(PARENTHESISED.run, _COUNTED | _PARENTHESES, arithmetic=True)
EXPRESSION_OF_FOR = ARITHMETIC._replace(
    run=re.compile(r"[^();\"'`$\\\0]++").match, special=ARITHMETIC.special | {"$": _dollar_in_head}
)
_BRACKETS: dict[str, Handler] = {"[": _opens, "]": _closes}
BRACKETED = Mode(re.compile(r"[^\[\]\"'`$\\\0]++").match, _COUNTED | _BRACKETS, arithmetic=True)
SUBSCRIPT = Mode(re.compile(r"[^\[\]\"'`$\\<>\0]++").match, _ARITHMETIC_QUOTES | _ANGLES | _BRACKETS, arithmetic=True)
SUBSCRIPT_IN_BRACES = SUBSCRIPT._replace(run=re.compile(r"[^\[\]}\"'`$\\<>\0]++").match)
# The right side of `=~`, where `|` and parentheses belong to the regular expression.
REGEX = Mode(_word_run, _QUOTES | {"|": _literally, "<": _angle, ">": _angle}, is_word=True)
