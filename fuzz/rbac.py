"""Ask pycasbin and our own roles the same, over random worlds: `python -m fuzz.rbac --decisions 1000000 --seed 1`."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import casbin
from casbin.persist.adapters.string_adapter import StringAdapter

from fuzz.rbac_worlds import World, world
from policyengine.config.rbac.conf import model_of
from policyengine.config.rbac.lines import CsvLines
from policyengine.config.rbac.loading import Compiled, compiled_of
from policyengine.errors import LoadError

CHUNK = 20_000  # decisions under one seed; the next begins with the seed after it


def compared(decisions: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Make so many decisions twice; count them by kind, and describe every difference."""
    counts: Counter[str] = Counter()
    differences: list[str] = []
    chance = random.Random(seed)
    while counts["decisions"] < decisions:
        made = world(chance)
        ours = _loaded(made)
        if (ours is None) is not bool(made.fault):
            differences.append(f"{'refused' if ours is None else 'taken'}, fault {made.fault!r}\n{_told(made)}")
        elif ours is None:
            counts[f"refused: {made.fault}"] += 1
        else:
            _compare(made, ours, counts, differences)
    return counts, differences


def _loaded(made: World) -> Compiled | None:
    try:
        return compiled_of(model_of(made.model, "model.conf"), CsvLines(made.policy, "policy.csv"), made.depth)
    except LoadError:
        return None


def _compare(made: World, ours: Compiled, counts: Counter[str], differences: list[str]) -> None:
    peer = _pycasbin(made)
    for request in made.requests:
        expected = _outcome(peer.enforce, *request)
        line = _outcome(ours.answers.decide, request)
        allowed = line if isinstance(line, str) else line >= 0 if made.only_denies else line > 0
        counts["decisions"] += 1
        counts["by the index" if ours.indexed else "by an Enforcer"] += 1
        counts[f"answered {expected}"] += 1
        if allowed != expected:
            differences.append(f"{request}: pycasbin {expected}, we {allowed} ({line})\n{_told(made)}")


def _outcome(ask: Callable[..., int], *arguments: Any) -> int | str:
    """What is answered; an error is an answer too (of a policy, the engine makes a denial of it)."""
    try:
        return ask(*arguments)
    except Exception as error:
        return f"raised {type(error).__name__}"


def _pycasbin(made: World) -> Any:
    model = casbin.Model()
    model.load_model_from_text(made.model)
    peer = casbin.Enforcer(model)
    for manager in peer.rm_map.values():
        manager.max_hierarchy_level = made.depth
    peer.set_adapter(StringAdapter(made.policy))
    peer.load_policy()
    return peer


def _told(made: World) -> str:
    return f"depth {made.depth}\n{made.model}\n--\n{made.policy}\n"


def main() -> int:
    """Compare, and print counts and differences; ends with 1 where there are some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + -(-options.decisions // CHUNK)):
        counts, differences = compared(min(CHUNK, options.decisions - total["decisions"]), seed)
        total += counts
        told = ", ".join(f"{number} {name}" for name, number in sorted(total.items()))
        print(*differences[:10], f"up to seed {seed}: {told}", sep="\n", flush=True)
        if differences:
            return 1
    print("no differences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
