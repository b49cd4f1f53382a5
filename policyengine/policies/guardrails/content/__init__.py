"""What text contains: secrets, personal data, and text that pretends to be the framework's.

`Content` judges and cleans texts by the detectors of `rules/guardrail`; `source_of_result` says which results count as
remote; `originals` keeps what a person wrote. Detectors find shapes, not meanings: an instruction in plain words that
no phrase of the rules fits passes.
"""

from policyengine.policies.guardrails.content.applying import apply, apply_to
from policyengine.policies.guardrails.content.content import Content
from policyengine.policies.guardrails.content.detectors import Action, Detector, Detectors, Source
from policyengine.policies.guardrails.content.kinds import labels_of, source_of_result
from policyengine.policies.guardrails.content.originals import ORIGINAL, received, with_original, wrapped
from policyengine.policies.guardrails.content.stream import Scanner

__all__ = [
    "ORIGINAL",
    "Action",
    "Content",
    "Detector",
    "Detectors",
    "Scanner",
    "Source",
    "apply",
    "apply_to",
    "labels_of",
    "received",
    "source_of_result",
    "with_original",
    "wrapped",
]
