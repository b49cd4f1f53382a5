"""Keys of audit logs: what a file may say, who may read it, and that nothing shows them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from policyengine.config.audit_keys import audit_keys_from_file, default_file, make_audit_keys
from policyengine.errors import AuditError, TokenError

ONE, TWO = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


def _file(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    file = tmp_path / "keys"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return file


def test_the_first_key_writes_and_the_others_are_known(tmp_path: Path) -> None:
    keys = audit_keys_from_file(_file(tmp_path, f"# new\nnew {TWO}\n\n  # old\nold {ONE}\n"))
    assert [(key.kid, key.secret) for key in keys] == [("new", b"\2" * 32), ("old", b"\1" * 32)]


def test_a_new_file_has_one_key_and_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "audit"
    made = make_audit_keys(file)
    assert audit_keys_from_file(file) == made
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    with pytest.raises(TokenError):
        make_audit_keys(file)


@pytest.mark.parametrize("text", ["", "# none\n", "a\n", f"a b {ONE}\n", "a ÄÖÜ\n", "a not-base64!\n", f"{ONE}\n"])
def test_a_file_without_keys_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(TokenError) as caught:
        audit_keys_from_file(_file(tmp_path, text))
    assert caught.value.code == "key.format"
    assert ONE not in caught.value.message


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuditError) as caught:
        audit_keys_from_file(_file(tmp_path, "a c2hvcnQ=\n"))
    assert caught.value.code == "audit.key"


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenError) as caught:
        audit_keys_from_file(_file(tmp_path, f"a {ONE}\n", 0o644))
    assert caught.value.code == "key.permissions"


def test_keys_lie_where_no_agent_may_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x")
    assert default_file() == Path("/x/policyengine/keys/audit")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/dev")
    assert default_file() == Path("/home/dev/.config/policyengine/keys/audit")
