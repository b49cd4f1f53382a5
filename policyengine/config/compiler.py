"""From a rule set's files to a bundle. Here everything is checked; whatever opens the bundle later trusts its shape."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from policyengine.bundle import compile_bundle
from policyengine.config.detectors import compile_detectors
from policyengine.config.matchers import ZoneNames
from policyengine.config.overrides import Overrides, compile_overrides, overridden
from policyengine.config.profiles import OUTCOMES, ProfileSpec, compile_profiles
from policyengine.config.rules import CheckedRule, Source, check_rules
from policyengine.config.sources import SourceFile, digest_of
from policyengine.config.specs import compile_descriptions
from policyengine.config.tools import compile_tools
from policyengine.config.yamlfile import Document, read_bytes
from policyengine.config.zones import compile_zones
from policyengine.errors import LoadError
from policyengine.model import Tier
from policyengine.policies.ruleset.sight import BUILTIN

DESCRIPTIONS = ("commands", "tools")  # what the organisation may describe otherwise than it is shipped


def compile_files(files: Sequence[SourceFile]) -> bytes:
    """Check all files and compile them into one bundle, with the rules of every profile.

    It speaks in the organisation's name if a file does.

    Raises:
        LoadError: the first fault that is found; nothing is compiled then.
    """
    documents = read_documents(files)
    zones = compile_zones(documents["zones"])
    profiles = compile_profiles(documents["profiles"])
    rules = checked_rules(files, documents)
    groups: dict[str, Mapping[str, Any]] = {
        "zones": {"all": zones.plain()},
        "profile": {name: _outcomes(profile) for name, profile in profiles.items()},
        "standing": {name: profile.standing.model_dump() for name, profile in profiles.items()},
        "program": compile_descriptions(documents["commands"]),
        "tool": compile_tools(documents["tools"]),
        "detector": compile_detectors(documents["detectors"]),
    }
    overrides = compile_overrides(documents["overrides"], rules, profiles)
    for name, profile in profiles.items():
        groups[f"rules {name}"] = _by_kind(rules, profile, overrides)
    return compile_bundle(groups, digest_of(files), _speaker(files))


def _speaker(files: Iterable[SourceFile]) -> Tier:
    return Tier.ORGANISATION if any(file.tier is Tier.ORGANISATION for file in files) else Tier.USER


def checked_rules(files: Sequence[SourceFile], documents: Mapping[str, Sequence[Document]]) -> list[CheckedRule]:
    """Check the rules among the files against their zones and profiles.

    Raises:
        LoadError: a rule, zone or profile is wrong.
    """
    zones = compile_zones(documents["zones"])
    names = ZoneNames(frozenset(zones.paths) | BUILTIN, frozenset(zones.hosts))
    tiers = (file.tier for file in files if file.content == "rules")
    sources = [Source(document, tier) for document, tier in zip(documents["rules"], tiers, strict=True)]
    return check_rules(sources, names, compile_profiles(documents["profiles"]))


def read_documents(files: Iterable[SourceFile]) -> dict[str, list[Document]]:
    """Read the YAML of every file, by what it holds, in order; what the organisation describes is taken as it says.

    Raises:
        LoadError: a file is no YAML of ours, one of the project tier holds something else than rules, or one of another
            tier than the organisation's overrides them.
    """
    documents: dict[str, list[Document]] = {
        name: [] for name in ("rules", "commands", "detectors", "profiles", "zones", "tools", "overrides")
    }
    shipped: set[str] = set()
    for file in files:
        if file.tier is Tier.PROJECT and file.content != "rules":
            raise LoadError(f"{file.content} of a project", file=file.name, expected="rules that tighten, nothing else")
        if file.content == "overrides" and file.tier is not Tier.ORGANISATION:
            raise LoadError(
                "overrides of rules", file=file.name, expected="them in a bundle that is compiled with `--sign`"
            )
        document = read_bytes(file.data, file.name)
        if file.tier is Tier.SHIPPED:
            shipped.add(file.name)
        elif file.tier is Tier.ORGANISATION and file.content in DESCRIPTIONS:
            documents[file.content] = [_replaced(one, document, shipped) for one in documents[file.content]]
        documents[file.content].append(document)
    return documents


def _replaced(document: Document, by: Document, shipped: Container[str]) -> Document:
    """A shipped document without what another describes too."""
    if document.file not in shipped or not (isinstance(document.value, dict) and isinstance(by.value, dict)):
        return document
    return replace(document, value={name: one for name, one in document.value.items() if name not in by.value})


def _outcomes(profile: ProfileSpec) -> dict[str, int]:
    return {kind: int(OUTCOMES[word]) for kind, word in profile.effects.items()}


def _by_kind(
    rules: Iterable[CheckedRule], profile: ProfileSpec, overrides: Overrides
) -> dict[str, list[dict[str, Any]]]:
    compiled: dict[str, list[dict[str, Any]]] = {}
    for rule in rules:
        if rule.is_in(profile.name):
            made = overridden(rule.for_profile(profile), overrides.get((rule.spec.id, profile.name)))
            compiled.setdefault(rule.kind, []).append(made)
    return compiled
