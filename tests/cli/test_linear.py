"""Time grows with the length of hostile text and no faster: ratios within one run, never times."""

from __future__ import annotations

import json

import pytest

from policyengine.cli import bench, linear
from policyengine.cli.arguments import parse
from policyengine.cli.linear import Growth, Work, growth_of, works
from policyengine.cli.shapes import SHAPES
from policyengine.effects import Cause, Opaque
from policyengine.errors import UsageError
from policyengine.shell.interpret import Situation, interpret
from policyengine.shell.programs import Programs

LENGTHS = {"read": (2_000, 16_000), "decide": (500, 4_000)}
FACTOR = 3.0  # a doubling; a cost that grows with the square has 4, and a busy machine adds to 2
NAMES = list(SHAPES)


@pytest.fixture(scope="module")
def each_work() -> dict[str, Work]:
    found = works(parse(["bench", "--suite", "linear"]))
    for work in found.values():
        work("a")
    return found


@pytest.mark.parametrize("work", LENGTHS)
@pytest.mark.parametrize("shape", NAMES)
def test_twice_the_text_takes_about_twice_the_time(
    shape: str, work: str, each_work: dict[str, Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "REPEATS", 1)
    growth = growth_of(shape, work, each_work[work], LENGTHS[work])
    assert max(growth.doublings(), default=0) < FACTOR, growth


@pytest.mark.parametrize(("times", "limited"), [(12, False), (60, True)])
def test_text_that_doubles_again_and_again_ends_at_a_limit(times: int, limited: bool) -> None:
    facts = interpret("x=a;" + "x=$x$x;" * times, Situation(), Programs({}))
    assert any(isinstance(effect, Opaque) and effect.cause is Cause.LIMIT for effect in facts.effects) is limited


@pytest.mark.parametrize("shape", NAMES)
@pytest.mark.parametrize("size", [200, 1_000, 10_000])
def test_a_shape_is_about_as_long_as_asked(shape: str, size: int) -> None:
    assert 0.5 * size <= len(SHAPES[shape](size)) <= size + 40


def test_a_cost_that_grows_with_the_square_is_steep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "ATTEMPTS", 1)

    def count(text: str) -> object:
        return [text.count("w") for _ in range(len(text) // 4)]

    assert growth_of("long word", "read", count, (4_000, 16_000)).is_steep


@pytest.mark.parametrize(
    ("seconds", "steep"),
    [
        ({1_000: 0.01, 2_000: 0.02}, False),
        ({1_000: 0.01, 2_000: 0.03}, True),
        ({1_000: 0.01, 4_000: 0.05}, False),
        ({1_000: 0.01, 4_000: 0.07}, True),
        ({1_000: 0.00001, 2_000: 0.001}, False),  # below the noise
        ({1_000: 0.00001, 2_000: 0.1}, True),
    ],
)
def test_what_is_steep(seconds: dict[int, float], steep: bool) -> None:
    assert Growth("a;", "read", seconds).is_steep is steep


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "LENGTHS", (50, 100))


@pytest.mark.usefixtures("quick")
def test_the_suite_prints_each_shape_with_each_work(capsys: pytest.CaptureFixture[str]) -> None:
    bench.run(parse(["bench", "--suite", "linear", "--shape", "a;", "--shape", "a|"]))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:-1]] == [
        ["a;", "read"],
        ["a;", "decide"],
        ["a|", "read"],
        ["a|", "decide"],
    ]
    assert lines[-1].startswith("0 of 4 are steep")


@pytest.mark.usefixtures("quick")
def test_the_suite_prints_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    bench.run(parse(["bench", "--suite", "linear", "--shape", "a;", "--longest", "50", "--json"]))
    printed = capsys.readouterr()
    (read, decide) = json.loads(printed.out)["linear"]
    assert (read["shape"], read["work"], list(read["seconds"]), read["steep"]) == ("a;", "read", ["50"], False)
    assert read["bytes_per_character"] > 0 and decide["bytes_per_character"] is None
    assert "a;" in printed.err  # progress


@pytest.mark.parametrize("words", [["--shape", "b;"], ["--longest", "10"]])
def test_what_cannot_be_measured_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        bench.run(parse(["bench", "--suite", "linear", *words]))
