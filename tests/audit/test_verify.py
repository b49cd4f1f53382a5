"""Whatever is done to a log without its key is found, each kind with its own code; what crashes leave is not that."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyengine.audit import AuditKey, AuditLog, Durability, Standing, entries, verify
from policyengine.audit.lines import MAX_LINE, SLOT
from policyengine.errors import AuditError
from tests.audit.logs import KEY, KEYS, OTHER, Lines, change, codes, found, head_of, numbers, segments_of, written

SOUND, UNREADABLE, TAMPERED = Standing.SOUND, Standing.UNREADABLE, Standing.TAMPERED


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return written(tmp_path / "log")


def test_a_log_that_nobody_touched_is_sound(log: Path) -> None:
    report = verify(log, KEYS)
    assert (report.standing, report.problems, report.records) == (SOUND, (), 12)
    assert [extent.records for extent in report.segments] == [6, 6]
    assert numbers(log) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda lines: lines[:-1], ["audit.truncated"]),
        (lambda lines: lines[:1], ["audit.truncated"]),
        (lambda lines: [], ["audit.truncated"]),
        (lambda lines: [*lines[:-1], lines[-1][:40]], ["audit.torn", "audit.truncated"]),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], ["audit.torn", "audit.truncated"]),
        (lambda lines: [line.replace(b'"number":2', b'"number":7') for line in lines], ["audit.altered"]),
        (lambda lines: [*lines[:-1], lines[-1].replace(b'"number":4', b'"number":5')], ["audit.altered"]),
        (lambda lines: [lines[0].replace(b"opened", b"closed"), *lines[1:]], ["audit.altered"]),
        (lambda lines: [line.replace(b'"seq":3', b'"seq":4') for line in lines], ["audit.altered"]),
        (lambda lines: [line.replace(b'"prev":"0', b'"prev":"1') for line in lines], ["audit.altered"]),
        (lambda lines: [*lines[:2], b"{}\n", *lines[2:]], ["audit.altered"]),
        (lambda lines: [*lines[:2], b"\n", *lines[2:]], ["audit.altered"]),
        (lambda lines: [*lines[:2], lines[2].strip() + b" \n", *lines[3:]], ["audit.altered"]),
        (lambda lines: [*lines[:2], lines[2].strip() + b"\r\n", *lines[3:]], ["audit.altered"]),
        (lambda lines: [*lines[:2], *lines[3:]], ["audit.removed"]),
        (lambda lines: lines[1:], ["audit.removed"]),
        (lambda lines: [lines[0], *lines[4:]], ["audit.removed"]),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], ["audit.reordered"]),
        (lambda lines: [*lines[:-2], lines[-1], lines[-2]], ["audit.reordered"]),
        (lambda lines: lines[::-1], ["audit.reordered"]),
        (lambda lines: [*lines[:3], lines[2], *lines[3:]], ["audit.repeated"]),
        (lambda lines: [*lines, lines[-1]], ["audit.repeated"]),
        (lambda lines: [*lines, *lines], ["audit.repeated"]),
        (lambda lines: [line.replace(b'"v":1', b'"v":2') for line in lines], ["audit.version"]),
        (lambda lines: [*lines[:3], b"\0" * 5000 + b"\n", *lines[4:]], ["audit.altered"]),
        (lambda lines: [*lines[:3], b"x" * (MAX_LINE + 100) + b"\n", *lines[3:]], ["audit.altered"]),
    ],
)
def test_a_segment_that_was_changed_is_found(log: Path, spoil: Callable[[Lines], Lines], expected: list[str]) -> None:
    change(segments_of(log)[0], spoil)
    standing = UNREADABLE if expected == ["audit.version"] else TAMPERED
    assert found(log) == (standing, expected)


def test_a_record_of_another_segment_is_found(log: Path) -> None:
    one, other = segments_of(log)
    foreign = other.read_bytes().splitlines(keepends=True)[3]
    kept = one.read_bytes()
    change(one, lambda lines: [*lines[:3], foreign, *lines[3:]])
    assert found(log) == (TAMPERED, ["audit.spliced"])
    one.write_bytes(kept)
    change(one, lambda lines: [*lines[:3], foreign, *lines[4:]])
    assert found(log) == (TAMPERED, ["audit.removed", "audit.spliced"])
    one.write_bytes(kept)
    change(one, lambda lines: [*lines, foreign])
    assert found(log) == (TAMPERED, ["audit.spliced"])


def test_a_segment_that_is_gone_is_found(log: Path) -> None:
    gone = segments_of(log)[0]
    gone.unlink()
    assert found(log) == (TAMPERED, ["audit.segment-missing"])
    head_of(gone).unlink()
    assert found(log) == (TAMPERED, ["audit.segment-missing"]), "the manifest names it"


def test_a_segment_under_another_name_is_found(log: Path) -> None:
    one = segments_of(log)[0]
    copy = log / "copy.jsonl"
    shutil.copy(one, copy)
    assert found(log) == (TAMPERED, ["audit.copied", "audit.head-missing"])
    shutil.copy(head_of(one), head_of(copy))
    assert found(log) == (TAMPERED, ["audit.copied", "audit.head-foreign"])


def test_two_segments_that_changed_places_are_found(log: Path) -> None:
    one, other = segments_of(log)
    one.rename(log / "x")
    other.rename(one)
    (log / "x").rename(other)
    assert found(log) == (TAMPERED, ["audit.copied", "audit.truncated"])


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda head: head.unlink(), ["audit.head-missing"]),
        (lambda head: head.write_bytes(b""), ["audit.head-missing"]),
        (lambda head: head.write_bytes(b"\0" * 2 * SLOT), ["audit.head-missing"]),
        (lambda head: head.write_bytes(b"x" * 2 * SLOT), ["audit.head-altered"]),
        (lambda head: head.write_bytes(head.read_bytes() + b"\n"), ["audit.head-altered"]),
        (lambda head: head.write_bytes(head.read_bytes()[:SLOT]), ["audit.head-torn"]),
        # The newer half is dropped, so that the older one would allow to cut a record off: one is missed all the same.
        (lambda head: head.write_bytes(b"\0" * SLOT + head.read_bytes()[SLOT:]), ["audit.ahead", "audit.head-torn"]),
        (lambda head: head.write_bytes(head.read_bytes()[SLOT:] * 2), ["audit.ahead", "audit.head-torn"]),
        (lambda head: head.write_bytes(head.read_bytes()[SLOT:] + head.read_bytes()[:SLOT]), ["audit.head-altered"]),
    ],
)
def test_a_head_that_was_changed_is_found(log: Path, spoil: Callable[[Path], object], expected: list[str]) -> None:
    spoil(head_of(segments_of(log)[0]))
    standing, seen = found(log)
    assert set(expected) <= set(seen)
    assert standing is (TAMPERED if "audit.head-torn" not in expected or "audit.truncated" in seen else SOUND)


@pytest.mark.parametrize("half", [0, 1])
def test_no_half_of_a_head_may_be_dropped_to_cut_a_record_off(log: Path, half: int) -> None:
    segment = segments_of(log)[0]
    head = head_of(segment)
    content = bytearray(head.read_bytes())
    content[SLOT * half : SLOT * (half + 1)] = b"\0" * SLOT
    head.write_bytes(content)
    change(segment, lambda lines: lines[:-1])
    assert found(log) == (TAMPERED, ["audit.head-torn", "audit.truncated"])


def test_a_manifest_that_is_gone_or_cut_is_found(log: Path) -> None:
    manifest = log / "manifest.jsonl"
    kept = manifest.read_bytes()
    manifest.unlink()
    assert found(log) == (TAMPERED, ["audit.manifest-missing", "audit.segment-unknown"])
    manifest.write_bytes(kept)
    change(manifest, lambda lines: lines[:1])
    assert found(log) == (TAMPERED, ["audit.segment-unknown", "audit.truncated"])
    shutil.rmtree(log / "heads")
    assert found(log) == (TAMPERED, ["audit.head-missing"])


@pytest.mark.parametrize("name", ["extra.jsonl", "0.jsonl"])
def test_a_segment_that_nobody_began_is_found(log: Path, name: str) -> None:
    (log / name).write_bytes(b"{}\n")
    assert found(log) == (TAMPERED, ["audit.altered", "audit.head-missing"])


def test_a_link_or_pipe_in_the_place_of_a_segment_is_found(log: Path) -> None:
    one, other = segments_of(log)
    one.rename(log.parent / "elsewhere")
    one.symlink_to(log.parent / "elsewhere")
    other.unlink()
    os.mkfifo(other)
    assert found(log) == (TAMPERED, ["audit.symlink", "audit.unsafe-file"])


def test_what_cannot_be_read_is_not_called_tampering(tmp_path: Path, log: Path) -> None:
    assert found(tmp_path / "none") == (UNREADABLE, ["audit.missing"])
    assert found(tmp_path / "none.jsonl") == (UNREADABLE, ["audit.missing"])
    (tmp_path / "empty").mkdir()
    assert found(tmp_path / "empty") == (UNREADABLE, ["audit.missing"])
    other = verify(log, [OTHER])
    assert (other.standing, codes(other)) == (UNREADABLE, ["audit.key-unknown"])


def test_a_key_of_the_same_name_and_another_secret_holds_for_nothing(log: Path) -> None:
    report = verify(log, [AuditKey(KEY.kid, OTHER.secret)])
    assert report.standing is TAMPERED
    assert report.records == 0


def test_a_segment_that_only_another_user_may_read_is_unreadable(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root everything can be read, so that the system's answer is played."""
    real = os.open
    one = segments_of(log)[0].name

    def refusing(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == one:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refusing)
    assert found(log) == (UNREADABLE, ["audit.permission"])


