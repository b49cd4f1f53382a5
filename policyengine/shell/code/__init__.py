"""Reading code in languages other than the shell: Python by its own syntax tree, others by the calls that matter."""

from __future__ import annotations

from policyengine.shell.code.acts import ARGUMENT, Act, Kind
from policyengine.shell.values import Value

__all__ = ["ARGUMENT", "Act", "Kind", "read_code"]


def read_code(language: str, text: str) -> list[Act]:
    """What the code does, as far as its text goes."""
    from policyengine.shell.code.readers import ALL  # noqa: PLC0415  a process that meets no code does without

    reader = ALL.get(language)
    if reader is None:
        return [Act(Kind.OPAQUE, Value(text), (f"code in `{language}` is not read",), end=len(text))]
    return reader(text) if text.strip() else []
