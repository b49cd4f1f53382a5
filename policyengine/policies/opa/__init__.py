"""An organisation's own policies, asked at a real OPA server over its REST API (`opa run --server`, 0.70 and later).

`Opa` is a remote policy: the engine asks it only about calls that nothing else denies. It adds what OPA leaves to its
clients: whatever is not a plain `true` in time is DENY, each way to fail with a code of its own (`answers`). The input
document is described in `document`. `Administration` checks health and uploads policies and data; no decision needs it.
"""

from policyengine.policies.opa.administration import Administration
from policyengine.policies.opa.document import input_document
from policyengine.policies.opa.opa import Opa
from policyengine.policies.opa.server import Server

__all__ = ["Administration", "Opa", "Server", "input_document"]
