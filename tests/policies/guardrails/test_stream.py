"""Text that arrives in pieces: nothing half is given out, and little is held back."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyengine.policies.guardrails.content import Scanner, Source
from policyengine.policies.guardrails.content.detectors import Text, merged_cuts, places, replaced
from policyengine.policies.guardrails.content.stream import EASY, MAX_HELD
from tests.policies.guardrails.contents import content, examples
from tests.policies.guardrails.test_content import KEY, SHAPES, TAG

PROSE = [
    " ",
    "\n",
    "the quick brown fox ",
    "a < b ",
    "x=1; ",
    "- item\n",
    "<div>",
    "&amp; ",
    "[1] ",
    "12 ",
    ", ",
    "\xe9t\xe9 ",
]
SECRETS = [example.text for example in examples() if example.detector.startswith(("secret", "injection"))]
TEXTS = st.lists(st.one_of(st.sampled_from(PROSE), st.sampled_from(SECRETS)), max_size=10).map(" ".join)


def streamed(scanner: Scanner, pieces: Iterable[str]) -> str:
    return "".join([*map(scanner.feed, pieces), scanner.finish()])


def once(text: str, source: Source) -> str:
    """One pass over the whole."""
    looked_at = Text(text)
    found = [
        place
        for detector, action in content().active(source)
        if action in ("redact", "neutralise")
        for place in places(looked_at, detector)
    ]
    return replaced(looked_at.text, merged_cuts(found))


@given(TEXTS, st.lists(st.integers(1, 40), min_size=1, max_size=60), st.sampled_from([Source.REMOTE, Source.OUTPUT]))
@settings(max_examples=400, deadline=None)
def test_pieces_give_what_the_whole_gives(text: str, sizes: list[int], source: Source) -> None:
    """Law: however a text is cut into pieces, what comes out is what one pass makes of the whole."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[at : at + size])
        at += size
    assert streamed(content().scanner(source), pieces) == once(text, source)


@pytest.mark.parametrize(
    "secret", [example.text for example in examples() if example.matches and example.detector.startswith("secret")]
)
def test_no_part_of_a_secret_is_given_out_before_it_is_known(secret: str) -> None:
    scanner, given_out, text = content().scanner(Source.OUTPUT), "", f"say {secret} now and then some more\n"
    whole = once(text, Source.OUTPUT)
    for character in text:
        given_out += scanner.feed(character)
        assert whole.startswith(given_out)
    assert given_out + scanner.finish() == whole
    assert scanner.seen


def test_prose_is_not_held_for_long() -> None:
    scanner = content().scanner(Source.OUTPUT)
    text = "This is what a model says about nothing in particular, and it goes on and on. " * 20
    most, given_out = 0, 0
    for at, character in enumerate(text):
        given_out += len(scanner.feed(character))
        most = max(most, at + 1 - given_out)
    assert most <= 300


def test_a_key_that_never_ends_is_swallowed_up_to_its_limit() -> None:
    scanner = content().scanner(Source.OUTPUT)
    text = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIB" * 10_000
    out = streamed(scanner, [text[at : at + 7] for at in range(0, len(text), 7)])
    assert out.startswith("[redacted:secret.private-key]")
    assert len(out) == len(text) - 16_384 + len("[redacted:secret.private-key]")


def test_a_token_that_never_ends_is_swallowed() -> None:
    scanner = content().scanner(Source.OUTPUT)
    assert streamed(scanner, ["x ghp_", *["aB3d"] * 50_000, " after"]) == "x [redacted:secret.github-token] after"


def test_the_end_gives_out_what_was_held() -> None:
    scanner = content().scanner(Source.REMOTE)
    assert scanner.feed("<syst") == ""
    assert scanner.finish() == "<syst"
    assert scanner.finish() == ""


def test_a_stream_in_which_nothing_is_looked_for_passes() -> None:
    assert streamed(Scanner(()), ["a", KEY, TAG]) == f"a{KEY}{TAG}"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_hostile_stream_is_bounded(shape: str) -> None:
    """What is held is bounded, and so is the time, in pieces of any size."""
    text = SHAPES[shape](10_000)
    for size in (3, 400):
        scanner, given_out, start = content(strict=True).scanner(Source.REMOTE), 0, time.process_time()
        for at in range(0, len(text), size):
            given_out += len(scanner.feed(text[at : at + size]))
            assert len(scanner._held) <= MAX_HELD + EASY + size
        scanner.finish()
        assert time.process_time() - start < 10
