"""Faults that users of other guards have reported, each set up as a person would: a setup file, and a gate from it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyengine.effects import EFFECTS
from policyengine.errors import LoadError
from policyengine.gate import Call, Capabilities, Gate, Run
from policyengine.gate.loading import load_gate
from policyengine.model import Context, Outcome, Principal
from policyengine.records import replace

CAN = Capabilities(can_ask=True, can_change_results=True)
ADA = Principal(id="ada", roles=("dev",), agent="lead")
PLACE = Context(scope_id="s", run_id="r", step_id="1", cwd="/srv/shop", workspace=("/srv/shop",), home="/home/ada")
RUN = Run(principal=ADA, context=PLACE)
SECRET = base64.b64encode(bytes(range(32))).decode()
Make = Callable[..., Gate]


def _kept(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Give a gate behind which files stand, each under its name."""

    _kept(tmp_path / "audit-keys", f"a1 {SECRET}\n")
    _kept(tmp_path / "keys", f"k1 active {SECRET}\n")

    def made(setup: str, capabilities: Capabilities = CAN, **files: object) -> Gate:
        (tmp_path / "setup.yaml").write_text(f"{setup}\naudit: {{path: log, keys: audit-keys}}\n", encoding="utf-8")
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            path = tmp_path / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return load_gate(tmp_path / "setup.yaml", capabilities)

    return made


def _word(gate: Gate, tool: str, run: Run = RUN, **arguments: Any) -> str:
    return gate.before_tool(Call(tool, arguments, f"{tool}-{len(str(arguments))}"), run).outcome.word


def _rules(gate: Gate, tool: str, run: Run = RUN, **arguments: Any) -> list[str]:
    signed = gate.before_tool(Call(tool, arguments, "c1"), run)
    return [one.rule for one in signed.findings if one.outcome is not Outcome.ALLOW]


def _settings(**lists: object) -> dict[str, object]:
    return {"permissions": lists}


WITH_SETTINGS = "permissions: {user: [settings.json]}"


# ------------------------------------------------------------------------------------------------------------- commands
def test_a_denied_command_in_a_script_is_denied_when_the_script_runs(make: Make) -> None:
    gate = make(WITH_SETTINGS, settings_json=_settings(deny=["Bash(truncate:*)"]))
    script = "cd logs\ntruncate -s 0 app.log\n"
    assert _word(gate, "Write", file_path="/srv/shop/tidy.sh", content=script) == "allow"
    assert _rules(gate, "bash", command="bash tidy.sh") == ["permission.denied"]
    assert _word(gate, "Write", file_path="/srv/shop/list.sh", content="ls logs\n") == "allow"
    assert _word(gate, "bash", command="bash list.sh") == "allow"


@pytest.mark.parametrize("tool", ["send_input", "write_stdin", "interact_with_process", "terminal_send", "BashInput"])
def test_what_is_typed_into_a_running_program_is_no_free_text(make: Make, tool: str) -> None:
    lists = _settings(deny=["Bash(doas:*)"], allow=["Bash(python3:*)", "Bash(ls:*)"])
    gate = make(WITH_SETTINGS, settings_json=lists)
    assert _word(gate, tool, session="1", input="import os; os.system('doas id')\n") == "ask"
    assert _word(gate, tool, session="1", input="ls\n") == "ask"


OUTSIDE = """
- id: team.outside
  title: Reading outside the workspace.
  effect: file.read
  where: {path: {outside: [workspace]}}
  outcome: deny
  severity: medium
  why: Nothing outside is the project's.
  instead: Copy it in.
  references: []
  examples: {match: ["cat /srv/x"], pass: ["cat x"]}
"""


@pytest.mark.parametrize(
    "command",
    ["tail -2 /var/lib/x", "wc -l < /var/lib/x", "awk 1 /var/lib/x", "grep -r a /var/lib", "cp /var/lib/x .",
     "python3 -c \"print(open('/var/lib/x').read())\"", "cat ../other/x", "cd /var/lib && head x"],
)  # fmt: skip
def test_a_rule_about_a_place_does_not_depend_on_the_program(make: Make, command: str) -> None:
    gate = make("rules: [rules]", rules__place_yaml=OUTSIDE)
    assert "team.outside" in _rules(gate, "bash", command=command)
    assert _word(gate, "bash", command=command.replace("/var/lib", "lib").replace("../other", "other")) == "allow"


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "dontAsk"])
def test_what_no_rule_allows_asks_and_only_a_deny_rule_refuses_whatever_the_mode(make: Make, mode: str) -> None:
    lists = _settings(deny=["Bash(crontab:*)"], allow=["Bash(ls:*)"], defaultMode=mode)
    setup = "profile: asking\nrules: [rules]\n" + WITH_SETTINGS
    profile = {"name": "asking", "summary": "everything asks", "effects": dict.fromkeys(EFFECTS, "ask")}
    gate = make(setup, settings_json=lists, rules__profiles__asking_yaml=profile)
    words = [_word(gate, "bash", command=command) for command in ("ls -l", "eval ls; make", "eval 'crontab -r'")]
    assert words == ["allow", "ask", "deny"]


# ------------------------------------------------------------------------------------------------- people, roles, tools
ROLES = {"roles": {"user": {"tools": {"allow": "*", "deny": ["bash"]}}, "guest": {"tools": {"allow": ["Read"]}}}}


