"""Reading a setup file: strictly, every fault where it stands, and with a word about switches that are not here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from policyengine.config.setup.schema import SETUP, SetupSpec
from policyengine.config.sources import StrPath
from policyengine.config.validated import validated
from policyengine.config.yamlfile import Document, Place, Plain, read_file
from policyengine.errors import UsageError
from policyengine.records import Record

T = TypeVar("T")

FREE = ("config",)  # of a guardrail: whatever its class takes
# Keys that others use to turn checking off, and what to do here instead.
_SWITCHES = {
    "enabled": "what is not wanted is left out, and what is there is asked",
    "fail_open": "an error is always a denial, and no setting changes that",
    "fail_closed": "an error is always a denial, and no setting changes that",
    "skip": "what is not wanted is left out, and what is there is asked",
    "disabled": "what is not wanted is left out, and what is there is asked",
}


class Setup(Record):
    """A setup file that has been read."""

    document: Document
    spec: SetupSpec
    folder: str

    def path(self, path: str) -> str:
        """Give a path of the file as one that can be opened."""
        return os.path.join(self.folder, os.path.expanduser(path))

    def paths(self, paths: Iterable[str]) -> list[str]:
        """Give several."""
        return [self.path(path) for path in paths]

    def said(self, place: Place, make: Callable[[], T]) -> T:
        """Make something of what the file says at a place.

        Raises:
            LoadError: it cannot be made of that.
        """
        try:
            return make()
        except UsageError as error:
            raise self.document.error(str(error), place) from error


def read_setup(file: StrPath) -> Setup:
    """Read a setup file.

    Raises:
        LoadError: it cannot be read or is wrong.
    """
    document = read_file(Path(file))
    _refuse_switches(document, document.value, ())
    return Setup(document=document, spec=validated(SETUP, document), folder=os.path.dirname(os.path.abspath(file)))


def _refuse_switches(document: Document, value: Plain, place: Place) -> None:
    if isinstance(value, list):
        for at, item in enumerate(value):
            _refuse_switches(document, item, (*place, at))
    elif isinstance(value, dict) and place[-1:] != FREE:
        for key, item in value.items():
            if key in _SWITCHES:
                raise document.error(
                    f"nothing here is turned off: {_SWITCHES[key]}", (*place, key), expected="no such key"
                )
            _refuse_switches(document, item, (*place, key))
