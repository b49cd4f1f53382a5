"""Which claims go into a gate's tokens, and which are demanded of those that come back.

`verified_…` raise TokenError with the codes of `signing.verify`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from policyengine.gate.asks import final_request
from policyengine.gate.parts import Parts
from policyengine.gate.terms import Run
from policyengine.model import Context, Decision, Outcome, Principal, Request
from policyengine.policies.skill import SkillClaims
from policyengine.signing import Ask, Caveat, Claims, Purpose, SkillHash, attenuate, sign, verify

MAX_DEPTH = 8  # sub-agents below sub-agents


def _signed(parts: Parts, principal: Principal, context: Context, life: float, **claims: Any) -> str:
    now = parts.now()
    return sign(
        Claims(
            scope=context.scope_id,
            issued=now,
            not_before=now,
            expires=now + life,
            run=context.run_id,
            parent_run=context.parent_run_id,
            step=context.step_id,
            thread=context.thread_id,
            subject=principal.id,
            agent=principal.agent,
            delegation=principal.delegation,
            policy_digest=parts.engine.policy_digest,
            **claims,
        ),
        parts.keyring,
    )


def _verified(
    parts: Parts, token: str, purpose: Purpose, principal: Principal, context: Context, **expected: Any
) -> Claims:
    """Check what every token is held to (whose it is, its scope and thread), and what else is demanded of this one."""
    return verify(
        token, parts.keyring, purpose=purpose, scope_id=context.scope_id, now=parts.now(), thread=context.thread_id,
        subject=principal.id, agent=principal.agent, delegation=principal.delegation, **expected,
    )  # fmt: skip


def _call(parts: Parts, request: Request) -> dict[str, Any]:
    """What a token about a call has to say of it, and of the policies that it was decided by."""
    return {
        "tool": request.resource.id,
        "arguments_digest": request.arguments_digest,
        "policy_digest": parts.engine.policy_digest,
    }


# ---------------------------------------------------------------------------------------------------------- decisions
def decision_token(parts: Parts, id: str, decision: Decision) -> str:
    """Sign a decision about the call as it would run.

    Raises:
        TokenError: it cannot be signed.
    """
    request = final_request(decision)
    life = parts.lifetimes.question if decision.outcome is Outcome.ASK else parts.lifetimes.decision
    return _signed(
        parts, request.principal, request.context, life, purpose=Purpose.DECISION, jti=id,
        tool=request.resource.id,
        arguments_digest=request.arguments_digest,
        outcome=decision.outcome,
        rules=tuple(dict.fromkeys(one.rule for one in decision.findings if not one.shadow)),
        obligations=decision.obligations,
        sequence=decision.state_version,
    )  # fmt: skip


def verified_decision(parts: Parts, token: str, request: Request) -> Claims:
    """Check that a decision is about a call, here, now, and under the present policies.

    Raises:
        TokenError: it is not.
    """
    return _verified(
        parts, token, Purpose.DECISION, request.principal, request.context,
        run=request.context.run_id, step=request.context.step_id, **_call(parts, request),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- exposures
def exposure_token(parts: Parts, id: str, run: Run, names: Iterable[str], skills: SkillClaims | None) -> str:
    """Sign the names that may be used in a step, and the skills that are active in it.

    Raises:
        TokenError: they cannot be signed.
    """
    active = () if skills is None else tuple(SkillHash(one.id, one.digest) for one in skills.skills)
    return _signed(
        parts, run.principal, run.context, parts.lifetimes.exposure, purpose=Purpose.EXPOSURE, jti=id,
        names=frozenset(names), source="" if skills is None else skills.source.value, skills=active,
    )  # fmt: skip


def verified_exposure(parts: Parts, token: str, run: Run) -> Claims:
    """Check that an exposure is this step's. One that was made under other policies still narrows, so it counts.

    Raises:
        TokenError: it is not.
    """
    context = run.context
    return _verified(parts, token, Purpose.EXPOSURE, run.principal, context, run=context.run_id, step=context.step_id)


# ---------------------------------------------------------------------------------------------------------- approvals
def approval_token(parts: Parts, id: str, request: Request, asks: tuple[Ask, ...], by: str) -> str:
    """Sign a person's answer.

    Raises:
        TokenError: it cannot be signed.
    """
    return _signed(
        parts, request.principal, request.context, parts.lifetimes.approval, purpose=Purpose.APPROVAL, jti=id,
        tool=request.resource.id, arguments_digest=request.arguments_digest, asks=asks, source=by,
    )  # fmt: skip


def verified_approval(parts: Parts, token: str, request: Request) -> Claims:
    """Check that an approval is about a call. It may be shown in a later run of the thread.

    Raises:
        TokenError: it does not.
    """
    return _verified(parts, token, Purpose.APPROVAL, request.principal, request.context, **_call(parts, request))


# -------------------------------------------------------------------------------------------------------- delegations
def delegation_token(parts: Parts, id: str, run: Run, agent: str, names: frozenset[str]) -> str:
    """Sign what a sub-agent may use, below what its parent was handed down.

    Raises:
        TokenError: it cannot be signed, or sub-agents nest too deep.
    """
    root = run.delegation
    if not root:
        root = _signed(
            parts, run.principal, run.context, parts.lifetimes.delegation, purpose=Purpose.DELEGATION, jti=id,
            names=names, depth=MAX_DEPTH,
        )  # fmt: skip
    return attenuate(root, Caveat(agent=agent, names=names))


def verified_delegation(parts: Parts, token: str, run: Run) -> Claims:
    """Check that a delegation is this sub-agent's.

    Raises:
        TokenError: it is not.
    """
    return _verified(parts, token, Purpose.DELEGATION, run.principal, run.context)
