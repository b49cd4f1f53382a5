"""`policyengine replay`: recorded requests are decided again, by other rules, and what would change is printed.

A record carries its request only under `--audit-detail full` (`audit.Detail.FULL`); others are counted and left out.
Each is decided in the state that its run was in: what a run did is followed from its first record, by the outcomes that
were recorded. Where a host changed the state besides, the latest that is known stands in, and that is counted. Policies
that a host adds (roles, OPA, skills) are asked only as far as `--setup` names them. Grants that were used are offered
again, for the effects that they covered.

Ends with 0 where nothing would change, 1 where something would, 65 where nothing could be decided again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from policyengine.audit import Detail, Standing, entries, verify
from policyengine.audit.records import request_of
from policyengine.cli.audit import read_keys
from policyengine.cli.core import open_runs
from policyengine.cli.paint import OUTCOME_STYLES, Paint, Style
from policyengine.cli.status import Status
from policyengine.cli.wire import Json, dumps, thaw
from policyengine.effects import as_json
from policyengine.engine import Engine
from policyengine.errors import AuditError, RequestError
from policyengine.model import Decision, Grant, Outcome, Request, Tier
from policyengine.policy import placeless
from policyengine.records import NamedTuple, replace
from policyengine.state import START, RunState, after
from policyengine.visible import visible

OUTCOMES = {outcome.word: outcome for outcome in Outcome}
MAX_STATES = 16  # of one run that are kept, the latest


class Change(NamedTuple):
    """A decision that would be another one."""

    at: float
    request: Request
    before: Outcome
    now: Outcome
    gone: tuple[str, ...]  # rules that said something and would not
    new: tuple[str, ...]  # rules that would say something and did not


class Replay:
    """Decides records again, in their order."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._states: dict[str, dict[int, RunState]] = {}
        self.counts: Counter[str] = Counter()  # how many were `replayed`, and why others were left out

    def change(self, at: float, record: Mapping[str, Any]) -> Change | None:
        """Decide once more what a record of a decision is about; None where nothing would change, or it cannot be done.

        Raises:
            AuditError: the record is of another format.
        """
        if record["values"] is None:
            self.counts["no request" if record["request"] is None else Detail.REDACTED.value] += 1
            return None
        request = request_of(record["values"])
        if request.digest != record["request"]["digest"]:
            self.counts["digest"] += 1
            return None
        state = self._state(request, record["state_version"])
        self.counts["replayed"] += 1
        before = OUTCOMES[record["outcome"]]
        decision = self._decided(request, state, record)
        self._follow(request, state, decision, before)
        rules = {finding["rule"] for finding in record["findings"]}
        later = {finding.rule for finding in decision.findings}
        if decision.outcome is before and (rules == later or record["findings_left_out"]):
            return None
        return Change(at, request, before, decision.outcome, tuple(sorted(rules - later)), tuple(sorted(later - rules)))

    def _state(self, request: Request, version: int) -> RunState:
        """The state of that version, or the latest one before it that is known."""
        known = self._states.get(request.context.scope_id, {})
        earlier = max((one for one in known if one <= version), default=None)
        state = START if earlier is None else known[earlier]
        if state.version == version:
            return state
        self.counts["approximate"] += 1
        return replace(state, version=version)

    def _decided(self, request: Request, state: RunState, record: Mapping[str, Any]) -> Decision:
        decision = self._engine.decide(request, state)[0]
        if decision.outcome is not Outcome.ASK or not record["grants"]:
            return decision
        return self._engine.decide(request, state, [_grant(one, decision) for one in record["grants"]])[0]

    def _follow(self, request: Request, state: RunState, decision: Decision, outcome: Outcome) -> None:
        """Let the run go on as it did, whatever would be decided now."""
        scope = request.context.scope_id
        if not scope:
            return
        states = self._states.setdefault(scope, {})
        facts = self._engine.analyze(request, state)
        states[state.version + 1] = after(state, facts, replace(decision, outcome=outcome))
        while len(states) > MAX_STATES:
            del states[min(states)]


def _grant(recorded: Mapping[str, Any], decision: Decision) -> Grant:
    """The grant that was used, for those of its effects that the call has."""
    covered = recorded["effects"]
    effects = frozenset(effect for effect in decision.effects if _plain(effect) in (covered or ()))
    return Grant(
        source=recorded["source"],
        tier=Tier[recorded["tier"].upper()],
        rules=frozenset(recorded["rules"]),
        effects=None if covered is None else effects,
    )


def _plain(effect: Any) -> Json:
    """An effect as a record holds it, wherever it stands in a text."""
    plain: Json = json.loads(dumps(as_json(placeless(effect))))
    return plain


def run(options: argparse.Namespace) -> int:
    """Print what would change."""
    keys = read_keys(options)
    report = verify(options.path, keys)
    if report.standing is not Standing.SOUND:
        raise AuditError("audit.unsound", f"the log is {report.standing.word}: see `policyengine audit verify`")
    replay = Replay(open_runs(options).engine)
    changes = []
    for entry in entries(options.path, keys):
        for record in decisions_of(entry.record):
            try:
                change = replay.change(entry.at, record)
            except (KeyError, RequestError, AuditError):
                replay.counts["format"] += 1
                continue
            if change is not None:
                changes.append(change)
                _print(change, options)
    _print_summary(replay.counts, changes, options)
    if not replay.counts["replayed"]:
        return Status.DATA
    return Status.ASK if changes else Status.ALLOW


def decisions_of(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The decisions that a record holds: one, or those of a reply that were denied, since others come once more."""
    if record.get("type") == "decision":
        yield record
    elif record.get("type") == "reply":
        yield from (one for one in record["decisions"] if one["outcome"] == Outcome.DENY.word)


def _print(change: Change, options: argparse.Namespace) -> None:
    request = change.request
    if options.json:
        said = {"at": change.at, "tool": request.resource.id, "arguments": thaw(request.arguments)}
        more = {"before": change.before.word, "now": change.now.word, "gone": change.gone, "new": change.new}
        print(dumps(said | {"digest": request.digest} | more))
        return
    paint = Paint(sys.stdout)
    before, now = (paint(outcome.word, OUTCOME_STYLES[outcome]) for outcome in (change.before, change.now))
    shown = request.arguments or {}
    text = shown["command"] if set(shown) == {"command"} else dumps(thaw(shown))
    print(f"{before} -> {now}  {visible(request.resource.id)}  {visible(str(text))}")
    for sign, rules in (("-", change.gone), ("+", change.new)):
        for rule in rules:
            print(f"    {paint(sign, Style.FAINT)} {visible(rule)}")


WHY = {
    Detail.REDACTED.value: "were recorded without values (--audit-detail full keeps them)",
    "no request": "were about no valid request",
    "digest": "could not be restored exactly",
    "approximate": "were decided in the latest state of their run that is known",
    "format": "are of another version",
}


def _print_summary(counts: Mapping[str, int], changes: list[Change], options: argparse.Namespace) -> None:
    milder = sum(change.now < change.before for change in changes)
    stricter = sum(change.now > change.before for change in changes)
    if options.json:
        print(dumps({"counts": dict(counts), "changed": len(changes), "milder": milder, "stricter": stricter}))
        return
    print(f"{counts['replayed']} decided again: {milder} milder, {stricter} stricter, "
          f"{len(changes) - milder - stricter} for other reasons")  # fmt: skip
    for why, told in WHY.items():
        if counts[why]:
            print(f"{counts[why]} {told}")
