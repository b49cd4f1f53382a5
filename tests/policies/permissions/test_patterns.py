"""The words of rules: how they are read, and which words, paths and hosts they name."""

from __future__ import annotations

import pytest

from policyengine.effects import Execute
from policyengine.errors import LoadError
from policyengine.policies.permissions.commands import Match, catches_command, command_pattern, covers_command
from policyengine.policies.permissions.globs import fits, meets
from policyengine.policies.permissions.hosts import host_pattern, names_host
from policyengine.policies.permissions.paths import (
    may_begin,
    may_lie_below,
    may_name,
    names_all_below,
    names_path,
    path_pattern,
    segments_at,
)
from policyengine.policies.permissions.patterns import About, covers, names_tool, pattern_of
from policyengine.state import START
from tests.policies.permissions.worlds import request, workstation


@pytest.mark.parametrize(
    ("text", "tool", "specifier", "about"),
    [
        ("Bash", "Bash", None, About.COMMAND),
        ("Bash()", "Bash", None, About.COMMAND),
        ("Bash(*)", "Bash", None, About.COMMAND),
        (" Bash(ls) ", "Bash", "ls", About.COMMAND),
        ("Bash(f\\(x\\))", "Bash", "f(x)", About.COMMAND),
        ("Bash(a (b) c)", "Bash", "a (b) c", About.COMMAND),
        ("Read(./src/**)", "Read", "./src/**", About.READ),
        ("MultiEdit", "MultiEdit", None, About.WRITE),
        ("WebFetch(domain:x.test)", "WebFetch", "domain:x.test", About.HOST),
        ("mcp__a__*", "mcp__a__*", None, About.TOOL),
        ("Skill(a:b:*)", "Skill", "a:b:*", About.SKILL),
        ("Agent(Explore)", "Agent", "Explore", About.AGENT),
    ],
)
def test_a_rule_is_a_tool_and_what_stands_in_its_parentheses(
    text: str, tool: str, specifier: str | None, about: About
) -> None:
    pattern = pattern_of(text)
    assert (pattern.tool, pattern.specifier, pattern.about) == (tool, specifier, about)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "(ls)", "Bash(ls", "Bash(ls\\)", "Bash(ls) x", "B\u0430sh(ls)", "Bash('ls)", "Bash(:*)", "Read(!a)",
        "Read( )x",
        "WebFetch(x.test)", "WebFetch(domain:)", "WebFetch(domain:http://x.test)", "WebFetch(domain:x..test)", "1Bash",
        "Bash(" + "a" * 20_000 + ")",
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(LoadError) as caught:
        pattern_of(text)
    assert caught.value.message


@pytest.mark.parametrize(
    ("rule", "tool", "named"),
    [
        ("mcp__a", "mcp__a__b", True),
        ("mcp__a", "mcp__ab__b", False),
        ("mcp__a__*", "mcp__a__b", True),
        ("mcp__a__b", "mcp__a__bc", False),
        ("Bash", "bash", False),
    ],
)
def test_tools_are_named_letter_by_letter(rule: str, tool: str, named: bool) -> None:
    assert names_tool(pattern_of(rule), tool) is named


COVERS = [
    ("ls", "ls", True), ("ls", "ls -l", False), ("ls:*", "ls", True), ("ls *", "ls", True), ("ls *", "ls -l", True),
    ("ls *", "lsof", False), ("ls*", "lsof", True), ("ls*", "ls -l", True), ("npm run test *", "npm run test", True),
    ("npm run test *", "npm run test a b", True), ("npm run test *", "npm run testing", False),
    ("git * main", "git push main", True), ("git * main", "git push a main", True), ("git * main", "git main", False),
    ("git * main", "git push main x", False), ("* install", "npm install", True), ("* --version", "a --version", True),
    ("git push origin feature/*:*", "git push origin feature/x -u", True),
    ("git push origin feature/*:*", "git push origin main", False), ("echo 'a b'", "echo 'a b'", True),
    ("echo 'a b'", "echo a b", False), ("a ?", "a b", False), ("a ?", "a ?", True), ("git:* push", "git push", False),
]  # fmt: skip


def _command(text: str) -> Execute:
    facts = workstation().analyze(request(text), START)
    return next(effect for effect in facts.effects if isinstance(effect, Execute))


@pytest.mark.parametrize(("specifier", "text", "covered"), COVERS, ids=[f"{one} | {two}" for one, two, _ in COVERS])
def test_an_allow_rule_names_commands_word_by_word(specifier: str, text: str, covered: bool) -> None:
    assert covers_command(command_pattern(specifier), _command(text)) is covered


def test_an_unknown_word_is_covered_by_a_star_behind_a_program_of_which_no_word_does_anything() -> None:
    assert covers_command(command_pattern("echo *"), Execute("echo", arguments=(None,)))
    assert not covers_command(command_pattern("echo a"), Execute("echo", arguments=(None,)))
    assert not covers_command(command_pattern("git *"), Execute("git", arguments=(None,)))


