"""Whether the installed casbin is the maintained one.

The distributions `pycasbin` and `casbin` write the same files; installed together, one runs with parts of the other.
"""

from __future__ import annotations

from collections.abc import Callable

from policyengine.errors import LoadError

OLD = "casbin"  # stopped at 1.43; its successor is `pycasbin`


def check_installed(is_installed: Callable[[str], bool] | None = None) -> None:
    """Pass if the old distribution is not there.

    Raises:
        LoadError: it is.
    """
    if (is_installed or _is_installed)(OLD):
        raise LoadError(
            "the distribution `casbin` is installed: it overwrites files of `pycasbin`, so that nobody knows which "
            "version decides",
            expected="`pip uninstall casbin pycasbin`, then `pip install pycasbin`",
        )


def _is_installed(name: str) -> bool:
    from importlib import metadata  # noqa: PLC0415  slow to import, and only where a policy is loaded

    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
