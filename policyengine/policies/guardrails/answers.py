"""From what a provider answered to a verdict. Only `allow` that is `True` allows.

| code | what happened |
|---|---|
| the provider's own, or `guardrail.denied` | it said no |
| `guardrail.malformed` | what it gave is no decision: `None`, an `allow` that is no boolean, a coroutine |
| `guardrail.raised` | it raised, or reading its answer did |
| `guardrail.timeout` | it did not answer in time |
| `guardrail.stuck` | earlier questions to it still hang, and no more are asked |
| `guardrail.unaskable` | the call cannot be shown to it |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from policyengine.model import Finding, Outcome, Severity, Verdict

MAX_REASONS = 8
MAX_MESSAGE = 500  # characters of a provider's words
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,99}")
_WORDS = re.compile(r"[^ -;=?-~]")  # what is no printable ASCII, and `<` and `>`: the words may reach a model
INSTEAD = "Choose another way to do it, or ask the person."
FAULT = "This is a fault of the guardrail: tell the person; another call will not help."


def answered(name: str, answer: object) -> Verdict:
    """Give the verdict for a provider's answer. What reading it raises is the caller's to handle."""
    allow = getattr(answer, "allow", None)  # any object with the attribute is a decision
    if allow is True:
        return Verdict(policy=name, outcome=Outcome.ALLOW)
    if allow is not False:
        if hasattr(answer, "close") and hasattr(answer, "cr_frame"):
            answer.close()  # a coroutine that nobody will await
        return failed(name, "malformed", f"The guardrail {name} gave no decision.")
    findings = tuple(islice(_findings(name, getattr(answer, "reasons", ())), MAX_REASONS))
    return Verdict(policy=name, outcome=Outcome.DENY, findings=findings or (_denied(name, "", ""),))


def failed(name: str, what: str, message: str) -> Verdict:
    """Deny because a provider gave no answer."""
    code = f"guardrail.{what}"
    finding = Finding(
        rule=code, code=code, message=message, outcome=Outcome.DENY, severity=Severity.HIGH, instead=FAULT
    )
    return Verdict(policy=name, outcome=Outcome.DENY, findings=(finding,))


def _findings(name: str, reasons: object) -> Iterator[Finding]:
    if isinstance(reasons, list | tuple):
        for reason in reasons:
            yield _denied(name, getattr(reason, "code", ""), getattr(reason, "message", ""))


def _denied(name: str, code: object, message: object) -> Finding:
    words = _WORDS.sub("?", message[:MAX_MESSAGE]) if isinstance(message, str) else ""
    return Finding(
        rule=f"guardrail.{name}",
        code=code if isinstance(code, str) and _CODE.fullmatch(code) else "guardrail.denied",
        message=f"The guardrail {name} denies this call." + (f" It says: {words}" if words else ""),
        outcome=Outcome.DENY,
        severity=Severity.MEDIUM,
        instead=INSTEAD,
    )
