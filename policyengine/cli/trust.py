"""`policyengine trust FILE`: let a project's permission rules count as the person's own, as they are now.

What is noted is the file's place and the digest of its contents, in the person's configuration folder. Whoever asks is
shown what the file would allow, and has to say so; a process without a terminal has to say `--yes`, and the shipped
rules let no agent run this.
"""

from __future__ import annotations

import argparse
import os
import sys

from policyengine.cli.status import Status
from policyengine.cli.view import visible_text
from policyengine.config.permissions import read_permissions
from policyengine.config.permissions_files import SettingsFile, settings_file
from policyengine.config.permissions_trust import config_folder, distrust, noted, trust
from policyengine.errors import UsageError
from policyengine.model import Outcome, Tier
from policyengine.records import replace


def run(options: argparse.Namespace) -> int:
    """Note, forget or list; 1 where nothing was noted or forgotten."""
    folder = config_folder(os.environ)
    if options.file is None:
        if options.remove or options.yes:
            raise UsageError("no file to trust or to trust no longer; expected FILE")
        print("\n".join(visible_text(f"{digest[:12]}  {path}") for path, digest in noted(folder).items()))
        return Status.ALLOW
    if options.remove:
        return Status.ALLOW if distrust(folder, options.file) else Status.ASK
    file = settings_file(options.file, Tier.PROJECT)
    print("\n".join(map(visible_text, _rows(file))))
    if not options.yes and not _is_wanted():
        return Status.ASK
    print(f"trusted until it changes: {trust(folder, options.file, file.data)[:12]}")
    return Status.ALLOW


def _rows(file: SettingsFile) -> list[str]:
    """What the file would allow, and what is left out of it."""
    loaded = read_permissions(replace(file, trusted=True))
    allowed = [rule for rule in loaded.rules if rule.outcome is Outcome.ALLOW]
    rows = [f"{file.path} would allow, where asked:" if allowed else f"{file.path} allows nothing."]
    rows += [f"  {rule.pattern.text}" for rule in allowed]
    return rows + [f"  left out: {refused.text}: {refused.reason}" for refused in loaded.refused]


def _is_wanted() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("nobody there to be asked; expected a terminal, or `--yes`")
    sys.stdout.write("Trust this? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
