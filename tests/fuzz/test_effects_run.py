"""The effects oracle's own parts; a short run where this machine can trace programs."""

from __future__ import annotations

import pytest

from fuzz.effects_run.compare import compare, effects_of
from fuzz.effects_run.hunt import OVER, in_turn, run_examples
from fuzz.effects_run.observed import Item, Kind, Observed, observe
from fuzz.effects_run.report import figures, holds, table
from fuzz.effects_run.root import Ran, missing
from fuzz.effects_run.tables import PACKAGES, Example, Excuse, Subject, examples, explained, lacking, noise
from fuzz.effects_run.trace import Verb, events, unescaped
from fuzz.wrapper_hunt import described
from policyengine.effects import Connect, Effect, Execute, FileAttribute, FileDelete, FileRead, FileWrite, Where

WHY_NOT = missing()
traced = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "traced")
EXEC = '9 execve("/bin/bash", ["bash"], 0x1 /* 2 vars */) = 0\n'
W = "/workspace"


def _acts(*lines: str) -> list[tuple[Verb, str, str]]:
    return [(event.verb, event.target, event.error) for event in events(EXEC + "\n".join(lines))]


@pytest.mark.parametrize(
    ("lines", "acts"),
    [
        (
            [f'9 openat(AT_FDCWD<{W}>, "a b", O_WRONLY|O_CREAT, 0666) = 3<{W}/a b>'],
            [(Verb.WRITE, f"{W}/a b", "")],
        ),
        ([f'9 openat(AT_FDCWD<{W}>, "a", O_RDONLY) = 3<{W}/a>'], [(Verb.READ, f"{W}/a", "")]),
        ([f'9 openat(AT_FDCWD<{W}>, "a", O_WRONLY|O_TMPFILE, 0600) = 3<{W}/#1>'], []),
        (
            ['9 open("a", O_RDWR) = -1 EACCES (Permission denied)'],
            [(Verb.WRITE, f"{W}/a", "EACCES")],
        ),
        (
            ['9 chdir("/tmp") = 0', '9 rename("a", "../b") = 0'],
            [(Verb.DELETE, "/tmp/a", ""), (Verb.READ, "/tmp/a", ""), (Verb.WRITE, "/b", "")],
        ),
        ([f'9 unlinkat(4<{W}/d>, "x", 0) = 0'], [(Verb.DELETE, f"{W}/d/x", "")]),
        ([f"9 fchmod(4<{W}/x>, 0600) = 0"], [(Verb.ATTRIBUTE, f"{W}/x", "")]),
        ([f"9 utimensat(0<{W}/z>, NULL, NULL, 0) = 0"], [(Verb.ATTRIBUTE, f"{W}/z", "")]),
        (
            ["9 vfork( <unfinished ...>", '10 unlink("a") = 0', "9 <... vfork resumed>) = 10"],
            [(Verb.DELETE, f"{W}/a", "")],
        ),
        (
            ['9 mkdir("a", 0777 <unfinished ...>', "9 <... mkdir resumed>) = 0"],
            [(Verb.WRITE, f"{W}/a", "")],
        ),
        (
            [r'9 symlink("\303\251", "a\"b") = 0'],
            [(Verb.READ, f"{W}/é", ""), (Verb.WRITE, f'{W}/a"b', "")],
        ),
        (
            [
                '9 connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("1.2.3.4")}, 16)'
                " = -1 ENETUNREACH (Network is unreachable)"
            ],
            [(Verb.CONNECT, "1.2.3.4:80", "ENETUNREACH")],
        ),
        (
            ['9 bind(3<socket:[1]>, {sa_family=AF_INET6, sin6_port=htons(9), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::", &sin6_addr), sin6_scope_id=0}, 28) = 0'],  # noqa: E501
            [(Verb.LISTEN, ":::9", "")],
        ),
        (['9 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/run/x"}, 10) = 0'], []),
        (
            ['9 execve("/usr/bin/rm", ["rm", "a, b)"], 0x1 /* 2 vars */) = 0'],
            [(Verb.EXECUTE, "/usr/bin/rm", "")],
        ),
    ],
)  # fmt: skip
def test_a_trace_is_read(lines: list[str], acts: list[tuple[Verb, str, str]]) -> None:
    assert _acts(*lines) == acts


