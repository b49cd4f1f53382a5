"""What a token says, and its one form as JSON: a list with one place for each claim.

Written once, when it is signed; whoever verifies checks the MAC over the bytes that came and only then reads them, with
no place missing, none added, and in each what belongs there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NoReturn

from policyengine.errors import TokenError
from policyengine.model import Obligation, ObligationKind, Outcome
from policyengine.records import NamedTuple, Record

MAX_TIME = 253_402_300_800.0  # the year 10000, in seconds since the epoch
_JTI = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class Purpose(StrEnum):
    """What a token is for; each has keys of its own."""

    DECISION = "decision"
    EXPOSURE = "exposure"
    APPROVAL = "approval"
    DELEGATION = "delegation"


class Ask(NamedTuple):
    """A finding that a person answered: its rule's id, and the digest of its effect (empty where it had none)."""

    rule: str
    effect: str = ""


class SkillHash(NamedTuple):
    """An active skill: its name or canonical path, and the SHA-256, hex, of what was read there."""

    id: str
    digest: str


class Claims(Record):
    """What a token says.

    Attributes:
        purpose: what it is for.
        jti: its own name, random: 1 to 64 letters, digits, `-`, `_`. What is used once is used up under this name.
        scope: the root run or conversation that it belongs to; never empty.
        issued: when it was signed. Times are in seconds since the epoch, as floats.
        not_before: when it begins to count.
        expires: when it has ceased to count.
        kid: the key it was signed with; `sign` takes the active one, whatever stands here.
        run: the run in which it was issued; a resumed run may have another.
        parent_run: the run that started that one.
        step: the step (model call) in which it was issued.
        thread: the conversation.
        subject: id of the principal.
        agent: which agent acts.
        delegation: who handed the work down to it, outermost first.
        tool: the tool that is called; empty in an exposure.
        arguments_digest: `Request.arguments_digest` of the call.
        outcome: what was decided; None where nothing was.
        rules: ids of the rules that had something to say.
        obligations: what the enforcement point has to do.
        source: where it comes from: which kind of activation (of skills), or who approved.
        skills: the active skills.
        names: the only tools that may be used; None where the token does not limit them.
        asks: in an approval, what it answers.
        depth: in a delegation, how often it may still be handed down.
        policy_digest: names the rules.
        sequence: position among what was signed in this scope.
    """

    purpose: Purpose
    jti: str
    scope: str
    issued: float
    not_before: float
    expires: float
    kid: str = ""
    run: str = ""
    parent_run: str = ""
    step: str = ""
    thread: str = ""
    subject: str = ""
    agent: str = ""
    delegation: tuple[str, ...] = ()
    tool: str = ""
    arguments_digest: str = ""
    outcome: Outcome | None = None
    rules: tuple[str, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    source: str = ""
    skills: tuple[SkillHash, ...] = ()
    names: frozenset[str] | None = None
    asks: tuple[Ask, ...] = ()
    depth: int = 0
    policy_digest: str = ""
    sequence: int = 0


def encoded(claims: Claims) -> bytes:
    """Write claims as JSON, the same claims always as the same bytes; version, purpose, key and scope are not in it,
    since a token carries them before it.

    Raises:
        TokenError: they are none that `decoded` would read (`token.claims`, `token.time`).
    """
    _check(claims)
    names = claims.names
    return write_list((
        claims.jti, float(claims.issued), float(claims.not_before), float(claims.expires),
        claims.run, claims.parent_run, claims.step, claims.thread, claims.subject, claims.agent,
        claims.tool, claims.arguments_digest, claims.source, claims.policy_digest, claims.depth, claims.sequence,
        claims.delegation,
        None if claims.outcome is None else claims.outcome.word,
        claims.rules,
        [(one.kind.value, one.limit, sorted(one.names)) for one in claims.obligations],
        claims.skills,
        None if names is None else sorted(names),
        claims.asks,
    ))  # fmt: skip


_SIMPLE = (str, float, float, float, str, str, str, str, str, str, str, str, str, str, int, int)


def decoded(data: bytes, purpose: Purpose, kid: str, scope: str) -> Claims:
    """Read the JSON of claims whose MAC holds, with what the token carries before it.

    Raises:
        TokenError: it is anything else than `encoded` writes (`token.malformed`).
    """
    values = read_list(data, 23)
    if tuple(map(type, values[: len(_SIMPLE)])) != _SIMPLE:
        raise malformed("a claim of another type")
    jti, issued, not_before, expires, run, parent_run, step, thread, subject, agent, tool, *others = values
    arguments, source, policy, depth, sequence, delegation, outcome, rules, obligations, skills, names, asks = others
    claims = Claims(
        purpose=purpose, jti=jti, scope=scope, issued=issued, not_before=not_before, expires=expires, kid=kid,
        run=run, parent_run=parent_run, step=step, thread=thread, subject=subject, agent=agent,
        delegation=_texts(delegation), tool=tool, arguments_digest=arguments, outcome=_outcome(outcome),
        rules=_texts(rules), obligations=_obligations(obligations), source=source, skills=_skills(skills),
        names=names_or_none(names), asks=_asks(asks), depth=depth, policy_digest=policy, sequence=sequence,
    )  # fmt: skip
    try:
        _check(claims)
    except TokenError as error:
        raise malformed(error.message) from None
    return claims


_DECISION, _APPROVAL = Purpose.DECISION, Purpose.APPROVAL


def _check(claims: Claims) -> None:
    if not _JTI.fullmatch(claims.jti):
        raise TokenError("token.claims", "`jti` has to be 1 to 64 letters, digits, `-` and `_`")
    if not claims.scope:
        raise TokenError("token.claims", "a token needs a scope, which the host declares")
    if claims.purpose is _DECISION:
        _check_call(claims, claims.outcome is not None)
    elif claims.purpose is _APPROVAL:
        _check_call(claims, bool(claims.asks))
    if not moment(claims.not_before) < moment(claims.expires):
        raise TokenError("token.claims", "a token has to expire after it begins to count")
    moment(claims.issued)
    for count in (claims.depth, claims.sequence):
        if type(count) is not int or count < 0:
            raise TokenError("token.claims", "`depth` and `sequence` have to be whole numbers")


def _check_call(claims: Claims, answers: bool) -> None:
    """Refuse a decision or approval that would be one of every call, or of none."""
    if not (answers and claims.tool and claims.arguments_digest):
        needed = "`tool`, `arguments_digest`, and `outcome` in a decision or `asks` in an approval"
        raise TokenError("token.claims", f"a token about a call needs {needed}")


def moment(value: object) -> float:
    """Give a time that can be one: finite, not before the epoch, not after the year 10000.

    Raises:
        TokenError: it is something else (`token.time`): with a NaN, every comparison with a limit is false.
    """
    if type(value) is int and 0 <= value <= MAX_TIME:
        return float(value)
    if type(value) is float and 0 <= value <= MAX_TIME:  # neither NaN nor infinity is
        return value
    raise TokenError("token.time", "a time has to be finite seconds since the epoch, before the year 10000")


# ---------------------------------------------------------------------------------------------------------- strict JSON
def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False, ensure_ascii=False, check_circular=False).encode
_loads = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode


