"""Keys of an audit log, from a file of its operator's alone.

One key a line, `NAME SECRET`, the secret base64 of at least 32 random bytes (`openssl rand -base64 32`). Writers use
the first; the others are for what older records are under, so that a new key is put on top. Blank lines and lines that
begin with `#` do not count.

Codes: those of `AuditKey`, of `config.keys` for files, and `key.format`.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from pathlib import Path

from policyengine.audit.keys import MIN_SECRET, AuditKey
from policyengine.config.keys import secret_file
from policyengine.config.sources import StrPath
from policyengine.errors import AuditError, TokenError


def default_file() -> Path:
    """Say where keys of an audit log are sought if nothing else is said; no agent may read there."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home, "policyengine", "keys", "audit")


def audit_keys_from_file(path: StrPath) -> tuple[AuditKey, ...]:
    """Read the keys.

    Raises:
        TokenError: the file is missing, no plain file of ours, open to others, or no file of keys.
        AuditError: a key is none.
    """
    keys = [_key(line, f"`{path}`, line {number}") for number, line in enumerate(_lines(path), 1) if _counts(line)]
    if not keys:
        raise TokenError("key.format", f"`{path}` holds no key: expected lines of `NAME SECRET`")
    return tuple(keys)


def make_audit_keys(path: StrPath) -> tuple[AuditKey, ...]:
    """Make a file with one new key, for its owner alone.

    Raises:
        TokenError: it cannot be made (`key.file`), for instance because there is one.
    """
    key = AuditKey(f"audit-{secrets.token_hex(4)}", secrets.token_bytes(MIN_SECRET))
    text = f"{key.kid} {base64.b64encode(key.secret).decode()}\n"
    try:
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(made)
    except OSError as error:
        raise TokenError("key.file", f"`{path}` cannot be made: {error.strerror}") from error
    return (key,)


def _lines(path: StrPath) -> list[str]:
    try:
        return secret_file(path).decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise TokenError("key.format", f"`{path}` is no ASCII text") from None


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _key(line: str, place: str) -> AuditKey:
    try:
        name, text = line.split()
        return AuditKey(name, base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error):
        # Not chained: the error of a decoder holds what it decoded.
        raise TokenError("key.format", f"{place}: expected `NAME SECRET`, the secret in base64") from None
    except AuditError as error:
        raise AuditError(error.code, f"{place}: {error.message}") from None
