"""What a gate holds beside its engine: keys, stores and the log of a setup."""

from __future__ import annotations

import secrets
from typing import Any

from policyengine.audit import AuditLog, Detail, Durability
from policyengine.config.setup.reading import Setup
from policyengine.config.setup.schema import RedisSpec, SqliteSpec, Store
from policyengine.errors import AuditError
from policyengine.model import Outcome
from policyengine.records import Record
from policyengine.signing import Key, Keyring
from policyengine.stores import Approvals, MemoryApprovals, MemoryRunStates, RunStates


class Holding(Record):
    """Keys, stores and the log.

    Attributes:
        keyring: of tokens.
        approvals: used-up approvals.
        states: of runs.
        log: the audit log.
        detail: what of a call the log keeps.
        hidden_from: the least answer to a tool as such that hides it.
        lifetimes: of tokens, in seconds, by their names; those that are not named are the gate's own.
        waits: whether an event loop should not wait for stores and log.
    """

    keyring: Keyring
    approvals: Approvals
    states: RunStates
    log: AuditLog
    detail: Detail
    hidden_from: Outcome
    lifetimes: dict[str, float]
    waits: bool


def holding(setup: Setup) -> Holding:
    """Open what a gate holds.

    Raises:
        LoadError: the setup names no audit log, or stores that others share without the keys that they would share.
        TokenError: keys cannot be read.
        StoreError: a store cannot be opened.
        AuditError: the log cannot be opened.
    """
    spec = setup.spec
    if spec.audit is None:
        raise setup.document.error("a gate answers nothing that is not on record", expected="`audit: {path, keys}`")
    shared = spec.approvals != "memory" or spec.states != "memory"
    if shared and spec.keys is None:
        raise setup.document.error(
            "stores outlive this process, and its keys do not: nobody could check its tokens later",
            expected="`keys: {file}` or `keys: {environment}`",
        )
    return Holding(
        keyring=_keyring(setup),
        approvals=_approvals(setup, spec.approvals),
        states=_states(setup, spec.states),
        log=_log(setup),
        detail=Detail(spec.audit.detail),
        hidden_from=Outcome.ASK if spec.hide == "ask" else Outcome.DENY,
        lifetimes=spec.lifetimes.model_dump(exclude_none=True),
        waits=shared or spec.audit.durability == Durability.POWER_LOSS.value,
    )


def _keyring(setup: Setup) -> Keyring:
    from policyengine.config.keys import keys_from_environment, keys_from_file  # noqa: PLC0415  who needs it pays

    spec = setup.spec.keys
    if spec is None:
        return Keyring([Key("process", secrets.token_bytes(32))])
    if (spec.file is None) == (spec.environment is None):
        raise setup.document.error("keys come from one place", ("keys",), expected="`file` or `environment`")
    if spec.file is not None:
        return keys_from_file(setup.path(spec.file))
    assert spec.environment is not None  # as above
    return keys_from_environment(name=spec.environment)


def _approvals(setup: Setup, spec: Store) -> Approvals:
    match spec:
        case SqliteSpec():
            from policyengine.stores.sqlite import SqliteApprovals  # noqa: PLC0415  who needs it pays

            return SqliteApprovals(setup.path(spec.sqlite))
        case RedisSpec():
            from policyengine.stores.redis import RedisApprovals, connect  # noqa: PLC0415  an extra

            approvals: Any = RedisApprovals(connect(spec.redis))
            return approvals  # type: ignore[no-any-return]
        case _:
            return MemoryApprovals()


def _states(setup: Setup, spec: Store) -> RunStates:
    match spec:
        case SqliteSpec():
            from policyengine.stores.sqlite import SqliteRunStates  # noqa: PLC0415  who needs it pays

            return SqliteRunStates(setup.path(spec.sqlite))
        case RedisSpec():
            from policyengine.stores.redis import RedisRunStates, connect  # noqa: PLC0415  an extra

            return RedisRunStates(connect(spec.redis))
        case _:
            return MemoryRunStates()


def _log(setup: Setup) -> AuditLog:
    from policyengine.config.audit_keys import audit_keys_from_file  # noqa: PLC0415  who needs it pays

    spec = setup.spec.audit
    assert spec is not None  # `holding` has looked
    keys, path = audit_keys_from_file(setup.path(spec.keys)), setup.path(spec.path)
    try:
        return AuditLog(path, keys, durability=Durability(spec.durability))
    except OSError as error:
        raise AuditError("audit.io", f"`{path}` cannot be a log: {error.strerror}") from error
