"""The shipped detectors, and texts that they find things in."""

from __future__ import annotations

from functools import cache

from policyengine.config.compiler import read_documents
from policyengine.config.detectors import ContentExample, compile_detectors, detector_examples
from policyengine.config.sources import files_of, shipped
from policyengine.config.yamlfile import Document
from policyengine.model import Tier
from policyengine.policies.guardrails.content import Action, Content, Source
from policyengine.policies.guardrails.content.content import Overrides

STRICT: Overrides = {  # everything that can be cleaned is
    "secret": dict.fromkeys(Source, Action.REDACT),
    "pii": dict.fromkeys(Source, Action.REDACT),
    "injection": dict.fromkeys(Source, Action.NEUTRALISE),
    "injection.unseen-text": dict.fromkeys(Source, Action.REDACT),
}


@cache
def documents() -> list[Document]:
    files = [file for file in files_of(shipped(), Tier.SHIPPED) if file.content == "detectors"]
    return read_documents(files)["detectors"]


@cache
def content(*, strict: bool = False) -> Content:
    return Content(compile_detectors(documents()), overrides=STRICT if strict else None)


@cache
def examples() -> list[ContentExample]:
    return list(detector_examples(documents()))
