"""The process that analyses: one JSON object a line in, one out. It reads nothing from the network.

    in   {"text": "…", "language": "en"}
    out  {"ready": true} once, then {"entities": [["PERSON", 0, 4, 0.85], …]} or {"error": "ValueError"} for each line

Arguments: the name of an installed spaCy model, or `-` for patterns only; the language.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any, TextIO

import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import SpacyNlpEngine

PATTERNS_ONLY = "-"


class _Loaded(SpacyNlpEngine):  # type: ignore[misc]  # a class without types
    """An engine whose model is there already; Presidio's own would download one that is missing."""

    def __init__(self, model: Any, language: str) -> None:
        super().__init__()
        self.nlp = {language: model}


def main(model: str, language: str) -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer
    analyzer = _analyzer(model, language)
    _answer(answers, {"ready": True})
    for line in sys.stdin:
        _answer(answers, _analysed(analyzer, line))


def _analyzer(model: str, language: str) -> Any:
    if model != PATTERNS_ONLY and importlib.util.find_spec(model) is None:
        raise SystemExit(f"the spaCy model `{model}` is not installed")
    loaded = spacy.blank(language) if model == PATTERNS_ONLY else spacy.load(model)
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    return AnalyzerEngine(nlp_engine=_Loaded(loaded, language), supported_languages=[language])


def _analysed(analyzer: Any, line: str) -> dict[str, Any]:
    try:
        asked = json.loads(line)
        found = analyzer.analyze(text=asked["text"], language=asked["language"])
    except Exception as error:  # this process only tells; whoever asked decides
        return {"error": type(error).__name__}
    return {"entities": [[one.entity_type, one.start, one.end, one.score] for one in found]}


def _answer(answers: TextIO, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