def test_a_process_has_the_folder_and_program_of_the_one_that_forked_it() -> None:
    lines = ['9 execve("/bin/x", ["x"], 0x1) = 0', '9 chdir("/tmp") = 0', "9 fork() = 10", '10 unlink("a") = 0']
    assert events(EXEC + "\n".join(lines))[-1][:4] == (10, "x", Verb.DELETE, "/tmp/a")


@pytest.mark.parametrize(("text", "meant"), [(r'"a\tb"', "a\tb"), (r'"a\\\"b"', 'a\\"b'), (r'"\342\202\254"...', "€")])
def test_strings_are_unescaped(text: str, meant: str) -> None:
    assert unescaped(text) == meant


@pytest.mark.parametrize(
    ("line", "before", "after", "kinds"),
    [
        ('openat(AT_FDCWD</workspace>, "a", O_RDWR|O_CREAT, 0666) = 3</workspace/a>', "", "a", ["file.write"]),
        ('openat(AT_FDCWD</workspace>, "a", O_RDWR|O_CREAT, 0666) = 3</workspace/a>', "", "", []),
        ('unlink("a") = 0', "a", "", ["file.delete"]),
        ('unlink("a") = -1 ENOENT (No such file)', "", "", []),
        ('unlink("/etc/a") = -1 EROFS (Read-only file system)', "", "", ["file.delete"]),
        ('unlink("a") = 0\n9 open("a", O_CREAT) = 3', "a", "a", ["file.write"]),
        ('chmod("a", 0600) = 0', "a", "a", ["file.attribute"]),
        ('chmod("a", 0600) = 0\n9 rename("b", "a") = 0', "ab", "a", ["file.write", "file.delete"]),
    ],
)
def test_what_remains_of_the_calls_is_observed(line: str, before: str, after: str, kinds: list[str]) -> None:
    there, later = (frozenset(f"{W}/{name}" for name in names) for names in (before, after))
    seen = observe(Ran(f"{EXEC}9 {line}", 0, there, later, ""))
    assert [item.kind for item in seen.items] == kinds


def _seen(kind: Kind, target: str, created: tuple[str, ...] = ()) -> Observed:
    item = Item(kind, target, "x")
    return Observed((item,), frozenset({target}), frozenset(), frozenset({(kind, target)}), frozenset(created))


@pytest.mark.parametrize(
    ("kind", "target", "effect", "reported"),
    [
        (Kind.WRITE, f"{W}/a", FileWrite(f"{W}/a"), True),
        (Kind.WRITE, f"{W}/a", FileWrite(f"{W}/a", unknown=True), False),
        (Kind.WRITE, f"{W}/a", FileWrite(f"{W}/a", where=Where.REMOTE), False),
        (Kind.WRITE, f"{W}/d/a", FileWrite(f"{W}/d"), False),
        (Kind.WRITE, f"{W}/a.txt", FileWrite(f"{W}/*.txt", glob=True), True),
        (Kind.WRITE, f"{W}/d/a.txt", FileWrite(f"{W}/*.txt", glob=True), False),
        (Kind.WRITE, f"{W}/a", FileDelete(f"{W}/a"), False),
        (Kind.DELETE, f"{W}/d/a", FileDelete(f"{W}/d", recursive=True), True),
        (Kind.DELETE, f"{W}/d/a", FileDelete(f"{W}/d"), False),
        (Kind.ATTRIBUTE, f"{W}/a", FileAttribute(f"{W}/a", "mode"), True),
        (Kind.ATTRIBUTE, f"{W}/a", FileRead(f"{W}/a"), False),
        (Kind.EXECUTE, "/usr/bin/rm", Execute("rm"), True),
        (Kind.EXECUTE, "/usr/bin/rm", Execute("rm", "/bin/rm"), True),
        (Kind.EXECUTE, "/usr/bin/rm", Execute("rm", "/workspace/rm"), False),
        (Kind.EXECUTE, "/usr/bin/rm", Execute("cp"), False),
        (Kind.EXECUTE, "/usr/bin/rm", Execute("rm", unknown=True), False),
        (Kind.CONNECT, "198.51.100.7:80", Connect("example.test"), True),
        (Kind.CONNECT, "198.51.100.7:80", Connect("mirror.test"), False),
        (Kind.CONNECT, "127.0.0.1:80", Connect("localhost"), True),
        (Kind.LISTEN, "0.0.0.0:9000", Connect("", "9000", listen=True), True),
        (Kind.LISTEN, "0.0.0.0:9000", Connect("", "9001", listen=True), False),
    ],
)
def test_what_counts_as_reported(kind: Kind, target: str, effect: Effect, reported: bool) -> None:
    assert bool(compare("x", _seen(kind, target), [effect], (), ()).reported) is reported


