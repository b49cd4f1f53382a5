"""The real OPA server with the sample policy, one for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.policies.opa.servers import MISSING, RULES, Real, program, running


@pytest.fixture(scope="session")
def opa_program() -> str:
    found = program()
    if found is None:
        pytest.skip(MISSING)
    return found


POLICIES = """
package odd

import rego.v1

default careless := true

careless := false if to_number("abc") == 1

default refuses := false

text := "yes"

number := 1

list := [true]

nothing := null

slow := count([1 | some i in numbers.range(1, 100000000); i < 0]) == 0

echo := input.arguments.expected == input.arguments.given

no_default if input.arguments.never
"""


@pytest.fixture(scope="session")
def real(opa_program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    folder: Path = tmp_path_factory.mktemp("opa")
    odd = folder / "odd.rego"
    odd.write_text(POLICIES)
    with running(opa_program, folder, odd, RULES / "tools.rego", RULES / "data.json") as server:
        yield server