@pytest.mark.parametrize(
    ("specifier", "command", "match"),
    [
        ("rm -rf *", Execute("rm", arguments=("-r", "-f", "a")), Match.YES),
        ("rm -rf *", Execute("rm", arguments=("--recursive", "--force", "a")), Match.YES),
        ("rm -rf *", Execute("rm", arguments=("-r", "a")), Match.NO),
        ("rm -rf *", Execute("rm", arguments=("-r", None)), Match.MAYBE),
        ("git push", Execute("git", arguments=("-C", "x", "push")), Match.YES),
        ("git push", Execute("git", arguments=("log", "push")), Match.MAYBE),
        ("git push --force", Execute("git", arguments=("push", "--forc")), Match.YES),
        ("git push --force", Execute("git", arguments=("push", "--force-with-lease=x")), Match.NO),
        ("npm", Execute("npm", arguments=("install",)), Match.YES),
        ("npm", Execute("", unknown=True), Match.MAYBE),
        ("npm", Execute("pnpm"), Match.NO),
    ],
)
def test_a_deny_rule_looks_for_commands_more_broadly(specifier: str, command: Execute, match: Match) -> None:
    assert catches_command(command_pattern(specifier), command) is match


PATHS = [
    (".env", "/w/.env", True), (".env", "/w/a/b/.env", True), (".env", "/x/.env", False), ("./.env", "/w/.env", True),
    ("./.env", "/w/a/.env", False), ("src/**", "/w/src/a", True), ("src/**", "/w/src/a/b", True),
    ("src/**", "/w/src", False), ("src", "/w/src/a/b", True), ("src/", "/w/src", False), ("src/", "/w/src/a", True),
    ("src/*.py", "/w/src/a.py", True), ("src/*.py", "/w/src/a/b.py", False), ("src/**/*.py", "/w/src/b.py", True),
    ("src/**/*.py", "/w/src/a/c/b.py", True), ("**/*.pem", "/w/a.pem", True), ("**", "/w/a", True),
    ("**", "/x/a", False), ("[ab].c", "/w/a.c", True), ("[!a].c", "/w/a.c", False), ("[a-c]?.c", "/w/bx.c", True),
    ("*.c", "/w/d/a.c", True), ("a*", "/w/ba", False), ("../x/**", "/x/y", True), ("a/../b", "/w/b", True),
    ("//etc/*", "/etc/a", True), ("//etc/*", "/w/etc/a", False), ("a//b", "/w/a/b", True),
]  # fmt: skip


@pytest.mark.parametrize(("specifier", "path", "named"), PATHS, ids=[f"{one} | {two}" for one, two, _ in PATHS])
def test_paths_are_named_by_the_rules_of_gitignore(specifier: str, path: str, named: bool) -> None:
    pattern = path_pattern(specifier)
    wanted = segments_at(pattern, "/" if specifier.startswith("//") else "/w")
    assert names_path(wanted, path, folder=pattern.folder) is named


@pytest.mark.parametrize(
    ("specifier", "path", "sure", "may"),
    [
        ("src/**", "/w/src/*.py", True, True),
        ("src/*.py", "/w/src/*.py", True, True),
        ("src/a?.py", "/w/src/a*.py", False, True),
        ("src/*", "/w/src/**", False, True),
        (".env", "/w/*", False, False),
        (".env", "/w/.*", False, True),
        (".env", "/w/.en[v]", False, True),
        ("src/**", "/w/*/a", False, True),
        ("src/**", "/w/[.][.]/a", False, True),
    ],
)
def test_a_glob_of_the_shell_is_named_if_all_that_it_stands_for_is(
    specifier: str, path: str, sure: bool, may: bool
) -> None:
    wanted = segments_at(path_pattern(specifier), "/w")
    assert (names_path(wanted, path, glob=True), may_name(wanted, path, glob=True)) == (sure, may)


def test_what_lies_below_a_directory_and_what_a_beginning_may_become() -> None:
    wanted = segments_at(path_pattern("src/**"), "/w")
    assert names_all_below(wanted, "/w/src")
    assert not names_all_below(wanted, "/w")
    assert may_lie_below(wanted, "/w")
    assert not may_lie_below(wanted, "/x")
    assert may_begin(wanted, "/w/sr")
    assert may_begin(wanted, "")
    assert not may_begin(wanted, "/w/srcs")


def test_a_folder_with_glob_characters_in_its_name_stands_for_itself() -> None:
    wanted = segments_at(path_pattern("a"), "/w[1]*")
    assert names_path(wanted, "/w[1]*/a")
    assert not names_path(wanted, "/w1x/a")


@pytest.mark.parametrize(
    ("domain", "host", "named"),
    [
        ("x.test", "x.test", True), ("x.test", "X.TEST.", True), ("x.test", "a.x.test", False),
        ("x.test", "xx.test", False), ("x.test", "x.test.evil", False), ("*.x.test", "a.x.test", True),
        ("*.x.test", "a.b.x.test", True), ("*.x.test", "x.test", False), ("*.x.test", "ax.test", False),
        ("x.*", "x.org", True), ("x.*", "x.evil.org", False), ("*", "a", True), ("*", "", False),
    ],
)  # fmt: skip
def test_hosts_are_named_label_by_label(domain: str, host: str, named: bool) -> None:
    assert names_host(host_pattern(f"domain:{domain}"), host) is named


def test_globs_cost_no_more_than_their_lengths() -> None:
    assert not fits("*a" * 200 + "b", "a" * 4000)
    assert meets("*a*b", "a*")
    assert not meets("a*", "b*")


def test_a_pattern_covers_a_call_if_it_covers_every_effect() -> None:
    for text, covered in (("git log -3", True), ("git log -3 > a", False), ("git log $(rm a)", False)):
        call = request(text)
        assert covers(pattern_of("Bash(git log:*)"), call, workstation().analyze(call, START)) is covered
