"""The grammar of commands, one production a method (bash manual 3.2, POSIX 2.10; confirmed with `bash -n` 5.2).

    script      = list? END
    list        = and_or ((';' | '&' | newline) and_or)* (';' | '&' | newline)?
    and_or      = pipeline (('&&' | '||') newline* pipeline)*
    pipeline    = ('!' | 'time' '-p'? '--'?)* command (('|' | '|&') newline* command)*
    command     = simple | compound redirect* | function | coproc
    simple      = (assignment | redirect)* (word | redirect)*

Reserved words count only where a command begins, assignments only before a command's first word; aliases are not
expanded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from policyengine.shell.conditions import Conditions
from policyengine.shell.lexer import CONTINUED, END, Steps, new, one_of, plain_text
from policyengine.shell.modes import ARITHMETIC, EXPRESSION_OF_FOR
from policyengine.shell.nodes import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Background,
    Case,
    CaseArm,
    CommandSubstitution,
    Condition,
    Coprocess,
    DoubleQuoted,
    For,
    Function,
    Group,
    Heredoc,
    If,
    IfBranch,
    Literal,
    Parameter,
    Pipeline,
    ProcessSubstitution,
    Script,
    Select,
    SimpleCommand,
    Statement,
    Subshell,
    While,
    Word,
    walk,
)
from policyengine.shell.simple import Begun, assigning_word, assignment_start

_BREAK = rf"(?={CONTINUED}(?:[ \t\n|&;()\0]|[<>](?!{CONTINUED}\()))"


_first_word = re.compile(r"(?:[^ \t\n|&;()<>\"'`$\\\0]++|\\\n)++" + _BREAK).match
_closer = re.compile(rf"[)\0]|;{CONTINUED}[;&]|" + one_of("then do done fi elif else esac }") + _BREAK).match
_CLOSER_STARTS = frozenset(")\0;tdfe}")
_prefix = re.compile(rf"({one_of('! time')}){_BREAK}").match
_time_options = re.compile("".join(rf"(?:(?:[ \t]|\\\n)++{one_of(option)}{_BREAK})?+" for option in ("-p", "--"))).match
_connector = re.compile(r"&(?:\\\n)*+&|\|(?:\\\n)*+\|").match
_pipe = re.compile(r"\|(?!(?:\\\n)*+\|)(?:\\\n)*+(&)?").match


_LIST_MARKS = frozenset("\n;)\0")


class Parser(Conditions):
    """A reader of commands."""

    __slots__ = ()

    # ------------------------------------------------------------------------------------------------------------ lists
    def script(self) -> Steps[Script]:
        """script: list? END ."""
        body = yield from self.statements()
        if self.text[self.pos] != END:
            self.unexpected("a command")
        self.read_bodies()
        yield from self.finish_bodies()
        return new(Script, (body, 0 + self.base, self.end + self.base))

    def statements(self) -> Steps[tuple[Statement, ...]]:
        """list: and_or ((';' | '&' | newline) and_or)* (';' | '&' | newline)? ."""
        found: list[Statement] = []
        while self.ready():
            first = None if self.text[self.pos] in "!t" else self.command()
            if isinstance(first, SimpleCommand) and self.ends_alone():
                statement: Statement = first
            else:
                statement = yield from self.and_or(first)
            start = statement.start
            character = self.text[self.pos]
            if character == "&":
                self.pos += 1
                statement = new(Background, (statement, start, self.pos + self.base))
            elif character == "\n":
                self.newline()
            elif character == ";" and (
                self.text[self.pos + 1] not in ";&\\" or _terminator(self.text, self.pos) is None
            ):
                self.pos += 1
                if self.inside:
                    self.semicolons.add(start)
            else:
                found.append(statement)
                break
            found.append(statement)
        return tuple(found)

    def ends_alone(self) -> bool:
        """Whether what stands here, right after a command, makes it no part of a pipeline or AND-OR list."""
        character = self.text[self.pos]
        return character in _LIST_MARKS or (character == "&" and self.text[self.pos + 1] not in "&\\")

    def ready(self) -> bool:
        """Go to the next command; False at what ends a list."""
        character = self.skip_gap()
        return character not in _CLOSER_STARTS or _closer(self.text, self.pos) is None

    def body(self, after: str) -> Steps[tuple[Statement, ...]]:
        """A list that may not be empty."""
        found = yield from self.statements()
        if not found:
            self.unexpected(f"a command after `{after}`")
        return found

    def and_or(self, first: Begun | None) -> Steps[Statement]:
        """and_or: pipeline (('&&' | '||') newline* pipeline)* ; `first` is its first command, if that has begun."""
        pipeline = yield from self.pipeline(first)
        found = _connector(self.text, self.pos)
        if found is None:
            return pipeline
        items, operators = [pipeline], []
        while found is not None:
            operators.append(found[0][0] * 2)
            self.pos = found.end()
            self.skip_gap()
            items.append((yield from self.pipeline(None)))
            found = _connector(self.text, self.pos)
        return new(AndOr, (tuple(items), tuple(operators), items[0].start, items[-1].end))

    def pipeline(self, first: Begun | None) -> Steps[Statement]:
        """pipeline: ('!' | 'time' '-p'? '--'?)* command (('|' | '|&') newline* command)* ; goes to what follows."""
        begin, start = self.pos, self.pos + self.base
        negated = timed = prefixed = False
        while first is None and self.text[self.pos] in "!t" and (prefix := self.prefix()):
            negated, timed, prefixed = negated ^ (prefix == "!"), timed or prefix == "time", True
        plain = prefixed and begin == self.first and self.text[begin] == "t"
        if plain:
            first = yield from self.after_first()
        if prefixed and first is None and self.text[self.pos] in "\n;)\0":
            if not plain and (self.text[self.pos] == ")" or _terminator(self.text, self.pos)):
                self.unexpected("a command")
            return new(Pipeline, ((), (), negated, timed, start, self.pos + self.base))
        commands, operators = [], []
        found: re.Match[str] | None
        while True:
            command = first or self.command()
            commands.append(command if isinstance(command, SimpleCommand) else (yield from command))
            found = _pipe(self.text, self.pos) if self.skip_blanks() == "|" else None
            if found is None:
                break
            operators.append("|&" if found[1] else "|")
            self.pos, first = found.end(), None
            self.skip_gap()
        if not operators and not prefixed:
            return commands[0]
        start = start if prefixed else commands[0].start
        return new(Pipeline, (tuple(commands), tuple(operators), negated, timed, start, commands[-1].end))

    def after_first(self) -> Steps[SimpleCommand | None]:
        """Behind the first `time` of a substitution, which is a plain word until bash 5.2 reads the text again.

        So a compound command is a fault if it ends with a keyword behind a `;` or newline, or begins with `(`. What
        begins as a `case` or loop ends with the words, and then is at fault when it is read again. An array is
        accepted: it is one in arguments of `declare` and its kind.
        """
        word = self.plain_word()
        if self.text[self.pos] == "(" or word in _NOT_AFTER_FIRST or _compound_coprocess(self.text, self.pos):
            self.unexpected("a simple command")
        if word not in _WORDS_AFTER_FIRST:
            return None
        start = self.pos + self.base
        unknown = new(Word, ((new(Parameter, ("@", "", None, "", (), start, start)),), start, start))
        command = yield from self.whole(self.simple(unknown))
        assert isinstance(command, SimpleCommand)  # no function: it has two words
        return command

    def prefix(self) -> str:
        """Go past a `!` or `time` with its options; empty if there is none."""
        found = _prefix(self.text, self.pos)
        prefix = found[1].replace("\\\n", "") if found is not None else ""
        if found is None or prefix not in self.dialect.reserved or (self.extglob and self.begins_glob(found.end())):
            return ""
        self.pos = found.end()
        if prefix == "time":
            self.pos = _time_options(self.text, self.pos).end()  # type: ignore[union-attr]  # matches everywhere
        self.skip_blanks()
        return prefix

    # --------------------------------------------------------------------------------------------------------- commands
    def command(self) -> Begun:
        """command: simple | compound redirect* | function | coproc ."""
        if self.text[self.pos] == "(":
            return self.compound("(")
        word = self.plain_word()
        if word in self.dialect.reserved and word != "time":  # after a `|` it is the name of a program [bash -n]
            return self.compound(word)
        return self.simple()

    def plain_word(self) -> str:
        """The word that stands here, where it is nothing but unquoted characters, else empty; `word_end` is behind
        it.
        """
        found = _first_word(self.text, self.pos)
        if found is None or (self.extglob and self.begins_glob(found.end())):
            return ""
        self.word_end = found.end()
        word = found[0]
        return word.replace("\\\n", "") if "\\" in word else word

    def begins_glob(self, pos: int) -> bool:
        """Whether the `(` of an extended glob stands at `pos`, where those are on."""
        return self.text[pos] == "(" and self.text[pos - 1] in "?*+@!"

    # ------------------------------------------------------------------------------------------------ compound commands
    def compound(self, word: str) -> Steps[Statement]:
        """compound: '(' … | '{' … | '[[' … | 'if' … | … ; `word` is the reserved word that stands here."""
        production = _COMPOUNDS.get(word)
        if production is None:
            self.unexpected("a command")
        if production is None or not self.enter():
            return self.nothing()
        statement: Statement = yield production(self)
        self.budget.depth -= 1
        self.count(1)
        return statement

    def keyword(self, word: str) -> None:
        """Go past a reserved word, or fail."""
        if self.plain_word() == word:
            self.pos = self.word_end
        else:
            self.unexpected(f"`{word}`")

    def group(self) -> Steps[Statement]:
        """group: '{' list '}' ."""
        start = self.pos
        body = yield from self.braces()
        return (yield from self.redirected(Group, (body,), start))

    def redirected(self, kind: type[_Compound], fields: tuple[object, ...], start: int) -> Steps[_Compound]:
        """A compound command that ends here, with its redirections."""
        end = self.pos + self.base
        redirects = yield from self.redirects()
        if redirects and self.text[self.pos] not in _AFTER_REDIRECTS:  # not even a reserved word may follow
            self.unexpected()
        return new(kind, (*fields, redirects, start + self.base, redirects[-1].end if redirects else end))

    def parentheses(self) -> Steps[Statement]:
        """subshell: '(' list ')' ; or arithmetic_command: '((' expression '))', where the two close together."""
        start = self.pos
        if self.text[start + 1] == "(" and self.dialect.arithmetic_commands:
            inner = self.budget.parentheses.get(self.place_of(start + 1))
            if inner is None or start + inner + 1 >= self.end or self.text[start + inner + 2] == ")":
                expression = yield from self.arithmetic_expression(start)
                if expression is not None:
                    return (yield from self.redirected(ArithmeticCommand, (expression,), start))
        tried = self.budget.parentheses.get(self.place_of(start), 0) if self.text[start - 1 : start] == "(" else 0
        documents = self.documents
        self.pos = start + 1
        body = yield from self.body("(")
        if tried and self.documents != documents and self.text.find("\n", start, start + tried) >= 0:
            # Bash has read these lines as arithmetic, looks for the here-document behind them, and runs its lines.
            self.fail("a here-document where bash reads arithmetic first", at=start)
        if self.text[self.pos] == ")":
            self.pos += 1
        else:
            self.unexpected("`)`")
        return (yield from self.redirected(Subshell, (body,), start))

    def arithmetic_expression(self, start: int) -> Steps[Word | None]:
        """What stands between `((` and `))`; None where the parentheses do not close together."""
        self.pos = start + 2
        self.budget.uncertain += 1
        opened, self.opened = self.opened, []
        expression = yield from self.word(ARITHMETIC)
        self.opened = opened
        if self.text.startswith("))", self.pos) or self.text[self.pos] == END:
            self.settled()
            self.pos += 2
            if self.pos > self.end:
                self.pos = self.end
                self.fail("unclosed `((`", "`))`")
            return expression
        self.budget.uncertain -= 1
        self.budget.parentheses[self.place_of(start + 1)] = self.pos - (start + 1)
        return None

    def if_clause(self) -> Steps[Statement]:
        """if_clause: 'if' list 'then' list ('elif' list 'then' list)* ['else' list] 'fi' ."""
        start = self.pos
        branches: list[IfBranch] = []
        otherwise = None
        while not branches or self.plain_word() == "elif":
            branches.append((yield from self.branch("elif" if branches else "if")))
        if self.plain_word() == "else":
            self.pos = self.word_end
            otherwise = yield from self.body("else")
        self.keyword("fi")
        return (yield from self.redirected(If, (tuple(branches), otherwise), start))

    def branch(self, word: str) -> Steps[IfBranch]:
        """branch: ('if' | 'elif') list 'then' list ."""
        start = self.pos
        self.pos = self.word_end
        condition = yield from self.body(word)
        self.keyword("then")
        body = yield from self.body("then")
        return new(IfBranch, (condition, body, start + self.base, self.pos + self.base))

    def while_clause(self) -> Steps[Statement]:
        """while_clause: ('while' | 'until') list 'do' list 'done' ."""
        start = self.pos
        word = self.plain_word()
        self.pos = self.word_end
        condition = yield from self.body(word)
        body = yield from self.do_group()
        return (yield from self.redirected(While, (condition, body, word == "until"), start))

    def do_group(self) -> Steps[tuple[Statement, ...]]:
        """do_group: 'do' list 'done' ."""
        self.keyword("do")
        body = yield from self.body("do")
        self.keyword("done")
        return body

    def braces(self) -> Steps[tuple[Statement, ...]]:
        """braces: '{' list '}' ."""
        self.keyword("{")
        body = yield from self.body("{")
        self.keyword("}")
        return body

    def loop_body(self) -> Steps[tuple[Statement, ...]]:
        """loop_body: newline* (do_group | braces) ."""
        self.skip_gap()
        return (yield from (self.braces() if self.plain_word() == "{" else self.do_group()))

    def for_clause(self) -> Steps[Statement]:
        """for_clause: 'for' name newline* ['in' word* (';' | newline)] loop_body | 'for' '((' … '))' loop_body ."""
        start = self.pos
        self.pos = self.word_end
        self.skip_blanks()
        if self.text.startswith("((", self.pos) and self.dialect.arithmetic_commands:
            return (yield from self.arithmetic_for(start))
        name, words = yield from self.loop_head()
        body = yield from self.loop_body()
        return (yield from self.redirected(For, (name, words, body), start))

    def select_clause(self) -> Steps[Statement]:
        """select_clause: 'select' name newline* ['in' word* (';' | newline)] loop_body ."""
        start = self.pos
        self.pos = self.word_end
        self.skip_blanks()
        name, words = yield from self.loop_head()
        body = yield from self.loop_body()
        return (yield from self.redirected(Select, (name, words, body), start))

    def loop_head(self) -> Steps[tuple[str, tuple[Word, ...] | None]]:
        """loop_head: name (';' | newline* ['in' word* (';' | newline)]) ."""
        name = yield from self.name()
        if self.skip_blanks() == ";":
            self.pos += 1
            return name, None
        over_lines = self.text[self.pos] == "\n"
        self.skip_gap()
        word = self.plain_word()
        if word == "{" and not over_lines:
            self.unexpected("`do`")
        if word != "in":
            return name, None
        if over_lines and self.in_case:  # bash takes it for that of the `case`
            self.unexpected("`do`")
        self.pos = self.word_end
        words: list[Word] = []
        self.skip_blanks()
        if self.esacs and self.plain_word() == "esac":
            self.unexpected("a word")
        while self.at_word():
            words.append((yield from self.word()))
            self.skip_blanks()
        if self.text[self.pos] == ";":
            self.pos += 1
        elif self.text[self.pos] != "\n":
            self.unexpected("`;` or a newline")
        return name, tuple(words)

    def name(self) -> Steps[str]:
        """A word that names something, as it is written (bash looks at what it holds only when it runs)."""
        if not self.at_word():
            self.unexpected("a name")
        start = self.pos
        word = yield from self.word()
        return plain_text(word) or self.text[start : self.pos]

    def arithmetic_for(self, start: int) -> Steps[Statement]:
        """arithmetic_for: 'for' '((' [expression] ';' [expression] ';' [expression] '))' [';'] loop_body ."""
        self.pos += 1
        opened, self.opened = self.opened, []
        expressions: list[Word] = []
        while not expressions or self.text[self.pos] == ";":
            self.pos += 1
            expressions.append((yield from self.word(EXPRESSION_OF_FOR)))
        self.opened = opened
        if not self.text.startswith("))", self.pos):
            self.pos += self.text[self.pos] == ")"
            self.skip_blanks()
            yield from self.misplaced("`))`")
        elif len(expressions) != _EXPRESSIONS or any(map(_loses_place, expressions)):
            self.unexpected("three expressions and `))`")
        else:
            self.pos += 2
        if self.skip_blanks() == ";":
            self.pos += 1
        body = yield from self.loop_body()
        return (yield from self.redirected(ArithmeticFor, (tuple(expressions), body), start))

    def case_clause(self) -> Steps[Statement]:
        """case_clause: 'case' word newline* 'in' newline* arm* 'esac' ."""
        start = self.pos
        self.in_case = True
        self.pos = self.word_end
        self.skip_blanks()
        if not self.at_word():
            self.unexpected("a word")
        word = yield from self.word()
        self.skip_gap()
        self.keyword("in")
        self.esacs += 1
        empty = self.skip_blanks() != "\n" and self.plain_word() == "esac"
        arms: list[CaseArm] = []
        while self.skip_gap() != END and self.plain_word() != "esac":
            arms.append((yield from self.arm()))
            if not arms[-1].terminator:
                break
        self.keyword("esac")
        self.in_case = empty  # then bash forgets to leave the case
        self.esacs -= 1
        return (yield from self.redirected(Case, (word, tuple(arms)), start))

    def arm(self) -> Steps[CaseArm]:
        """arm: ['('] pattern ('|' pattern)* ')' list? (';;' | ';&' | ';;&')? ."""
        start = self.pos
        if self.text[start] == "(":
            self.pos += 1
        patterns = yield from self.patterns()
        if self.inside and self.text[start] == "(" and patterns and plain_text(patterns[0]) == "esac":
            self.changes[start] = start + 1, ""  # bash prints no `(`, and reads the end of the `case` then
        body = yield from self.statements()
        found = _terminator(self.text, self.pos)
        terminator = ""
        if found is not None:
            self.pos, terminator = found.end(), found[0].replace("\\\n", "")
        return new(CaseArm, (patterns, body, terminator, start + self.base, self.pos + self.base))

    def patterns(self) -> Steps[tuple[Word, ...]]:
        """Pattern ('|' pattern)* ')' ."""
        found: list[Word] = []
        while not found or self.text[self.pos] == "|":
            self.pos += bool(found)
            self.skip_blanks()
            if not self.at_word():
                self.unexpected("a pattern")
                break
            found.append((yield from self.word()))
            self.skip_blanks()
        if self.text[self.pos] == ")":
            self.pos += 1
        else:
            self.unexpected("`)`")
        return tuple(found)

    # ------------------------------------------------------------------------------------------------------- conditions
    def condition(self) -> Steps[Statement]:
        """condition: '[[' expression ']]' ."""
        start = self.pos
        self.pos = self.word_end
        words, operators = yield from self.expression()
        return (yield from self.redirected(Condition, (words, operators), start))

    # ------------------------------------------------------------------------------------------ functions, coprocesses
    def function_parentheses(self, name: str, start: int) -> Steps[Statement]:
        """function: word '(' ')' newline* compound redirect* ."""
        self.pos += 1
        if self.skip_blanks() == ")":
            self.pos += 1
        else:
            self.unexpected("`)`")
        return (yield from self.function_body(name.replace("\\\n", ""), start))

    def function_body(self, name: str, start: int) -> Steps[Statement]:
        """newline* compound redirect* ."""
        self.skip_gap()
        word = "(" if self.text[self.pos] == "(" else self.plain_word()
        if word not in _BODIES:
            self.unexpected("a compound command")
        body = yield from self.compound(word)
        return new(Function, (name, body, start, body.end))

    def function_clause(self) -> Steps[Statement]:
        """function_clause: 'function' name ['(' ')'] newline* compound redirect* ."""
        start = self.pos + self.base
        self.pos = self.word_end
        self.skip_blanks()
        name = yield from self.name()
        self.skip_blanks()
        found = _empty_parentheses(self.text, self.pos)
        if found is not None:
            self.pos = found.end()
        return (yield from self.function_body(name, start))

    def coprocess(self) -> Steps[Statement]:
        """coprocess: 'coproc' (simple | [name] compound redirect*) ; after a name, too, words may be reserved."""
        start = self.pos + self.base
        self.pos = self.word_end
        self.skip_blanks()
        name = "COPROC"
        word = self.opening_word()
        if word:
            body = yield from self.body_of_coprocess(word)
        elif not self.at_word() or assignment_start(self.text, self.pos):
            body = yield from self.whole(self.simple())
        else:
            begin = self.pos
            first = yield from self.word()
            name = plain_text(first) or self.text[begin : self.pos]
            self.skip_blanks()
            word = self.opening_word()
            if word in _BODIES:
                body = yield from self.compound(word)
            else:
                name = "COPROC"
                body = yield from self.simple_of_coprocess(first, word)
        return new(Coprocess, (name, body, start, body.end))

    def opening_word(self) -> str:
        """The reserved word or `(` that stands here, or empty; `time` is a word after `coproc` [bash -n]."""
        if self.text[self.pos] == "(":
            return "("
        word = self.plain_word()
        return word if word in self.dialect.reserved and word != "time" else ""

    def body_of_coprocess(self, word: str) -> Steps[Statement]:
        """A compound command that is no function and no coprocess."""
        if word not in _BODIES:
            self.unexpected("a command")
        return (yield from self.compound(word))

    def simple_of_coprocess(self, first: Word, reserved: str) -> Steps[Statement]:
        """The rest of a simple command after its first word; assignments may follow, which are arguments."""
        if reserved:
            return new(SimpleCommand, ((), (first,), (), first.start, first.end))
        words = [first]
        while assignment_start(self.text, self.pos):
            item = yield from self.assignment(may_be_array=True)
            words.append(item if isinstance(item, Word) else assigning_word(item))
            self.skip_blanks()
        return (yield from self.whole(self.simple(*words)))


_Compound = TypeVar("_Compound", bound=Statement)
_EXPRESSIONS = 3


def _loses_place(expression: Word) -> bool:
    """Whether bash, which looks for the `;` of a `for ((` by counting parentheses, finds others in a substitution.

    The `)` after a pattern makes it lose its place, unless as many `(` are open around it; what nests deeper in words
    of the substitution is read, not counted.
    """
    if any(isinstance(part, Literal) and "${" in part.text for part in expression.parts):
        return False  # what is in braces is read
    if any(isinstance(node, Heredoc) for node in walk(expression)):
        return False  # bash counts in their bodies too, whatever they hold
    pending: list[tuple[Any, int]] = [
        (part.body, 0) for part in expression.parts if isinstance(part, CommandSubstitution) and not part.backtick
    ]
    while pending:
        node, opened = pending.pop()
        if isinstance(node, Case) and len(node.arms) > opened:
            return True
        if isinstance(node, tuple) and not isinstance(node, CommandSubstitution | DoubleQuoted):
            opened += isinstance(node, Subshell | ProcessSubstitution)
            pending.extend((child, opened) for child in node)
    return False


_AFTER_REDIRECTS = frozenset("\n;&|)\0")
_terminator = re.compile(r";(?:\\\n)*+;(?:(?:\\\n)*+&)?|;(?:\\\n)*+&").match
_empty_parentheses = re.compile(r"\((?:[ \t]|\\\n)*+\)").match
_COMPOUNDS: dict[str, Callable[[Parser], Steps[Any]]] = {
    "(": Parser.parentheses,
    "{": Parser.group,
    "[[": Parser.condition,
    "if": Parser.if_clause,
    "while": Parser.while_clause,
    "until": Parser.while_clause,
    "for": Parser.for_clause,
    "select": Parser.select_clause,
    "case": Parser.case_clause,
    "function": Parser.function_clause,
    "coproc": Parser.coprocess,
}
_BODIES = _COMPOUNDS.keys() - {"function", "coproc"}
# What ends with a keyword behind a `;` or newline, and cannot be words and another command.
_NOT_AFTER_FIRST = frozenset(("{", "if", "while", "until", "function"))
_WORDS_AFTER_FIRST = frozenset(("case", "for", "select"))
_compound_coprocess = re.compile(
    rf"coproc(?:[ \t]|\\\n)++(?:[^ \t\n|&;()<>\0]++(?:[ \t]|\\\n)++)?(?:\(|{one_of('{ if while until')}{_BREAK})"
).match