def write_list(values: Sequence[Any]) -> bytes:
    """Write a JSON list in the one form that tokens have.

    Raises:
        TokenError: a text is no Unicode, since two lone surrogates would be read as one character, or a number is too
            long to be written (`token.claims`).
    """
    try:
        text = _dumps(values)
    except ValueError:
        raise TokenError("token.claims", "a number in a token has to be one that can be written") from None
    return utf8(text)


def read_list(data: bytes, length: int) -> list[Any]:
    """Read a JSON list that has exactly so many places.

    Raises:
        TokenError: it is none (`token.malformed`).
    """
    try:
        text = data.decode("utf-8")
        values, end = _loads(text)
        if "\\u" in text:  # by which alone lone surrogates are spelled, which nobody could write down again
            write_list(values)
    except (ValueError, RecursionError, TokenError):
        raise malformed("what it carries is not well formed") from None
    if type(values) is not list or len(values) != length or end != len(text):
        raise malformed("its claims are not those of this version")
    return values


def utf8(text: str) -> bytes:
    """Encode a text.

    Raises:
        TokenError: it holds a lone surrogate (`token.claims`).
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise TokenError("token.claims", "a text in a token has to be Unicode, without lone surrogates") from None


def malformed(message: str) -> TokenError:
    """Say that something is no token."""
    return TokenError("token.malformed", message)


def _texts(value: Any) -> tuple[str, ...]:
    if type(value) is not list or not {*map(type, value)} <= _TEXT:
        raise malformed("expected a list of texts")
    return tuple(value)


_TEXT = {str}


def names_or_none(value: Any) -> frozenset[str] | None:
    """Read a list of names; null is no limit, an empty list allows none."""
    return None if value is None else frozenset(_texts(value))


def _outcome(value: Any) -> Outcome | None:
    if value is None:
        return None
    if type(value) is not str or value not in _OUTCOMES:
        raise malformed("expected an outcome")
    return _OUTCOMES[value]


_OUTCOMES = {outcome.word: outcome for outcome in Outcome}
_KINDS = {kind.value: kind for kind in ObligationKind}


def _pairs(value: Any) -> list[list[str]]:
    if type(value) is not list:
        raise malformed("expected a list of pairs")
    for pair in value:
        if type(pair) is not list or len(pair) != 2 or not (type(pair[0]) is type(pair[1]) is str):
            raise malformed("expected pairs of texts")
    return value


def _asks(value: Any) -> tuple[Ask, ...]:
    return tuple([Ask(*pair) for pair in _pairs(value)])


def _skills(value: Any) -> tuple[SkillHash, ...]:
    return tuple([SkillHash(*pair) for pair in _pairs(value)])


def _obligations(value: Any) -> tuple[Obligation, ...]:
    if type(value) is not list:
        raise malformed("expected a list of obligations")
    return tuple([_obligation(item) for item in value])


def _obligation(value: Any) -> Obligation:
    if type(value) is not list or len(value) != 3 or type(value[0]) is not str or value[0] not in _KINDS:
        raise malformed("expected an obligation")
    kind, limit, names = value
    if limit is not None and (type(limit) is not int or limit < 0):
        raise malformed("expected a number of bytes")
    return Obligation(kind=_KINDS[kind], limit=limit, names=frozenset(_texts(names)))
