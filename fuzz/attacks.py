"""`python -m fuzz.attacks [--count N] [--seed S]`: harmful commands in disguise, and harmless ones in the same.

An attack is a payload in a quoting, in wrappers, in carriers. The law: it is judged at least as strictly as its plain
payload, in every profile. Its counterweight, without which a guard that denies everything would pass: a harmless
payload carried the same way is allowed. Every single way is tried on every payload; combinations are drawn by a seed.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from random import Random
from typing import Final, NamedTuple

from fuzz.carriers import CARRIERS, HELD
from fuzz.payloads import HARMFUL, HARMLESS, OBSCURING, QUOTINGS, Payload, payload
from fuzz.standing import PROFILES, Standing, standing
from fuzz.surroundings import WRAPPERS

COUNT: Final = 20_000  # attacks; of twins there are a fifth as many
_WAYS: Final = {
    **{f"wrapper {name}": way for name, way in WRAPPERS.items()},
    **{f"carrier {name}": way for name, way in CARRIERS.items()},
}
_HARMLESS_WAYS: Final = tuple(name for name in _WAYS if name.partition(" ")[2] not in HELD)
_OPEN_QUOTINGS: Final = tuple(name for name in QUOTINGS if name not in OBSCURING)


class Generated(NamedTuple):
    """A command, the payload it carries and the ways it was made in, innermost first."""

    text: str
    payload: str
    ways: tuple[str, ...]


class Fault(NamedTuple):
    """A command that is judged otherwise than it has to be."""

    command: Generated
    profile: str
    expected: Standing
    got: Standing


def attacks(seed: int) -> Iterator[Generated]:
    """Every harmful payload in every single way, then combinations without end."""
    return chain(_singles(HARMFUL, tuple(QUOTINGS), tuple(_WAYS)), _drawn(HARMFUL, tuple(QUOTINGS), tuple(_WAYS), seed))


def twins(seed: int) -> Iterator[Generated]:
    """Likewise of harmless payloads, in the ways that are no reason to ask in themselves."""
    return chain(
        _singles(HARMLESS, _OPEN_QUOTINGS, _HARMLESS_WAYS), _drawn(HARMLESS, _OPEN_QUOTINGS, _HARMLESS_WAYS, seed)
    )


def _singles(payloads: Iterable[str], quotings: tuple[str, ...], ways: tuple[str, ...]) -> Iterator[Generated]:
    for text in payloads:
        plain = payload(text)
        made = [Generated(_quote(plain, name), text, (name,)) for name in quotings]
        made += [Generated(_WAYS[name](plain), text, (name,)) for name in ways]
        yield from (one for one in made if one.text)


def _drawn(
    payloads: tuple[str, ...], quotings: tuple[str, ...], ways: tuple[str, ...], seed: int
) -> Iterator[Generated]:
    random = Random(seed)
    while True:
        text = random.choice(payloads)
        current, used = payload(text), []
        quoting = random.choice(quotings)
        if random.random() < 0.5 and (quoted := _quote(current, quoting)):
            current, used = payload(quoted), [quoting]
        for name in random.sample(ways, random.choice((1, 2, 2, 3))):
            if carried := _WAYS[name](current):
                current = payload(carried)
                used.append(name)
        if len(used) > 1:
            yield Generated(current.text, text, tuple(used))


def _quote(one: Payload, name: str) -> str:
    return QUOTINGS[name](one.words) if one.words else ""


def faults_of_attacks(generated: Iterable[Generated]) -> Iterator[Fault]:
    """Those that are judged more leniently than their plain payload."""
    plain = {(text, profile): standing(text, profile) for text in HARMFUL for profile in PROFILES}
    for one in generated:
        for profile in PROFILES:
            expected, got = plain[one.payload, profile], standing(one.text, profile)
            if got < expected:
                yield Fault(one, profile, expected, got)


def faults_of_twins(generated: Iterable[Generated]) -> Iterator[Fault]:
    """Those that are held although nothing in them does harm."""
    for one in generated:
        for profile in PROFILES:
            got = standing(one.text, profile)
            if got > Standing.PASS:
                yield Fault(one, profile, Standing.PASS, got)


def main() -> int:
    """Judge everything; 0 if every law holds, 1 if one does not."""
    options = _options()
    print(f"seed {options.seed}", flush=True)
    found = [*faults_of_attacks(islice(attacks(options.seed), options.count))]
    print(f"attacks: {options.count}, more lenient than their payload: {len(found)}", flush=True)
    _show(found, options.show)
    held = [*faults_of_twins(islice(twins(options.seed), options.count // 5))]
    print(f"harmless twins: {options.count // 5}, held: {len(held)}")
    _show(held, options.show)
    return 1 if found or held else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz.attacks", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="how many attacks")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="decides the combinations")
    parser.add_argument("--show", type=int, default=30, help="how many faults to show")
    return parser.parse_args()


def _show(faults: list[Fault], limit: int) -> None:
    """The ways with the most faults, and the shortest fault of each combination of ways."""
    for way, count in Counter(way for fault in faults for way in fault.command.ways).most_common(limit):
        print(f"  {count:6} x {way}")
    shortest = sorted(faults, key=lambda fault: (-len(fault.command.ways), -len(fault.command.text)))
    for fault in islice(reversed({fault.command.ways: fault for fault in shortest}.values()), limit):
        print(
            f"  {fault.profile} {fault.got.name} for {fault.expected.name} {' / '.join(fault.command.ways)}: "
            f"{fault.command.text!r}"
        )


if __name__ == "__main__":
    sys.exit(main())
