"""What an append promises: it is kept, or the caller is told; and the log can be verified afterwards in either case."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

import pytest

from policyengine.audit import AuditKey, AuditLog, Durability, Standing, entries, verify
from policyengine.audit import log as log_module
from policyengine.audit.keys import Macs
from policyengine.audit.lines import MAX_LINE
from policyengine.audit.segment import CHECK_SECONDS
from policyengine.errors import AuditError
from policyengine.model import Frozen
from tests.audit.logs import KEYS, change, found, head_of, numbers, segments_of, written

ROOT = Path(__file__).parents[2]


def _opened(path: Path, durability: Durability = Durability.PROCESS_CRASH) -> AuditLog:
    return AuditLog(path, KEYS, durability=durability)


def _code(path: Path) -> str:
    with pytest.raises(AuditError) as caught:
        _opened(path)
    return caught.value.code


def _script(body: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    begin = "import os, sys, time\nfrom policyengine.audit import *\nfrom policyengine.errors import AuditError\n"
    keys = 'KEYS = (AuditKey("k1", b"\\x11" * 32),)\n'
    return subprocess.run(
        [sys.executable, "-c", begin + keys + body, *map(str, words)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("durability", list(Durability))
def test_a_receipt_says_where_the_record_is(tmp_path: Path, durability: Durability) -> None:
    log = _opened(tmp_path / "log", durability=durability)
    receipts = [log.append({"type": "test", "number": number}) for number in range(3)]
    assert [receipt.seq for receipt in receipts] == [2, 3, 4]
    found_there = {(entry.segment, entry.seq): entry.record for entry in entries(tmp_path / "log", KEYS)}
    assert [found_there[receipt[:2]]["number"] for receipt in receipts] == [0, 1, 2]
    log.close()


def test_nested_frozen_values_come_back_as_they_were(tmp_path: Path) -> None:
    log = _opened(tmp_path / "log")
    value: dict[str, Frozen] = {
        "text": 'ä\n"\\\u2028\ud800\0', "list": (1, 2.5, None, True, (MappingProxyType({"a": ()}),)), "big": 10**30
    }  # fmt: skip
    log.append(MappingProxyType({"type": "test", "value": MappingProxyType(value)}))
    log.close()
    [entry] = [entry for entry in entries(tmp_path / "log", KEYS) if entry.record["type"] == "test"]
    assert entry.record["value"] == {
        "text": 'ä\n"\\\u2028\ud800\0', "list": [1, 2.5, None, True, [{"a": []}]], "big": 10**30
    }  # fmt: skip


def test_many_threads_share_a_writer(tmp_path: Path) -> None:
    log = _opened(tmp_path / "log")
    start = threading.Barrier(16)

    def attempt(index: int) -> None:
        start.wait()
        for number in range(20):
            log.append({"type": "test", "number": 20 * index + number})

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(attempt, range(16)))
    log.close()
    assert found(tmp_path / "log") == (Standing.SOUND, [])
    assert sorted(numbers(tmp_path / "log")) == list(range(320))


def test_writers_have_segments_of_their_own_and_take_over_what_nobody_writes(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    logs = [_opened(folder) for _ in range(3)]
    assert len(segments_of(folder)) == 3
    for log in logs:
        log.close()
    logs = [_opened(folder) for _ in range(4)]
    assert len(segments_of(folder)) == 4
    for log in logs:
        log.close()


def test_a_forked_child_begins_a_segment_of_its_own(tmp_path: Path) -> None:
    body = """
log = AuditLog(sys.argv[1], KEYS)
log.append({"type": "test", "number": 0})
child = os.fork()
for number in range(50):
    log.append({"type": "test", "number": number})
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    ended = _script(body, tmp_path / "log")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert found(tmp_path / "log") == (Standing.SOUND, [])
    assert len(segments_of(tmp_path / "log")) == 2
    assert sorted(numbers(tmp_path / "log")) == sorted([0, *range(50), *range(50)])


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        written(tmp_path / "log")
    finally:
        os.umask(previous)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "log").rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "log", tmp_path / "log" / "heads")} == {0o700}


def test_links_are_not_followed(tmp_path: Path) -> None:
    log = written(tmp_path / "log", segments=1)
    (tmp_path / "link").symlink_to(log)
    assert _code(tmp_path / "link") == "audit.symlink"
    file = tmp_path / "audit.jsonl"
    (tmp_path / "target").write_bytes(b"")
    file.symlink_to(tmp_path / "target")
    assert _code(file) == "audit.symlink"
    file.unlink()
    _opened(file).close()
    (tmp_path / "audit.jsonl.head").unlink()
    (tmp_path / "audit.jsonl.head").symlink_to(tmp_path / "target")
    assert _code(file) == "audit.symlink"
    assert (tmp_path / "target").read_bytes() == b""


