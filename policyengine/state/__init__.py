"""The state of a run: a value that goes into a decision and comes out of it.

The host keeps it (in memory, or in a store with compare-and-swap on `version`); the engine keeps nothing. Every part is
bounded, and what is dropped at a bound makes later answers stricter, never milder: a forgotten file is one of unknown
text and of every forgotten taint, a forgotten read or promotion has to be earned again, restrictions merge.
"""

from policyengine.state.after import after, count, promote, remember, restrict
from policyengine.state.run import START, Label, RunState
from policyengine.state.serial import from_json, to_json
from policyengine.state.skills import NO_SKILLS, ActiveSkill, Entries, SkillState, Slash, suspected, vouched

__all__ = [
    "NO_SKILLS",
    "START",
    "ActiveSkill",
    "Entries",
    "Label",
    "RunState",
    "SkillState",
    "Slash",
    "after",
    "count",
    "from_json",
    "promote",
    "remember",
    "restrict",
    "suspected",
    "to_json",
    "vouched",
]
