"""Directories that were filled from outside: what is unpacked from a fetched archive, and clones.

Nobody has read what lies there, and what its files are called is not known. So a tree is the beginning of paths, and
whatever lies behind it came from elsewhere, unless this run wrote it itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from policyengine.effects import Taint, Taints, WrittenFile

FOREIGN: Taints = frozenset({Taint.FOREIGN})
FROM_ELSEWHERE: Taints = frozenset({Taint.FETCHED, Taint.FOREIGN})
LAID: Taints = frozenset({Taint.WORKSPACE})  # of what lay there before the run
MAX_TREES = 64  # of one call
_PATTERN = re.compile(r"[*?\[{]")


def arrived_at(trees: Mapping[str, Taints], path: str) -> tuple[WrittenFile, ...]:
    """What is known of a file that lies in a tree, or may: nothing for one that does not."""
    taint = taint_below(trees, path)
    return (WrittenFile(path, None, taint),) if taint else ()


def taint_below(trees: Mapping[str, Taints], path: str, *, partial: bool = False) -> Taints:
    """Where what a path, pattern or (`partial`) beginning of a path may name came from, as far as trees say."""
    pattern = _PATTERN.search(path)
    if pattern is not None:
        path, partial = path[: pattern.start()], True
    found = [taint for tree, taint in trees.items() if path.startswith(tree) or (partial and tree.startswith(path))]
    return frozenset().union(*found) if found else frozenset()
