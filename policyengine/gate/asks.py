"""A decision about the call as it would run, which is what a person is asked about and what is signed."""

from __future__ import annotations

from collections.abc import Iterable

from policyengine.effects import Effect, FileDelete, FileRead, Where
from policyengine.model import Context, Decision, Finding, Grant, Request, Tier
from policyengine.policy import place_digest, placeless
from policyengine.records import replace
from policyengine.signing import Ask, open_asks

ALWAYS = "person:always"  # source of standing answers
PLACE = "gate.place"  # in an approval, beside the rules
_NOT_OURS_TO_ANSWER = ("engine.", "gate.")  # such an ask has no reason that a person could have weighed


def final(decision: Decision) -> Decision:
    """Give the decision about the call as it would run: the rewritten one where there is one."""
    return decision if decision.rewritten is None else decision.rewritten


def final_request(decision: Decision) -> Request:
    """Give the request about the call as it would run."""
    request = final(decision).request
    assert request is not None  # only an engine's decision is asked about, and that has one
    return request


def final_asks(decision: Decision) -> tuple[Finding, ...]:
    """Give what a person has to answer about the call as it would run."""
    return open_asks(final(decision).findings)


def in_place(request: Request, decision: Decision) -> Request:
    """Give the request about the call as it would run, under the circumstances of the one that was sent."""
    return replace(request, arguments=final_request(decision).arguments)


def place_of(context: Context, cwd: str | None) -> Ask:
    """Name where a call would run, beside what it asks: a yes in one directory is none in another.

    `cwd` is that of the run's persistent shell (`RunState.cwd`).
    """
    return Ask(PLACE, place_digest(context, cwd))


def are_answerable(asks: Iterable[Finding]) -> bool:
    """Whether a person's answer can discharge all of them."""
    return not any(one.rule.startswith(_NOT_OURS_TO_ANSWER) for one in asks)


def standing(asks: tuple[Finding, ...], call: str) -> tuple[Grant, ...]:
    """Give what an "always" would grant: each rule, for just the effects that it asks about.

    It is for the one call (`call`, by `policy.call_digest`), except where an effect names in full the file that is
    read or deleted: what else an effect says is less than the call does (`sudo`, a tool of some server), or depends on
    where that runs.
    Nothing where one of the asks is about no effect: the answer would cover calls that nobody has seen.
    """
    if not asks or not are_answerable(asks) or any(one.effect is None for one in asks):
        return ()
    effects: dict[tuple[str, str], set[Effect]] = {}
    for one in asks:
        assert one.effect is not None  # as above
        effects.setdefault((one.rule, "" if _names_a_file(one.effect) else call), set()).add(placeless(one.effect))
    return tuple(
        Grant(source=ALWAYS, tier=Tier.USER, rules=frozenset({rule}), effects=frozenset(found), call=bound)
        for (rule, bound), found in effects.items()
    )


def _names_a_file(effect: Effect) -> bool:
    if not isinstance(effect, (FileRead, FileDelete)):  # of a write the text counts as well
        return False
    return effect.where is Where.HERE and bool(effect.path) and not (effect.unknown or effect.glob)
