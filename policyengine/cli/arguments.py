"""Every command with its options, in one place.

The parser is the standard library's, since a hook and `decide` have to load it in milliseconds.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import NoReturn

from policyengine.errors import UsageError

DEFAULT_PROFILE = "workstation"
SUITES = ("shell", "parse", "linear", "opa", "rbac", "exposure", "sign", "gate", "audit")
LONGEST = 1_000_000
RUNTIMES = ("claude-code",)


class _Formatter(argparse.HelpFormatter):
    """Asks for the width itself: `shutil`, which would, loads three compression libraries, help or no help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width())


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns) - 2
    try:
        return os.get_terminal_size(1).columns - 2
    except OSError:  # no terminal
        return 78


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of ending the process with a status that means `deny`."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def parse(words: list[str]) -> argparse.Namespace:
    """The command and its options.

    Raises:
        UsageError: a word is not understood.
        SystemExit: help or the version was asked for, and printed.
    """
    return _parser().parse_args(words)


def _parser() -> _Parser:
    parser = _Parser(
        prog="policyengine", description="Decides what an agent's tool call may do, and says why.", allow_abbrev=False,
        formatter_class=_Formatter,
    )  # fmt: skip
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (summary, add) in COMMANDS.items():
        add(
            commands.add_parser(name, help=summary, description=summary, allow_abbrev=False, formatter_class=_Formatter)
        )
    return parser


class _Version(argparse.Action):
    """Looks the version up only when somebody asks."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version  # noqa: PLC0415  costs more than a whole decision

        print(f"policyengine {version('agent-policyengine')}")
        parser.exit()


def _rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rules", metavar="DIR|BUNDLE", action="append", default=[],
        help="add rules and descriptions of programs and tools; may be given several times",
    )  # fmt: skip
    parser.add_argument("--no-shipped-rules", action="store_true", help="start empty: only what --rules names")


def _organisation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--organisation-key", metavar="FILE", action="append", default=[],
        help="public key (PEM, Ed25519) that the bundle of --rules has to be signed with; may be given several times",
    )  # fmt: skip


def _policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile", metavar="NAME", default=DEFAULT_PROFILE, help="sandbox, workstation (default) or readonly"
    )
    _rules(parser)
    _settings(parser)
    _organisation(parser)


def _setup(parser: argparse.ArgumentParser) -> None:
    _policy(parser)
    parser.add_argument("--setup", metavar="FILE", help="judge by a gate's setup file, which says all of this and more")


def _settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--settings", metavar="FILE", action="append", default=[],
        help="permission rules of yours: settings of a runtime (.json), prefix rules (.rules) or both (.yaml)",
    )  # fmt: skip
    parser.add_argument(
        "--managed-settings", metavar="FILE", action="append", default=[], help="the same of your organisation"
    )
    parser.add_argument(
        "--project-settings", metavar="FILE", action="append", default=[],
        help="the same of a project: they tighten, and allow what you trust (`policyengine trust`)",
    )  # fmt: skip
    parser.add_argument(
        "--host-settings", action="store_true", help="the settings that Claude Code itself would read, each in its tier"
    )


def _audit_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--audit-keys", metavar="FILE",
        help="keys of audit logs, `NAME SECRET` a line; default: ~/.config/policyengine/keys/audit",
    )  # fmt: skip


def _audited(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--audit",
        metavar="DIR|FILE",
        help="record decisions there before they are printed; a file ends in .jsonl or .log",
    )
    _audit_keys(parser)
    parser.add_argument(
        "--audit-detail", choices=("redacted", "full"), default="redacted",
        help="`full` keeps whole requests, secrets included, as `replay` needs them; default: no values",
    )  # fmt: skip
    parser.add_argument(
        "--audit-durability", choices=("process-crash", "power-loss"), default="process-crash",
        help="what a record survives; `power-loss` waits for the disk",
    )  # fmt: skip


def _audit(parser: argparse.ArgumentParser) -> None:
    whats = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, summary in (
        ("verify", "Say whether a log is as it was written: exit 0 sound, 1 could not be read or checked, 2 tampered."),
        ("checkpoint", "Print an anchor: kept elsewhere, it shows whether a log was taken back to an older copy."),
        ("show", "Print the records that hold, in the order of time, one JSON object a line."),
    ):
        what = whats.add_parser(name, help=summary, description=summary, allow_abbrev=False, formatter_class=_Formatter)
        what.add_argument("path", metavar="DIR|FILE", help="the log")
        _audit_keys(what)
        if name == "verify":
            what.add_argument(
                "--anchor", metavar="TEXT", action="append", default=[], help="what `audit checkpoint` printed"
            )
            what.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def _replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="DIR|FILE", help="the audit log")
    _audit_keys(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object a line instead of text")
    _setup(parser)


def _decide(parser: argparse.ArgumentParser) -> None:
    _setup(parser)
    _audited(parser)


def _command(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text", metavar="COMMAND", help="the shell command as one quoted word; `-` reads it from standard input"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    _setup(parser)
    _audited(parser)


def _bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", choices=SUITES, required=True, help="what is measured")
    parser.add_argument("--input", metavar="FILE.jsonl", help='everyday commands: rows with "text", or decide requests')
    parser.add_argument(
        "--shape",
        metavar="NAME",
        action="append",
        default=[],
        help="of `linear`: only this shape; may be given several times",
    )
    parser.add_argument(
        "--longest", metavar="N", type=int, default=LONGEST, help="of `linear`: only texts of at most N characters"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _policy(parser)


def _compile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", default="policy.bundle", help="default: policy.bundle")
    parser.add_argument(
        "--sign", metavar="KEYFILE",
        help="private key (PEM, Ed25519): the bundle, with what --rules names, is the organisation's",
    )  # fmt: skip
    _rules(parser)


def _hook(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runtime", choices=RUNTIMES, help="the runtime whose hook calls")
    parser.add_argument(
        "--workspace", metavar="DIR", action="append", default=[], help="a workspace root; default: the payload's cwd"
    )
    parser.add_argument(
        "--state", metavar="FILE",
        help="keep there what a session has written, fetched and set, so that its later calls are judged by it",
    )  # fmt: skip
    _setup(parser)
    _audited(parser)


def _trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a project's file of permission rules; none lists all")
    parser.add_argument("--yes", action="store_true", help="trust it without being asked")
    parser.add_argument("--remove", action="store_true", help="trust it no longer")


def _lint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object a line instead of text")
    parser.add_argument("--skills", metavar="FILE", help="settings of skills, whose folders are looked through as well")
    _policy(parser)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "check": ("Judge one shell command: exit 0 allow, 1 ask, 2 deny.", _command),
    "explain": ("Show how a shell command is read, what it would do, and which rules say what.", _command),
    "decide": ("Judge JSON requests, one a line, from standard input.", _decide),
    "test": ("Run every example of the rules and of the program descriptions.", _rules),
    "bench": ("Measure median, p99 and throughput, caches off.", _bench),
    "compile": ("Put rules and descriptions into one bundle file, and print its digest.", _compile),
    "trust": ("Let a project's permission rules, with the contents they have now, count as your own.", _trust),
    "lint": ("Look for permission rules and rules that do nothing, or not what they seem to.", _lint),
    "audit": ("Look after an audit log: verify, checkpoint, show.", _audit),
    "replay": ("Decide what an audit log recorded again, by other rules, and print what would change.", _replay),
    "hook": ("Answer an agent runtime's hook on standard input.", _hook),
}
