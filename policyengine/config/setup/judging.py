"""What judges: the engine of a setup."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from policyengine.config import Ready, ready
from policyengine.config.keys import secret_file
from policyengine.config.setup.reading import Setup
from policyengine.config.setup.schema import RbacSpec, SqliteSpec
from policyengine.config.yamlfile import read_file
from policyengine.effects import Facts
from policyengine.engine import Engine
from policyengine.errors import LoadError, UsageError
from policyengine.model import Frozen, Request, Resource, ResourceKind, Tier, digest_of
from policyengine.policies.guardrails.content import Action, Content, Source
from policyengine.policies.own import OwnFiles
from policyengine.policies.permissions.coverage import Means, as_written
from policyengine.policies.skill import SkillPolicy
from policyengine.policy import Grantor, Policy, RemotePolicy
from policyengine.records import Record, replace
from policyengine.state import START

if TYPE_CHECKING:
    from ssl import SSLContext

    from policyengine.config.rbac import LiveRbac
    from policyengine.policies.guardrails import Guardrail
    from policyengine.policies.opa import Opa
    from policyengine.policies.permissions import Permissions
    from policyengine.policies.rbac import Rbac

_SHELL = Resource(ResourceKind.TOOL, "bash")


class Judging(Record):
    """What judges.

    Attributes:
        base: with all policies but the roles.
        roles: those, which may be read again; None for none.
        ready: the rules and descriptions.
        content: content guardrails, which are among the engine's policies.
        skills: the skill policy, likewise; None for none.
    """

    base: Engine
    roles: LiveRbac | None
    ready: Ready
    content: Content
    skills: SkillPolicy | None

    @property
    def engine(self) -> Engine:
        """All policies, with the roles of this moment; the digest names everything that was read."""
        return self.base if self.roles is None else self.roles.engine(self.base)

    @property
    def default_role(self) -> str:
        """Stands in for a missing role when principals are built (`principal_of`); empty for none."""
        return "" if self.roles is None else self.roles.current.default_role


# ------------------------------------------------------------------------------------------------------------- judging
def judging(
    setup: Setup,
    *,
    control_flow: tuple[type[Exception], ...] = (),
    real: Callable[[str], str] | None = None,
) -> Judging:
    """Make the engine of a setup.

    Args:
        setup: the file.
        control_flow: exceptions by which the host's runtime interrupts a run.
        real: follows the links of a path, where the files are those that the calls are about.

    Raises:
        LoadError: a file that the setup names is wrong.
        TokenError: a key of the organisation, or a token of OPA, cannot be read.
    """
    spec, rules = setup.spec, _rules(setup)
    means = _means(rules, real)
    roles, content = _roles(setup), _content(setup, rules)
    skills = _skills(setup, means)
    policies: list[Policy] = [] if skills is None else [skills]
    policies += [*_tools(setup), content, _own(setup)]
    grantors: list[Grantor] = []
    if spec.permissions is not None:
        permissions = _permissions(setup, rules, real)
        policies.append(permissions)
        grantors.append(permissions)
    engine = rules.engine(*policies, remote=list(_remote(setup, control_flow)), grantors=grantors)
    digest = digest_of((rules.digest, *_contents(setup)))
    return Judging(
        base=replace(engine, policy_digest=digest, control_flow=control_flow),
        roles=roles,
        ready=rules,
        content=content,
        skills=skills,
    )


def _rules(setup: Setup) -> Ready:
    spec = setup.spec
    return ready(
        setup.paths(spec.rules), spec.profile, use_shipped=spec.shipped_rules,
        organisation_keys=setup.paths(spec.organisation_keys),
    )  # fmt: skip


def _roles(setup: Setup) -> LiveRbac | None:
    spec = setup.spec.rbac
    if spec is None:
        return None
    from policyengine.config.rbac import LiveRbac  # noqa: PLC0415  who needs it pays

    return LiveRbac(lambda: _rbac(setup, spec))


def _rbac(setup: Setup, spec: RbacSpec) -> Rbac:
    from policyengine.config.rbac import Settings, authorization, from_files  # noqa: PLC0415  who needs it pays

    if spec.deerflow is not None:
        given = {name for name in spec.model_fields_set if name != "deerflow"}
        if given:
            raise setup.document.error(
                "DeerFlow's settings say it themselves", ("rbac", min(given)), expected="no such key"
            )
        rbac = authorization(read_file(Path(setup.path(spec.deerflow))))
        if rbac is None:
            raise setup.document.error("these settings ask about no roles (`enabled: false`)", ("rbac", "deerflow"))
        return rbac
    if spec.model is None or spec.policy is None:
        raise setup.document.error("no policy", ("rbac",), expected="`model` and `policy`, or `deerflow`")
    settings = Settings(id_prefix=spec.id_prefix, domain=spec.domain, default_role=spec.default_role)
    if spec.depth is not None:
        settings = replace(settings, depth=spec.depth)
    return from_files(setup.path(spec.model), setup.path(spec.policy), settings)


def _content(setup: Setup, rules: Ready) -> Content:
    overrides = {
        name: {Source(source): Action(action) for source, action in actions.items()}
        for name, actions in setup.spec.content.items()
    }
    return setup.said(("content",), lambda: Content(rules.detectors, overrides=overrides))


def _tools(setup: Setup) -> Iterator[Policy]:
    spec = setup.spec.tools
    if spec is not None:
        from policyengine.config.toolpolicy import load  # noqa: PLC0415  who needs it pays

        loaded = load(setup.paths(spec.user), project=setup.paths(spec.project))
        yield from (loaded.tools, loaded.selection)


def _skills(setup: Setup, means: Means) -> SkillPolicy | None:
    if setup.spec.skills is None:
        return None
    from policyengine.config.skills import load  # noqa: PLC0415  who needs it pays

    return load(setup.path(setup.spec.skills), means)


def _means(rules: Ready, real: Callable[[str], str] | None) -> Means:
    """How what a skill allows for certain arguments is judged: as permission rules are."""

    def read(request: Request, text: str) -> Facts:
        return rules.analyze(replace(request, resource=_SHELL, arguments={"command": text}), START)

    def naming(tool: str) -> str:
        described = rules.tool(tool)
        return tool if described is None else described.name

    return Means(read=read, naming=naming, real=as_written if real is None else real)


def _permissions(setup: Setup, rules: Ready, real: Callable[[str], str] | None) -> Permissions:
    from policyengine.config.permissions import load_permissions, permissions_of  # noqa: PLC0415  who needs it pays
    from policyengine.config.permissions_files import settings_file  # noqa: PLC0415
    from policyengine.config.permissions_trust import config_folder  # noqa: PLC0415

    spec = setup.spec.permissions
    assert spec is not None  # `judging` has looked
    trust = config_folder(os.environ) if spec.project else ""
    files = [settings_file(path, Tier.ORGANISATION) for path in setup.paths(spec.organisation)]
    files += [settings_file(path, Tier.USER) for path in setup.paths(spec.user)]
    files += [settings_file(path, Tier.PROJECT, trust) for path in setup.paths(spec.project)]
    found = load_permissions(files).rules
    return permissions_of(rules, found) if real is None else permissions_of(rules, found, real)


def _own(setup: Setup) -> OwnFiles:
    """Protect what the setup names from the calls that are judged by it."""
    spec = setup.spec
    keys = [spec.keys and spec.keys.file, spec.audit and spec.audit.keys, spec.opa and spec.opa.token_file]
    paths = [setup.document.file, *_said_paths(setup), *spec.rules, *spec.organisation_keys]
    paths += [spec.audit.path] if spec.audit is not None else []
    for store in (spec.approvals, spec.states):
        if isinstance(store, SqliteSpec):
            paths += [store.sqlite, f"{store.sqlite}-wal", f"{store.sqlite}-shm"]
    return OwnFiles(_everywhere(setup, paths), _everywhere(setup, [key for key in keys if key]))


def _said_paths(setup: Setup) -> Iterator[str]:
    """Files of the operator's that say what is allowed; those of a project are the project's to change."""
    spec = setup.spec
    yield from () if spec.skills is None else (spec.skills,)
    yield from () if spec.tools is None else spec.tools.user
    if spec.permissions is not None:
        yield from (*spec.permissions.organisation, *spec.permissions.user)
    if spec.rbac is not None:
        yield from (path for path in (spec.rbac.model, spec.rbac.policy, spec.rbac.deerflow) if path is not None)


def _everywhere(setup: Setup, paths: Iterable[str]) -> set[str]:
    """The paths as they are named, and as they are with all links followed."""
    named = {os.path.abspath(path) for path in setup.paths(paths)}
    return named | set(map(os.path.realpath, named))


# ------------------------------------------------------------------------------------------------------------- remote
def _remote(setup: Setup, control_flow: tuple[type[Exception], ...]) -> Iterator[RemotePolicy]:
    """Those that ask somebody else, in the order of the file: checkers first."""
    for at in range(len(setup.spec.guardrails)):
        yield _guardrail(setup, at, control_flow)
    if setup.spec.opa is not None:
        yield _opa(setup)


def _guardrail(setup: Setup, at: int, control_flow: tuple[type[Exception], ...]) -> Guardrail:
    from policyengine.policies.guardrails import Guardrail, load_provider  # noqa: PLC0415  asyncio, 30 ms

    spec, place = setup.spec.guardrails[at], ("guardrails", at)
    try:
        provider = load_provider(spec.use, spec.config)
    except LoadError as error:
        raise setup.document.error(error.message, (*place, "use"), expected=error.expected) from error
    return setup.said(
        place,
        lambda: Guardrail(provider, deadline=spec.deadline, passport=spec.passport, control_flow=control_flow),
    )


def _opa(setup: Setup) -> Opa:
    from policyengine.policies.opa import Opa, Server  # noqa: PLC0415  asyncio, 30 ms

    spec = setup.spec.opa
    assert spec is not None  # `_remote` has looked
    url = setup.said(("opa", "url"), lambda: _url(spec.url))
    token = "" if spec.token_file is None else secret_file(setup.path(spec.token_file)).decode("ascii").strip()
    server = setup.said(("opa", "url"), lambda: Server(**url))
    return setup.said(("opa",), lambda: Opa(server, spec.path, token=token, deadline=spec.deadline))


def _url(text: str) -> dict[str, Any]:
    """Where a server listens: `http://HOST:PORT`, `https://HOST:PORT`, `unix:///PATH`."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"`{text[:200]}` is no URL") from error
    if parts.scheme == "unix" and parts.path and not parts.netloc:
        return {"unix": parts.path}
    plain = not (parts.query or parts.fragment or parts.username or parts.password) and parts.path in ("", "/")
    if parts.scheme not in ("http", "https") or not parts.hostname or port is None or not plain:
        raise UsageError(f"`{text[:200]}` is no address, expected http://HOST:PORT, https://HOST:PORT or unix:///PATH")
    return {"host": parts.hostname, "port": port, "tls": _tls() if parts.scheme == "https" else None}


def _tls() -> SSLContext:
    from ssl import create_default_context  # noqa: PLC0415  who needs it pays

    return create_default_context()


# ------------------------------------------------------------------------------------------------------------- digest
def _contents(setup: Setup) -> Iterator[Frozen]:
    """Digests of the setup and of every file that it names and that says what is allowed."""
    spec = setup.spec
    named = [setup.document.file, *([] if spec.skills is None else [setup.path(spec.skills)])]
    if spec.tools is not None:
        named += setup.paths((*spec.tools.user, *spec.tools.project))
    if spec.permissions is not None:
        named += setup.paths((*spec.permissions.organisation, *spec.permissions.user, *spec.permissions.project))
    for path in named:
        yield hashlib.sha256(Path(path).read_bytes()).hexdigest()
