"""`policyengine bench --suite rbac`: what a decision by roles costs with 10 to 1,000,000 grant lines.

Of L lines, ten belong to each role, nine by name and one by a prefix; L people have one role each, by lines of their
own, so that a policy has 2 L lines in all. Half of the questions are granted. Beside ours stand pycasbin, as long as it
ends within the time, and a bare dict that maps a person to a role and a role and tool to a grant.

A sample is a batch of `BATCH` decisions, each about another person and tool, in CPU time of the thread; the figures are
per decision. Nothing is kept between two decisions; the requests are made just before, as in a host.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from policyengine.cli.quantiles import Cost, cost_of
from policyengine.cli.wire import Json, dumps
from policyengine.config.rbac import MODEL, POLICY, shipped_folder
from policyengine.config.rbac.lines import CsvLines
from policyengine.config.rbac.loading import rbac_of
from policyengine.effects import Facts
from policyengine.model import Context, Outcome, Principal, Request, Resource, ResourceKind, Verdict
from policyengine.policies.rbac import Rbac
from policyengine.records import NamedTuple
from policyengine.state import START, RunState

SIZES = (10, 1_000, 100_000, 1_000_000)
PER_ROLE = 10
BATCH = 20
BATCHES = 400
CASE_SECONDS = 2.0
PYCASBIN_UP_TO = 1_000  # beyond, loading it alone takes longer than a suite may
PYCASBIN_SECONDS = 3.0
NO_FACTS = Facts()


class Load(NamedTuple):
    """What loading costs: seconds of CPU time, and how much the process grew by, in MiB (0 where nobody says)."""

    seconds: float
    mib: float


class Question(NamedTuple):
    """A person, a tool, and whether it is granted."""

    person: str
    tool: str
    granted: bool


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    costs: dict[str, Cost] = {}
    references: dict[str, dict[str, Json]] = {"dict": {}, "pycasbin": {}, "load": {}}
    for size in SIZES:
        name, questions = str(size), _questions(size)
        policy, load = _loaded(size)
        _check(_ours(policy), questions[:200])
        costs[name] = _measured(_ours(policy), questions, CASE_SECONDS)
        references["load"][name] = load._asdict()
        del policy
        references["dict"][name] = _measured(_bare(size), questions, CASE_SECONDS)._asdict()
        if size <= PYCASBIN_UP_TO:
            peer = _pycasbin(size)
            _check(peer, questions[:4])  # it builds its roles when it is first asked
            references["pycasbin"][name] = _measured(peer, questions, PYCASBIN_SECONDS, 1)._asdict()
    if options.json:
        print(dumps({"rbac": {name: cost._asdict() for name, cost in costs.items()}, "reference": references}))
    else:
        print("\n".join(_table(costs, references)))
    return 0


# ------------------------------------------------------------------------------------------------------- the policies
def _lines(size: int) -> Iterator[str]:
    for line in range(size):
        role, tool = divmod(line, PER_ROLE)
        name = f"s{role}__t{tool}" if tool else f"s{role}__any_*"
        yield f"p, role{role}, *, tool, {name}, *, allow"
        yield f"g, user:u{line}, role{role}, *"


def _questions(size: int) -> list[Question]:
    """Spread over the policy: of four, one by name and one by prefix are granted, two are another role's."""
    step = max(size // (BATCH * BATCHES), 1)
    asked = []
    for at in range(BATCH * BATCHES):
        person = at * step * 7919 % size
        role = person // PER_ROLE
        tool = (f"s{role}__t{1 + at % 9}", f"s{role}__any_{at}", f"s{role + 1}__t1", f"s{role}__none")[at % 4]
        asked.append(Question(f"u{person}", tool, at % 4 < 2 and (at % 4 == 1 or 1 + at % 9 < size)))
    return asked


def _loaded(size: int) -> tuple[Rbac, Load]:
    folder = shipped_folder()
    with open(os.path.join(folder, MODEL), encoding="utf-8") as file:
        model = file.read()
    text = "\n".join(_lines(size))
    gc.collect()
    before, start = _resident(), time.thread_time()
    policy = rbac_of(model, MODEL, CsvLines(text, POLICY))
    seconds = time.thread_time() - start
    gc.collect()
    return policy, Load(round(seconds, 2), round((_resident() - before) / 2**20, 1))


def _resident() -> int:
    """Bytes of memory of this process that are in RAM; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


# ------------------------------------------------------------------------------------------------------ who is asked
Ask: TypeAlias = Callable[..., object]
Form: TypeAlias = Callable[[Question], tuple[Any, ...]]  # Any: what the asked one takes


def _ours(policy: Rbac) -> tuple[Ask, Form]:
    return policy.evaluate, _asked


def _asked(question: Question) -> tuple[Request, Facts, RunState]:
    request = Request(
        principal=Principal(id=question.person),
        action="invoke",
        resource=Resource(ResourceKind.TOOL, question.tool),
        arguments=None,
        context=Context(),
    )
    return request, NO_FACTS, START


def _bare(size: int) -> tuple[Ask, Form]:
    """The least that Python can do: the roles by name, and the grants by name; it knows no prefixes."""
    roles = {f"u{line}": f"role{line // PER_ROLE}" for line in range(size)}
    grants = {(f"role{line // PER_ROLE}", f"s{line // PER_ROLE}__t{line % PER_ROLE}") for line in range(size)}
    return lambda person, tool: (roles.get(person), tool) in grants, lambda one: (f"{one.person}", f"{one.tool}")


def _pycasbin(size: int) -> tuple[Ask, Form]:
    import casbin  # noqa: PLC0415  a comparator, loaded only here
    from casbin.persist.adapters.string_adapter import StringAdapter  # noqa: PLC0415

    model = casbin.Model()
    model.load_model(os.path.join(shipped_folder(), MODEL))
    enforcer: Any = casbin.Enforcer(model, StringAdapter("\n".join(_lines(size))))
    return enforcer.enforce, lambda one: (f"user:{one.person}", "", "tool", one.tool, "invoke")


# -------------------------------------------------------------------------------------------------------- measuring
def _measured(asked: tuple[Ask, Form], questions: Sequence[Question], seconds: float, batch: int = BATCH) -> Cost:
    """Take samples until the questions or the time are through. What is asked with is made just before, untimed."""
    ask, form = asked
    samples: list[float] = []
    clock, end = time.thread_time_ns, time.monotonic() + seconds
    for at in range(0, len(questions), batch):
        forms = [form(question) for question in questions[at : at + batch]]
        start = clock()
        for question in forms:
            ask(*question)
        samples.append((clock() - start) / len(forms))
        if time.monotonic() > end:
            break
    samples.sort()
    return cost_of(samples, 2)._replace(n=len(samples) * batch)


def _check(asked: tuple[Ask, Form], questions: Sequence[Question]) -> None:
    ask, form = asked
    for question in questions:
        answer = ask(*form(question))
        granted = answer.outcome is Outcome.ALLOW if isinstance(answer, Verdict) else answer
        assert granted is question.granted, f"a wrong answer about {question}"


def _table(costs: dict[str, Cost], references: dict[str, dict[str, Json]]) -> Iterator[str]:
    yield f"{'grant lines':16}{'median us':>12}{'p99 us':>12}{'n':>10}{'dict':>10}{'pycasbin':>12}{'load s':>10}    MiB"
    for name, cost in costs.items():
        bare, load, peer = references["dict"][name], references["load"][name], references["pycasbin"].get(name)
        beside = f"{peer['p50_us']:>12.1f}" if peer else f"{'-':>12}"
        yield (
            f"{name:16}{cost.p50_us:>12.2f}{cost.p99_us:>12.2f}{cost.n:>10}{bare['p50_us']:>10.2f}{beside}"
            f"{load['seconds']:>10.2f}{load['mib']:>9.1f}"
        )
