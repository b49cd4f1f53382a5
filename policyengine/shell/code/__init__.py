"""Reading code in languages other than the shell: Python by its own syntax tree, others by the calls that matter."""

from __future__ import annotations

from policyengine.shell.code.acts import ARGUMENT, Act, Kind

__all__ = ["ARGUMENT", "Act", "Kind", "awk_texts", "is_filled_in", "jq_texts", "read_code", "sed_texts"]


def is_filled_in(language: str, template: str) -> bool:
    """Whether code only looks, and holds values of the command in nothing but texts."""
    from policyengine.shell.code.filled import is_filled_in as found  # noqa: PLC0415  as below

    return found(language, template)


def sed_texts(text: str) -> list[str]:
    """The lines that a sed script may print by itself."""
    from policyengine.shell.code.filters import sed_texts as found  # noqa: PLC0415  as below

    return found(text)


def awk_texts(text: str) -> list[str]:
    """The texts that an awk program may print by itself."""
    from policyengine.shell.code.filters import awk_texts as found  # noqa: PLC0415  as below

    return found(text)


def jq_texts(text: str) -> list[str]:
    """The texts that a jq filter may print by itself."""
    from policyengine.shell.code.filters import jq_texts as found  # noqa: PLC0415  as below

    return found(text)


def read_code(language: str, text: str) -> list[Act]:
    """What the code does, as far as its text goes."""
    from policyengine.shell.code.readers import ALL  # noqa: PLC0415  a process that meets no code does without
    from policyengine.shell.code.unread import tried, unread  # noqa: PLC0415  as above

    if not text.strip():
        return []
    reader = ALL.get(language)
    acts = unread(text, language) if reader is None else reader(text)
    return acts + tried(text, language) if any(map(_is_unclear, acts)) else acts


def _is_unclear(act: Act) -> bool:
    """Whether what runs is not known: it may be what stands elsewhere in the code."""
    if act.kind in (Kind.SHELL, Kind.CODE):
        return not act.value.exact and not act.value.text
    return act.kind is Kind.OPAQUE or (act.kind is Kind.COMMAND and bool(act.words) and not act.words[0].exact)
