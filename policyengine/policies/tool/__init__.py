"""What tools declare, enforced; and which tools are offered in which circumstances.

`tool.ToolPolicy` binds calls to what their tools declare (`metadata`, TinyAgents' names), `selection.Selection` to
lists of names. Both hide what they refuse: about a tool they give the answer that they give about all of its calls.
`config.toolpolicy` loads.
"""

from policyengine.policies.tool.annotations import hint_of
from policyengine.policies.tool.metadata import STRICT, Hint, Metadata, Sandbox, Settings, SideEffect, Workspace
from policyengine.policies.tool.results import bounded, flagged, truncated
from policyengine.policies.tool.selection import Layer, Selection, When, inheriting
from policyengine.policies.tool.tool import ToolPolicy

__all__ = [
    "STRICT", "Hint", "Layer", "Metadata", "Sandbox", "Selection", "Settings", "SideEffect", "ToolPolicy", "When",
    "Workspace", "bounded", "flagged", "hint_of", "inheriting", "truncated",
]  # fmt: skip
