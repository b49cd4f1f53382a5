"""The audit log: what was asked, what was decided, and what became of it, kept before the answer is released.

`AuditLog.append` keeps one record or raises `AuditError`, and then the caller denies. `verify` says whether a log is as
it was written: it tells tampering from what it could not read. `records` makes the records.

What this shows, and to whom: whoever has the key can check, and could also forge (HMAC gives no proof to third
parties). Whoever can write the files but has no key cannot change, drop, move or add a record unnoticed. Only taking
log and heads back together to an older copy shows nowhere inside: for that, `AuditLog.checkpoint` gives an anchor to
keep elsewhere, and `verify` compares.
"""

from policyengine.audit.keys import AuditKey
from policyengine.audit.log import AuditLog
from policyengine.audit.records import (
    Answer,
    CallStatus,
    Detail,
    approval_record,
    decision_record,
    exposure_record,
    refused_token_record,
    result_record,
)
from policyengine.audit.report import Problem, Report, Standing
from policyengine.audit.segment import Durability, Receipt
from policyengine.audit.verify import Entry, entries, verify

__all__ = [
    "Answer",
    "AuditKey",
    "AuditLog",
    "CallStatus",
    "Detail",
    "Durability",
    "Entry",
    "Problem",
    "Receipt",
    "Report",
    "Standing",
    "approval_record",
    "decision_record",
    "entries",
    "exposure_record",
    "refused_token_record",
    "result_record",
    "verify",
]
