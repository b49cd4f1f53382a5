"""Loading of role-based policies: from files, texts, any pycasbin adapter, an Enforcer, or DeerFlow's configuration.

A policy is refused whole, with file, line, field and what was expected; `live` reloads one without ever being without.
"""

from __future__ import annotations

import os

from policyengine.config.rbac.adapters import Adapter, parts_of, rows_of
from policyengine.config.rbac.deerflow import authorization
from policyengine.config.rbac.lines import CsvLines
from policyengine.config.rbac.live import LiveRbac, Reloaded
from policyengine.config.rbac.loading import DEFAULTS, Settings, rbac_of
from policyengine.config.sources import StrPath, shipped
from policyengine.errors import LoadError
from policyengine.policies.rbac import Rbac

__all__ = [
    "Adapter", "LiveRbac", "Reloaded", "Settings", "authorization", "from_adapter", "from_enforcer", "from_files",
    "from_folder", "from_texts", "shipped_folder",
]  # fmt: skip

MODEL, POLICY = "model.conf", "policy.csv"


def shipped_folder() -> str:
    """Find the model and the example policy that come with the package."""
    return os.path.join(shipped(), "rbac")


def from_folder(folder: StrPath, settings: Settings = DEFAULTS) -> Rbac:
    """Load `model.conf` and `policy.csv` of a folder.

    Raises:
        LoadError: one cannot be read or is refused.
    """
    return from_files(os.path.join(folder, MODEL), os.path.join(folder, POLICY), settings)


def from_files(model: StrPath, policy: StrPath, settings: Settings = DEFAULTS) -> Rbac:
    """Load a model and a policy in Casbin's CSV.

    Raises:
        LoadError: one cannot be read or is refused.
    """
    return rbac_of(_read(model), os.fspath(model), CsvLines(_read(policy), os.fspath(policy)), settings)


def from_texts(model: str, policy: str, settings: Settings = DEFAULTS) -> Rbac:
    """Load a model and a policy from texts.

    Raises:
        LoadError: one is refused.
    """
    return rbac_of(model, MODEL, CsvLines(policy, POLICY), settings)


def from_adapter(model: StrPath, adapter: Adapter, settings: Settings = DEFAULTS) -> Rbac:
    """Load a model from a file, and its lines from any pycasbin adapter.

    Raises:
        LoadError: one cannot be read or is refused.
    """
    return rbac_of(_read(model), os.fspath(model), rows_of(adapter), settings)


def from_enforcer(enforcer: object, settings: Settings = DEFAULTS) -> Rbac:
    """Take over model and lines of a pycasbin Enforcer; what it changes later is not seen.

    Raises:
        LoadError: it is disabled, uses functions that a model cannot name, or model or lines are refused.
    """
    text, rows = parts_of(enforcer)
    return rbac_of(text, rows.file, rows, settings)


def _read(path: StrPath) -> str:
    """Read a file that nobody is writing to at the moment."""
    try:
        with open(path, "rb") as file:
            before = os.fstat(file.fileno())
            data = file.read()
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(data) != after.st_size:
            raise LoadError("being written to", file=os.fspath(path), expected="a finished file, put there by renaming")
        return data.decode("utf-8")
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}", file=os.fspath(path), expected="a file") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise LoadError("not UTF-8", file=os.fspath(path), line=line, expected="UTF-8") from error
