"""The table of speeds: what is counted and how it is printed; no time is held to anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import speed
from fuzz.speed import OURS, Speed, commands, main, measured, readers, table


def test_every_reader_that_is_installed_reads_plain_commands() -> None:
    found = measured(readers(), ("ls -l", "cat f | grep a", "echo 'a"))
    assert OURS in found
    assert {one.read for one in found.values()} == {2}
    assert all(0 < one.median <= one.p99 <= one.total for one in found.values())


def test_only_what_all_read_is_timed() -> None:
    found = measured({OURS: lambda text: text != "a", "other": lambda text: text != "b"}, ("a", "b", "c", "d"))
    assert (found[OURS].read, found["other"].read) == (3, 3)


def test_nothing_read_by_all_is_no_failure() -> None:
    found = measured({OURS: lambda _: True, "other": lambda _: False}, ("a",))
    assert found == {OURS: Speed(1, 0, 0, 0), "other": Speed(0, 0, 0, 0)}
    assert len(table(found, 1)) == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.jsonl", '{"text": "ls"}\n\n{"text": "id\\nid", "label": "x"}\n{"text": "ls"}\n'),
        ("rows.txt", "ls\n\nid\nls\n"),
    ],
)
def test_commands_come_from_a_file_each_once(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert [text.split("\n")[0] for text in commands(tmp_path / name)] == ["ls", "id"]


def test_the_table_gives_ratios(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = {OURS: Speed(3, 20.0, 50.0, 100.0), "other": Speed(2, 200.0, 500.0, 1000.0)}
    assert [line.split()[-1] for line in table(found, 3)[1:]] == ["1.00", "10.00"]
    monkeypatch.setattr(speed, "ROUNDS", 1)
    assert main([]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] == OURS
