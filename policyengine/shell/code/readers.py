"""Which reader reads which language."""

from __future__ import annotations

from collections.abc import Callable

from policyengine.shell.code.acts import Act
from policyengine.shell.code.filters import read_awk, read_nothing, read_sed, read_sql
from policyengine.shell.code.languages import READERS
from policyengine.shell.code.makefiles import read_make


def _read_python(text: str) -> list[Act]:
    from policyengine.shell.code.python import read_python  # noqa: PLC0415  `ast` costs a cold start 10 ms

    return read_python(text)


ALL: dict[str, Callable[[str], list[Act]]] = {
    "python": _read_python,
    "awk": read_awk,
    "sed": read_sed,
    "sql": read_sql,
    "make": read_make,
    "jq": read_nothing,
    "yq": read_nothing,
    **READERS,
}
