"""Links that this run makes: what is reached through them is what they lead to.

Links that exist already are not known (paths are lexical), but `ln -s ~/.claude c; echo x > c/settings.json` says
itself what it writes. A link counts wherever the run makes it.
"""

from __future__ import annotations

from collections.abc import Mapping

PATH_MAX = 4096  # bytes of a path name (limits.h); longer ones name nothing
MAX_LINKS = 256  # that a run makes and that are followed
MAX_STEPS = 8  # from a link to the next


def linked(links: dict[str, str], path: str, target: str) -> None:
    """Remember that a path leads to another one."""
    if len(links) < MAX_LINKS and not f"{target}/".startswith(f"{path}/"):
        links[path] = target


def below(links: Mapping[str, str], path: str) -> str:
    """A path whose directories are followed; a link itself stays what it is, as for what removes or replaces it."""
    for _ in range(MAX_STEPS if links and len(path) <= PATH_MAX else 0):
        at = path.rfind("/")
        while at > 0 and path[:at] not in links:
            at = path.rfind("/", 0, at)
        if at <= 0:
            break
        path = links[path[:at]] + path[at:]
    return path


def through(links: Mapping[str, str], path: str) -> str:
    """A path as what opens it reaches it."""
    for _ in range(MAX_STEPS if links else 0):
        if path not in links:
            break
        path = below(links, links[path])
    return path
