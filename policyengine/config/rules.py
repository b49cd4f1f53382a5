"""The schema of rules, and their compilation for one profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints, TypeAdapter

from policyengine.config import fields
from policyengine.config.matchers import Compiled, Reader, ZoneNames
from policyengine.config.profiles import OUTCOMES, OutcomeWord, ProfileSpec
from policyengine.config.validated import Schema, validated
from policyengine.config.yamlfile import Document, Place, Plain
from policyengine.effects import EFFECTS
from policyengine.model import Context, Outcome, Principal, Severity, ShellKind, Tier, freeze_object
from policyengine.policies.ruleset.requests import REQUEST_FIELDS
from policyengine.policies.ruleset.ruleset import REQUESTS, SEVERITIES

SeverityWord: TypeAlias = Literal["info", "low", "medium", "high", "critical"]
RuleId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)+$")]
Words: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Where: TypeAlias = dict[str, Any]  # Any: matchers are checked against the field's type by `config.matchers`
RESERVED = ("profile.", "engine.")  # ids of findings that no rule gives
SEVERITY_WORDS: Mapping[str, Severity] = {severity.word: severity for severity in Severity}


class CompanionSpec(Schema):
    """A further effect that a call must or must not have."""

    effect: str
    where: Where = Field(default={})


class AnswerSpec(Schema):
    """What a rule answers in one profile."""

    outcome: OutcomeWord
    severity: SeverityWord | None = None


class WhoSpec(Schema):
    """Who calls, in an example."""

    id: str = "anonymous"
    roles: list[str] = Field(default=[])
    attributes: dict[str, Any] = Field(default={})
    internal: bool = False
    agent: str = ""

    def made(self) -> Principal:
        """Make the principal."""
        return Principal(
            id=self.id,
            roles=tuple(self.roles),
            attributes=freeze_object(self.attributes),
            internal=self.internal,
            agent=self.agent,
        )


class CircumstancesSpec(Schema):
    """In what circumstances a call is made, in an example."""

    cwd: str = "/workspace"
    home: str = "/home/agent"
    workspace: list[str] = Field(default=["/workspace"])
    shell: Literal["bash", "sh", "zsh", "unknown"] = "bash"
    platform: str = "linux"
    sandbox: str = "none"
    depth: int = 0
    tags: list[str] = Field(default=[])
    model: str = ""

    def made(self) -> Context:
        """Make the context."""
        return Context(
            cwd=self.cwd,
            home=self.home,
            workspace=tuple(self.workspace),
            shell=ShellKind(self.shell),
            platform=self.platform,
            sandbox=self.sandbox,
            depth=self.depth,
            tags=frozenset(self.tags),
            model=self.model,
        )


class CallSpec(Schema):
    """An example that is no shell command: a call of a tool."""

    tool: str
    arguments: dict[str, Any] = Field(default={})
    principal: WhoSpec = WhoSpec()
    context: CircumstancesSpec = CircumstancesSpec()


ExampleSpec: TypeAlias = Annotated[str, StringConstraints(min_length=1)] | CallSpec


class ExamplesSpec(Schema):
    """Calls that the rule matches, and near-misses that it passes."""

    match: Annotated[list[ExampleSpec], Field(min_length=1)]
    passing: Annotated[list[ExampleSpec], Field(min_length=1, alias="pass")]


class RuleSpec(Schema):
    """One rule; `rules/README.md` says what the keys mean."""

    id: RuleId
    title: Words
    effect: str | None = None
    request: Literal[True] | None = None
    where: Where = Field(default={})
    companions: list[CompanionSpec] = Field(default=[], alias="with")
    absent: list[CompanionSpec] = Field(default=[], alias="without")
    outcome: OutcomeWord
    severity: SeverityWord
    why: Words
    instead: Words
    references: list[Words]
    profiles: dict[str, AnswerSpec] = Field(default={})
    only: list[str] = Field(default=[])  # the profiles that have the rule at all; none named: every one
    labels: list[Literal["untrusted", "secrets"]] = Field(default=[])  # `state.Label`
    shadow: bool = False
    examples: ExamplesSpec


_FILE: TypeAdapter[list[RuleSpec]] = TypeAdapter(list[RuleSpec])


@dataclass(frozen=True, slots=True)
class Source:
    """A document and the tier that vouches for it."""

    document: Document
    tier: Tier


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A rule whose matchers are compiled; `kind` is a kind of effect or `REQUESTS`."""

    spec: RuleSpec
    kind: str
    where: dict[str, Compiled]
    companions: list[dict[str, Any]]
    absent: list[dict[str, Any]]
    file: str
    line: int | None

    def is_in(self, profile: str) -> bool:
        """Whether a profile has the rule."""
        return not self.spec.only or profile in self.spec.only

    def for_profile(self, profile: ProfileSpec) -> dict[str, Any]:
        """Give the compiled rule as plain data (see `policies.ruleset.index`), with its answer in one profile."""
        spec, own = self.spec, self.spec.profiles.get(profile.name)
        outcome = profile.turned(OUTCOMES[spec.outcome]) if own is None else OUTCOMES[own.outcome]
        severity = SEVERITY_WORDS[(own and own.severity) or spec.severity]
        return {
            "id": spec.id,
            "message": f"{spec.title}. {spec.why}",
            "outcome": int(outcome),
            "severity": int(max(severity, SEVERITIES[outcome])),
            "instead": spec.instead,
            "references": spec.references,
            "labels": list(spec.labels),
            "shadow": spec.shadow,
            "where": self.where,
            "with": self.companions,
            "without": self.absent,
        }


