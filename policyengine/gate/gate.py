"""The facade: what every adapter calls, with a synchronous and an asynchronous face for each question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from policyengine.engine.exposure import Catalogue
from policyengine.gate import asking, children, deciding, exposing, releasing, restricting, results
from policyengine.gate.memory import Memory
from policyengine.gate.messages import Messages
from policyengine.gate.parts import Granting, Held, Parts
from policyengine.gate.steps import Steps, adone, done
from policyengine.gate.streams import Streams
from policyengine.gate.terms import (
    Call,
    Delta,
    Duty,
    Message,
    Question,
    Result,
    Run,
    SignedDecision,
    SignedExposure,
)
from policyengine.model import Frozen
from policyengine.policies.guardrails.content import Source
from policyengine.policies.skill import Discovery


class Gate:
    """Stands between a runtime's agent loop and its tools.

    Every answer is recorded before it is given. Whatever fails on the way (a store, the log, the signer) is a DENY with
    a code of its own, never an exception that a host could take for no opinion. Exceptions by which the host interrupts
    a run (`Engine.control_flow`) and cancellation pass through, and what was not released by then never is.

    One gate serves many runs and threads. What it remembers between two questions is bounded, and losing it only makes
    answers stricter or leaves them to the live policies.
    """

    __slots__ = ("_asked", "_parts", "_streams")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._asked: tuple[Granting | None, Held] = (None, Held(parts, Memory(), Messages(parts.content)))
        self._streams = Streams(parts.content)

    @property
    def _held(self) -> Held:
        """What stands behind one question, whatever is reloaded while it is answered."""
        roles, held = self._asked
        if self._parts.roles is None or self._parts.roles.current is roles:
            return held
        roles = self._parts.roles.current
        held = held._replace(parts=self._parts.asking(roles))
        self._asked = (roles, held)
        return held

    def reload(self) -> object:
        """Read the roles again, where they may change: what is asked from now on is answered by them.

        Gives how that ended (`config.rbac.Reloaded`), or None where there are no roles. Refused ones change nothing.
        """
        return None if self._parts.roles is None else self._parts.roles.reload()

    # -------------------------------------------------------------------------------------------- before the model
    def before_model(self, messages: Sequence[Message], tools: Iterable[str] | Catalogue, run: Run) -> SignedExposure:
        """Say which tools the model may see in this step, and what has to happen to the messages first.

        Args:
            messages: all that the model would see, in order.
            tools: names of all tools that the host has, or a `Catalogue` that says which are only shown by a search.
            run: `context.step_id` names this model call; the calls of its reply have to carry the same.
        """
        return done(self._exposing(messages, tools, run))

    async def abefore_model(
        self, messages: Sequence[Message], tools: Iterable[str] | Catalogue, run: Run
    ) -> SignedExposure:
        """Do as `before_model` without blocking the event loop."""
        return await adone(self._exposing(messages, tools, run))

    def _exposing(
        self, messages: Sequence[Message], tools: Iterable[str] | Catalogue, run: Run
    ) -> Steps[SignedExposure]:
        named = tools if isinstance(tools, Catalogue) else tuple(one for one in tools if isinstance(one, str) and one)
        catalogue = named if isinstance(named, Catalogue) else Catalogue(names=named)
        return exposing.before_model(self._held, messages, catalogue, run)

    def cleaned(self, message: Message, duty: Duty) -> Frozen:
        """Give a message's content with its obligations discharged; what may not be sent is replaced."""
        return self._held.messages.cleaned(message, duty)

    @property
    def cleans(self) -> bool:
        """Whether there are content guardrails: without any, messages and deltas stay as they are."""
        return self._parts.content is not None

    def source(self, tool: str) -> Source:
        """Say where a tool's results come from: what a message that holds one has for its `Message.source`."""
        return self._parts.source(tool)

    # -------------------------------------------------------------------------------------------- while it answers
    def on_delta(self, delta: Delta, run: Run) -> str:
        """Take a piece of what the model says, give what may be shown of it by now; the last piece gives the rest."""
        return self._streams.fed(delta, run)

    # -------------------------------------------------------------------------------------------- before the tools
    def after_model(self, calls: Sequence[Call], run: Run) -> tuple[SignedDecision, ...]:
        """Decide the calls of one reply as a set, each in the light of those before it; nothing is released yet.

        A call that is denied here is denied by `before_tool` in the same step, too.
        """
        return done(deciding.after_model(self._held, calls, run))

    async def aafter_model(self, calls: Sequence[Call], run: Run) -> tuple[SignedDecision, ...]:
        """Do as `after_model` without blocking the event loop."""
        return await adone(deciding.after_model(self._held, calls, run))

    def before_tool(self, call: Call, run: Run) -> SignedDecision:
        """Decide one call, live, narrowed by this step's exposure and by a sub-agent's delegation.

        An exposure can only narrow, so one that is missing, or refused (which is recorded), leaves the answer to the
        live policies; a host whose processes do not share a gate shows the token in `Run.exposure`. A delegation is
        demanded of every sub-agent, since only it says what its parent may do.
        """
        return done(deciding.before_tool(self._held, call, run))

    async def abefore_tool(self, call: Call, run: Run) -> SignedDecision:
        """Do as `before_tool` without blocking the event loop."""
        return await adone(deciding.before_tool(self._held, call, run))

    def release(self, signed: SignedDecision, call: Call) -> Call:
        """Give the call to run, once: the last thing before the tool.

        Args:
            signed: what `before_tool` said.
            call: tool and arguments as they would run now, after whatever the host renamed, normalised or filled in. If
                they are no longer those of the decision, decide the new call.

        Raises:
            TokenError: nothing may run: the answer was no ALLOW, the call differs, or the decision is spent, expired or
                another run's. It has been recorded.
        """
        return done(releasing.release(self._held, signed, call))

    async def arelease(self, signed: SignedDecision, call: Call) -> Call:
        """Do as `release` without blocking the event loop.

        Raises:
            TokenError: as for `release`.
        """
        return await adone(releasing.release(self._held, signed, call))

    # --------------------------------------------------------------------------------------------- after the tools
    def after_tool(self, result: Result, signed: SignedDecision) -> Result:
        """Record how a released call ended, and give its result as the model may see it."""
        return done(results.after_tool(self._held, result, signed))

    async def aafter_tool(self, result: Result, signed: SignedDecision) -> Result:
        """Do as `after_tool` without blocking the event loop."""
        return await adone(results.after_tool(self._held, result, signed))

    def promote(self, names: Collection[str], run: Run) -> frozenset[str]:
        """Let deferred tools that a search found be seen from the next step on; gives those that may be."""
        return done(exposing.promoted(self._held, names, run))

    async def apromote(self, names: Collection[str], run: Run) -> frozenset[str]:
        """Do as `promote` without blocking the event loop."""
        return await adone(exposing.promoted(self._held, names, run))

    def discovered(self, names: object, schemas: object, run: Run) -> Discovery:
        """Cut what a search for tools gave to those that may be found, and promote these.

        Args:
            names: the list of names that it promotes.
            schemas: the text with their schemas that the model would read.
            run: of the step in which it searched.

        Raises:
            RequestError: the result is malformed; nothing of it may be shown.
        """
        return done(exposing.found(self._held, names, schemas, run))

    async def adiscovered(self, names: object, schemas: object, run: Run) -> Discovery:
        """Do as `discovered` without blocking the event loop.

        Raises:
            RequestError: as for `discovered`.
        """
        return await adone(exposing.found(self._held, names, schemas, run))

    # -------------------------------------------------------------------------------------------------- the person
    def question(self, signed: SignedDecision) -> Question:
        """Say what a person is shown about a call that asks."""
        return asking.question(signed)

    def approve(self, signed: SignedDecision, *, by: str, answer: str = "") -> str:
        """Give a token that answers exactly these asks for exactly this call in this scope and thread, once.

        Args:
            signed: a decision that asks.
            by: the person, as the host authenticated them.
            answer: names the person's answer where the host keeps it and may give it again, for another decision about
                the same call: it still counts once. Without a name it is the answer to this one decision.

        Raises:
            TokenError: it does not ask, is expired or not ours, or nobody is named; nothing was approved.
            AuditError: the approval could not be recorded; nothing was approved.
        """
        return done(asking.approve(self._held.parts, signed, by, answer))

    async def aapprove(self, signed: SignedDecision, *, by: str, answer: str = "") -> str:
        """Do as `approve` without blocking the event loop.

        Raises:
            TokenError: as for `approve`.
            AuditError: likewise.
        """
        return await adone(asking.approve(self._held.parts, signed, by, answer))

    def reject(self, signed: SignedDecision, *, by: str) -> None:
        """Keep to a person's no: this call stays denied in its step, and the same tool and arguments in the whole run.

        Raises:
            TokenError: nobody is named.
            AuditError: it could not be recorded.
            StoreError: it could not be kept for calls to come.
        """
        done(asking.reject(self._held, signed, by))

    async def areject(self, signed: SignedDecision, *, by: str) -> None:
        """Do as `reject` without blocking the event loop.

        Raises:
            TokenError: as for `reject`.
            AuditError: likewise.
            StoreError: likewise.
        """
        await adone(asking.reject(self._held, signed, by))

    # ----------------------------------------------------------------------------------------------------- the run
    def restrict(self, run: Run, tools: Iterable[str], *, by: str) -> None:
        """Leave a run, and all who share its scope, only these tools in whatever is decided from now on.

        It can only narrow: a later restriction by the same operator leaves of both lists what is in both.

        Args:
            run: any of the scope.
            tools: names; none leaves nothing.
            by: who restricts it.

        Raises:
            UsageError: nobody is named.
            StoreError: it could not be kept; nothing has changed.
            AuditError: it holds, and could not be recorded.
        """
        done(restricting.restricted(self._parts, run, tools, by))

    async def arestrict(self, run: Run, tools: Iterable[str], *, by: str) -> None:
        """Do as `restrict` without blocking the event loop.

        Raises:
            UsageError: as for `restrict`.
            StoreError: likewise.
            AuditError: likewise.
        """
        await adone(restricting.restricted(self._parts, run, tools, by))

    # -------------------------------------------------------------------------------------------------- sub-agents
    def child(self, run: Run, agent: str, *, run_id: str, tools: Iterable[str] | None = None) -> Run:
        """Give a sub-agent's run: the same person, scope, tags and restrictions, one step deeper, and no more tools.

        Args:
            run: the parent's, in the step whose reply started the sub-agent.
            agent: the sub-agent's name.
            run_id: of its run.
            tools: what it may use of what the parent sees in this step; None for all of that. A parent without an
                exposure hands down nothing.

        Raises:
            TokenError: nothing could be signed.
            AuditError: it could not be recorded.
            StoreError: what binds the parent could not be kept for it.
            UsageError: its name or its run is empty.
        """
        return done(children.child(self._held, run, agent, run_id, tools))

    async def achild(self, run: Run, agent: str, *, run_id: str, tools: Iterable[str] | None = None) -> Run:
        """Do as `child` without blocking the event loop.

        Raises:
            TokenError: as for `child`.
            AuditError: likewise.
        """
        return await adone(children.child(self._held, run, agent, run_id, tools))
