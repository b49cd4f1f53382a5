"""Resolving `like`: a description that starts from another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policyengine.config.specs_schema import DescriptionSpec, OptionSpec, OverlaySpec

SCALARS = (
    "style",
    "numeric",
    "plus",
    "bundled_first",
    "negatable",
    "equals",
    "chained",
    "operands",
    "inherit",
    "otherwise",
    "effects",
    "output",
    "input",
)


def found(
    name: str, around: DescriptionSpec | None, programs: Mapping[str, DescriptionSpec]
) -> tuple[DescriptionSpec | None, DescriptionSpec | None]:
    """Find the description called `program`, `program subcommand …`, or a subcommand of the one `around`.

    Returns it (None where there is none) and the one around it.
    """
    if around is not None and (beside := subcommand(around, name)) is not None:
        return beside, around
    program, *words = name.split()
    outer, description = None, programs.get(program)
    for word in words:
        outer, description = description, description and subcommand(description, word)
    return description, outer


def subcommand(description: DescriptionSpec, word: str) -> DescriptionSpec | None:
    """Find the description of a subcommand by one of its spellings."""
    return next((inner for words, inner in description.subcommands.items() if word in words.split()), None)


def merged(base: DescriptionSpec, own: DescriptionSpec) -> DescriptionSpec:
    """Lay `own` over `base`: single keys replace, lists and mappings extend, a repeated spelling replaces."""
    taken = frozenset(spellings_of(own))
    words = frozenset(word for key in own.subcommands for word in key.split())
    starts = [overlay for overlay in own.when if overlay == OverlaySpec.model_validate({"set": list(overlay.sets)})]
    changes = {
        name: getattr(own, name) for name in SCALARS if getattr(own, name) is not None
    }  # literal names, see SCALARS
    return base.model_copy(
        update={
            **changes,
            "summary": own.summary,
            "manual": own.manual,
            "names": own.names,
            "like": None,
            "options": {**_without(base.options, taken), **own.options},
            "flags": [*_remaining(base.flags, taken), *own.flags],
            "values": [*_remaining(base.values, taken), *own.values],
            "ignore": [*base.ignore, *own.ignore],
            "subcommands": {**_without(base.subcommands, words), **own.subcommands},
            "when": [*starts, *base.when, *(overlay for overlay in own.when if overlay not in starts)],
            "examples": own.examples,
        }
    )


def spellings_of(description: DescriptionSpec) -> list[str]:
    """List every spelling of every option, in order of the file."""
    return [word for key in (*description.options, *description.flags, *description.values) for word in key.split()]


def _remaining(entries: Sequence[str], taken: frozenset[str]) -> list[str]:
    kept = (" ".join(word for word in entry.split() if word not in taken) for entry in entries)
    return [entry for entry in kept if entry]


def _without(entries: Mapping[str, OptionSpec | DescriptionSpec], taken: frozenset[str]) -> dict[str, object]:
    kept = {" ".join(word for word in key.split() if word not in taken): meaning for key, meaning in entries.items()}
    return {key: meaning for key, meaning in kept.items() if key}