def test_a_linked_segment_is_not_taken_over(tmp_path: Path) -> None:
    log = written(tmp_path / "log", segments=1)
    [segment] = segments_of(log)
    segment.rename(tmp_path / "elsewhere")
    segment.symlink_to(tmp_path / "elsewhere")
    kept = (tmp_path / "elsewhere").read_bytes()
    later = _opened(log)
    later.append({"type": "test", "number": 9})
    later.close()
    assert (tmp_path / "elsewhere").read_bytes() == kept
    assert found(log) == (Standing.TAMPERED, ["audit.symlink"])


def test_a_linked_manifest_or_heads_folder_is_refused(tmp_path: Path) -> None:
    for name in ("manifest.jsonl", "heads"):
        log = written(tmp_path / f"log {len(name)}", segments=1)
        (log / name).rename(tmp_path / f"{name}.elsewhere")
        (log / name).symlink_to(tmp_path / f"{name}.elsewhere")
        writers = []
        with pytest.raises(AuditError) as caught:
            writers.append(_opened(log))  # it may take the segment over
            writers.append(_opened(log))  # this one has to begin one
        assert caught.value.code == "audit.symlink"
        for writer in writers:
            writer.close()


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    assert _code(folder) == "audit.unsafe-file"


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert _code(tmp_path / "pipe.jsonl") == "audit.unsafe-file"
    assert _code(Path("/dev/full")) == "audit.unsafe-file"
    assert _code(Path("/dev/null")) == "audit.unsafe-file"
    assert _code(tmp_path / "none" / "log") == "audit.missing"
    assert _code(tmp_path / "none" / "audit.jsonl") == "audit.missing"


def test_a_file_of_something_else_is_not_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "notes.log"
    file.write_text("mine\n", encoding="utf-8")
    assert _code(file) == "audit.head-missing"
    assert file.read_text(encoding="utf-8") == "mine\n"


def test_a_file_has_one_writer_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "LOCK_SECONDS", 0.1)
    log = _opened(tmp_path / "audit.jsonl")
    assert _code(tmp_path / "audit.jsonl") == "audit.busy"
    log.close()
    _opened(tmp_path / "audit.jsonl").close()


def test_a_segment_that_was_tampered_with_is_left_as_it_is(tmp_path: Path) -> None:
    log = written(tmp_path / "log", segments=1)
    [segment] = segments_of(log)
    change(segment, lambda lines: lines[:-1])
    kept = segment.read_bytes(), head_of(segment).read_bytes()
    later = _opened(log)
    later.append({"type": "test", "number": 9})
    assert [(name, error.code) for name, error in later.left] == [(segment.stem, "audit.truncated")]
    later.close()
    assert (segment.read_bytes(), head_of(segment).read_bytes()) == kept
    assert found(log) == (Standing.TAMPERED, ["audit.truncated"])


@pytest.mark.parametrize("spoil", ["cut", "edit", "head", "old head"])
def test_a_file_that_was_tampered_with_is_refused(tmp_path: Path, spoil: str) -> None:
    file = tmp_path / "audit.jsonl"
    log = _opened(file)
    head = Path(f"{file}.head").read_bytes()
    for number in range(3):
        log.append({"type": "test", "number": number})
    log.close()
    if spoil == "cut":
        change(file, lambda lines: lines[:-1])
    elif spoil == "edit":
        change(file, lambda lines: [*lines[:-1], lines[-1].replace(b"2", b"3")])
    else:
        Path(f"{file}.head").write_bytes(b"x" * 1024 if spoil == "head" else head)
    assert _code(file) in {"audit.truncated", "audit.altered", "audit.head-altered", "audit.head-old"}


def test_a_manifest_that_was_tampered_with_lets_no_segment_begin(tmp_path: Path) -> None:
    log = written(tmp_path / "log", segments=2)
    change(log / "manifest.jsonl", lambda lines: lines[:1])
    writers = [_opened(log), _opened(log)]
    assert _code(log) == "audit.truncated"
    for writer in writers:
        writer.close()


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"a": float("nan")}, "audit.record"),
        ({"a": float("inf")}, "audit.record"),
        ({"a": object()}, "audit.record"),
        ({"a": {1, 2}}, "audit.record"),
        ({"a": b"x"}, "audit.record"),
        ({(): 1}, "audit.record"),
        ({"a": "x" * MAX_LINE}, "audit.too-large"),
    ],
)
def test_what_is_no_record_is_refused_and_leaves_no_trace(tmp_path: Path, record: dict[str, Frozen], code: str) -> None:
    log = _opened(tmp_path / "log")
    with pytest.raises(AuditError) as caught:
        log.append(record)
    assert caught.value.code == code
    log.append({"type": "test", "number": 1})
    log.close()
    assert found(tmp_path / "log") == (Standing.SOUND, [])
    assert numbers(tmp_path / "log") == [1]


