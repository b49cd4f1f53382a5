"""Keys from a variable, a file or a callable: what is read, what is refused, and that nothing shows them."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from policyengine.config.keys import (
    MAX_BYTES,
    VARIABLE,
    fresh_name,
    keyring_of,
    keys_from_callable,
    keys_from_environment,
    keys_from_file,
    public_file,
    secret_file,
)
from policyengine.errors import TokenError
from policyengine.signing import Keyring
from tests.cli.process import ROOT

SECRET = bytes(range(200, 232))
WORD = base64.b64encode(SECRET).decode()
OTHER = base64.b64encode(bytes(32)).decode()
TEXT = f"# keys of the gate\n\nnew next {OTHER}\nmain active {WORD}\n"


def refusal(read: Callable[[], object]) -> TokenError:
    """How reading keys is refused."""
    with pytest.raises(TokenError) as caught:
        read()
    return caught.value


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of keys that only its owner may read."""
    path = tmp_path / "keys"
    path.write_text(TEXT, encoding="utf-8")
    path.chmod(0o600)
    return path


# ------------------------------------------------------------------------------------------------------------ the text
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (TEXT, "Keyring([Key('new', next), Key('main', active)])"),
        (TEXT.replace("\n", "\r\n"), "Keyring([Key('new', next), Key('main', active)])"),
        (f"new next {OTHER},main active {WORD}", "Keyring([Key('new', next), Key('main', active)])"),
        (f"  main\tactive  {WORD}", "Keyring([Key('main', active)])"),
        (WORD.encode(), "Keyring([Key('696d7c8d88d4d4f2', active)])"),
    ],
)
def test_keys_are_read(text: str | bytes, shown: str) -> None:
    assert repr(keyring_of(text, "t")) == shown


@pytest.mark.parametrize(
    "word",
    [
        WORD,
        WORD.rstrip("="),
        base64.urlsafe_b64encode(SECRET).decode(),
        base64.urlsafe_b64encode(SECRET).decode().rstrip("="),
    ],
)
def test_every_usual_spelling_of_base64_is_read(word: str) -> None:
    mac = keyring_of(f"main active {WORD}", "t").mac("main", "x", b"s", b"m")
    assert keyring_of(f"main active {word}", "t").mac("main", "x", b"s", b"m") == mac


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "key.active", "exactly one"),
        ("# nothing", "key.active", "exactly one"),
        (f"main next {WORD}", "key.active", "exactly one"),
        (f"main {WORD}", "key.format", "t, line 1: expected `NAME STATE SECRET`"),
        (f"\nmain Active {WORD}", "key.format", "t, line 2: expected `NAME STATE SECRET`"),
        (f"main active {WORD} x", "key.format", "NAME STATE SECRET"),
        (f"a active {WORD},b other {OTHER}", "key.format", "t, line 1: expected"),
        (f"# off, main active {WORD}", "key.active", "exactly one"),
        ("correct-horse-battery-staple!", "key.format", "t, line 1: a secret is base64, made with `openssl"),
        (f"main active {WORD[:41]}", "key.format", "base64"),
        (f"main active {WORD}\u00e9", "key.format", "t is no ASCII text"),
        (b"\xff\xfe" + WORD.encode(), "key.format", "t is no ASCII text"),
        (f"main active {WORD[:40]}", "key.short", "at least 32"),
        ("aGVsbG8", "key.short", "at least 32"),
        (f"a.b active {WORD}", "key.name", "letters"),
        (f"main active {WORD}\nmain next {OTHER}", "key.duplicate", "same name"),
        (f"main active {WORD}\nb retired {WORD}", "key.duplicate", "same secret"),
    ],
)
def test_what_is_no_keyring_is_refused(text: str | bytes, code: str, message: str) -> None:
    error = refusal(lambda: keyring_of(text, "t"))
    assert (error.code, message in error.message) == (code, True)


# -------------------------------------------------------------------------------------------------------- a variable
def test_a_variable_is_read_and_removed() -> None:
    environment = {VARIABLE: TEXT, "HOME": "/h"}
    assert keys_from_environment(environment).active == "main"
    assert environment == {"HOME": "/h"}


def test_a_variable_is_removed_even_where_it_holds_no_keyring() -> None:
    environment = {"MINE": WORD[:20]}
    assert refusal(lambda: keys_from_environment(environment, "MINE")).code == "key.short"
    assert environment == {}


@pytest.mark.parametrize("environment", [{}, {VARIABLE: ""}, {VARIABLE: " \n"}])
def test_a_missing_variable_says_what_to_set(environment: dict[str, str]) -> None:
    error = refusal(lambda: keys_from_environment(environment))
    assert (error.code, VARIABLE in error.message, "openssl rand" in error.message) == ("key.missing", True, True)


CHILD = f"""
import os, subprocess
from policyengine.config.keys import keys_from_environment
print(keys_from_environment())
print({VARIABLE!r} in os.environ)
print(b"SECRETWORD" in subprocess.run(["env"], capture_output=True).stdout)
try:
    with open("/proc/self/environ", "rb") as file:
        print(b"SECRETWORD" in file.read())
except OSError:
    print(False)
"""


