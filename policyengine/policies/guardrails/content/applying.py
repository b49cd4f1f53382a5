"""Obligations carried out on text: redact and neutralise, and only then truncate, so that nothing is cut in half."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from policyengine.errors import UsageError
from policyengine.model import Frozen, Obligation, ObligationKind
from policyengine.policies.guardrails.content.detectors import (
    Detector,
    Detectors,
    Text,
    merged_cuts,
    places,
    replaced,
)
from policyengine.policies.tool import truncated

MAX_ROUNDS = 8
CHANGING = frozenset({ObligationKind.REDACT, ObligationKind.NEUTRALISE})


def apply(obligations: Iterable[Obligation], text: str, detectors: Detectors) -> str:
    """Carry out what obligations ask of a text; obligations of other kinds are not about text.

    Doing it again changes nothing.

    Raises:
        UsageError: an obligation names a detector that is not there; who cannot discharge it has to deny.
    """
    asked = tuple(obligations)
    return _truncated(asked, cleaned(text, detectors_of(asked, detectors)))


def apply_to(obligations: Iterable[Obligation], value: Frozen, detectors: Detectors) -> Frozen:
    """Carry obligations out on every text in a value, keys included. The limit of bytes holds for each text.

    Raises:
        UsageError: as for `apply`.
    """
    asked = tuple(obligations)
    named = detectors_of(asked, detectors)
    return mapped(value, lambda text: _truncated(asked, cleaned(text, named)))


def mapped(value: Frozen, change: Callable[[str], str]) -> Frozen:
    """Give a value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return MappingProxyType({change(key): mapped(item, change) for key, item in value.items()})
    return tuple(mapped(item, change) for item in value) if isinstance(value, tuple) else value


def detectors_of(obligations: Iterable[Obligation], detectors: Detectors) -> list[Detector]:
    """Find the detectors that obligations name.

    Raises:
        UsageError: there is no such detector.
    """
    names = sorted({name for one in obligations if one.kind in CHANGING for name in one.names})
    known = detectors.by_id() if names else {}
    missing = [name for name in names if name not in known]
    if missing:
        raise UsageError(f"there is no detector `{missing[0]}`, so the obligation cannot be discharged")
    return [known[name] for name in names]


def cleaned(text: str, detectors: Sequence[Detector]) -> str:
    """Redact and neutralise until nothing is left to find: what stood against something may show once that is gone."""
    for _ in range(MAX_ROUNDS):
        looked_at = Text(text)
        cuts = merged_cuts(place for detector in detectors for place in places(looked_at, detector))
        if not cuts:
            break
        text = replaced(text, cuts)
    return text


def _truncated(obligations: Iterable[Obligation], text: str) -> str:
    limits = [one.limit for one in obligations if one.kind is ObligationKind.TRUNCATE and one.limit is not None]
    return truncated(text, min(limits))[0] if limits else text
