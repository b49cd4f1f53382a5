"""The real OPA server: what it answers, and what becomes of it when it is killed."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyengine.effects import Connect, Facts, FileWrite
from policyengine.errors import LoadError, UsageError
from policyengine.model import Outcome, Principal, Request, Verdict
from policyengine.policies.opa import Administration, Opa, Server
from policyengine.records import replace
from policyengine.state import START, Label
from tests.policies.opa.servers import RULES, Real, asked, call, code, running
from tests.policies.opa.test_impostors import SLACK

ENGINEER = Principal(id="dev", roles=("engineer",))
NOTHING = Facts()
GENEROUS = 20.0  # seconds; for what is not about time


def both(server: Server, rule: str, request: Request, facts: Facts = NOTHING, deadline: float = GENEROUS) -> Verdict:
    """What both faces say, which has to be the same."""
    policy = Opa(server, rule, deadline=deadline)
    first = policy.evaluate(request, facts, START)

    async def again() -> Verdict:
        verdict = await policy.aevaluate(request, facts, START)
        await policy.aclose()
        return verdict

    second = asyncio.run(again())
    policy.close()
    assert first == second
    return first


@pytest.fixture
def policy(real: Real) -> Iterator[Opa]:
    made = Opa(real.server, "agent.tools.allow", deadline=GENEROUS)
    yield made
    made.close()


def test_the_sample_policy_passes_its_own_tests(opa_program: str) -> None:
    done = subprocess.run([opa_program, "test", "--v1-compatible", RULES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS: 14/14" in done.stdout


def test_the_sample_policy_is_strict_and_formatted(opa_program: str) -> None:
    subprocess.run([opa_program, "check", "--strict", "--v1-compatible", RULES], check=True, capture_output=True)
    subprocess.run([opa_program, "fmt", "--fail", "--list", RULES], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("request_", "facts", "expected"),
    [
        (call(principal=ENGINEER), Facts((FileWrite("/workspace/a"),)), ""),
        (call(principal=ENGINEER), Facts((FileWrite("/etc/a"),)), "opa.denied"),
        (call(principal=ENGINEER), Facts((Connect("docs.example.test"),)), ""),
        (call(principal=ENGINEER), Facts((Connect("elsewhere.test"),)), "opa.denied"),
        (call(), Facts(), "opa.denied"),
        (call("rm_rf", principal=ENGINEER), Facts(), "opa.denied"),
    ],
)
def test_the_sample_policy_judges_real_requests(real: Real, request_: Request, facts: Facts, expected: str) -> None:
    assert code(both(real.server, "agent.tools.allow", request_, facts)) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("odd.careless", "opa.builtin-error"),  # `default := true`, and a built-in function that fails
        ("odd.refuses", "opa.denied"),
        ("odd.text", "opa.not-boolean"),
        ("odd.number", "opa.not-boolean"),
        ("odd.list", "opa.not-boolean"),
        ("odd.nothing", "opa.not-boolean"),
        ("odd.no_default", "opa.undefined"),
        ("odd.nosuch", "opa.undefined"),
        ("nosuch.allow", "opa.undefined"),
        ("agent.tools", "opa.not-boolean"),  # a package is an object
        ("odd.text.allow", "opa.http-error"),  # a path below a text
    ],
)
def test_each_way_not_to_answer_has_its_code(real: Real, rule: str, expected: str) -> None:
    verdict = both(real.server, rule, call())
    assert (verdict.outcome, code(verdict)) == (Outcome.DENY, expected)


def test_a_slow_policy_ends_with_the_deadline(real: Real) -> None:
    policy = Opa(real.server, "odd.slow", deadline=1.5)
    start = time.monotonic()
    verdict = asked(policy)
    assert (verdict.outcome, code(verdict)) == (Outcome.DENY, "opa.timeout")
    assert time.monotonic() - start < policy.deadline + SLACK
    policy.close()


@pytest.mark.parametrize(
    "text", ["plain", "ümläut ☃ 𝄞", 'quote " back \\ nul-free \x01\x1f', "\u2028\ufeff", "<&>", "x" * 100_000]
)
def test_text_reaches_the_policy_as_it_is(real: Real, text: str) -> None:
    assert code(both(real.server, "odd.echo", call(expected=text, given=text))) == ""
    assert code(both(real.server, "odd.echo", call(expected=text, given=text + "!"))) == "opa.denied"


def test_half_a_surrogate_pair_is_not_sent(real: Real) -> None:
    assert code(both(real.server, "odd.echo", call(expected="\ud800", given="\ufffd"))) == "opa.input-not-text"


def test_too_large_an_input_is_not_sent(real: Real) -> None:
    assert code(both(real.server, "odd.echo", call(expected="x" * 3_000_000))) == "opa.input-too-large"


def test_nothing_is_asked_about_a_tool_without_arguments() -> None:
    policy = Opa(Server(port=1), "agent.tools.allow")
    assert asked(policy, replace(call(), arguments=None)).outcome is Outcome.ALLOW


def test_what_the_run_has_read_reaches_the_policy(policy: Opa) -> None:
    request, facts = call(principal=ENGINEER), Facts((Connect("docs.example.test"),))
    assert policy.evaluate(request, facts, START).outcome is Outcome.ALLOW
    after = replace(START, labels=frozenset({Label.SECRETS}))
    assert code(policy.evaluate(request, facts, after)) == "opa.denied"


def test_a_unix_socket_answers_like_a_port(real: Real) -> None:
    server = Server(unix=str(real.unix))
    assert code(both(server, "agent.tools.allow", call(principal=ENGINEER))) == ""
    assert code(both(server, "odd.nosuch", call())) == "opa.undefined"


def test_a_name_is_looked_up(real: Real) -> None:
    assert code(both(Server(host="localhost", port=real.server.port), "odd.refuses", call())) == "opa.denied"


def test_a_killed_server_denies_and_a_new_one_is_found(opa_program: str, tmp_path: Path) -> None:
    rule = tmp_path / "yes.rego"
    rule.write_text("package yes\n\nimport rego.v1\n\nallow := true\n")
    with running(opa_program, tmp_path, rule) as real:
        policy = Opa(real.server, "yes.allow", deadline=GENEROUS)
        assert code(asked(policy)) == ""
        real.stop()
        assert code(asked(policy)) == "opa.refused"
        with running(opa_program, tmp_path / "again", rule, port=real.server.port):
            assert code(asked(policy)) == ""
    policy.close()


def test_a_server_killed_under_load_denies_every_later_call(opa_program: str, tmp_path: Path) -> None:
    rule = tmp_path / "yes.rego"
    rule.write_text("package yes\n\nimport rego.v1\n\nallow := true\n")
    answers: list[tuple[float, str]] = []
    killed = threading.Event()

    def load(policy: Opa) -> None:
        for _ in range(400):
            start = time.monotonic()
            said = code(asked(policy))
            answers.append((time.monotonic() - start, said))
            if killed.is_set() and said:
                return

    with running(opa_program, tmp_path, rule) as real:
        policy = Opa(real.server, "yes.allow", deadline=2.0)
        threads = [threading.Thread(target=load, args=(policy,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(answers) < 40:
            time.sleep(0.005)
        real.stop()
        killed.set()
        for thread in threads:
            thread.join()
        assert code(asked(policy)) == "opa.refused"
    policy.close()
    assert {said for _, said in answers} <= {"", "opa.refused", "opa.closed"}
    assert max(took for took, _ in answers) < 2.0 + SLACK


def test_many_threads_and_tasks_get_their_own_answers(real: Real) -> None:
    policy = Opa(real.server, "odd.echo", deadline=GENEROUS)
    wrong: list[int] = []

    def ask(start: int) -> None:
        for number in range(start, start + 50):
            same = number % 2 == 0
            said = asked(policy, call(expected=str(number), given=str(number) if same else "other"))
            if (said.outcome is Outcome.ALLOW) is not same:
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(0, 400, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def task(number: int) -> bool:
        given = str(number) if number % 2 == 0 else "other"
        said = await policy.aevaluate(call(expected=str(number), given=given), Facts(), START)
        return (said.outcome is Outcome.ALLOW) is (number % 2 == 0)

    async def tasks() -> list[bool]:
        answers = await asyncio.gather(*[task(number) for number in range(200)])
        await policy.aclose()
        return answers

    assert all(asyncio.run(tasks()))
    assert wrong == []
    policy.close()


# ------------------------------------------------------------------------------------------------------ administration
def test_policies_and_data_are_uploaded(real: Real) -> None:
    pytest.importorskip("opa_client")
    administration = Administration(real.server)
    assert administration.is_healthy()
    administration.put_data("uploaded", {"names": ["bash"]})
    administration.put_policy(
        "uploaded", "package uploaded_rules\n\nimport rego.v1\n\nallow if input.resource.id in data.uploaded.names\n"
    )
    assert code(both(real.server, "uploaded_rules.allow", call("bash"))) == ""
    assert code(both(real.server, "uploaded_rules.allow", call("sh"))) == "opa.undefined"
    administration.close()


@pytest.mark.parametrize(
    "rego", ["package a\n\nallow = true {", "package b\n\nimport rego.v1\n\nallow { true }\n", "nonsense"]
)
def test_a_policy_that_does_not_compile_is_refused_and_not_rewritten(real: Real, rego: str) -> None:
    pytest.importorskip("opa_client")
    administration = Administration(real.server)
    with pytest.raises(LoadError, match="did not take it"):
        administration.put_policy("broken", rego)
    administration.close()


@pytest.mark.parametrize("name", ["../data", "a?b", "a b", "", "a//b", "a/..", "%2e%2e"])
def test_a_name_for_an_upload_is_checked(real: Real, name: str) -> None:
    pytest.importorskip("opa_client")
    administration = Administration(real.server)
    with pytest.raises(UsageError):
        administration.put_data(name, {})
    administration.close()


def test_nobody_there_is_not_healthy() -> None:
    pytest.importorskip("opa_client")
    administration = Administration(Server(port=1))
    assert not administration.is_healthy()
    with pytest.raises(LoadError):
        administration.put_data("x", {})
    administration.close()
