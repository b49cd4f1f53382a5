"""Rules, descriptions and profiles, made ready for a decision.

`ready` opens a compiled bundle (a given one, one from the user's cache, or one compiled on the spot) and gives the
parts that an engine is built of. Nothing of pydantic, YAML or RE2 is loaded unless something has to be compiled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from policyengine.analysis import analyze
from policyengine.analysis.tools import Tool, Tools
from policyengine.bundle import Bundle, open_bundle, read_bundle
from policyengine.config.cache import cache_folder, keep, kept
from policyengine.config.clock import SystemClock
from policyengine.config.sources import SourceFile, StrPath, digest_of, files_of, shipped
from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.errors import LoadError, TokenError
from policyengine.model import Outcome, Request, Tier
from policyengine.model import digest_of as digest_of_value
from policyengine.policies.ruleset import Profile, RuleSet, Zones
from policyengine.policy import Grantor, Policy, RemotePolicy
from policyengine.records import Record
from policyengine.shell.programs import Programs
from policyengine.state import RunState

__all__ = ["DEFAULT_PROFILE", "Ready", "compiled", "load", "ready", "source_files"]

DEFAULT_PROFILE = "workstation"


class Ready(Record):
    """The parts of an engine under one profile.

    Attributes:
        profile: name of the profile.
        standing: which asks permission rules do not answer in it (the fields of `policies.permissions.Standing`).
        rules: the rule set as a policy.
        programs: descriptions of programs, decoded one by one.
        tools: descriptions of tools, likewise.
        detectors: what content guardrails look for, as compiled; `policies.guardrails.content.Content` takes them.
        digest: SHA-256 of the bundle, which names the policy in every decision.
        tier: in whose name it speaks: the organisation's where its signature holds, else the user's.
    """

    profile: str
    standing: Mapping[str, Sequence[str]]
    rules: RuleSet
    programs: Programs
    tools: Tools
    detectors: Mapping[str, Any]
    digest: str
    tier: Tier = Tier.USER

    def tool(self, name: str) -> Tool | None:
        """Give a tool's description; None where nobody described it."""
        return self.tools.find(name)

    def analyze(self, request: Request, state: RunState) -> Facts:
        """Say what a call would do, by these descriptions."""
        return analyze(request, state, self)

    def engine(
        self, *policies: Policy, remote: Sequence[RemotePolicy] = (), grantors: Sequence[Grantor] = ()
    ) -> Engine:
        """Build an engine of these rules, of further policies and of those who have standing answers.

        Its digest names the rules and every policy that has a `digest`; a policy without one is named by none.
        """
        # Not a part of the protocol: a policy that asks somebody else cannot name what that one says.
        named = [(one.name, str(one.digest)) for one in policies if hasattr(one, "digest")]
        return Engine(
            analyze=self.analyze,
            policies=(self.rules, *policies),
            remote=tuple(remote),
            grantors=tuple(grantors),
            policy_digest=digest_of_value((self.digest, *sorted(named))) if named else self.digest,
            clock=SystemClock(),
        )


def ready(
    rules: Sequence[StrPath] = (),
    profile: str = DEFAULT_PROFILE,
    *,
    use_shipped: bool = True,
    organisation_keys: Sequence[StrPath] = (),
) -> Ready:
    """Make rules ready: the shipped ones and those of `rules` (directories, or a single bundle that holds everything).

    Args:
        rules: what is added, in the user's tier unless it is the organisation's bundle.
        profile: one of those that the rules have.
        use_shipped: whether to begin with the shipped rules.
        organisation_keys: files of public keys; with any, `rules` has to be one bundle that one of them has signed.

    Raises:
        LoadError: a file is wrong, or there is no such profile.
        BundleError: the bundle is damaged, of another version, or not signed as it has to be.
    """
    if organisation_keys:
        return opened(_signed_bundle(rules, organisation_keys), profile)
    if len(rules) == 1 and os.path.isfile(rules[0]):
        return opened(open_bundle(rules[0]), profile)
    return opened(_cached(source_files(rules, use_shipped=use_shipped)), profile)


def load(
    rules: Sequence[StrPath] = (),
    profile: str = DEFAULT_PROFILE,
    *,
    project: Sequence[StrPath] = (),
    use_shipped: bool = True,
) -> Ready:
    """As `ready`, but compiled on the spot and without the cache; `project` are directories that the agent can edit.

    Raises:
        LoadError: a file is wrong, a project's rule does not tighten, or there is no such profile.
    """
    return opened(compiled(source_files(rules, project=project, use_shipped=use_shipped)), profile)


def source_files(
    rules: Sequence[StrPath] = (),
    *,
    project: Sequence[StrPath] = (),
    use_shipped: bool = True,
    tier: Tier = Tier.USER,
) -> list[SourceFile]:
    """Read the files of a rule set, in the order in which they are compiled; `tier` is that of `rules`.

    Raises:
        LoadError: a directory or file cannot be read, or a file lies where nothing is looked for.
    """
    folders: list[tuple[StrPath, Tier]] = [(shipped(), Tier.SHIPPED)] if use_shipped else []
    folders += [(path, tier) for path in rules] + [(path, Tier.PROJECT) for path in project]
    return [file for folder, tier in folders for file in files_of(folder, tier)]


def _signed_bundle(rules: Sequence[StrPath], keys: Sequence[StrPath]) -> Bundle:
    from policyengine.config.keys import public_file  # noqa: PLC0415  only where somebody signs
    from policyengine.signing.bundles import vouching  # noqa: PLC0415

    if len(rules) != 1:
        raise LoadError("the organisation's key checks one bundle", expected="one signed bundle as the only rules")
    try:
        vouch = vouching(public_file(key) for key in keys)
    except TokenError as error:
        raise LoadError(f"the organisation's key: {error.message}") from error
    return open_bundle(rules[0], vouch=vouch)


def compiled(files: Sequence[SourceFile]) -> Bundle:
    """Compile files into a bundle in memory.

    Raises:
        LoadError: a file is wrong.
    """
    from policyengine.config.compiler import compile_files  # noqa: PLC0415  pydantic and YAML, 200 ms

    return read_bundle(compile_files(files), "compiled rules")


def opened(bundle: Bundle, profile: str) -> Ready:
    """Take the parts for a profile out of a bundle.

    Raises:
        LoadError: there is no such profile.
    """
    profiles = bundle.group("profile")
    if profile not in profiles:
        raise LoadError(
            f"there is no profile `{profile}`", file=bundle.file, expected=", ".join(profiles) or "a profile"
        )
    outcomes = {kind: Outcome(outcome) for kind, outcome in profiles[profile].items()}
    rules, zones = bundle.group(f"rules {profile}"), bundle.group("zones")
    return Ready(
        profile=profile,
        standing=bundle.group("standing").get(profile, {}),
        rules=RuleSet(
            "rules", Profile(profile, outcomes), lambda kind: rules.get(kind, ()), lambda: Zones(**zones["all"])
        ),
        programs=Programs(bundle.group("program")),
        tools=Tools(bundle.group("tool")),
        detectors=bundle.group("detector"),
        digest=bundle.digest,
        tier=bundle.tier,
    )


def _cached(files: Sequence[SourceFile]) -> Bundle:
    folder, sources = cache_folder(os.environ), digest_of(files)
    bundle = kept(folder, sources) if folder else None
    if bundle is None:
        bundle = compiled(files)
        if folder:
            keep(folder, sources, bundle.data)
    return bundle
