"""Where approvals are used up once, and where run states wait for the next call.

`memory` is for one long-lived process only, `sqlite` for all processes of a machine, `redis` (an extra) for several
machines. The last two are imported where they are used: `from policyengine.stores.sqlite import SqliteApprovals`.
"""

from policyengine.stores.memory import MemoryApprovals, MemoryRunStates
from policyengine.stores.store import Approvals, Reach, RunStates

__all__ = ["Approvals", "MemoryApprovals", "MemoryRunStates", "Reach", "RunStates"]
