"""From a command's options to an engine, and from a command's text to its decision."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence

from policyengine.cli.permissions import engine_with_settings
from policyengine.cli.wire import refusal
from policyengine.config import Ready, ready
from policyengine.engine import Engine
from policyengine.errors import RequestError
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
from policyengine.records import NamedTuple
from policyengine.state import START, RunState


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

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._states: dict[str, RunState] = {}

    def decide(self, request: Request) -> tuple[Decision, float]:
        """Decide one request, and say how many microseconds that took."""
        scope = request.context.scope_id
        before = self._states.get(scope, START)
        start = time.perf_counter_ns()
        try:
            decision, after = self._engine.decide(request, before)
        except RequestError as error:
            decision, after = refusal(error), before
        micros = (time.perf_counter_ns() - start) / 1000
        if scope:
            self._states[scope] = after
        return decision, micros


def judge(options: argparse.Namespace) -> Judged:
    """Decide the command of `check` and `explain`, run by bash where this process runs."""
    text = _from_input() if options.text == "-" else options.text
    cwd = os.getcwd()
    context = Context(
        cwd=cwd, home=os.path.expanduser("~"), workspace=(cwd,), shell=ShellKind.BASH, platform=sys.platform
    )
    decision, micros = Runs(open_engine(options, [cwd], os.path.realpath)).decide(shell_request(text, context))
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