def test_neither_children_nor_the_system_show_a_variable_that_was_read() -> None:
    word = base64.b64encode(bytes(32)).decode()
    done = subprocess.run(
        [sys.executable, "-c", CHILD.replace("SECRETWORD", word)],
        env={**os.environ, "PYTHONPATH": str(ROOT), VARIABLE: f"main active {word}"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["Keyring([Key('main', active)])", "False", "False", "False"]


# ------------------------------------------------------------------------------------------------------------- a file
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_the_owners_is_read(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert keys_from_file(file).active == "main"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777])
def test_a_file_that_others_may_touch_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    error = refusal(lambda: keys_from_file(file))
    assert (error.code, f"{mode:04o}" in error.message) == ("key.permissions", True)
    assert "`chmod 600` it, and make new keys" in error.message


def _link(path: Path, file: Path) -> None:
    path.symlink_to(file)


def _folder(path: Path, file: Path) -> None:
    path.mkdir(mode=0o700)


def _pipe(path: Path, file: Path) -> None:
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize(
    ("make", "message"), [(_link, "it is a link, name the file itself"), (_folder, ""), (_pipe, "not a regular file")]
)
def test_only_a_regular_file_is_read(
    file: Path, tmp_path: Path, make: Callable[[Path, Path], None], message: str
) -> None:
    path = tmp_path / "other"
    make(path, file)
    error = refusal(lambda: keys_from_file(path))
    assert (error.code, message in error.message) == ("key.file", True)


def test_a_device_is_not_read() -> None:
    assert refusal(lambda: secret_file("/dev/zero")).code == "key.file"


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    error = refusal(lambda: keys_from_file(tmp_path / "none"))
    assert (error.code, "there is no file" in error.message) == ("key.missing", True)
    assert refusal(lambda: keys_from_file("a\0b")).code == "key.file"


def test_a_large_file_is_not_one_of_keys(file: Path) -> None:
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    assert refusal(lambda: keys_from_file(file)).code == "key.file"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(file: Path) -> None:
    os.chown(file, 12345, -1)
    error = refusal(lambda: keys_from_file(file))
    assert (error.code, "another user" in error.message) == ("key.permissions", True)


def test_a_public_key_may_be_read_but_not_written_by_others(file: Path) -> None:
    file.chmod(0o644)
    assert public_file(file) == TEXT.encode()
    file.chmod(0o664)
    assert refusal(lambda: public_file(file)).code == "key.permissions"


# --------------------------------------------------------------------------------------------------------- a callable
@pytest.mark.parametrize("given", [TEXT, TEXT.encode()])
def test_a_callable_gives_a_keyring(given: str | bytes) -> None:
    assert keys_from_callable(lambda: given).active == "main"


def test_a_callable_that_fails_is_not_quoted() -> None:
    def source() -> str:
        raise ConnectionError(f"https://vault.test/?secret={WORD}")

    error = refusal(lambda: keys_from_callable(source))
    assert (error.code, error.message) == ("key.source", "the source of keys failed (ConnectionError)")


def test_a_callable_that_gives_something_else_is_refused() -> None:
    source: Callable[[], str] = lambda: None  # type: ignore[assignment,return-value]  # noqa: E731
    assert refusal(lambda: keys_from_callable(source)).code == "key.source"


# ------------------------------------------------------------------------------------------------- nothing shows a key
def _shown(error: BaseException | None) -> Iterator[str]:
    """All that a crash reporter would find: messages, causes, contexts, and the variables of our frames."""
    while error is not None:
        yield repr(error)
        yield from (repr(value) for value in vars(error).values())
        step = error.__traceback__
        while step is not None:
            if "policyengine" in step.tb_frame.f_code.co_filename and "tests" not in step.tb_frame.f_code.co_filename:
                yield from (repr(value) for value in step.tb_frame.f_locals.values())
            step = step.tb_next
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    "text",
    [
        f"main active {WORD}\nmain next {OTHER}",
        f"main next {WORD}",
        f"main activ {WORD}",
        f"main active {WORD}!",
        f"main active {WORD} {WORD}",
        f"a.b active {WORD}",
        f"main active {WORD}\u00e9",
        f"main active {WORD[:40]}",
    ],
)
def test_no_error_holds_what_was_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    environment = {VARIABLE: text}
    for read in (
        lambda: keys_from_file(path),
        lambda: keys_from_environment(environment),
        lambda: keys_from_callable(lambda: text),
    ):
        shown = "\n".join(_shown(refusal(read)))
        assert WORD[:40] not in shown
        assert repr(SECRET)[2:20] not in shown


def test_no_frame_of_a_failing_source_is_kept() -> None:
    def source() -> str:
        raise ConnectionError(WORD)

    assert WORD not in "\n".join(_shown(refusal(lambda: keys_from_callable(source))))


def test_names_of_tokens_are_random() -> None:
    names = {fresh_name() for _ in range(1000)}
    assert len(names) == 1000
    assert {len(name) for name in names} == {22}


def test_a_keyring_is_what_is_read() -> None:
    assert isinstance(keyring_of(TEXT, "t"), Keyring)
