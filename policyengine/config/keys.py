"""Keys from where an operator keeps them: a variable of the environment, a file of the owner's alone, or a callable.

Keys of tokens are one a line (or between commas), as `NAME STATE SECRET`: the state is next, active, verify_only or
retired, the secret base64 of at least 32 random bytes (`openssl rand -base64 32`). A secret alone is an active key that
is named after it. Blank lines and lines that begin with `#` do not count. Keys of bundles are PEM files.

Codes of `TokenError`: `key.missing`, `key.file`, `key.permissions`, `key.format`, `key.source`, and those of
`signing.Key` and `signing.Keyring`. What a key is made of is in no message, and in no frame, cause or context of an
error, where a crash reporter would find it.
"""

from __future__ import annotations

import binascii
import hmac
import os
import secrets
import stat
from collections.abc import Callable, Iterator, MutableMapping

from policyengine.config.sources import StrPath
from policyengine.errors import TokenError
from policyengine.signing import Key, Keyring, KeyState

VARIABLE = "POLICYENGINE_KEYS"
MAX_BYTES = 64 * 1024  # of a file of keys
_STATES = ", ".join(state.value for state in KeyState)


def fresh_name() -> str:
    """Make a token's own name (`Claims.jti`) of 128 random bits."""
    return secrets.token_urlsafe(16)


# ------------------------------------------------------------------------------------------------------ keys of tokens
def keys_from_environment(environment: MutableMapping[str, str] | None = None, name: str = VARIABLE) -> Keyring:
    """Read a keyring from a variable, and remove it, so that neither this process's children nor `/proc` show it.

    Args:
        environment: by default the process's own.
        name: the variable.

    Raises:
        TokenError: it is not set (`key.missing`), or holds no keyring, and is removed all the same.
    """
    variables = os.environ if environment is None else environment
    if not variables.get(name, "").strip():
        raise TokenError("key.missing", f"the variable `{name}` is not set: {_HOW}")
    if variables is os.environ:
        _wipe(name)
    return keyring_of(variables.pop(name), f"the variable `{name}`")


def keys_from_file(path: StrPath) -> Keyring:
    """Read a keyring from a file that only its owner may read.

    Raises:
        TokenError: it is missing (`key.missing`), no regular file of ours (`key.file`), open to others
            (`key.permissions`), or holds no keyring.
    """
    return keyring_of(secret_file(path), f"`{path}`")


def keys_from_callable(source: Callable[[], str | bytes]) -> Keyring:
    """Read a keyring from what a callable gives, for instance of a key management service.

    Raises:
        TokenError: the callable fails or gives something else (`key.source`), or what it gives holds no keyring.
    """
    return _afresh(_called(source))


def _called(source: Callable[[], str | bytes]) -> Keyring | TokenError:
    try:
        given: object = source()
    except Exception as error:  # not quoted: what it says of a request for keys may be a key
        return TokenError("key.source", f"the source of keys failed ({type(error).__name__})")
    if not isinstance(given, str | bytes):
        return TokenError("key.source", f"the source of keys gave a `{type(given).__name__}`, not a text")
    return _read(given, "the source of keys")


def keyring_of(text: str | bytes, origin: str) -> Keyring:
    """Read a keyring; `origin` is what messages call the text.

    Raises:
        TokenError: it holds none (`key.format`), or keys that do not go together.
    """
    found = _read(text, origin)
    del text
    return _afresh(found)


def _afresh(found: Keyring | TokenError) -> Keyring:
    """Give a keyring, or raise a new error, without the frames that held what was read."""
    if isinstance(found, Keyring):
        return found
    raise TokenError(found.code, found.message)


def _read(text: str | bytes, origin: str) -> Keyring | TokenError:
    try:
        if not text.isascii():
            raise TokenError("key.format", f"{origin} is no ASCII text: {_HOW}")
        return Keyring(_keys(text if isinstance(text, str) else text.decode("ascii"), origin))
    except TokenError as error:
        return error


def _keys(text: str, origin: str) -> Iterator[Key]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#"):  # the whole line, whatever commas are in it
            continue
        for words in map(str.split, line.split(",")):
            if words:
                yield _key(words, f"{origin}, line {number}")


def _key(words: list[str], place: str) -> Key:
    if len(words) == 1:
        secret = _secret(words[0], place)
        return Key(_name_of(secret), secret)
    if len(words) == 3 and words[1] in _BY_WORD:
        return Key(words[0], _secret(words[2], place), _BY_WORD[words[1]])
    raise TokenError("key.format", f"{place}: expected `NAME STATE SECRET`, the state one of {_STATES}")


_BY_WORD = {state.value: state for state in KeyState}
_HOW = "expected `NAME STATE SECRET`, the secret made with `openssl rand -base64 32`"


def _secret(word: str, place: str) -> bytes:
    standard = word.encode("ascii").translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        return binascii.a2b_base64(standard + b"=" * (-len(standard) % 4), strict_mode=True)
    except binascii.Error:
        raise TokenError("key.format", f"{place}: a secret is base64, made with `openssl rand -base64 32`") from None


def _name_of(secret: bytes) -> str:
    return hmac.digest(secret, b"policyengine/1/kid", "sha256")[:8].hex()


def _wipe(name: str) -> None:
    """Overwrite a variable's text: `/proc/*/environ` goes on showing what a process was started with."""
    import ctypes  # noqa: PLC0415  only where keys come this way

    getenv = ctypes.CDLL(None).getenv
    getenv.argtypes, getenv.restype = [ctypes.c_char_p], ctypes.c_void_p
    at = getenv(os.fsencode(name))
    if at:
        ctypes.memset(at, 0, len(ctypes.string_at(at)))


# --------------------------------------------------------------------------------------------------------------- files
def secret_file(path: StrPath) -> bytes:
    """Read a small regular file, not a link to one, that belongs to this user and is closed to everybody else.

    Raises:
        TokenError: it is missing (`key.missing`), something else (`key.file`), or open to others (`key.permissions`).
    """
    return _file(path, stat.S_IRWXG | stat.S_IRWXO, "others can read it: `chmod 600` it, and make new keys")


def public_file(path: StrPath) -> bytes:
    """Read a small regular file, not a link to one, that nobody but its owner, this user or root, can write.

    Raises:
        TokenError: as for `secret_file`.
    """
    return _file(path, stat.S_IWGRP | stat.S_IWOTH, "others can write it: `chmod go-w` it, and check what it holds")


def _file(path: StrPath, forbidden: int, advice: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            _check(os.fstat(descriptor), path, forbidden, advice)
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise TokenError("key.missing", f"there is no file `{path}`") from None
    except (OSError, ValueError) as error:
        link = ": it is a link, name the file itself" if os.path.islink(path) else ""
        raise TokenError("key.file", f"`{path}` cannot be read ({type(error).__name__}){link}") from error
    if len(data) > MAX_BYTES:
        del data
        raise TokenError("key.file", f"`{path}` is longer than {MAX_BYTES} bytes: not a file of keys")
    return data


def _check(status: os.stat_result, path: StrPath, forbidden: int, advice: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise TokenError("key.file", f"`{path}` is not a regular file")
    if status.st_uid not in {os.geteuid(), 0}:
        raise TokenError("key.permissions", f"`{path}` belongs to another user: make it your own")
    if status.st_mode & forbidden:
        raise TokenError("key.permissions", f"`{path}` has mode {stat.S_IMODE(status.st_mode):04o}, {advice}")
