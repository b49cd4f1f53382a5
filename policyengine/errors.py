"""The whole exception tree.

    PolicyEngineError
    ├── ParseError        shell text is not valid in its dialect        (ValueError)
    ├── LoadError         a rule, description, profile or bundle file is wrong
    │   └── BundleError   a compiled bundle is missing, stale, truncated or altered
    ├── RequestError      a request is malformed or asks something impossible (ValueError)
    ├── TokenError        a signed token that is refused, or a key that cannot be used
    ├── StoreError        a store of approvals or run states that cannot answer, or whose state somebody else changed
    ├── AuditError        a record that could not be kept, or an audit log that cannot be read
    └── UsageError        a caller's option or argument is wrong

Each class names something that the caller can do differently. Messages are lower case, without a final period, and say
what was expected; they carry no secrets and no whole arguments.
"""

from __future__ import annotations

__all__ = [
    "AuditError",
    "BundleError",
    "LoadError",
    "ParseError",
    "PolicyEngineError",
    "RequestError",
    "StoreError",
    "TokenError",
    "UsageError",
]


class PolicyEngineError(Exception):
    """Root of everything this package raises on purpose."""


class ParseError(PolicyEngineError, ValueError):
    """Shell text that its dialect does not accept.

    Attributes:
        message: what is wrong, lower case.
        position: code-point offset into the parsed text where it was noticed.
        expected: what would have been accepted there; empty where nothing in particular.
    """

    def __init__(self, message: str, position: int, expected: str = "") -> None:
        super().__init__(message, position, expected)
        self.message = message
        self.position = position
        self.expected = expected

    def __str__(self) -> str:
        tail = f", expected {self.expected}" if self.expected else ""
        return f"{self.position}: {self.message}{tail}"


class LoadError(PolicyEngineError):
    """A file of rules, descriptions, tools or profiles that is refused whole.

    Attributes:
        message: what is wrong.
        file: path of the file as the user named it.
        line: 1-based line, or None where no single line is to blame.
        field: dotted key inside the document, or empty.
        expected: what would have been accepted.
    """

    def __init__(
        self, message: str, *, file: str = "", line: int | None = None, field: str = "", expected: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.field = field
        self.expected = expected

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part)
        head = f"{place}: " if place else ""
        field = f"`{self.field}`: " if self.field else ""
        tail = f" (expected {self.expected})" if self.expected else ""
        return f"{head}{field}{self.message}{tail}"


class BundleError(LoadError):
    """A compiled bundle that cannot be trusted: missing, stale, truncated, altered or of another version."""


class RequestError(PolicyEngineError, ValueError):
    """A request that is not one, or that asks something impossible.

    Attributes:
        code: stable reason code, dotted lower case.
        message: what is wrong and what was expected.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class _Coded(PolicyEngineError):
    """Something that is refused, with a stable reason code (dotted, lower case)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class TokenError(_Coded):
    """A signed token that is refused, or a key that cannot be used; `code` says which check failed."""


class StoreError(_Coded):
    """A store of approvals or run states that cannot answer, or whose state somebody else changed first."""


class AuditError(_Coded):
    """A record that could not be kept, or an audit log that cannot be read; the caller has to deny."""


class UsageError(PolicyEngineError, ValueError):
    """A caller's option or argument that cannot be used."""
