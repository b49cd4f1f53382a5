"""What a store of used-up approvals and one of run states promise, whatever keeps them.

Codes of `StoreError`, each of which means: deny. `store.conflict` (somebody saved first, or the state that was loaded
is lost), `store.not-newer`, `store.jti`, `store.until`, `store.scope`, `store.full`, `store.forked`, `store.locked`,
`store.corrupt`, `store.schema`, `store.unsafe-file`, `store.replaced`, `store.unavailable`, `store.evicting`,
`store.volatile`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from policyengine.errors import StoreError
from policyengine.state import RunState

GRACE = 3600.0  # seconds for which a used approval is kept beyond its end, so that clocks may differ by as much
LATEST = 1e12  # seconds; nothing ends later
MAX_ID = 256  # characters of an approval's or a scope's name


class Reach(StrEnum):
    """Who shares what a store keeps. A host whose processes come and go needs more than `PROCESS`."""

    PROCESS = "process"
    MACHINE = "machine"
    FLEET = "fleet"


class Approvals(Protocol):
    """Approvals that have been used up."""

    @property
    def reach(self) -> Reach:
        """Say who shares them."""

    def spend(self, jti: str, until: float) -> bool:
        """Use an approval up: True for exactly one caller among all that share the store, and False ever after.

        Args:
            jti: the approval's unique id.
            until: seconds since the epoch at which it ends; one that has ended is never spent.

        Raises:
            StoreError: it is not known whether it was used up; then it must count as used.
        """


class RunStates(Protocol):
    """Run states, each of which only one of several writers may follow up."""

    @property
    def reach(self) -> Reach:
        """Say who shares them."""

    def load(self, scope_id: str) -> RunState:
        """Give the state that was saved last, `START` where none was.

        Raises:
            StoreError: the store cannot answer, or what it holds is damaged.
        """

    def save(self, scope_id: str, expected_version: int, state: RunState) -> None:
        """Replace the state of version `expected_version` (of `START` where none was saved) by one of a higher version.

        Raises:
            StoreError: `store.conflict` where another version is there, `store.not-newer` where the new one's version
                is not higher, or the store cannot answer. Then nothing was replaced.
        """

    def forget(self, scope_id: str) -> None:
        """Drop the state of a run that has ended; one that goes on would start anew, with fewer restrictions.

        Raises:
            StoreError: the store cannot answer.
        """


def checked_end(jti: str, until: float) -> float:
    """Give the end of an approval that is about to be spent.

    Raises:
        StoreError: its id or end is none.
    """
    if not (isinstance(jti, str) and 0 < len(jti) <= MAX_ID and jti.isascii() and jti.isprintable()):
        raise StoreError("store.jti", f"an approval's id is 1 to {MAX_ID} printable ASCII characters")
    if isinstance(until, bool) or not isinstance(until, int | float) or not abs(until) < LATEST:
        raise StoreError("store.until", "an approval's end has to be a number of seconds")
    return float(until)


def check_scope(scope_id: str) -> None:
    """Refuse what cannot name a run.

    Raises:
        StoreError: it is empty, longer than is kept, or cannot be written down.
    """
    if not (isinstance(scope_id, str) and 0 < len(scope_id) <= MAX_ID and scope_id.isprintable()):
        raise StoreError("store.scope", f"a scope's id is 1 to {MAX_ID} printable characters")


def check_newer(expected_version: int, state: RunState) -> None:
    """Refuse a state that a later comparison could not tell from the one that it replaces.

    Raises:
        StoreError: its version is not higher.
    """
    if state.version <= expected_version:
        raise StoreError("store.not-newer", f"expected a state of a version above {expected_version}")


def conflict(expected_version: int) -> StoreError:
    """Say that a state cannot be saved because it follows up one that is not there."""
    return StoreError("store.conflict", f"the stored state is not of version {expected_version}: load it again")
