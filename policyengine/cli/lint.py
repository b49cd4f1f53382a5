"""`policyengine lint`: permission rules, skills and rules over effects that do nothing, or not what they seem to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from policyengine.cli.core import ready_rules
from policyengine.cli.permissions import settings_files
from policyengine.cli.status import Status
from policyengine.cli.view import visible_text
from policyengine.cli.wire import dumps
from policyengine.config import source_files
from policyengine.config.compiler import checked_rules, read_documents
from policyengine.config.permissions import load_permissions
from policyengine.config.permissions_lint import Complaint, lint_permissions
from policyengine.config.profiles import compile_profiles
from policyengine.config.rules_lint import lint_rules
from policyengine.config.skills import SkillFolders
from policyengine.config.skills_lint import lint_skills


def run(options: argparse.Namespace) -> int:
    """Print every complaint; 1 if there is one."""
    complaints = [*_about_settings(options), *_about_rules(options), *_about_skills(options)]
    for one in complaints:
        if options.json:
            print(dumps({"file": one.file, "rule": one.text, "code": one.code, "message": one.message}))
        else:
            text = f" `{one.text}`" if one.text else ""
            print(visible_text(f"{one.file}:{text} {one.code}: {one.message}"))
    if not complaints and not options.json:
        print("nothing to complain about")
    return Status.ASK if complaints else Status.ALLOW


def _about_settings(options: argparse.Namespace) -> Iterator[Complaint]:
    ready = ready_rules(options)
    loaded = load_permissions(settings_files(options, [os.getcwd()]))
    return lint_permissions(loaded, lambda tool: ready.tool(tool) is not None)


def _about_skills(options: argparse.Namespace) -> Iterator[Complaint]:
    return lint_skills(SkillFolders(options.skills), options.skills) if options.skills else iter(())


def _about_rules(options: argparse.Namespace) -> Iterator[Complaint]:
    if any(os.path.isfile(path) for path in options.rules):
        return iter(())  # a bundle, whose rules were looked at when it was made
    files = source_files(options.rules, use_shipped=not options.no_shipped_rules)
    documents = read_documents(files)
    return lint_rules(checked_rules(files, documents), compile_profiles(documents["profiles"]))