def test_a_record_that_nests_too_deep_is_refused(tmp_path: Path) -> None:
    deep: Frozen = ()
    for _ in range(100_000):
        deep = (deep,)
    log = _opened(tmp_path / "log")
    with pytest.raises(AuditError) as caught:
        log.append({"deep": deep})
    assert caught.value.code == "audit.record"
    log.close()


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -1.0, 1e300])
def test_a_clock_that_gives_no_time_is_refused(tmp_path: Path, now: float) -> None:
    times = [1.0, 1.0, 1.0, now, 2.0]
    log = AuditLog(tmp_path / "log", KEYS, clock=lambda: times.pop(0))
    with pytest.raises(AuditError) as caught:
        log.append({"type": "test"})
    assert caught.value.code == "audit.clock"
    log.append({"type": "test", "number": 1})
    log.close()
    assert found(tmp_path / "log") == (Standing.SOUND, [])


def test_a_clock_that_goes_back_does_not_turn_the_order_round(tmp_path: Path) -> None:
    times = [100.0, 100.0, 100.0, *(float(second) for second in range(50, 40, -1))]
    log = AuditLog(tmp_path / "log", KEYS, clock=lambda: times.pop(0))
    for number in range(5):
        log.append({"type": "test", "number": number})
    log.close()
    assert numbers(tmp_path / "log") == [0, 1, 2, 3, 4]


FULL = """
import resource
log = AuditLog(sys.argv[1], KEYS)
size = max(os.path.getsize(os.path.join(sys.argv[1], name)) for name in os.listdir(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10_000, resource.RLIM_INFINITY))
kept, code = 0, ""
try:
    for number in range(10_000):
        log.append({"type": "test", "number": number, "pad": "x" * 300})
        kept += 1
except AuditError as error:
    code = error.code
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
if sys.argv[2] == "again":
    log.append({"type": "test", "number": kept})
print(code, kept)
"""


@pytest.mark.parametrize("then", ["again", "end"])
def test_a_full_disk_is_an_error_and_the_log_can_be_verified(tmp_path: Path, then: str) -> None:
    ended = _script(FULL, tmp_path / "log", then)
    assert ended.stderr == ""
    code, kept = ended.stdout.split()
    assert code == "audit.full"
    assert found(tmp_path / "log") == (Standing.SOUND, [])
    assert numbers(tmp_path / "log") == list(range(int(kept) + (then == "again")))


def test_a_disk_that_is_full_from_the_start_is_an_error(tmp_path: Path) -> None:
    body = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    AuditLog(sys.argv[1], KEYS)
except AuditError as error:
    print(error.code)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
AuditLog(sys.argv[1], KEYS).append({"type": "test", "number": 1})
"""
    ended = _script(body, tmp_path / "log")
    assert (ended.stdout, ended.stderr) == ("audit.full\n", "")
    standing, _ = found(tmp_path / "log")
    assert (standing, numbers(tmp_path / "log")) == (Standing.SOUND, [1])


def test_a_real_full_device_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The descriptor of the segment becomes that of /dev/full: the first write fails, then all is well again."""
    log = _opened(tmp_path / "log")
    log.append({"type": "test", "number": 0})
    segment = log._segment._file
    kept = os.dup(segment)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, segment)
    with pytest.raises(AuditError):
        log.append({"type": "test", "number": 1})
    os.dup2(kept, segment)
    os.close(full)
    os.close(kept)
    log.append({"type": "test", "number": 2})
    log.close()
    assert found(tmp_path / "log") == (Standing.SOUND, [])
    assert numbers(tmp_path / "log") == [0, 2]


@pytest.mark.parametrize("call", ["write", "pwrite", "fdatasync"])
def test_whatever_fails_is_an_error_and_later_records_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    log = _opened(tmp_path / "log", durability=Durability.POWER_LOSS)

    def failing(*_: object) -> int:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing)
        with pytest.raises(AuditError) as caught:
            log.append({"type": "test", "number": 0})
    assert caught.value.code == "audit.io"
    log.append({"type": "test", "number": 1})
    log.close()
    assert found(tmp_path / "log") == (Standing.SOUND, [])
    assert numbers(tmp_path / "log")[-1] == 1