def test_half_a_line_that_a_crash_left_is_reported_and_cut_off_by_the_next_writer(log: Path) -> None:
    one = segments_of(log)[1]
    line = one.read_bytes().splitlines(keepends=True)[-1]
    one.write_bytes(one.read_bytes() + line[:50])
    assert found(log) == (SOUND, ["audit.torn"])
    again = AuditLog(log, KEYS)
    again.append({"type": "test", "number": 9})
    again.close()
    report = verify(log, KEYS)
    assert (report.standing, codes(report), report.records) == (SOUND, ["audit.repaired"], 14)
    assert numbers(log)[-1] == 9


def test_a_last_line_of_which_only_the_length_was_kept_is_torn(log: Path) -> None:
    """As a loss of power leaves it; the writer died before it could count the record."""
    one = segments_of(log)[1]
    one.write_bytes(one.read_bytes() + b"\0" * 500 + b"\n")
    assert found(log) == (SOUND, ["audit.torn"])
    again = AuditLog(log, KEYS)
    again.close()
    assert found(log) == (SOUND, ["audit.repaired"])


def test_a_record_that_the_head_does_not_count_yet_is_accepted(log: Path) -> None:
    one = segments_of(log)[1]
    head = head_of(one).read_bytes()
    again = AuditLog(log, KEYS)
    again.append({"type": "test", "number": 9})
    again.close()
    head_of(one).write_bytes(head)
    assert found(log) == (SOUND, ["audit.ahead"])
    third = AuditLog(log, KEYS)
    third.append({"type": "test", "number": 10})
    third.close()
    assert found(log) == (SOUND, [])


