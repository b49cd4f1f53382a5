"""The schema of profiles: an answer for every kind of effect, and which answers a profile cannot give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from pydantic import Field, TypeAdapter

from policyengine.config.validated import Schema, validated
from policyengine.config.yamlfile import Document
from policyengine.effects import EFFECTS
from policyengine.model import Outcome

OutcomeWord: TypeAlias = Literal["allow", "ask", "deny"]
OUTCOMES: Mapping[str, Outcome] = {outcome.word: outcome for outcome in Outcome}


class StandingSpec(Schema):
    """Which asks standing permission rules do not answer (`policies.permissions.Standing`), by globs over rule ids."""

    never: list[str] = Field(default=[])
    particular: list[str] = Field(default=[])


class ProfileSpec(Schema):
    """One `profiles/NAME.yaml`.

    `outcomes` turns answers that rules give into others (`ask: allow` where nobody can be asked); `effects` answers for
    every kind by itself and is not turned.
    """

    name: str
    summary: str
    outcomes: dict[OutcomeWord, OutcomeWord] = Field(default={})
    effects: dict[str, OutcomeWord]
    standing: StandingSpec = StandingSpec()

    def turned(self, outcome: Outcome) -> Outcome:
        """Give what a rule's outcome becomes in this profile."""
        word: OutcomeWord = "allow" if outcome is Outcome.ALLOW else "ask" if outcome is Outcome.ASK else "deny"
        return OUTCOMES[self.outcomes.get(word, word)]


_FILE = TypeAdapter(ProfileSpec)


def compile_profiles(documents: Iterable[Document]) -> dict[str, ProfileSpec]:
    """Check profiles and gather them by name.

    Raises:
        LoadError: a kind of effect has no answer, an answer is for an unknown kind, or a name is taken.
    """
    profiles: dict[str, ProfileSpec] = {}
    for document in documents:
        profile = validated(_FILE, document)
        _check(profile, document)
        if profile.name in profiles:
            raise document.error(f"the profile `{profile.name}` is defined twice", ("name",), expected="a new name")
        profiles[profile.name] = profile
    return profiles


def _check(profile: ProfileSpec, document: Document) -> None:
    for kind in profile.effects:
        if kind not in EFFECTS:
            known = ", ".join(EFFECTS)
            raise document.error(f"there is no kind of effect `{kind}`", ("effects", kind), expected=known)
    missing = [kind for kind in EFFECTS if kind not in profile.effects]
    if missing:
        raise document.error(f"no answer for `{'`, `'.join(missing)}`", ("effects",), expected="one for every kind")
    if "deny" in profile.outcomes:
        raise document.error("a deny cannot be turned into anything", ("outcomes", "deny"), expected="`allow` or `ask`")
