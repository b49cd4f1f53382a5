"""Code into whose texts the command puts values (`node -e "console.log('$v')"`)."""

from __future__ import annotations

from policyengine.effects import HOLE
from policyengine.patterns import lazily
from policyengine.shell.code.acts import LOOKING
from policyengine.shell.code.python import is_filled_in as is_filled_in_python
from policyengine.shell.code.readers import ALL

_LANGUAGES = frozenset({"node", "ruby", "php"})
_LITERAL = lazily(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")


def is_filled_in(language: str, template: str) -> bool:
    """Whether every hole of the code lies in a text, and nothing that the code does depends on it or matters.

    Where slashes stand outside of texts, there may be comments or expressions in which quotes begin no text.
    """
    if language == "python":
        return is_filled_in_python(template)
    outside = _LITERAL.sub("", template) if language in _LANGUAGES else HOLE
    return not ({HOLE, "/", "`", "#", "<"} & set(outside)) and all(
        act.kind in LOOKING for act in ALL[language](template)
    )
