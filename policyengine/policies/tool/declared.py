"""The checks that need no call: they hold for all calls of a tool, and hide it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from policyengine.effects import UseTool
from policyengine.model import Finding, Obligation, ObligationKind
from policyengine.policies.tool.findings import asked, denied
from policyengine.policies.tool.metadata import UNDECLARED, Hint, Metadata, Sandbox, Settings, least, ordered
from policyengine.records import NamedTuple, replace


class Standing(NamedTuple):
    """What matters about a tool and a run beside declarations: is the tool approved, are the run's calls isolated."""

    is_approved: bool
    is_sandboxed: bool


def findings_of(said: Metadata, settings: Settings, standing: Standing) -> Iterator[Finding]:
    """Check one declaration; every check that fails is told."""
    for check in _CHECKS:
        yield from check(said, settings, standing)


def findings_of_hint(hint: Hint, settings: Settings) -> Iterator[Finding]:
    """Check a hint; every check that fails is told."""
    for one in ordered(settings.deny & hint.does):
        message = f"This tool is said to have the side effect `{one}`, which is denied."
        yield denied("tool.side-effect", message, case=one)


def about(finding: Finding, tool: str) -> Finding:
    """Let the finding of a check say which tool it is about, so that a grant can be for that one."""
    if not isinstance(finding.effect, UseTool):
        return finding
    return replace(finding, effect=finding.effect._replace(tool=tool, origin=tool))


def obligations_of(said: Sequence[Metadata], settings: Settings, standing: Standing) -> Iterator[Obligation]:
    """What whoever runs a call has to see to."""
    size = least(settings.max_result_bytes, *(one.max_result_bytes for one in said))
    if size is not None:
        yield Obligation(kind=ObligationKind.TRUNCATE, limit=size)
    if not standing.is_sandboxed and any(one.sandbox is Sandbox.REQUIRED for one in said):
        yield Obligation(kind=ObligationKind.SANDBOX)
    time = least(settings.timeout_ms, *(one.timeout_ms for one in said))
    if time is not None:
        yield Obligation(kind=ObligationKind.TIMEOUT, limit=time)


def _classification(said: Metadata, settings: Settings, _: Standing) -> Iterator[Finding]:
    if settings.require_classification and not said.classified:
        if said == UNDECLARED:
            yield denied("tool.undeclared", "This tool has no declared policy.", instead=_CLASSIFY)
        else:
            yield denied("tool.unclassified", "This tool is unclassified.", instead=_CLASSIFY)


_CLASSIFY = "Use a tool that is declared, or let an operator declare and classify this one."


def _side_effects(said: Metadata, settings: Settings, _: Standing) -> Iterator[Finding]:
    for one in ordered(settings.deny & said.side_effects):
        yield denied("tool.side-effect", f"This tool declares the side effect `{one}`, which is denied.", case=one)
    if not said.classified:
        for one in ordered(settings.deny - said.side_effects):
            message = f"The side effect `{one}` is denied, and nobody answers for it that this tool has it not."
            yield denied("tool.side-effect", message, case=one, instead=_CLASSIFY)


def _background(said: Metadata, settings: Settings, _: Standing) -> Iterator[Finding]:
    if settings.require_background_safe and not (said.classified and said.background_safe):
        yield denied("tool.not-background-safe", "This tool is not safe to run where nobody watches.")


def _approval(said: Metadata, settings: Settings, standing: Standing) -> Iterator[Finding]:
    needed = said.approval_required or (settings.require_approval and not said.classified)
    if needed and not standing.is_approved:
        yield asked("tool.approval-required", "This tool needs an approval for each call.", UseTool("", "approval"))


def _sandbox(said: Metadata, settings: Settings, standing: Standing) -> Iterator[Finding]:
    needed = said.sandbox is Sandbox.REQUIRED or not said.classified
    if settings.require_sandbox and needed and not standing.is_sandboxed:
        yield denied("tool.no-sandbox", "This tool needs a sandbox, and the run has none.")


def _credentials(said: Metadata, settings: Settings, _: Standing) -> Iterator[Finding]:
    for one in sorted((said.credentials or frozenset()) - (settings.credentials or frozenset())):
        message = f"This tool uses the credential `{one[:80]}`, which is not released to it."
        yield asked("tool.credential-not-released", message, UseTool("", f"credential {one}"))


_CHECKS: tuple[Callable[[Metadata, Settings, Standing], Iterator[Finding]], ...] = (
    _classification,
    _side_effects,
    _background,
    _approval,
    _sandbox,
    _credentials,
)
