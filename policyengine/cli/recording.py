"""`--audit`: decisions of the command line are recorded before they are printed.

What cannot be recorded is denied, with the rule `audit.not-recorded` and the code of what failed.
"""

from __future__ import annotations

import argparse
import sys

from policyengine.audit import AuditKey, AuditLog, Detail, Durability, decision_record
from policyengine.config.audit_keys import audit_keys_from_file, default_file, make_audit_keys
from policyengine.errors import AuditError, RequestError, TokenError, UsageError
from policyengine.model import Decision, Finding, Outcome, Severity
from policyengine.records import replace
from policyengine.visible import visible


class Recorder:
    """The log that `--audit` names."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Open it.

        Raises:
            AuditError: nothing can be kept there.
            UsageError: there are no keys.
        """
        self._detail = Detail(options.audit_detail)
        self._log = AuditLog(options.audit, _keys(options), durability=Durability(options.audit_durability))
        for name, error in self._log.left:
            _say(f"the segment `{name}` of the audit log was changed ({error.code}): see `policyengine audit verify`")

    def record(self, decision: Decision) -> Decision:
        """Keep a decision, and give it; where that fails, the denial that takes its place."""
        try:
            self._log.append(decision_record(decision, self._detail))
        except AuditError as error:
            return _denied(decision, error.code)
        except RequestError as error:  # a request that has no digest
            return _denied(decision, error.code)
        return decision


def _keys(options: argparse.Namespace) -> tuple[AuditKey, ...]:
    """Read the keys; where nothing was said about them and there are none, make some."""
    file = options.audit_keys or default_file()
    try:
        try:
            return audit_keys_from_file(file)
        except TokenError as error:
            if options.audit_keys or error.code != "key.missing":
                raise
        made = make_audit_keys(file)
        _say(f"made a key for audit logs: {file}")
        return made
    except (TokenError, AuditError) as error:
        raise UsageError(f"{error.message}; --audit-keys names the file of keys") from error


def _say(message: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"policyengine: {visible(message)}\n")


def _denied(decision: Decision, code: str) -> Decision:
    finding = Finding(
        rule="audit.not-recorded",
        code=code,
        message="This decision could not be recorded, and what is not recorded is not allowed.",
        outcome=Outcome.DENY,
        severity=Severity.HIGH,
        instead="Make room for the audit log, or let it be written.",
    )
    return replace(decision, outcome=Outcome.DENY, findings=(finding, *decision.findings), grants=(), control=None)
