"""From what a pass over the arguments found to its meaning: overlays, operand roles, tails and drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from policyengine.effects import Cause, Span
from policyengine.shell.programs.composed import awaiting, composed, joined
from policyengine.shell.programs.grammar import Condition, Glob, Operand, Overlay, Program, Reference
from policyengine.shell.programs.reading import Draft, Reading, Tail, Use
from policyengine.shell.programs.roles import Roles, roles_of
from policyengine.shell.programs.templates import Found, drafts_of, values_of
from policyengine.shell.programs.vocabulary import EFFECTLESS_ROLES, is_role
from policyengine.shell.values import Value

BARE = "bare"  # set while the overlays of a program are tried that was given no subcommand
ADDED_INPUT = "arguments"  # the `input` of xargs and its like


class Scanned(Found, Protocol):
    """What a pass over the arguments found."""

    arguments: Sequence[Value]
    path: list[Program]
    positions: list[int]
    events: list[Use | int]
    early: list[Use]
    tails: list[Tail]
    drafts: list[Draft]
    flags: set[str]
    opaque: list[tuple[Cause, str, Span | None]]


def meaning_of(scan: Scanned) -> Reading:
    """Apply overlays, give operands their roles and templates their values."""
    overlays = _holding(scan) if any(program.overlays for program in scan.path) else ()
    elements = scan.path[-1].operands
    renamed: dict[str, str] = {}
    for overlay in overlays:
        elements = elements if overlay.operands is None else overlay.operands
        renamed.update(overlay.roles)
    uses = _uses(scan, roles_of(scan.operands, elements), renamed)
    output, reads = _streams(scan.path, overlays)
    if reads == ADDED_INPUT:
        scan.tails = [awaiting(tail, _hole(uses)) for tail in scan.tails]
    for program in scan.path:
        scan.drafts += drafts_of(program.templates, scan)
    for overlay in overlays:
        scan.drafts += drafts_of(overlay.templates, scan)
    return Reading(
        tuple(uses),
        tuple(scan.tails),
        tuple(scan.drafts),
        frozenset(scan.flags),
        tuple(scan.opaque),
        output,
        reads,
        tuple(scan.operands),
    )


def _uses(scan: Scanned, roles: Roles, renamed: Mapping[str, str]) -> list[Use]:
    uses = scan.early
    for event in scan.events:
        if isinstance(event, Use):
            uses.append(event)
        else:
            value = scan.operands[event]
            uses += [
                Use(element.role, value, "", element.where)
                for element in roles.each[event]
                if element.role not in EFFECTLESS_ROLES
            ]
    for start, element in roles.tails:
        _add_tail(scan, uses, _without_dashes(scan.arguments[scan.positions[start] :]), element)
    if roles.excess is not None:
        value = scan.operands[roles.excess]
        scan.opaque.append((Cause.OPTION, f"operand {value.text}"[:80], value.span))
    if renamed:
        uses = [use._replace(role=renamed.get(use.role, use.role)) for use in uses]
        uses = [use for use in uses if use.role not in EFFECTLESS_ROLES]
    for use in uses:
        scan.roles.setdefault(use.role, []).append(use.value)
    return _decided(scan, uses)


def _decided(scan: Scanned, uses: list[Use]) -> list[Use]:
    """Drop the roles that a description made up and no overlay turned into a real one: what they do is not known."""
    undecided = [use for use in uses if not is_role(use.role)]
    if not undecided:
        return uses
    scan.opaque += [(Cause.OPTION, f"{use.role} without a mode", use.value.span) for use in undecided]
    return [use for use in uses if is_role(use.role)]


def _without_dashes(words: Sequence[Value]) -> Sequence[Value]:
    """Drop the `--` that separates a command from what comes before it (`lxc exec web -- ls`)."""
    return words[1:] if words and words[0].text == "--" else words


def _add_tail(scan: Scanned, uses: list[Use], words: Sequence[Value], element: Operand) -> None:
    if element.until:
        tails, codes = composed(words, element)
        scan.tails += tails
        uses += [Use("shell", code, "", element.where) for code in codes]
    elif element.join and words:
        uses.append(Use(element.role, joined(words), "", element.where))
    elif words:
        scan.tails.append(Tail(tuple(words), element.where, module=element.role == "module"))


def _hole(uses: Sequence[Use]) -> str:
    return next((use.value.text or "{}" for use in uses if use.role == "hole"), "")


def _streams(path: Sequence[Program], overlays: Sequence[Overlay]) -> tuple[str, str]:
    output, reads = "", ""
    layers: tuple[Program | Overlay, ...] = (*path, *overlays)
    for layer in layers:
        output = layer.output or output
        reads = layer.input or reads
    return output or "listing", reads or "data"


def _holding(scan: Scanned) -> list[Overlay]:
    holding = []
    for program in scan.path:
        if program.subcommands and program is scan.path[-1]:
            scan.flags.add(BARE)
        for overlay in program.overlays:
            if _holds(overlay.condition, scan):
                holding.append(overlay)
                scan.flags.update(overlay.sets)
    return holding


def _holds(condition: Condition, scan: Scanned) -> bool:
    flags = scan.flags
    if not condition.flags <= flags or not condition.absent.isdisjoint(flags):
        return False
    count = len(scan.operands)
    if count < condition.least or (condition.below and count >= condition.below):
        return False
    return all(_matches(reference, globs, scan) for reference, globs in condition.match)


def _matches(reference: Reference, globs: Sequence[Glob], scan: Scanned) -> bool:
    return any(_may_match(value, glob) for value in values_of(reference, scan) for glob in globs)


def _may_match(value: Value, glob: Glob) -> bool:
    if value.exact:
        return glob.pattern.match(value.text) is not None
    return value.text.startswith(glob.literal) or glob.literal.startswith(value.text)
