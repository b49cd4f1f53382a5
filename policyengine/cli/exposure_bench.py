"""`policyengine bench --suite exposure`: what it costs to say which of 200 tools a model may see.

The catalogue is half a host's own tools and half those of servers, some deferred. A role grants most of them by name
or prefix, out of 10,000 grant lines; the tool policy is strict over declarations and annotations; three layers select.
Beside the whole stand its parts: each policy alone, and `Engine.evaluate_tool` asked about one tool after the other,
with which the answers are compared. Times are CPU times of the thread, each of a whole fresh exposure.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping

from policyengine.cli.quantiles import Cost, cost_of
from policyengine.cli.wire import Json, dumps
from policyengine.config.rbac import MODEL, POLICY, shipped_folder
from policyengine.config.rbac.lines import CsvLines
from policyengine.config.rbac.loading import rbac_of
from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.engine.exposure import Catalogue, exposed
from policyengine.model import Context, Exposure, Outcome, Principal, Request, Resource, ResourceKind
from policyengine.policies.rbac import Rbac
from policyengine.policies.tool import STRICT, Layer, Metadata, Selection, SideEffect, ToolPolicy, When
from policyengine.policy import Policy
from policyengine.records import replace

TOOLS = 200
ROLES = 500  # of 20 grant lines each
SECONDS = 4.0
MAX_SAMPLES = 5_000
WARM_UP = 20
OUTWARD = frozenset({SideEffect.NETWORK, SideEffect.EXTERNAL_SERVICE})


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    catalogue, request = _catalogue(), _request()
    rbac, tools, selection = _rbac(), _tools(), _selection()
    whole = _engine(rbac, tools, selection)
    shown = exposed(whole, request, catalogue)
    _check(whole, request, shown, catalogue)
    costs = {str(TOOLS): _measured(lambda: exposed(whole, request, catalogue))}
    references = {
        "rbac": _measured(_alone(rbac, request, catalogue)),
        "tool": _measured(_alone(tools, request, catalogue)),
        "selection": _measured(_alone(selection, request, catalogue)),
        "one by one": _measured(lambda: [whole.evaluate_tool(one) for one in _each(request, catalogue)]),
    }
    counts = {"visible": len(shown.visible), "deferred": len(shown.deferred), "hidden": len(shown.hidden)}
    if options.json:
        parts: Json = {name: cost._asdict() for name, cost in references.items()}
        print(dumps({"exposure": {name: cost._asdict() for name, cost in costs.items()}, "reference": parts | counts}))
    else:
        print("\n".join(_table(costs, references, counts)))
    return 0


# ------------------------------------------------------------------------------------------------------ what is asked
def _names() -> list[str]:
    own = [f"tool_{number}" for number in range(TOOLS // 2)]
    return own + [f"mcp__server{number % 5}__tool_{number}" for number in range(TOOLS - len(own))]


def _catalogue() -> Catalogue:
    names = _names()
    return Catalogue(names=tuple(names), deferred=frozenset(names[TOOLS // 2 :: 2]))


def _request() -> Request:
    return Request(
        principal=Principal(id="ada", roles=("role7",)),
        action="invoke",
        resource=Resource(ResourceKind.TOOL, ""),
        arguments=None,
        context=Context(tags=frozenset({"background"}), depth=1, model="large"),
    )


def _rbac() -> Rbac:
    with open(f"{shipped_folder()}/{MODEL}", encoding="utf-8") as file:
        model = file.read()
    return rbac_of(model, MODEL, CsvLines("\n".join(_lines()), POLICY))


def _lines() -> Iterator[str]:
    for role in range(ROLES):
        yield f"p, role{role}, *, tool, mcp__server{role % 5}__*, *, allow"
        yield f"p, role{role}, *, tool, mcp__server{(role + 1) % 5}__*, *, allow"
        yield f"p, role{role}, *, tool, tool_*, *, allow"
        yield f"p, role{role}, *, tool, tool_{role % 100}, *, deny"
        yield from (f"p, role{role}, *, tool, other_{number}, *, allow" for number in range(16))


def _tools() -> ToolPolicy:
    said = [
        Metadata(classified=True, side_effects=frozenset({SideEffect.READ_ONLY}), max_result_bytes=50_000),
        Metadata(classified=True, side_effects=frozenset({SideEffect.WRITES_FILES})),
        Metadata(classified=True, side_effects=OUTWARD, approval_required=True),
        Metadata(classified=True, side_effects=frozenset({SideEffect.DESTRUCTIVE})),
        Metadata(),
    ]
    names = _names()
    policy = ToolPolicy({name: said[at % len(said)] for at, name in enumerate(names) if at % 10 != 9}, STRICT)
    return policy.hinted({name: {"destructiveHint": at % 2 == 0} for at, name in enumerate(names) if at % 7 == 0})


def _selection() -> Selection:
    return Selection([
        Layer(source="parent", allow=("tool_*", "mcp__*"), deny=("tool_13",)),
        Layer(source="background", deny=("task", "mcp__server4__*"), when=When(tags=frozenset({"background"}))),
        Layer(source="small-models", allow=("tool_1*",), when=When(models=("small*",))),
    ])  # fmt: skip


def _engine(*policies: Policy) -> Engine:
    return Engine(analyze=lambda request, state: Facts(), policies=policies)


def _each(request: Request, catalogue: Catalogue) -> Iterator[Request]:
    return (replace(request, resource=Resource(ResourceKind.TOOL, name)) for name in catalogue.names)


def _check(engine: Engine, request: Request, shown: Exposure, catalogue: Catalogue) -> None:
    for one in _each(request, catalogue):
        name, decision = one.resource.id, engine.evaluate_tool(one)
        denied = decision.outcome is Outcome.DENY
        assert (name in shown.hidden) is denied, f"another answer about {name}"
        assert not denied or shown.hidden[name] == decision.findings, f"other findings about {name}"


# ---------------------------------------------------------------------------------------------------------- measuring
def _alone(policy: Policy, request: Request, catalogue: Catalogue) -> Callable[[], object]:
    engine = _engine(policy)
    return lambda: exposed(engine, request, catalogue)


def _measured(work: Callable[[], object]) -> Cost:
    for _ in range(WARM_UP):
        work()
    samples: list[int] = []
    cpu, end = time.thread_time_ns, time.monotonic() + SECONDS
    while len(samples) < MAX_SAMPLES and time.monotonic() < end:
        start = cpu()
        work()
        samples.append(cpu() - start)
    samples.sort()
    return cost_of(samples, 1)


def _table(costs: Mapping[str, Cost], references: Mapping[str, Cost], counts: Mapping[str, int]) -> Iterator[str]:
    yield f"{'tools':24}{'median us':>12}{'p99 us':>12}{'n':>8}"
    for name, cost in (*costs.items(), *((f"reference {name}", cost) for name, cost in references.items())):
        yield f"{name:24}{cost.p50_us:>12.1f}{cost.p99_us:>12.1f}{cost.n:>8}"
    yield ", ".join(f"{number} {name}" for name, number in counts.items())