def test_a_head_that_was_taken_back_is_found(log: Path) -> None:
    one = segments_of(log)[1]
    head = head_of(one).read_bytes()
    again = AuditLog(log, KEYS)
    again.append({"type": "test", "number": 9})
    again.append({"type": "test", "number": 10})
    again.close()
    head_of(one).write_bytes(head)
    assert found(log) == (TAMPERED, ["audit.head-old"])


def test_a_segment_that_was_begun_and_never_used_is_reported(log: Path) -> None:
    (log / "begun.jsonl").touch()
    assert found(log) == (SOUND, ["audit.unused"])


def test_a_log_taken_back_as_a_whole_is_found_by_an_anchor_alone(log: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(log, old)
    later = AuditLog(log, KEYS)
    later.append({"type": "test", "number": 9})
    anchor = later.checkpoint()
    later.append({"type": "test", "number": 10})
    later.close()
    assert len(anchor) < 300
    assert found(log, anchor) == (SOUND, [])
    assert found(old) == (SOUND, [])
    assert found(old, anchor) == (TAMPERED, ["audit.rolled-back"])


def test_a_checkpoint_holds_for_all_segments(log: Path) -> None:
    """One segment is taken back with its head: the checkpoint in another one says how far it was."""
    one, other = segments_of(log)
    logs = [AuditLog(log, KEYS), AuditLog(log, KEYS)]
    kept = {path: path.read_bytes() for path in (one, head_of(one), other, head_of(other))}
    for writer in logs:
        writer.append({"type": "test", "number": 9})
    logs[0].checkpoint()
    for writer in logs:
        writer.close()
    assert found(log) == (SOUND, [])
    with_checkpoint = other if b"checkpoint" in other.read_bytes() else one
    without = one if with_checkpoint is other else other
    without.write_bytes(kept[without])
    head_of(without).write_bytes(kept[head_of(without)])
    assert found(log) == (TAMPERED, ["audit.rolled-back"])


def test_an_anchor_of_another_history_is_found(log: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    shutil.copytree(log, twin)
    anchors = []
    for place in (log, twin):
        writer = AuditLog(place, KEYS)
        writer.append({"type": "test", "number": 9, "place": str(place)})
        anchors.append(writer.checkpoint())
        writer.close()
    assert found(log, anchors[0]) == (SOUND, [])
    assert found(log, anchors[1]) == (TAMPERED, ["audit.rolled-back"])


@pytest.mark.parametrize("spoil", ["", "audit1", "x", "audit1:k1:a:1:00:00"])
def test_an_anchor_that_is_none_is_an_error(log: Path, spoil: str) -> None:
    with pytest.raises(AuditError) as caught:
        verify(log, KEYS, [spoil])
    assert caught.value.code == "audit.anchor"


def test_an_anchor_that_was_changed_is_an_error(log: Path) -> None:
    writer = AuditLog(log, KEYS)
    anchor = writer.checkpoint()
    writer.close()
    _, kid, segment, seq, digest, mac = anchor.split(":")
    for changed in ((kid, segment, "1", digest, mac), ("k2", segment, seq, digest, mac), (kid, "s", seq, digest, mac)):
        with pytest.raises(AuditError) as caught:
            verify(log, KEYS, [":".join(("audit1", *changed))])
        assert caught.value.code == "audit.anchor"


def test_records_under_an_older_key_hold(log: Path) -> None:
    later = AuditLog(log, [OTHER, KEY])
    later.append({"type": "test", "number": 9})
    later.close()
    report = verify(log, [KEY, OTHER])
    assert (report.standing, report.problems) == (SOUND, ())
    assert verify(log, [KEY]).standing is UNREADABLE


def test_a_log_of_one_file_is_verified_like_a_segment(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    for number in range(3):
        log = AuditLog(file, KEYS)
        log.append({"type": "test", "number": number})
        log.close()
    assert (found(file), numbers(file)) == ((SOUND, []), [0, 1, 2])
    kept = file.read_bytes()
    change(file, lambda lines: lines[:-1])
    assert found(file) == (TAMPERED, ["audit.truncated"])
    file.unlink()
    assert found(file) == (TAMPERED, ["audit.segment-missing"])
    file.write_bytes(kept)
    file.rename(tmp_path / "moved.jsonl")
    assert found(tmp_path / "moved.jsonl") == (TAMPERED, ["audit.head-missing"])


def test_a_segment_kept_against_a_process_crash_says_that_power_may_have_been_lost(tmp_path: Path) -> None:
    for durability, told in ((Durability.PROCESS_CRASH, True), (Durability.POWER_LOSS, False)):
        folder = tmp_path / durability.value
        log = AuditLog(folder, KEYS, durability=durability)
        log.append({"type": "test"})
        log.close()
        change(segments_of(folder)[0], lambda lines: lines[:-1])
        [problem] = verify(folder, KEYS).problems
        assert problem.code == "audit.truncated"
        assert ("power was lost" in problem.message) is told


# ------------------------------------------------------------------------------------------------------------ laws
@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("pristine") / "log", segments=3, records=4)


FILES = st.sampled_from(["segment", "manifest", "head", "manifest head"])


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(which=FILES, at=st.floats(0, 1, exclude_max=True), new=st.integers(0, 255))
def test_any_changed_byte_is_found(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory, which: str, at: float, new: int
) -> None:
    log = tmp_path_factory.mktemp("changed") / "log"
    shutil.copytree(pristine, log)
    segment = segments_of(log)[1]
    manifest = log / "manifest.jsonl"
    file = {
        "segment": segment, "manifest": manifest, "head": head_of(segment), "manifest head": head_of(manifest)
    }[which]  # fmt: skip
    content = bytearray(file.read_bytes())
    index = int(at * len(content))
    if content[index] == new:
        return
    content[index] = new
    file.write_bytes(content)
    report = verify(log, KEYS)
    assert report.problems
    if "head" not in which:
        assert report.standing is not SOUND


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_other_arrangement_of_lines_is_found(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Lines of all segments and of the manifest, in any selection and order."""
    log = tmp_path_factory.mktemp("arranged") / "log"
    shutil.copytree(pristine, log)
    files = [*segments_of(log), log / "manifest.jsonl"]
    lines = [line for file in files for line in file.read_bytes().splitlines(keepends=True)]
    file = data.draw(st.sampled_from(files))
    before = file.read_bytes()
    own = before.splitlines(keepends=True)
    arranged = st.lists(st.sampled_from(lines), max_size=8) | st.permutations(own) | st.lists(st.sampled_from(own))
    after = b"".join(data.draw(arranged))
    file.write_bytes(after)
    assert (verify(log, KEYS).standing is SOUND) is (after == before)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    which=FILES,
    content=st.binary(max_size=1500) | st.text(alphabet='{}"v1:,segm\n\0', max_size=300).map(str.encode),
    behind=st.booleans(),
)
def test_whatever_stands_in_a_file_gives_a_report_and_a_writer_an_answer(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory, which: str, content: bytes, behind: bool
) -> None:
    """Anything in the place of a file, or behind what is in it: no crash, no hang, and nothing acknowledged is lost."""
    log = tmp_path_factory.mktemp("odd") / "log"
    shutil.copytree(pristine, log)
    segment, manifest = segments_of(log)[-1], log / "manifest.jsonl"
    file = {
        "segment": segment, "manifest": manifest, "head": head_of(segment), "manifest head": head_of(manifest)
    }[which]  # fmt: skip
    before = numbers(log)
    file.write_bytes((file.read_bytes() if behind else b"") + content)
    verify(log, KEYS)
    try:
        writer = AuditLog(log, KEYS)
        writer.append({"type": "test", "number": 77})
        writer.close()
    except AuditError:
        return
    assert 77 in numbers(log)
    if behind or "head" in which or which == "manifest":
        assert set(before) <= set(numbers(log))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(appended=st.lists(st.integers(0, 3), max_size=12), cut=st.integers(1, 400))
def test_whatever_writers_do_is_sound_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, appended: list[int], cut: int
) -> None:
    """Writers open, append, end without a word (half a line is left) and follow each other, in any order."""
    log = tmp_path_factory.mktemp("writers") / "log"
    writers: dict[int, AuditLog] = {}
    count = 0
    for index in appended:
        if index == 3 and writers:
            writers.pop(min(writers)).close()
            torn = next(path for path in segments_of(log) if path.stat().st_size)
            if not writers:
                torn.write_bytes(torn.read_bytes() + b'{"v":1,"segment":"' + b"x" * cut)
            continue
        writers.setdefault(index, AuditLog(log, KEYS)) if index not in writers else None
        writers[index].append({"type": "test", "number": count})
        count += 1
    for writer in writers.values():
        writer.close()
    if count:
        assert verify(log, KEYS).standing is SOUND
        assert numbers(log) == list(range(count))


def test_entries_leave_out_what_does_not_hold(log: Path) -> None:
    change(segments_of(log)[0], lambda lines: [line.replace(b'"number":2', b'"number":7') for line in lines])
    assert sorted(entry.record.get("number", -1) for entry in entries(log, KEYS)) == [-1, -1, 0, 0, 1, 1, 2, 3, 3, 4, 4]
