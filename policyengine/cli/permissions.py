"""Permission rules for the commands that decide: which files the options name, each in its tier.

A project's file tightens, and allows only with the contents that the person trusts (`policyengine trust`).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from policyengine.config import Ready
from policyengine.engine import Engine
from policyengine.model import Tier

if TYPE_CHECKING:
    from policyengine.config.permissions_files import SettingsFile

PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"  # by which a host tells its hooks where the project is


def engine_with_settings(
    options: argparse.Namespace, ready: Ready, projects: Sequence[str], real: Callable[[str], str] | None = None
) -> Engine:
    """Build an engine that also judges, and grants, by the permission rules that the options name.

    Args:
        options: of the command.
        ready: rules and descriptions.
        projects: directories whose settings `--host-settings` looks for.
        real: follows the links of a path; None where no file system is looked at.

    Raises:
        LoadError: a file cannot be used.
    """
    if not (options.settings or options.managed_settings or options.project_settings or options.host_settings):
        return ready.engine()
    from policyengine.config.permissions import load_permissions, permissions_of  # noqa: PLC0415  who needs it pays

    rules = load_permissions(settings_files(options, projects)).rules
    permissions = permissions_of(ready, rules, real) if real is not None else permissions_of(ready, rules)
    return ready.engine(permissions, grantors=(permissions,))


def settings_files(options: argparse.Namespace, projects: Sequence[str]) -> Iterator[SettingsFile]:
    """Read the files that the options name, the organisation's first.

    Raises:
        LoadError: one cannot be read.
    """
    from policyengine.config.permissions_files import Places, host_files, settings_file  # noqa: PLC0415
    from policyengine.config.permissions_trust import config_folder  # noqa: PLC0415

    trust = config_folder(os.environ) if options.project_settings or options.host_settings else ""
    yield from (settings_file(path, Tier.ORGANISATION) for path in options.managed_settings)
    yield from (settings_file(path, Tier.USER) for path in options.settings)
    yield from (settings_file(path, Tier.PROJECT, trust) for path in options.project_settings)
    if options.host_settings:
        home, root = os.path.expanduser("~"), os.environ.get(PROJECT_VARIABLE, "")
        roots = (*([root] if os.path.isabs(root) else []), *projects)
        yield from host_files(Places(projects=roots, home=home, platform=sys.platform, trust=trust))
