"""What code in other languages does: a table with near-misses beside hits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from policyengine.config.specs import compile_descriptions
from policyengine.config.yamlfile import read_file
from policyengine.effects import EvaluateCode, WrittenFile
from policyengine.shell.interpret import Situation, interpret_code
from policyengine.shell.programs import Programs
from tests.shell.test_across_calls import some

HERE = Path(__file__).parent
PROGRAMS = Programs(compile_descriptions([read_file(HERE / "programs.yaml")]))
CASES: list[dict[str, Any]] = yaml.safe_load((HERE.parent / "cases" / "code_calls.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_code_has_the_effects_of_its_row(case: dict[str, Any]) -> None:
    written = {path: WrittenFile(path, text) for path, text in case.get("files", {}).items()}
    facts = interpret_code(case["language"], case["code"], Situation(written=written), PROGRAMS)
    own = EvaluateCode(case["language"], "argument")[:2]
    first = facts.effects[:1]
    inside = facts._replace(effects=facts.effects[any(effect[:2] == own for effect in first) :])
    missing = [wanted for wanted in case.get("has", ()) if not some(inside, wanted)]
    surplus = [unwanted for unwanted in case.get("lacks", ()) if some(inside, unwanted)]
    assert (missing, surplus) == ([], []), facts.effects