def test_missing_folders_on_the_way_to_a_written_path_are_reported_with_it() -> None:
    seen = _seen(Kind.WRITE, f"{W}/n", (f"{W}/n", f"{W}/n/m"))
    assert compare("x", seen, [FileWrite(f"{W}/n/m")], (), ()).reported
    assert not compare("x", seen, [FileWrite(f"{W}/o")], (), ()).reported


@pytest.mark.parametrize(
    ("row", "holds_for"),
    [
        (Excuse("r"), True),
        (Excuse("r", kind="file.*", target="/tmp/*|/x"), True),
        (Excuse("r", target="/tmp/*"), False),
        (Excuse("r", program="cp"), False),
        (Excuse("r", text="git *", beside="vcs.change"), True),
        (Excuse("r", beside="net.connect"), False),
    ],
)
def test_an_excuse_needs_all_of_its_globs(row: Excuse, holds_for: bool) -> None:
    subject = Subject("git", "file.write", "/x", "git add a", frozenset({"vcs.change"}))
    assert row.holds(subject) is holds_for


def test_every_excuse_gives_a_reason_and_every_package_is_one_word() -> None:
    assert all(len(row.reason) > 10 for row in (*noise(), *explained()))
    assert all(len(line.split()) == 1 for line in PACKAGES.read_text().splitlines())


def test_the_examples_are_of_many_programs() -> None:
    rows = list(examples())
    assert len({row.program for row in rows}) > 150
    assert len({(row.run, row.setup, row.stdin) for row in rows}) == len(rows)


def test_every_program_has_its_turn_before_another_has_its_second() -> None:
    chosen = [Example(name, text, {}) for name, text in (("x", "x 1"), ("x", "x 2"), ("y", "y 1"), ("x", "x 3"))]
    assert [example.run for example in in_turn(chosen)] == ["x 1", "y 1", "x 2", "x 3"]


def test_a_program_that_is_not_there_is_named() -> None:
    assert lacking(Example("x", "x", {}, needs=("bash", "no-such-program"))) == "no-such-program"


@traced
def test_real_programs_do_what_is_reported() -> None:
    results = run_examples(list(examples(frozenset({"rm", "chmod", "unlink", "mkfifo"}))))
    assert holds(results), table(results)


@traced
def test_what_does_not_begin_in_time_is_skipped_and_counted() -> None:
    results = run_examples(list(examples(frozenset({"rm"}))), -1.0)
    assert {result.skipped for result in results} == {OVER}
    assert f"skipped: {len(results)} examples of {len(results)}: {OVER}" in table(results)
    assert not holds(results)


@traced
def test_an_engine_that_reports_too_little_is_caught() -> None:
    text = "touch made; tar cf out.tar a.txt"
    results = run_examples([Example("x", text, {"a.txt": "a\n"})])
    programs = described()
    assert programs is not None
    assert figures(results).observed >= 4
    assert any(isinstance(effect, FileWrite) for effect in effects_of(text, programs))
    seen = _seen(Kind.WRITE, f"{W}/made")
    assert compare(text, seen, [], (), ()).missing
