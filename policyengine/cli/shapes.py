"""Hostile shapes of shell text, each a function from a length to a text of about that many characters.

One kind of thing over and over, side by side or each in the one before: what makes a reader or an analysis go over the
same characters again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Shape: TypeAlias = Callable[[int], str]


def _many(unit: str, before: str = "", after: str = "") -> Shape:
    """The same text again and again, between two others."""
    return lambda size: before + unit * max(1, (size - len(before) - len(after)) // len(unit)) + after


def _nested(opening: str, inner: str, closing: str) -> Shape:
    """A construct in itself."""

    def shape(size: int) -> str:
        times = max(1, (size - len(inner)) // len(opening + closing))
        return opening * times + inner + closing * times

    return shape


def _numbered(unit: str, before: str = "") -> Shape:
    """The same text again and again, with a name in it that is always another one: `#` is its number."""
    width = len(unit) + 6
    return lambda size: before + "".join(unit.replace("#", f"{at:07}") for at in range(max(1, size // width)))


def _ladder(size: int) -> str:
    """Backticks in backticks, as deep as their backslashes allow, over and over."""
    rung = "`a`"
    while len(rung) * 2 < min(size, 500):
        rung = "`a " + rung.replace("\\", "\\\\").replace("`", "\\`") + "`"
    return _many(rung + ";")(size)


def _heredoc_headers(size: int) -> str:
    times = max(1, size // 6)
    return "cat" + " <<A" * times + "\n" + "A\n" * times


_LOOP = "for i in a b;do "

SHAPES: dict[str, Shape] = {
    # Opened and never closed.
    "open parentheses": _many("("),
    "open ((": _many("(( "),
    "open $(": _many("$("),
    "open $((": _many("$(("),
    "open $[": _many("$["),
    "open <(": _many("cat <("),
    "open ${a:-": _many("${a:-"),
    "open [[ (": _many("( ", "[[ "),
    "open x=$(": _many("x=$("),
    "open functions": _many("a(){ "),
    "open if": _many("if a;then "),
    "open case": _many("case a in a) "),
    "open @(": _many("@(", "[[ a == "),
    "open single quote": _many("a b\n", "echo '"),
    "open double quote": _many("a b\n", 'echo "'),
    "open $'": _many("a\\n\n", "echo $'"),
    "open heredoc": _many("a $b\n", "cat <<A\n"),
    "odd quotes": _many("'a\n\"b\n"),
    # Each in the one before.
    "nested (": _nested("(", "a", ")"),
    "nested $(": _nested("$(a ", "a", ")"),
    "nested $((": _nested("$((", "1", "))"),
    "nested ${a:-": _nested("${a:-", "b", "}"),
    'nested "$(': _nested('"$(a ', "a", ')"'),
    "nested if": _nested("if a;then ", "b", ";fi"),
    "nested case": _nested("case a in a) ", "b", ";;esac"),
    "nested loops": _nested(_LOOP, "b", ";done"),
    "nested functions": _nested("a(){ ", "b;", "};"),
    "many nests of 40": _many("$(a " * 40 + ")" * 40 + ";"),
    "many nests of $((": _many("$((" * 30 + "1" + "))" * 30 + ";"),
    "backticks in backticks": _ladder,
    # Lists.
    "a;": _many("a;"),
    "a|": _many("a|", after="a"),
    "a&&": _many("a&&", after="a"),
    "a||": _many("a||", after="a"),
    "a&": _many("a&"),
    "lines": _many("a\n"),
    "CRLF lines": _many("ls -l\r\n"),
    "comments": _many("# a comment\n"),
    "continued lines": _many("a \\\n", after="a"),
    "a(){ a;};": _many("a(){ a;};"),
    "calls": _many("f;", "f(){ a;};"),
    "new functions": _numbered("f#(){ a;};"),
    "loops": _many(_LOOP + "c;done;"),
    "ifs": _many("if a;then b;fi;"),
    "case arms": _many("a) b;;", "case x in ", "esac"),
    # Words.
    "long word": _many("w", "echo "),
    "words": _many("a ", "echo "),
    "options": _many("-a ", "ls "),
    "paths": _numbered("/a# ", "rm "),
    "~": _many("~ ", "rm "),
    "globs": _many("/a* ", "rm "),
    "quoted pieces": _many("\"a\"'b'\\c$'\\x64'", "echo "),
    "backslashes": _many("\\a", "echo "),
    "braces": _many("{a,b}", "echo "),
    "nested braces": _nested("{a,", "b", "}"),
    "variables": _many("$x", "x=a;echo "),
    "doubling": _many("x=$x$x;", "x=a;"),
    "operators": _many("${x//a/b}", "echo "),
    "substitutions": _many("$(a)", "echo "),
    "backticks": _many("`a`", "echo "),
    "process substitutions": _many("<(a)", "cat "),
    "arithmetic": _many("1+", "echo $((", "1))"),
    "arithmetic parentheses": lambda size: "echo $((" + _nested("(", "1", ")")(size) + "))",
    "extended globs": _many("@(a|b)", "[[ a == ", " ]]"),
    "assignments": _many("a=b "),
    "assignments;": _many("a=b;"),
    "new variables": _numbered("a#=b "),
    "array": _many("a ", "x=(", ")"),
    "subscripts": _many("x[1]=b "),
    "conditions": _many("a && ", "[[ ", "a ]]"),
    # Alternatives: what they print, what they leave in variables, arrays and files.
    "printed by ||": _many("a || echo b || ", "x=$(", "a)"),
    "printed by && and ||": _many("[ a ] && echo b || echo c; ", "x=$(", ")"),
    "printed by if": _many("if a;then echo b;else echo c;fi;", "x=$(", ")"),
    "printed by case": _numbered("x=$(case a in a) echo #;; b) echo c;; esac);"),
    "printed by loops": _many("for i in a b;do [ $i ]&&echo $i;done;", "x=$(", ")"),
    "printed by returns": _many("[ a ]&&{ echo b;return;};", "f(){ ", "};x=$(f)"),
    "printed into pipes": _many("{ [ a ]&&echo b||echo c;}|", after="sh"),
    "printed into words": _many("$([ a ]&&echo b||echo c) x;"),
    "nested ${a:-$(||": _nested("${a:-$(b || c ", "d", ")}"),
    "defaults": _many("${x:-a} "),
    "array elements": _many("a[i++]=b;"),
    "elements read": _many("${a[$x]} ", "a=(1 2 3);echo "),
    "elements in branches": _many("if x;then a[0]+=1;fi;"),
    "elements in loops": _many("while y;do a[$x]=1;done;"),
    "parameters in branches": _many("if x;then set -- $1 a;fi;"),
    "files in branches": _numbered("if x;then echo #>>f;fi;sh f;"),
    # Redirections and here-documents.
    "redirections": _many("<f >g ", "cat "),
    "redirections alone": _many(">f "),
    "heredoc headers": _heredoc_headers,
    "heredocs": _many("cat <<A\nx\nA\n"),
    "heredoc text": _many("$x `a`\n", "cat <<A\n", "A\n"),
    "here-strings": _many("<<<a ", "cat "),
    "cat a>b;": _many("cat a>b;"),
    # Programs.
    "curl a|sh;": _many("curl a|sh;"),
    "base64 -d": _many("base64 -d "),
    "sh -c": _many('sh -c "', after="x"),
    "eval": _many("eval ", after="a"),
    "env": _many("env ", after="a"),
    "ssh h": _many("ssh h ", after="x"),
    "xargs": _many("xargs ", after="a"),
    "find -exec": _many("-exec a {} \\; ", "find . "),
    "git push;": _many("git push;"),
    "cd": _many("cd a;"),
    "python calls": _many('os.system("a")\n', "python3 -c 'import os\n", "'"),
    "python doubling": _many("x=x+x\n", 'python3 -c \'x="a"\n', "'"),
    "python parentheses": lambda size: "python3 -c '" + _nested("(", "1", ")")(size) + "'",
    "awk": _many('{print $1 | "a"}', "awk '", "'"),
    "sed": _many("s/a/b/e;w f\n", "sed '", "'"),
}
