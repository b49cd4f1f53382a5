"""The person: what they are shown about a call that asks, and what their answer covers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from policyengine.audit import Answer, approval_record
from policyengine.effects import Effect, Where, as_json
from policyengine.errors import AuditError, StoreError, TokenError
from policyengine.gate.asks import are_answerable, final, final_asks, final_request, place_of, standing
from policyengine.gate.parts import Held, Parts
from policyengine.gate.recording import recorded
from policyengine.gate.standing import rejected
from policyengine.gate.states import changed
from policyengine.gate.steps import Steps
from policyengine.gate.terms import Question, Run, SignedDecision
from policyengine.gate.tokens import approval_token, verified_decision
from policyengine.model import Finding, Grant, Outcome, Request, digest_of
from policyengine.policy import call_digest
from policyengine.signing import asks_of
from policyengine.state import RunState
from policyengine.visible import visible

FIRST = ("command", "cmd", "script", "code", "path", "file_path", "url")  # arguments that say most, shown first
_UNSAID = frozenset({"kind", "where", "span", "origin"})


def question(signed: SignedDecision) -> Question:
    """Say what a person is shown (`Gate.question`)."""
    asked, decision = final_asks(signed.decision), final(signed.decision)
    grants = standing(asked, call_digest(final_request(decision), signed.cwd)) if asked else ()
    return Question(
        tool=visible(signed.call.name),
        call=tuple(_arguments(signed)),
        does=tuple(dict.fromkeys(effect_line(effect) for effect in decision.effects)),
        asks=tuple(_finding(one) for one in _whys(signed, asked)),
        once=_once(signed),
        always=tuple(map(_scope, grants)),
        grants=grants,
    )


def _whys(signed: SignedDecision, asked: tuple[Finding, ...]) -> Iterable[Finding]:
    """What asks, about the call as it would run and about its having been rewritten."""
    outer = (one for one in signed.findings if one.outcome is Outcome.ASK and not one.shadow)
    return dict.fromkeys((*asked, *outer))


def _arguments(signed: SignedDecision) -> Iterator[str]:
    arguments = signed.call.arguments
    names = [name for name in FIRST if name in arguments]
    names += [name for name in arguments if name not in FIRST]
    for name in names:
        yield f"{visible(name)}: {visible(_text(arguments[name]))}"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except ValueError:  # an integer of more digits than Python writes (`sys.set_int_max_str_digits`)
        return json.dumps(_in_hexadecimal(value), ensure_ascii=False, default=_plain)


def _in_hexadecimal(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _in_hexadecimal(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_in_hexadecimal(inner) for inner in value]
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _plain(value: object) -> object:
    """For JSON: the read-only mappings of frozen arguments."""
    return dict(value) if isinstance(value, Mapping) else str(value)


def effect_line(effect: Effect) -> str:
    """One effect: its kind, and the fields that say something."""
    fields = as_json(effect)
    said = [f"{name}={_value(value)}" for name, value in fields.items() if name not in _UNSAID and _says(value)]
    if effect.where is not Where.HERE:
        said.append(f"where={effect.where.value}")
    return " ".join([str(fields["kind"]), *said])


def _says(value: object) -> bool:
    return value not in ("", False, None, [])


def _value(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join("?" if item is None else visible(str(item)) for item in value) + "]"
    return "true" if value is True else visible(str(value))


def _finding(finding: Finding) -> str:
    instead = f" Instead: {finding.instead}" if finding.instead else ""
    return visible(f"{finding.severity.word}: {finding.message} [{finding.rule}]{instead}")


def _once(signed: SignedDecision) -> str:
    place = _place(signed.run)
    return f"this call of {visible(signed.call.name)} with exactly these arguments, once, {place}"


def _place(run: Run) -> str:
    context, principal = run.context, run.principal
    said = [f"in `{visible(context.scope_id)}`"]
    said += [f"thread `{visible(context.thread_id)}`"] if context.thread_id else []
    said += [f"for `{visible(principal.id)}`"]
    said += [f"acting through `{visible(principal.agent)}`"] if principal.agent else []
    return ", ".join(said)


def _scope(grant: Grant) -> str:
    (rule,) = grant.rules
    where = "for just this call in this directory" if grant.call else "in any directory"
    effects = "; ".join(sorted(effect_line(effect) for effect in grant.effects or ()))
    return visible(f"{rule}, {where}, for: {effects}")


# -------------------------------------------------------------------------------------------------------------- answer
def approve(parts: Parts, signed: SignedDecision, by: str, answer: str) -> Steps[str]:
    """Sign a person's yes (`Gate.approve`).

    Raises:
        TokenError: there is nothing to approve, or nobody to have done it.
        AuditError: it could not be recorded.
    """
    request = _asked(parts, signed, by)
    # Under the question's own name, or the answer's: whoever gives it twice has still said yes once.
    id = digest_of((request.context.scope_id, "answer", answer)) if answer else signed.id
    asks = (*asks_of(final_asks(signed.decision)), place_of(request.context, signed.cwd))
    token = approval_token(parts, id, request, asks, by)
    yield from _answered(parts, signed, Answer.APPROVED, by, id)
    return token


def _asked(parts: Parts, signed: SignedDecision, by: str) -> Request:
    """The call that is asked about."""
    _named(by)
    asks = final_asks(signed.decision) if signed.outcome is Outcome.ASK and signed.token else ()
    if not asks:
        raise TokenError("approval.not-asked", "this decision asks nothing")
    if not are_answerable(asks):
        raise TokenError("approval.unanswerable", "a policy asks without saying why, which no answer covers")
    request = final_request(signed.decision)
    claims = verified_decision(parts, signed.token, request)
    if claims.outcome is not Outcome.ASK or claims.jti != signed.id:
        raise TokenError("approval.not-asked", "the token is another decision's")
    return request


def reject(held: Held, signed: SignedDecision, by: str) -> Steps[None]:
    """Keep to a person's no (`Gate.reject`).

    Raises:
        TokenError: nobody is named.
        AuditError: it could not be recorded.
        StoreError: it could not be kept for calls to come.
    """
    _named(by)
    if signed.call.id:
        held.memory.reject(signed.run, signed.call.id)
    yield from _answered(held.parts, signed, Answer.REJECTED, by, "")
    if signed.decision.request is not None:
        problem = yield from changed(held.parts, signed.run, _rejecting(final_request(signed.decision)))
        if problem is not None:
            raise StoreError(problem.code, problem.message)


def _rejecting(request: Request) -> Callable[[RunState], Steps[RunState]]:
    def change(state: RunState) -> Steps[RunState]:
        yield from ()
        return rejected(state, request)

    return change


def _named(by: str) -> None:
    if not by:
        raise TokenError("approval.nobody", "say who has answered")


def _answered(parts: Parts, signed: SignedDecision, answer: Answer, by: str, id: str) -> Steps[None]:
    problem = yield from recorded(
        parts, lambda: {**approval_record(signed.decision, answer, by=by, jti=id), "question": signed.id}
    )
    if problem is not None:
        raise AuditError(problem.code, problem.message)