def test_an_interrupted_append_leaves_no_half_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler may raise right after the write."""
    log = _opened(tmp_path / "log")
    real = os.write

    def interrupted(descriptor: int, data: bytes) -> int:
        real(descriptor, data)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            log.append({"type": "test", "number": 0})
    log.append({"type": "test", "number": 1})
    log.close()
    assert found(tmp_path / "log") == (Standing.SOUND, [])
    assert numbers(tmp_path / "log") == [1]


@pytest.mark.parametrize(
    "change_it",
    [
        lambda file: file.unlink(),
        lambda file: file.rename(file.with_suffix(".1")),
        lambda file: shutil.move(shutil.copy(file, file.with_suffix(".1")), file),
        lambda file: os.truncate(file, file.stat().st_size - 1),
        lambda file: os.truncate(file, 0),
        lambda file: file.write_bytes(file.read_bytes() + b"x\n"),
    ],
)
@pytest.mark.parametrize("name", ["log", "audit.jsonl"])
def test_a_file_that_is_changed_under_its_writer_keeps_nothing_more(
    tmp_path: Path, name: str, change_it: Callable[[Path], object]
) -> None:
    now = [1000.0]
    log = AuditLog(tmp_path / name, KEYS, clock=lambda: now[0])
    log.append({"type": "test", "number": 0})
    now[0] += CHECK_SECONDS
    change_it(tmp_path / name if name.endswith("jsonl") else segments_of(tmp_path / name)[0])
    for _ in range(2):
        with pytest.raises(AuditError) as caught:
            log.append({"type": "test", "number": 1})
        assert caught.value.code in {"audit.missing", "audit.altered"}
    log.close()


def test_a_failed_append_cuts_no_record_off_where_somebody_else_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "audit.jsonl"
    log = AuditLog(file, KEYS, clock=lambda: 1000.0)
    log.append({"type": "test", "number": 0})
    with file.open("ab") as other:
        other.write(b"somebody else's\n")
    log.append({"type": "test", "number": 1})
    kept = file.read_bytes()

    def failing(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", failing)
        with pytest.raises(AuditError):
            log.append({"type": "test", "number": 2})
    assert file.read_bytes() == kept
    log.close()


def test_a_segment_that_is_gone_is_not_begun_again(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = _opened(file)
    log.append({"type": "test"})
    log.close()
    file.unlink()
    assert _code(file) == "audit.segment-missing"
    assert not file.exists()


def test_a_closed_log_keeps_nothing(tmp_path: Path) -> None:
    log = _opened(tmp_path / "log")
    log.close()
    with pytest.raises(AuditError) as caught:
        log.append({"type": "test"})
    assert caught.value.code == "audit.closed"
    log.close()


def test_a_long_segment_is_left_for_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "MAX_SEGMENT", 2000)
    log = _opened(tmp_path / "log")
    for number in range(30):
        log.append({"type": "test", "number": number})
    log.close()
    assert len(segments_of(tmp_path / "log")) > 3
    assert found(tmp_path / "log") == (Standing.SOUND, [])
    assert numbers(tmp_path / "log") == list(range(30))


@pytest.mark.parametrize(
    ("kid", "secret"), [("", b"x" * 32), ("a b", b"x" * 32), ('"', b"x" * 32), ("a", b"x" * 31), ("a" * 65, b"x" * 32)]
)
def test_a_weak_or_oddly_named_key_is_refused(kid: str, secret: bytes) -> None:
    with pytest.raises(AuditError) as caught:
        AuditKey(kid, secret)
    assert caught.value.code == "audit.key"


def test_a_key_shows_nothing_of_its_secret() -> None:
    assert repr(AuditKey("k", b"secret-secret-secret-secret-secret")) == "AuditKey(kid='k')"


def test_no_key_and_two_keys_of_one_name_are_refused() -> None:
    for keys in ((), (AuditKey("k", b"x" * 32), AuditKey("k", b"y" * 32))):
        with pytest.raises(AuditError) as caught:
            Macs(keys)
        assert caught.value.code == "audit.key"


def test_verifying_while_writers_go_on_finds_nothing(tmp_path: Path) -> None:
    body = """
log = AuditLog(sys.argv[1], KEYS)
print("ready", flush=True)
until = time.time() + 1.5
while time.time() < until:
    log.append({"type": "test", "pad": "x" * 2000})
    if os.path.exists(sys.argv[1] + ".reopen"):
        log.close()
        log = AuditLog(sys.argv[1], KEYS)
"""
    begin = "import os, sys, time\nfrom policyengine.audit import *\nKEYS = (AuditKey('k1', b'\\x11' * 32),)\n"
    log = tmp_path / "log"
    (tmp_path / "log.reopen").touch()
    writers = [
        subprocess.Popen([sys.executable, "-c", begin + body, str(log)], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    reports = []
    while any(writer.poll() is None for writer in writers):
        reports.append(verify(log, KEYS))
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
    assert [report.problems for report in reports if report.standing is not Standing.SOUND] == []
    assert found(log) == (Standing.SOUND, [])
