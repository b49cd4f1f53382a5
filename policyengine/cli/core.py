"""From a command's options to an engine, and from a command's text to its decision."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from policyengine.cli.permissions import engine_with_settings
from policyengine.cli.wire import refusal
from policyengine.config import Ready, ready
from policyengine.engine import Engine
from policyengine.errors import RequestError, StoreError
from policyengine.model import (
    ANONYMOUS,
    Context,
    Decision,
    Request,
    Resource,
    ResourceKind,
    ShellKind,
    freeze_object,
)
from policyengine.records import NamedTuple, replace
from policyengine.state import START, RunState

if TYPE_CHECKING:
    from policyengine.cli.recording import Recorder
    from policyengine.stores import RunStates

MAX_CONFLICTS = 20  # calls of one run that may be decided at the same time, each in a process of its own


class Judged(NamedTuple):
    """A command, what was decided about it, and how many microseconds that took."""

    text: str
    decision: Decision
    micros: float


def open_engine(
    options: argparse.Namespace, projects: Sequence[str] = (), real: Callable[[str], str] | None = None
) -> Engine:
    """Give the engine that the options ask for; see `cli.permissions` for `projects` and `real`.

    Raises:
        LoadError: rules are missing or broken, or there is no such profile.
    """
    return engine_with_settings(options, ready_rules(options), projects, real)


def open_runs(
    options: argparse.Namespace,
    projects: Sequence[str] = (),
    real: Callable[[str], str] | None = None,
    recorder: Recorder | None = None,
) -> Runs:
    """Give what decides by the options, or by the setup file that they name instead; `recorder` keeps what it decides.

    Raises:
        LoadError: rules or the setup are missing or broken.
        UsageError: a setup file and options that say the same.
    """
    if options.setup is None:
        return Runs(open_engine(options, projects, real), recorder)
    from policyengine.cli.setup import runs_of  # noqa: PLC0415  pydantic and YAML, for this alone

    return runs_of(options, real, recorder)


def ready_rules(options: argparse.Namespace) -> Ready:
    """Give the rules that `--profile`, `--rules`, `--no-shipped-rules` and `--organisation-key` ask for.

    Raises:
        LoadError: they are missing or broken, or there is no such profile.
    """
    return ready(
        options.rules, options.profile,
        use_shipped=not options.no_shipped_rules, organisation_keys=options.organisation_key,
    )  # fmt: skip


class Runs:
    """Decides for many runs: requests that share a `context.scope_id` share what their run has done so far."""

    def __init__(self, engine: Engine, recorder: Recorder | None = None, default_role: str = "") -> None:
        self.engine = engine
        self._default_role = default_role
        self._recorder = recorder
        self._states: dict[str, RunState] = {}
        self._store: RunStates | None = None

    def keep_in(self, store: RunStates) -> None:
        """Keep what runs have done where other processes find it, from now on."""
        self._store = store

    def decide(self, request: Request) -> tuple[Decision, float]:
        """Decide one request and record that, and say how many microseconds deciding took.

        Raises:
            StoreError: what the run has done cannot be loaded or kept.
        """
        if self._default_role and not request.principal.roles:
            request = replace(request, principal=replace(request.principal, roles=(self._default_role,)))
        if self._store is not None:
            decision, micros = self._decided_in(self._store, request)
            return self.recorded(decision), micros
        scope = request.context.scope_id
        before = self._states.get(scope, START)
        decision, after, micros = self._decided(request, before)
        recorded = self.recorded(decision)
        if scope:
            self._states[scope] = after if recorded is decision else before
        return recorded, micros

    def _decided(self, request: Request, before: RunState) -> tuple[Decision, RunState, float]:
        start = time.perf_counter_ns()
        try:
            decision, after = self.engine.decide(request, before)
        except RequestError as error:
            decision, after = refusal(error), before
        return decision, after, (time.perf_counter_ns() - start) / 1000

    def _decided_in(self, store: RunStates, request: Request) -> tuple[Decision, float]:
        """Decide by what is stored; again where another process, for a call beside this one, stored something first."""
        for _ in range(MAX_CONFLICTS):
            before = store.load(request.context.scope_id)
            decision, after, micros = self._decided(request, before)
            if after is before:
                return decision, micros
            try:
                store.save(request.context.scope_id, before.version, after)
            except StoreError as error:
                if error.code == "store.conflict":
                    continue
                raise
            return decision, micros
        raise StoreError("store.conflict", f"{MAX_CONFLICTS} times another process was faster")

    def recorded(self, decision: Decision) -> Decision:
        """Record a decision where that is asked for; what cannot be recorded becomes a denial."""
        return decision if self._recorder is None else self._recorder.record(decision)


def recorder_of(options: argparse.Namespace) -> Recorder | None:
    """Open what `--audit` names, if it names something.

    Raises:
        AuditError: nothing can be kept there.
        UsageError: there are no keys.
    """
    if options.audit is None:
        return None
    from policyengine.cli.recording import Recorder  # noqa: PLC0415  whoever does not record does not pay for it

    return Recorder(options)


def judge(options: argparse.Namespace) -> Judged:
    """Decide the command of `check` and `explain`, run by bash where this process runs."""
    text = _from_input() if options.text == "-" else options.text
    cwd = os.getcwd()
    context = Context(
        cwd=cwd, home=os.path.expanduser("~"), workspace=(cwd,), shell=ShellKind.BASH, platform=sys.platform
    )
    runs = open_runs(options, [cwd], os.path.realpath, recorder_of(options))
    decision, micros = runs.decide(shell_request(text, context))
    return Judged(text, decision, micros)


def shell_request(text: str, context: Context) -> Request:
    """Ask about a shell command."""
    return Request(
        principal=ANONYMOUS,
        action="invoke",
        resource=Resource(ResourceKind.TOOL, "bash"),
        arguments=freeze_object({"command": text}),
        context=context,
    )


def _from_input() -> str:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").removesuffix("\n")
