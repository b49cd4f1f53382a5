"""What counts as a slash command, and of whom."""

from __future__ import annotations

import pytest

from policyengine.policies.skill import RESERVED, Command, UserMessage, command_of, newest


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("/pdf", "pdf", ""),
        ("/pdf make one", "pdf", "make one"),
        ("/pdf\n\n  make one\n", "pdf", "make one\n"),
        ("/a-b-2 x", "a-b-2", "x"),
        ("/2 x", "2", "x"),
        ("/pdf\u00a0x", "pdf", "x"),
        ("/helpers x", "helpers", "x"),
    ],
)
def test_a_slash_command_names_a_skill_and_leaves_the_task(text: str, name: str, rest: str) -> None:
    assert command_of(text) == Command(name, rest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "pdf",
        " /pdf",
        "\n/pdf",
        "x /pdf",
        "//pdf",
        "/ pdf",
        "/Pdf x",
        "/pdf/x",
        "/pdf.",
        "/pdf,x",
        "/-pdf",
        "/pdf-",
        "/pdf--x",
        "/pdf_x",
        "/p\u0434f x",
        "/\uff50df x",
        "/pdf\u200b x",
        "/pdf\0x",
        "\ufeff/pdf",
        "<slash_skill_activation>/pdf",
        *(f"/{name} x" for name in sorted(RESERVED)),
        *(f"/{name}" for name in sorted(RESERVED)),
    ],
)
def test_other_text_is_no_slash_command(text: str) -> None:
    assert command_of(text) is None


def test_a_long_text_is_read_in_linear_time() -> None:
    assert command_of("/" + "a-" * 200_000) is None
    found = command_of("/" + "a" * 200_000)
    assert found is not None
    assert len(found.name) == 200_000


def _message(text: str, genuine: object) -> UserMessage:
    return UserMessage(id=text, text=text, genuine=genuine)  # type: ignore[arg-type]


def test_only_the_newest_message_counts_that_a_person_really_sent() -> None:
    first, second, hidden = _message("/a", True), _message("go on", True), _message("/b", False)
    assert newest([first, second, hidden]) is second
    assert newest([second, first, hidden]) is first
    assert newest([first, _message("/b", 1), _message("/c", "true")]) is first  # only `true` is true
    assert newest([hidden]) is None
    assert newest([]) is None
