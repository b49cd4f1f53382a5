"""The laws of judging shell text, over the shipped rules: disguises and surroundings never loosen an answer."""

from __future__ import annotations

from functools import cache

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fuzz.carriers import CARRIERS
from fuzz.choices import Drawn
from fuzz.grammar import generate
from fuzz.payloads import OBSCURING, QUOTINGS, payload
from fuzz.standing import PROFILES, Standing, decided, standing, standing_of
from fuzz.surroundings import WRAPPERS
from policyengine.config import source_files
from policyengine.config.compiler import read_documents
from policyengine.config.examples import rule_examples
from policyengine.config.specs import examples
from policyengine.effects import FATAL_CAUSES, Opaque
from policyengine.model import Decision, Outcome
from policyengine.shell import split_commands
from policyengine.shell.interpret.builtins import BUILTINS

EXAMPLES = 150
LAW = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
_INSIDE = BUILTINS.keys() | frozenset(  # what a wrapper cannot run
    ["!", "[[", "case", "coproc", "for", "function", "if", "select", "then", "time", "until", "while", "{", "}"]
)


@cache
def _texts() -> tuple[str, ...]:
    """Every command that the shipped rules and descriptions show."""
    files = source_files()
    shown = [str(dict(one.request.arguments or {}).get("command", "")) for one in rule_examples(files, "workstation")]
    documents = read_documents(files)["commands"]
    return tuple(dict.fromkeys([*filter(None, shown), *(one.command for one in examples(documents))]))


@cache
def _external() -> tuple[str, ...]:
    """Those that are one call of a program outside the shell, of words that depend on nothing."""
    found = [(text, payload(text).words) for text in _texts()]
    return tuple(text for text, words in found if words and "$'" not in text and words[0] not in _INSIDE)


def _answers(text: str) -> tuple[Standing, ...]:
    return tuple(standing(text, profile) for profile in PROFILES)


def _at_least(text: str, plain: str) -> None:
    loosened = [
        (profile, got.name, wanted.name)
        for profile, got, wanted in zip(PROFILES, _answers(text), _answers(plain), strict=True)
        if got < wanted
    ]
    assert not loosened, (text, plain)


EXTERNAL = st.sampled_from(_external())
WRAPPER, CARRIER = st.sampled_from(sorted(WRAPPERS)), st.sampled_from(sorted(CARRIERS))


@st.composite
def _scripts(draw: st.DrawFn) -> str:
    return generate(Drawn(lambda most: draw(st.integers(0, most)))).text


_PIECES = ["rm", " ", "$(", ")", "'", '"', "`", "{", "}", "|", "&&", "<<E\n", "E\n", "$x", "\\", "é", ";"]
TEXTS = st.one_of(
    st.sampled_from(_texts()),
    st.lists(st.sampled_from(_PIECES), max_size=12).map("".join),
    st.text(max_size=30),
)


@settings(LAW, max_examples=3 * EXAMPLES)
@given(EXTERNAL, WRAPPER)
def test_wrapping_never_loosens(plain: str, wrapper: str) -> None:
    wrapped = WRAPPERS[wrapper](payload(plain))
    assume(wrapped)
    _at_least(wrapped, plain)


@LAW
@given(EXTERNAL, WRAPPER, WRAPPER)
def test_wrapping_twice_never_loosens(plain: str, inner: str, outer: str) -> None:
    wrapped = WRAPPERS[inner](payload(plain))
    assume(wrapped)
    twice = WRAPPERS[outer](payload(wrapped))
    assume(twice)
    _at_least(twice, plain)


@settings(LAW, max_examples=3 * EXAMPLES)
@given(EXTERNAL, CARRIER)
def test_carrying_the_text_to_a_shell_never_loosens(plain: str, carrier: str) -> None:
    carried = CARRIERS[carrier](payload(plain))
    assume(carried)
    _at_least(carried, plain)


@LAW
@given(EXTERNAL, st.sampled_from(sorted(QUOTINGS)))
def test_quoting_never_loosens(plain: str, quoting: str) -> None:
    quoted = QUOTINGS[quoting](payload(plain).words)
    assume(quoted)
    _at_least(quoted, plain)


@LAW
@given(EXTERNAL, st.sampled_from(("single", "double", "escape", "every-word")))
def test_quoting_plain_command_and_option_words_never_changes_the_answer(plain: str, quoting: str) -> None:
    assert quoting not in OBSCURING
    words = payload(plain).words
    assume(not set("~*?[{") & set("".join(words)))
    assert _answers(QUOTINGS[quoting](words)) == _answers(plain)


@LAW
@given(TEXTS)
def test_spans_lie_inside_the_source(text: str) -> None:
    decision = decided(text, "workstation")
    spans = [one.span for one in (*decision.effects, *decision.findings) if one.span is not None]
    assert all(0 <= start <= end <= len(text) for start, end in spans)


def _opaque(decision: Decision) -> set[object]:
    return {effect.cause for effect in decision.effects if isinstance(effect, Opaque)}


@LAW
@given(TEXTS)
def test_what_is_not_understood_is_not_allowed_where_somebody_can_be_asked(text: str) -> None:
    decision = decided(text, "workstation")
    assert not _opaque(decision) or decision.outcome > Outcome.ALLOW


@LAW
@given(TEXTS)
def test_broken_and_excessive_text_is_allowed_nowhere(text: str) -> None:
    decision = decided(text, "sandbox")
    assert not _opaque(decision) & FATAL_CAUSES or decision.outcome is Outcome.DENY


@LAW
@given(TEXTS, st.sampled_from(PROFILES))
def test_a_decision_is_a_function_of_its_request(text: str, profile: str) -> None:
    one, other = decided(text, profile), decided(text, profile)
    assert (one.outcome, one.findings, one.effects) == (other.outcome, other.findings, other.effects)
    assert standing_of(one, profile) is standing_of(other, profile)


@LAW
@given(st.one_of(TEXTS, _scripts()), st.booleans())
def test_parts_of_a_split_are_slices_in_order(text: str, pipes: bool) -> None:
    parts = split_commands(text, pipes).parts
    assert all(part.text == text[part.start : part.end] for part in parts)
    ends = [0, *(edge for part in parts for edge in (part.start, part.end)), len(text)]
    assert ends == sorted(ends)


@LAW
@given(_scripts())
def test_any_script_of_the_grammar_is_judged(text: str) -> None:
    assert decided(text, "workstation").outcome in Outcome