def check_rules(sources: Iterable[Source], zones: ZoneNames, profiles: Iterable[str]) -> list[CheckedRule]:
    """Check rules and compile their matchers.

    Raises:
        LoadError: a rule is wrong, its id is taken, or one of the project tier loosens.
    """
    known, rules = frozenset(profiles), dict[str, CheckedRule]()
    for source in sources:
        specs: list[RuleSpec] = validated(_FILE, source.document)
        for index, spec in enumerate(specs):
            place: Place = (index,)
            _check_words(spec, known, source, place)
            if spec.id in rules:
                first = rules[spec.id]
                raise source.document.error(
                    f"the rule id `{spec.id}` is taken by {first.file}:{first.line}", place, expected="a new id"
                )
            rules[spec.id] = _checked(spec, Reader(source.document, zones), place)
    return list(rules.values())


def _check_words(spec: RuleSpec, profiles: frozenset[str], source: Source, place: Place) -> None:
    document = source.document
    if spec.id.startswith(RESERVED):
        raise document.error(f"the id `{spec.id}` is the engine's own", (*place, "id"), expected="another beginning")
    if (spec.effect is None) == (spec.request is None):
        raise document.error(
            "a rule looks at an effect or at the request", place, expected="`effect` or `request: true`"
        )
    for name in (*spec.profiles, *spec.only):
        if name not in profiles:
            known = ", ".join(sorted(profiles))
            raise document.error(f"there is no profile `{name}`", (*place, "profiles"), expected=known)
    if source.tier is Tier.PROJECT:
        _check_tightens(spec, document, place)


def _check_tightens(spec: RuleSpec, document: Document, place: Place) -> None:
    """The agent can edit the project's files, so what they say may only make answers stricter."""
    answers: list[tuple[Place, OutcomeWord]] = [(("outcome",), spec.outcome)]
    answers += [(("profiles", name, "outcome"), answer.outcome) for name, answer in spec.profiles.items()]
    for where, word in answers:
        if OUTCOMES[word] is Outcome.ALLOW:
            raise document.error("a project's rule may only tighten", (*place, *where), expected="`ask` or `deny`")


def _checked(spec: RuleSpec, reader: Reader, place: Place) -> CheckedRule:
    document = reader.document
    return CheckedRule(
        spec=spec,
        kind=spec.effect or REQUESTS,
        where=_where(spec.effect, spec.where, reader, place),
        companions=list(_companions(spec, spec.companions, reader, (*place, "with"))),
        absent=list(_companions(spec, spec.absent, reader, (*place, "without"))),
        file=document.file,
        line=document.line(place),
    )


def _companions(
    spec: RuleSpec, companions: list[CompanionSpec], reader: Reader, place: Place
) -> Iterator[dict[str, Any]]:
    if companions and spec.effect is None:
        raise reader.document.error(
            "a rule over the request has no companions", place, expected="a rule over an effect"
        )
    for index, companion in enumerate(companions):
        where = _where(companion.effect, companion.where, reader, (*place, index))
        yield {"effect": companion.effect, "where": where}


def _where(kind: str | None, where: Where, reader: Reader, place: Place) -> dict[str, Compiled]:
    if kind is not None and kind not in EFFECTS:
        known = ", ".join(EFFECTS)
        raise reader.document.error(f"there is no kind of effect `{kind}`", (*place, "effect"), expected=known)
    compiled = {}
    for name, matcher in where.items():
        here = (*place, "where", name)
        field = fields.request_field(name) if kind is None else fields.effect_fields(kind).get(name)
        if field is None:
            known = ", ".join(REQUEST_FIELDS if kind is None else fields.effect_fields(kind))
            raise reader.document.error(f"there is no field `{name}` here", here, expected=known)
        compiled[name] = reader.matcher(_plain(matcher), field, here)
    return compiled


def _plain(value: Any) -> Plain:
    """Take a matcher as the YAML reader gave it: pydantic passed it through."""
    plain: Plain = value
    return plain