@pytest.mark.parametrize("roles", [(), ("nobody-knows",), ("guest",)])
def test_whoever_has_no_role_that_says_so_does_not_get_everything(make: Make, roles: tuple[str, ...]) -> None:
    gate = make("rbac: {deerflow: roles.yaml}", roles_yaml=ROLES)
    run = replace(RUN, principal=Principal(id="u1", roles=roles))
    assert _word(gate, "bash", run, command="ls") == "deny"
    assert "bash" not in gate.before_model([], ["bash", "Read"], run).visible


def test_a_tool_that_a_role_may_not_use_is_neither_shown_nor_found_nor_run(make: Make) -> None:
    gate = make("rbac: {deerflow: roles.yaml}", roles_yaml=ROLES)
    run = replace(RUN, principal=Principal(id="u1", roles=("user",)))
    exposed = gate.before_model([], ["bash", "Read", "tool_search", "Glob"], run)
    assert "bash" in exposed.exposure.hidden
    assert gate.discovered(["bash"], '[{"name": "bash"}]', run).names == ()
    assert gate.promote(["bash"], run) == frozenset()
    assert "rbac.denied" in _rules(gate, "bash", replace(run, context=replace(PLACE, step_id="2")), command="ls")


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [("", ("deny", "allow")), ("local", ("deny", "allow")), ("isolated", ("allow", "allow"))],
)
def test_a_shell_of_the_host_is_no_sandbox_because_it_is_called_one(
    make: Make, sandbox: str, words: tuple[str, str]
) -> None:
    shell = {"runtime": {"sandbox": "required"}, "access": {"workspace": "scoped"}}
    tools = {"settings": {"sandboxes": ["isolated"]}, "tools": {"bash": shell}}
    gate = make("tools: {user: [tools.yaml]}", tools_yaml=tools)
    run = replace(RUN, context=replace(PLACE, sandbox=sandbox))
    found = (
        _word(gate, "bash", run, command="head -1 README.md"),
        _word(gate, "Read", run, file_path="/srv/shop/README.md"),
    )
    assert found == words


def test_where_nobody_can_be_asked_tools_of_servers_do_not_run(make: Make) -> None:
    gate = make(WITH_SETTINGS, Capabilities(), settings_json=_settings(allow=["mcp__notes__read"]))
    assert _word(gate, "mcp__notes__wipe", id=1) == "deny"
    assert _word(gate, "mcp__notes__read", id=1) == "allow"


def test_an_answer_about_a_tool_is_none_once_somebody_says_otherwise_what_it_is(make: Make) -> None:
    setup = "tools: {user: [tools.yaml]}\nkeys: {file: keys}\napprovals: {sqlite: s.db}\nstates: {sqlite: s.db}"
    call = Call("mcp__notes__list", {"tag": "a"}, "c1")
    first = make(setup, tools_yaml={"tools": {"mcp__notes__list": {"side_effects": ["network"]}}})
    signed = first.before_tool(call, RUN)
    answered = replace(RUN, approvals=(first.approve(signed, by="ada"),))
    other = {"tools": {"mcp__notes__list": {"side_effects": ["network", "destructive"]}}}
    assert make(setup, tools_yaml=other).before_tool(call, answered).outcome is Outcome.ASK
    assert first.before_tool(call, answered).outcome is Outcome.ALLOW


# ----------------------------------------------------------------------------------------------------------- sub-agents
READER = """
- id: team.reader
  title: Our reader keeps to what is not secret.
  request: true
  where: {principal.agent: reader, argument.file_path: {like: "*/secret/*"}}
  outcome: deny
  severity: medium
  why: It reads for others.
  instead: Ask the lead.
  references: []
  examples:
    match: [{tool: Read, arguments: {file_path: /w/secret/a}, principal: {id: x, agent: reader}}]
    pass: [{tool: Read, arguments: {file_path: /w/secret/a}, principal: {id: x, agent: lead}}, "cat a"]
"""


def test_a_sub_agent_has_the_denials_of_all_its_own_and_those_of_the_person(make: Make) -> None:
    setup = "rules: [rules]\n" + WITH_SETTINGS
    lists = _settings(deny=["Read(**/private/**)"], allow=["Bash(git push:*)"])
    gate = make(setup, settings_json=lists, rules__reader_yaml=READER)
    gate.before_model([], ["Read", "bash"], RUN)
    child = gate.child(RUN, "reader", run_id="r2")
    found = {
        folder: (
            _word(gate, "Read", RUN, file_path=f"/srv/shop/{folder}/a"),
            _word(gate, "Read", child, file_path=f"/srv/shop/{folder}/a"),
        )
        for folder in ("src", "secret", "private")
    }
    assert found == {"src": ("allow", "allow"), "secret": ("allow", "deny"), "private": ("deny", "deny")}
    assert _word(gate, "bash", child, command="git push") == "allow"  # what the person allows holds for children


# --------------------------------------------------------------------------------------------------------------- set-up
@pytest.mark.parametrize(
    ("setup", "files"),
    [
        ("guardrails: [{use: 'acme.missing:Guard'}]", {}),
        (WITH_SETTINGS, {"settings_json": {"permissions": {"bash": {"deny": ["^rm"]}}}}),
        ("tools: {user: [tools.yaml]}", {"tools_yaml": {"tools": {"bash": {"deny": "^rm"}}}}),
        ("rbac: {deerflow: roles.yaml}", {"roles_yaml": {"roles": {"dev": {"tools": {"allwo": "*"}}}}}),
        ("rules: [rules]", {"rules__x_yaml": OUTSIDE.replace("outcome:", "outcom:")}),
    ],
)
def test_what_would_not_be_enforced_does_not_start(make: Make, setup: str, files: dict[str, object]) -> None:
    with pytest.raises(LoadError):
        make(setup, **files)
