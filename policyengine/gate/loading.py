"""From a setup file to a gate."""

from __future__ import annotations

from policyengine.config.setup import holding, judging, read_setup
from policyengine.config.sources import StrPath
from policyengine.gate.gate import Gate
from policyengine.gate.parts import Lifetimes, Parts
from policyengine.gate.terms import Capabilities


def load_gate(file: StrPath, capabilities: Capabilities, *, control_flow: tuple[type[Exception], ...] = ()) -> Gate:
    """Make the gate that a setup file describes (`config.setup` states its format).

    Args:
        file: the setup.
        capabilities: what the host can enforce, as its adapter knows.
        control_flow: exceptions by which the host's runtime interrupts a run; they pass.

    Raises:
        LoadError: the setup, or a file that it names, is wrong.
        TokenError: keys cannot be read.
        StoreError: a store cannot be opened.
        AuditError: the log cannot be opened.
    """
    setup = read_setup(file)
    judges, holds = judging(setup, control_flow=control_flow), holding(setup)
    return Gate(
        Parts(
            engine=judges.base,
            keyring=holds.keyring,
            approvals=holds.approvals,
            states=holds.states,
            log=holds.log,
            content=judges.content,
            skills=judges.skills,
            describe=judges.ready.tool,
            capabilities=capabilities,
            roles=judges.roles,
            detail=holds.detail,
            hidden_from=holds.hidden_from,
            lifetimes=Lifetimes(**holds.lifetimes),
            waits=holds.waits,
        )
    )
