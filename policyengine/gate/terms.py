"""What goes into a gate and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from policyengine.model import (
    ANONYMOUS,
    EMPTY,
    Context,
    Control,
    Decision,
    Exposure,
    Finding,
    Grant,
    Obligation,
    Outcome,
    Principal,
)
from policyengine.policies.guardrails.content import Source
from policyengine.policies.skill import Skill
from policyengine.records import Record


class _Secret:
    """For records that hold tokens: a token must not get into a log or into what a host persists."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a `{type(self).__name__}` holds tokens, which are not to be stored")

    def __copy__(self) -> _Secret:
        return self

    def __deepcopy__(self, _: object) -> _Secret:
        return self


class Call(Record, kw_only=False):
    """A call of a tool: its name, its arguments as the model wrote them, and the id by which the host knows it."""

    name: str
    arguments: Mapping[str, object] = EMPTY
    id: str = ""


class Run(_Secret, Record):
    """Who asks, in which run and step, and which tokens the host holds for it; nothing of it comes from a model.

    Attributes:
        principal: made by `policyengine.principal`.
        context: of it `scope_id` is the root run or conversation, and has to be there; `step_id` names one model call
            and the calls of its reply. `call_id` is filled in from each call, and `now` by the gate where it is None.
        exposure: token of this step's exposure; empty where the gate itself remembers it, or nobody does.
        delegation: token that `Gate.child` gave to a sub-agent.
        approvals: tokens that `Gate.approve` gave; each answers one call, once.
        grants: what this person has answered for good ("always"), as the host keeps it (`Question.grants`).
        replies: how many replies of this run the host has on record; where the gate knows of none, its state is lost.
        offered: tools that the host knows to have been shown in this step, beside `exposure`; they can only narrow, and
            hold where the gate no longer remembers the step. None where the host keeps no such list.
    """

    principal: Principal = ANONYMOUS
    context: Context
    exposure: str = ""
    delegation: str = ""
    approvals: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()
    replies: int = 0
    offered: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"Run(principal={self.principal!r}, context={self.context!r})"


class Message(Record, kw_only=False):
    """A message that the model is about to see.

    Attributes:
        content: its text, or its parts as JSON data; of a person's the text that the server received.
        source: where that comes from.
        id: as the host names it.
        genuine: whether the server knows that a person sent it; then it may begin with a skill's slash command.
    """

    content: object
    source: Source = Source.INPUT
    id: str = ""
    genuine: bool = False


class Duty(Record):
    """What has to happen to one message before the model sees it.

    Attributes:
        outcome: DENY and ASK mean that it must not be sent as it is; `Gate.cleaned` replaces it.
        obligations: discharged by `Gate.cleaned`, too.
        findings: what was found in it.
    """

    outcome: Outcome
    obligations: tuple[Obligation, ...] = ()
    findings: tuple[Finding, ...] = ()


class SignedExposure(_Secret, Record):
    """Which tools the model may see in this step, and what has to happen to the messages first.

    Attributes:
        exposure: visible, deferred and hidden tools.
        token: for `Run.exposure`; empty where nothing could be signed or kept, and then nothing is visible.
        duties: one for each message, in order.
        outcome: on ASK or DENY the model is not to be called with these messages: the strictest of the duties, or DENY
            where the newest message names a skill that cannot be activated.
        findings: why nothing is exposed, or why no model is to be called.
        skill: the skill that the newest message activates.
        task: that message without the skill's name; empty where it activates none.
    """

    exposure: Exposure
    token: str = ""
    duties: tuple[Duty, ...] = ()
    outcome: Outcome = Outcome.ALLOW
    findings: tuple[Finding, ...] = ()
    skill: Skill | None = None
    task: str = ""

    @property
    def visible(self) -> tuple[str, ...]:
        """Names of the tools that the model may see."""
        return self.exposure.visible

    def __repr__(self) -> str:
        return f"SignedExposure(exposure={self.exposure!r}, outcome={self.outcome!r}, findings={self.findings!r})"


