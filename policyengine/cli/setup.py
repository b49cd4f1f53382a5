"""Commands that judge by a setup file: its engine, and neither its keys nor its stores and log."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from policyengine.cli.arguments import DEFAULT_PROFILE
from policyengine.cli.core import Runs
from policyengine.config.setup import judging, read_setup
from policyengine.errors import UsageError

if TYPE_CHECKING:
    from policyengine.cli.recording import Recorder

# Options that say what the file says.
_SAID = ("rules", "no_shipped_rules", "settings", "managed_settings", "project_settings", "host_settings",
         "organisation_key")  # fmt: skip


def runs_of(options: argparse.Namespace, real: Callable[[str], str] | None, recorder: Recorder | None) -> Runs:
    """Give what decides by the setup file that the options name.

    Raises:
        LoadError: the file, or one that it names, is wrong.
        TokenError: a file of keys cannot be read.
        UsageError: an option says what the file says.
    """
    given = [name for name in _SAID if getattr(options, name)]  # every command that judges has them
    if given or options.profile != DEFAULT_PROFILE:
        name = (given or ["profile"])[0].replace("_", "-")
        raise UsageError(f"`--{name}` and `--setup` say the same: leave the option to the file")
    judges = judging(read_setup(options.setup), real=real)
    return Runs(judges.engine, recorder, judges.default_role)
