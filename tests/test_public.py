"""The package's public names, and what importing costs in modules."""

from __future__ import annotations

import subprocess
import sys

import policyengine
from policyengine.model import Context

HEAVY = ("pydantic", "yaml", "re2", "casbin", "cryptography", "click", "asyncio", "policyengine.model")


def test_every_public_name_is_there() -> None:
    assert [name for name in policyengine.__all__ if getattr(policyengine, name, None) is None] == []
    assert dir(policyengine) == sorted(policyengine.__all__)
    assert policyengine.Context is Context


def test_another_name_is_not() -> None:
    assert not hasattr(policyengine, "nonexistent")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, policyengine; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
