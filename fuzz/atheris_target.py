"""A coverage-guided target for lexer, parser and splitter: `python -m fuzz.atheris_target [libFuzzer options]
[corpus]`.

Whatever the text, `parse` raises `ParseError` or returns a tree whose spans lie inside the text, and `split_commands`
returns. Prints that it is skipped where atheris is not installed.
"""

from __future__ import annotations

import importlib
import sys


def main() -> int:
    """Run atheris on its command line's terms."""
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        print("skipped: atheris is not installed")
        return 0
    with atheris.instrument_imports(include=["policyengine.shell"]):
        importlib.import_module("policyengine.shell")
    from fuzz.oracles import Case
    from fuzz.reading import read
    from fuzz.splitting import check_split

    def one(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        for extglob in (False, True):
            reading = read(text, extglob)
            broken = [reading.crashed] if reading.crashed else list(map(str, check_split(text, extglob)))
            outside = [command for command in reading.commands if not 0 <= command.start <= command.end <= len(text)]
            if broken or outside:
                raise AssertionError(f"{Case(text, extglob, None)}: {broken or outside}")

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
