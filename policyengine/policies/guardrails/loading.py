"""Providers by the name of their class, from an operator's configuration: `package.module:Class`."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping
from typing import Any, cast

from policyengine.errors import LoadError, UsageError
from policyengine.policies.guardrails.guardrail import checked_name
from policyengine.policies.guardrails.protocol import GuardrailProvider

_REFERENCE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*):([A-Za-z_][A-Za-z0-9_]*)")


def load_provider(
    reference: str, config: Mapping[str, Any] | None = None, *, framework: str = "policyengine"
) -> GuardrailProvider:
    """Import a class and make a provider of it. Whoever names the class decides what code runs: operators only.

    Args:
        reference: `package.module:Class`.
        config: keyword arguments of the constructor.
        framework: passed as `framework` where the constructor takes one and `config` does not say.

    Raises:
        LoadError: there is no such class, it cannot be made, or what it makes is no provider.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise _refused(reference, "is no reference", expected="package.module:Class")
    try:
        made = _imported(match[1], match[2])
        provider = made(**_arguments(made, config or {}, framework))
    except Exception as error:  # somebody else's module and constructor
        raise _refused(reference, f"cannot be made: {type(error).__name__}: {error}") from error
    return _provider(provider, reference)


def _imported(module: str, name: str) -> type:
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, type):
        raise TypeError("it is no class")
    return found


def _arguments(made: type, config: Mapping[str, Any], framework: str) -> dict[str, Any]:
    given = dict(config)
    parameters = inspect.signature(made).parameters
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    if "framework" not in given and ("framework" in parameters or takes_all):
        given["framework"] = framework
    return given


def _provider(provider: object, reference: str) -> GuardrailProvider:
    if not callable(getattr(provider, "evaluate", None)):
        raise _refused(reference, "is no guardrail provider", expected="`name`, `evaluate` and `aevaluate`")
    twin = getattr(provider, "aevaluate", None)
    if twin is not None and not callable(twin):
        raise _refused(reference, "has an `aevaluate` that cannot be called", expected="a coroutine function")
    try:
        checked_name(provider)
    except UsageError as error:
        raise _refused(reference, str(error)) from error
    return cast("GuardrailProvider", provider)  # its shape was checked above; what it answers is checked each time


def _refused(reference: str, message: str, *, expected: str = "") -> LoadError:
    return LoadError(f"the guardrail provider `{reference[:200]}` {message}", expected=expected)