class SignedDecision(_Secret, Record):
    """A decision that has been recorded.

    Attributes:
        decision: with everything that led to it.
        call: the call that it is about: rewritten where a policy wanted that, arguments frozen.
        run: for whom it was made.
        id: its name in the log and in its token.
        cwd: where the run's persistent shell was when this was decided (`RunState.cwd`).
        token: binds it to the call; empty where nothing is to be released with it: answers of `after_model`, and DENY
            because nothing could be signed or kept.
    """

    decision: Decision
    call: Call
    run: Run
    id: str = ""
    cwd: str | None = None
    token: str = ""

    @property
    def outcome(self) -> Outcome:
        """The answer."""
        return self.decision.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why; strictest first."""
        return self.decision.findings

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """What is done with the result, and what the host has to do (`SANDBOX`)."""
        return self.decision.obligations

    @property
    def control(self) -> Control | None:
        """Stop with a final text, or interrupt: then nothing is released. A rewrite is in `call` already."""
        return self.decision.control

    @property
    def reason(self) -> str:
        """Why not, in a sentence for each finding that counts, for whoever has to choose something else."""
        if self.outcome is Outcome.ALLOW:
            return ""
        counted = [one for one in self.findings if one.outcome is self.outcome and not one.shadow]
        lines = [f"{one.message} [{one.rule}]{' ' + one.instead if one.instead else ''}" for one in counted]
        return "\n".join(lines) or "No policy allows this call."

    def __repr__(self) -> str:
        return f"SignedDecision(decision={self.decision!r}, call={self.call!r}, run={self.run!r})"


class Result(Record, kw_only=False):
    """What a tool gave.

    Attributes:
        content: what the model is shown: a text, or JSON data.
        raw: what the host keeps beside it, under the same obligations; None for nothing.
        error: why the call failed, or what the gate did to the result; empty for a plain success.
        truncated: whether something was cut off.
        withheld: whether the content was replaced because it may not be shown.
        findings: what was found in it.
    """

    content: object
    raw: object = None
    error: str = ""
    truncated: bool = False
    withheld: bool = False
    findings: tuple[Finding, ...] = ()


class Delta(Record):
    """A piece of what a model says while it says it. `index` counts the pieces of one `stream` from 0."""

    text: str
    index: int
    stream: str = ""
    final: bool = False


class Question(Record):
    """What a person is shown; every text is complete, and on one line with everything unseen made visible.

    Attributes:
        tool: the tool's name.
        call: the call in full: an argument a line, a shell command by itself first.
        does: what it would do, an effect a line.
        asks: why it asks, a finding a line.
        once: what saying yes covers.
        always: what an "always" would cover, a line for each rule and effect; empty where there is no such answer.
        grants: that scope as grants, for hosts that keep standing answers and present them in `Run.grants`.
    """

    tool: str
    call: tuple[str, ...]
    does: tuple[str, ...]
    asks: tuple[str, ...]
    once: str
    always: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()

    def text(self) -> str:
        """All of it, for a terminal or a dialog."""
        parts = [(f"{self.tool} wants to run:", self.call), ("It would:", self.does), ("It asks because:", self.asks)]
        parts += [("Yes covers:", (self.once,)), ('"Always" would cover:', self.always)]
        return "\n".join(line for head, lines in parts if lines for line in (head, *(f"  {one}" for one in lines)))


class Capabilities(Record):
    """What a host can enforce. What it does not declare it cannot do; where an answer needs that, it is DENY."""

    can_ask: bool = False  # put a question to a person, and come back with the answer
    can_rewrite: bool = False  # run a call with other arguments than the model wrote
    can_change_results: bool = False  # pass on what `after_tool` gives instead of the tool's own result
    can_sandbox: bool = False  # run a single call in a sandbox
    can_limit_time: bool = False  # end a call that takes longer than so many milliseconds
    can_notify: bool = False  # tell somebody
    can_stop: bool = False  # end the run with a text
    can_interrupt: bool = False  # interrupt the run
