"""Regular expressions that are compiled when first used: most processes answer one call and need few of them."""

from __future__ import annotations

import re
from typing import cast


class _Lazy:
    """Stands for a compiled expression; each method is an attribute of its own from its first use on."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> object:
        method: object = getattr(re.compile(*self._given), name)  # `re` keeps it
        self.__dict__[name] = method
        return method


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Give an expression that is compiled when it is first asked for anything."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
