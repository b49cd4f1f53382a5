"""What has to happen to messages before the model sees them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TypeAlias

from policyengine.errors import PolicyEngineError, RequestError
from policyengine.gate.denials import finding
from policyengine.gate.terms import Duty, Message
from policyengine.model import Frozen, Outcome, digest_of, freeze
from policyengine.policies.guardrails.content import Content, Source

MAX_KNOWN = 4096  # messages whose duty is remembered: a conversation is shown to the model again in every step
WITHHELD = "[withheld: this text may not be shown]"
NO_DUTY = Duty(outcome=Outcome.ALLOW)
Key: TypeAlias = tuple[Source, bytes]


class Messages:
    """Judges messages, each once."""

    __slots__ = ("_content", "_known", "_lock")

    def __init__(self, content: Content | None) -> None:
        self._content = content
        self._known: OrderedDict[Key, Duty] = OrderedDict()
        self._lock = threading.Lock()

    def duty(self, message: Message) -> Duty:
        """Say what has to happen to a message."""
        if self._content is None:
            return NO_DUTY
        try:
            value = freeze(message.content)
            key = (message.source, _digest(value))
        except RequestError as error:
            return Duty(
                outcome=Outcome.DENY, findings=(finding(error.code, f"A message cannot be read: {error.message}."),)
            )
        with self._lock:
            known = self._known.get(key)
        return self._judged(self._content, key, value) if known is None else known

    def _judged(self, content: Content, key: Key, value: Frozen) -> Duty:
        verdict = content.look_at(value, key[0])
        duty = Duty(outcome=verdict.outcome, obligations=verdict.obligations, findings=verdict.findings)
        with self._lock:
            self._known[key] = duty
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
        return duty

    def cleaned(self, message: Message, duty: Duty) -> Frozen:
        """Give a message's content as the model may see it."""
        try:
            value = freeze(message.content)
            if duty.outcome is not Outcome.ALLOW:
                return WITHHELD
            if self._content is None:
                return value if not duty.obligations else WITHHELD
            return self._content.apply_to(duty.obligations, value)
        except PolicyEngineError:  # it is no text, or names a detector that is not there
            return WITHHELD


def _digest(value: Frozen) -> bytes:
    if isinstance(value, str):
        return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
    return bytes.fromhex(digest_of(value))
