"""From what a pass over the arguments found to its meaning: overlays, operand roles, tails and drafts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from policyengine.effects import Cause, Span
from policyengine.shell.programs.composed import awaiting, composed, joined
from policyengine.shell.programs.grammar import Program
from policyengine.shell.programs.parts import Condition, Elements, Glob, Operand, Overlay, Reference, glob_matches
from policyengine.shell.programs.reading import Draft, Reading, Tail, Use
from policyengine.shell.programs.roles import roles_of
from policyengine.shell.programs.templates import Found, drafts_of, values_of
from policyengine.shell.programs.vocabulary import BELOW, EFFECTLESS_ROLES, is_role
from policyengine.shell.values import Value

BARE = "bare"  # set while the overlays of a program are tried that was given no subcommand
HELP = "help"  # set by the options that ask for it; a call of nothing else only explains itself
IDLE = "idle"  # set where the call only shows what it would do: what its templates state does not happen
NO_FLAGS: frozenset[str] = frozenset()
ADDED_INPUT = "arguments"  # the `input` of xargs and its like


class Scanned(Found, Protocol):
    """What a pass over the arguments found."""

    program: Program
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
    program = scan.program
    elements, output, reads = program.elements, program.output, program.input
    overlays = _holding(scan) if program.conditional else ()
    renamed: dict[str, str] = {}
    for overlay in overlays:
        elements = overlay.elements or elements
        output, reads = overlay.output or output, overlay.input or reads
        renamed.update(overlay.roles)
    uses = scan.uses = _uses(scan, elements)
    if renamed or program.invents:
        uses = scan.uses = _renamed(scan, uses, renamed)
    if reads == ADDED_INPUT:
        scan.tails = [awaiting(tail, _hole(uses)) for tail in scan.tails]
    if overlays or program.states:
        _state(scan, overlays)
    if IDLE in scan.flags or (HELP in scan.flags and not scan.operands):
        scan.drafts = []
    flags = frozenset(scan.flags) if scan.flags else NO_FLAGS
    opaque = tuple(scan.opaque)
    return Reading(
        tuple(uses), tuple(scan.tails), tuple(scan.drafts), flags, opaque, output, reads, tuple(scan.operands)
    )


def _added(scan: Scanned, overlay: Overlay) -> list[Use]:
    """The roles of texts that an overlay puts together; an empty one has none."""
    return [
        Use(role, value)
        for role, reference in overlay.uses
        for value in values_of(reference, scan)
        if value.text or not value.exact
    ]


def _state(scan: Scanned, overlays: Sequence[Overlay]) -> None:
    for program in scan.path:
        if program.templates:
            scan.drafts += drafts_of(program.templates, scan)
    for overlay in overlays:
        if overlay.templates:
            scan.drafts += drafts_of(overlay.templates, scan)
        if overlay.uses:
            scan.uses += _added(scan, overlay)


def _uses(scan: Scanned, elements: Elements) -> list[Use]:
    uses, events, operands = scan.early, scan.events, scan.operands
    if not operands:
        return uses + events if uses else events  # type: ignore[return-value, operator]  # no operand, so no index
    element = elements.uniform
    if element is None:
        return _laid_out(scan, elements)
    if elements.silent:
        return uses + [event for event in events if event.__class__ is not int]  # type: ignore[misc]
    role, where = element.role, element.where
    return uses + [
        Use(role, operands[event], "", where) if event.__class__ is int else event  # type: ignore[misc]
        for event in events
    ]


def _laid_out(scan: Scanned, elements: Elements) -> list[Use]:
    roles, uses = roles_of(scan.operands, elements), scan.early
    for event in scan.events:
        if isinstance(event, Use):
            uses.append(event)
            continue
        for element in roles.each[event]:
            if element.role not in EFFECTLESS_ROLES:
                uses.append(Use(element.role, scan.operands[event], "", element.where))
    for start, element in roles.tails:
        _add_tail(scan, uses, _without_dashes(scan.arguments[scan.positions[start] :]), element)
    if roles.excess is not None:
        value = scan.operands[roles.excess]
        scan.opaque.append((Cause.OPTION, f"operand {value.text}"[:80], value.span))
    return uses


def _renamed(scan: Scanned, uses: list[Use], renamed: Mapping[str, str]) -> list[Use]:
    uses = [_below(use._replace(role=renamed[use.role])) if use.role in renamed else use for use in uses]
    return _decided(scan, [use for use in uses if use.role not in EFFECTLESS_ROLES])


def _below(use: Use) -> Use:
    if not use.role.startswith(BELOW):
        return use
    value = use.value._replace(text=f"{use.value.text.rstrip('/')}/", exact=False)
    return use._replace(role=use.role.removeprefix(BELOW), value=value)


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
        uses.append(Use(element.role, joined(words, element.join), "", element.where))
    elif words:
        scan.tails.append(
            Tail(tuple(words), element.where, module=element.role == "module", again=element.role == "again")
        )


def _hole(uses: Sequence[Use]) -> str:
    return next((use.value.text or "{}" for use in uses if use.role == "hole"), "")


def _holding(scan: Scanned) -> list[Overlay]:
    """The overlays that may hold. What only may be set takes no other overlay's place: both are looked at."""
    holding = []
    flags = scan.flags
    if scan.program.subcommands:
        flags.add(BARE)
    sure = set(flags)
    for program in scan.path:
        for overlay in program.overlays:
            condition = overlay.condition
            if condition.flags <= flags and condition.absent.isdisjoint(sure) and _holds(condition, scan):
                decided = condition.flags <= sure and condition.absent.isdisjoint(flags)
                certain = decided and _is_certain(condition, scan)
                holding.append(overlay if certain else overlay.mild())
                flags.update(overlay.sets)
                sure.update(overlay.sets if certain else ())
    flags -= {IDLE} - sure
    return holding


def _holds(condition: Condition, scan: Scanned) -> bool:
    count = len(scan.operands)
    if count < condition.least or (condition.below and count >= condition.below):
        return False
    if not condition.match:
        return True
    if not condition.given <= scan.given.keys():
        return False
    return all([_matches(reference, globs, scan, _may_match) for reference, globs in condition.match])


def _is_certain(condition: Condition, scan: Scanned) -> bool:
    return not condition.match or all(
        [_matches(reference, globs, scan, _does_match) for reference, globs in condition.match]
    )


def _matches(reference: Reference, globs: Sequence[Glob], scan: Scanned, test: Callable[[Value, Glob], bool]) -> bool:
    return any(test(value, glob) for value in values_of(reference, scan) for glob in globs)


def _does_match(value: Value, glob: Glob) -> bool:
    return value.exact and glob_matches(glob.text, value.text)


def _may_match(value: Value, glob: Glob) -> bool:
    if value.exact:
        return glob_matches(glob.text, value.text)
    return glob.literal.startswith(value.text) or (glob.open and value.text.startswith(glob.literal))
