"""How a payload is written inside other text: quoted for a shell, as a string of a language, encoded."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Final, TypeAlias

from fuzz.payloads import Payload, quoted

Way: TypeAlias = Callable[[Payload], str]  # shell text that runs the payload here; empty where the way does not fit


def q(text: str) -> str:
    """Text in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


def tail(one: Payload) -> str:
    """The payload as the last words of a wrapper's command line."""
    return one.text if one.words and "\n" not in one.text else f"sh -c {q(one.text)}"


def inline(one: Payload) -> str:
    """The payload as one command between operators."""
    joined = one.text.startswith("!") or set(";\n#&|<>") & set(one.text)
    return f"{{ {one.text}\n}}" if joined else one.text


def body(one: Payload) -> str:
    """The payload where something on its line would end it: a comment and a here-document end with theirs."""
    text = f" {one.text}" if one.text.startswith("(") else one.text  # else it begins arithmetic
    return f"{text}\n" if set("\n#") & set(text) else text


def argument(one: Payload) -> str:
    """As `tail`, for places where words end at `;`, `+` or `{}`."""
    return f"sh -c {q(one.text)}" if {";", "+", "{}"} & set(one.words) else tail(one)


def b64(text: str) -> str:
    """Text in base64."""
    return base64.b64encode(text.encode()).decode()


def as_hex(text: str) -> str:
    """Text as hexadecimal digits."""
    return text.encode().hex()


def escaped(text: str, form: str) -> str:
    """Text with each byte in the form of an escape."""
    return "".join(form % byte for byte in text.encode())


def words(one: Payload) -> str:
    """The payload's words, each for a shell; empty where it is no single command or where one is expanded."""
    return " ".join(map(quoted, one.words)) if "~" not in "".join(one.words) else ""


def listed(one: Payload) -> str:
    """The payload's words as a list of strings, as JSON, Python, perl, ruby and others write it; may be empty."""
    return json.dumps(list(one.words)) if words(one) else ""


def end(one: Payload) -> str:
    """A delimiter of a here-document that no text inside has."""
    return f"END_{len(one.text)}"


def stem(one: Payload) -> str:
    """A file name, without its suffix, that no text inside has."""
    return f"s{len(one.text)}"


def run(program: str, code: str) -> str:
    """A program with code as its last argument."""
    return f"{program} {q(code)}"


def os_system(one: Payload) -> str:
    """Python code that hands the payload to a shell."""
    return f"import os; os.system({one.text!r})"


HEX: Final = "\\x%02x"
OCTAL: Final = "\\%03o"


ROT: Final = {ord(a): ord(b) for a, b in zip("nopqrstuvwxyzabcdefghijklm", "abcdefghijklmnopqrstuvwxyz", strict=True)}


def opened(text: str) -> str:
    """Text as an unquoted here-document has to hold it."""
    return text.replace("\\", "\\\\").replace("$", "\\$").replace("`", "\\`")


def for_make(text: str) -> str:
    """Text as a recipe has to hold it."""
    return text.replace("$", "$$")


def single(text: str) -> str:
    """Text in perl's single quotes, which ruby and php read alike."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def double(text: str) -> str:
    """Text in the double quotes of awk and lua."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def is_plain(one: Payload) -> bool:
    """Whether splitting the text at blanks gives the words: nothing is quoted or expanded."""
    return bool(one.words) and not set("~*?[{'\"\\$`") & set(one.text) and "\n" not in one.text


def one_line(one: Payload, text: str) -> str:
    """`text` if the payload is a single line, else nothing."""
    return "" if "\n" in one.text else text


def holeless(one: Payload, text: str) -> str:
    """`text` if the payload does not hold what find and xargs replace, else nothing."""
    return "" if "{}" in one.text else text


def without(letters: str, one: Payload, text: str) -> str:
    """`text` if the payload has none of these characters, else nothing."""
    return "" if set(letters) & set(one.text) else text


def worded(one: Payload, text: str) -> str:
    """`text` if the payload is a single command whose words mean what they say, else nothing."""
    return text if words(one) else ""


def plainly(one: Payload, text: str) -> str:
    """`text` if splitting the payload at blanks gives its words, else nothing."""
    return text if is_plain(one) else ""
