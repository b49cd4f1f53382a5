"""One file that says what stands behind a gate: everything it names is loaded, and nothing turns checking off."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from policyengine.config.setup import holding, judging, read_setup
from policyengine.errors import AuditError, LoadError, TokenError
from policyengine.gate import Call, Capabilities, Gate, Run
from policyengine.gate.loading import load_gate
from policyengine.model import Context, Outcome, Principal
from policyengine.policies.guardrails.content import Source

CAN = Capabilities(can_ask=True, can_change_results=True, can_rewrite=True)
RUN = Run(principal=Principal(id="ada", roles=("dev",)), context=Context(scope_id="s", run_id="r", step_id="1"))
SECRET = base64.b64encode(bytes(range(32))).decode()
ROLES = "roles:\n  dev: {tools: {allow: '*', deny: [Write]}}\n  guest: {tools: {allow: [Read]}}\n"
MODEL = """\
[request_definition]
r = sub, kind, name
[policy_definition]
p = sub, kind, name, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.sub == p.sub && r.kind == p.kind && keyMatch(r.name, p.name)
"""
WHOLE = """\
profile: workstation
rbac: {model: model.conf, policy: policy.csv, default_role: guest}
guardrails:
  - use: policyengine.policies.guardrails.allowlist:AllowlistProvider
    config: {denied_tools: [Forbidden]}
    deadline: 2
content: {secret: {argument: deny}}
tools: {user: [tools.yaml]}
skills: skills.yaml
permissions: {user: [settings.json]}
keys: {file: keys}
approvals: {sqlite: store.db}
states: {sqlite: store.db}
audit: {path: log, keys: audit-keys, durability: power-loss, detail: full}
hide: ask
lifetimes: {approval: 60, decision: 1.5}
"""


def _file(folder: Path, name: str, text: str, mode: int = 0o644) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _file(tmp_path, "model.conf", MODEL)
    _file(tmp_path, "policy.csv", "p, dev, tool, *, allow\np, dev, tool, Write, deny\np, guest, tool, Read, allow\n")
    _file(tmp_path, "roles.yaml", ROLES)
    _file(tmp_path, "tools.yaml", "tools:\n  deploy: {side_effects: [network], access: {approval_required: true}}\n")
    _file(tmp_path, "skills.yaml", "roots:\n  - {path: skills, name: skills}\n")
    _file(tmp_path, "skills/review/SKILL.md", "---\nname: review\nallowed-tools: [Read]\n---\nReview.\n")
    _file(tmp_path, "settings.json", '{"permissions": {"deny": ["Bash(git push:*)"]}}')
    _file(tmp_path, "keys", f"k1 active {SECRET}\n", 0o600)
    _file(tmp_path, "audit-keys", f"a1 {SECRET}\n", 0o600)
    return tmp_path


def _setup(folder: Path, text: str) -> str:
    _file(folder, "setup.yaml", text)
    return str(folder / "setup.yaml")


# ------------------------------------------------------------------------------------------------------- what is there
@pytest.fixture
def gate(folder: Path) -> Gate:
    return load_gate(_setup(folder, WHOLE), CAN)


def _rules(gate: Gate, name: str, run: Run = RUN, **arguments: Any) -> set[str]:
    signed = gate.before_tool(Call(name, arguments, "c"), run)
    return {one.rule for one in signed.findings if one.outcome is not Outcome.ALLOW}


def test_everything_that_a_setup_names_is_asked(gate: Gate) -> None:
    key = "AKIA" + "QX3M" * 4
    assert _rules(gate, "bash", command="ls") == set()
    assert "rbac.denied" in _rules(gate, "Write", file_path="/workspace/a", content="x")
    assert "tool.approval-required" in _rules(gate, "deploy")
    assert "permission.denied" in _rules(gate, "bash", command="git push origin main")
    assert "secret.aws-access-key" in _rules(gate, "bash", command=f"echo {key}")
    assert any(rule.startswith("file.") for rule in _rules(gate, "bash", command="rm -rf /"))
    assert any("allowlist" in rule or "oap" in rule for rule in _rules(gate, "Forbidden"))
    skilled = RUN.__replace__(context=RUN.context.__replace__(active_skills=(_skill(gate),)))
    assert "skill.not-allowed" in _rules(gate, "bash", skilled, command="ls")


def _skill(gate: Gate) -> str:
    skills: Any = gate._parts.skills
    return str(skills.registry.named("review").path)


def test_what_a_setup_says_of_the_gate_itself_holds(gate: Gate) -> None:
    parts = gate._held.parts
    assert (parts.hidden_from, parts.default_role, parts.waits) == (Outcome.ASK, "guest", True)
    assert (parts.lifetimes.approval, parts.lifetimes.decision, parts.lifetimes.question) == (60, 1.5, 86_400)
    assert parts.detail.value == "full"
    assert parts.states.reach.value == parts.approvals.reach.value == "machine"
    assert parts.content is not None


@pytest.mark.parametrize(
    "name", ["setup.yaml", "tools.yaml", "settings.json", "policy.csv", "log/a.jsonl", "store.db-wal"]
)
@pytest.mark.parametrize("command", ["echo x > {}", "rm {}", "chmod 777 {}", "mv {} /tmp/x", "sed -i s/a/b/ {}"])
def test_what_the_setup_names_cannot_be_changed_by_what_it_judges(
    gate: Gate, folder: Path, name: str, command: str
) -> None:
    assert "own.changed" in _rules(gate, "bash", command=command.format(folder / name))


def test_keys_cannot_be_read_nor_the_folder_around_them_removed(gate: Gate, folder: Path) -> None:
    for path in (folder / "keys", folder / "audit-keys"):
        assert "own.key-read" in _rules(gate, "bash", command=f"cat {path}")
        assert "own.key-read" in _rules(gate, "Read", file_path=str(path))
    assert "own.changed" in _rules(gate, "bash", command=f"rm -rf {folder}")
    assert "own.changed" in _rules(gate, "bash", command=f"rm {folder}/k*")
    assert _rules(gate, "bash", command=f"cat {folder}/settings.json") & {"own.changed", "own.key-read"} == set()
    assert _rules(gate, "bash", command=f"rm {folder}/other") & {"own.changed", "own.key-read"} == set()
    assert _rules(gate, "bash", command=f"rm {folder}/x*") & {"own.changed", "own.key-read"} == set()


def test_a_missing_role_is_the_default_one(gate: Gate) -> None:
    nobody = RUN.__replace__(principal=Principal(id="x"))
    assert _rules(gate, "Read", nobody, file_path="/workspace/a") == set()
    assert "rbac.not-granted" in _rules(gate, "bash", nobody, command="ls")


def test_the_roles_of_a_setup_are_read_again_when_the_gate_is_told(gate: Gate, folder: Path) -> None:
    assert "rbac.denied" in _rules(gate, "Write", file_path="/workspace/a", content="x")
    _file(folder, "policy.csv", "p, dev, tool, *, allow\np, guest, tool, Read, allow\n")
    gate.reload()
    assert "rbac.denied" not in _rules(gate, "Write", file_path="/workspace/a", content="x")


def test_deerflows_roles_are_read(folder: Path) -> None:
    judges = judging(read_setup(_setup(folder, "rbac: {deerflow: roles.yaml}")))
    assert [policy.name for policy in judges.engine.policies] == ["rules", "content", "own", "rbac"]


def test_an_empty_setup_has_the_rules_and_content_guardrails_of_the_default_profile(folder: Path) -> None:
    judges = judging(read_setup(_setup(folder, "{}")))
    assert [policy.name for policy in judges.engine.policies] == ["rules", "content", "own"]
    assert (judges.ready.profile, judges.engine.remote) == ("workstation", ())
    assert judges.content.active(Source.REMOTE)


def test_opa_is_asked_where_it_is_named(folder: Path) -> None:
    _file(folder, "opa-token", "secret\n", 0o600)
    text = 'opa: {url: "http://127.0.0.1:9", path: agent.tools.allow, deadline: 0.3, token_file: opa-token}'
    (remote,) = judging(read_setup(_setup(folder, text))).engine.remote
    assert (remote.name, remote.deadline) == ("opa", 0.3)


def test_the_digest_names_everything_that_was_read(folder: Path) -> None:
    text = "tools: {user: [tools.yaml]}\npermissions: {user: [settings.json]}\nrbac: {deerflow: roles.yaml}\n"
    digests = {judging(read_setup(_setup(folder, text))).engine.policy_digest}
    digests.add(judging(read_setup(_setup(folder, text))).engine.policy_digest)
    assert len(digests) == 1
    for name in ("tools.yaml", "settings.json"):
        with open(folder / name, "a", encoding="ascii") as file:
            file.write("\n")
        digests.add(judging(read_setup(folder / "setup.yaml")).engine.policy_digest)
    _file(folder, "roles.yaml", ROLES + "  other: {tools: {allow: [Read]}}\n")
    digests.add(judging(read_setup(folder / "setup.yaml")).engine.policy_digest)
    digests.add(judging(read_setup(_setup(folder, text + "# other\n"))).engine.policy_digest)
    assert len(digests) == 5


# ----------------------------------------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("profile: workstation\nfail_open: true", 2, "an error is always a denial"),
        ("fail_closed: false", 1, "an error is always a denial"),
        ("fail_closed: true", 1, "an error is always a denial"),
        ("enabled: false", 1, "what is not wanted is left out"),
        ("rbac:\n  enabled: false\n  deerflow: roles.yaml", 2, "what is not wanted is left out"),
        ("guardrails:\n  - use: a:B\n    fail_open: yes", 3, "an error is always a denial"),
        ("profil: workstation", 1, "`profil` is not known here"),
        ("rbac: {modell: m}", 1, "`modell` is not known here"),
        ("hide: nothing", 1, "'deny' or 'ask'"),
        ("profile: 7", 1, "string"),
        ("profile: nowhere", None, "no profile `nowhere`"),
        ("rules: [nowhere]", None, "not a directory of rules"),
        ("rbac: {model: model.conf}", 1, "`model` and `policy`, or `deerflow`"),
        ("rbac: {model: model.conf, policy: policy.csv, default_role: nobody}", None, "default role `nobody`"),
        ("rbac: {deerflow: roles.yaml, default_role: dev}", 1, "DeerFlow's settings say it themselves"),
        ("content: {nothing: {remote: redact}}", 1, "no detector is or belongs to `nothing`"),
        ("content: {secret: {elsewhere: redact}}", 1, ""),
        ("content: {secret: {remote: allow}}", 1, ""),
        ("guardrails:\n  - use: nowhere.at.all:Class", 2, "cannot be made"),
        ("guardrails:\n  - {use: x, deadline: 0}", 2, "greater than 0"),
        ("guardrails:\n  - {use: 'policyengine.model:Principal', deadline: 700}", 2, ""),
        ('opa: {url: "127.0.0.1:8181", path: a.b}', 1, "is no address"),
        ('opa: {url: "http://127.0.0.1", path: a.b}', 1, "is no address"),
        ('opa: {url: "http://user:pw@127.0.0.1:1", path: a.b}', 1, "is no address"),
        ('opa: {url: "http://127.0.0.1:8181", path: "a/b"}', 1, "names no rule"),
        ('opa: {url: "http://127.0.0.1:8181", path: a.b, deadline: 90}', 1, "no deadline"),
        ("tools: {user: [nowhere.yaml]}", None, "cannot be read"),
        ("skills: nowhere.yaml", None, "cannot be read"),
        ("permissions: {user: [nowhere.json]}", None, "cannot be read"),
        ("- a list", 1, ""),
        ("profile: sandbox\nprofile: workstation", 2, "a second time"),
    ],
)  # fmt: skip
def test_a_faulty_setup_is_refused_where_it_is_wrong(folder: Path, text: str, line: int | None, told: str) -> None:
    with pytest.raises(LoadError) as caught:
        judging(read_setup(_setup(folder, text)))
    assert told in str(caught.value)
    if line is not None:
        assert caught.value.line == line
        assert caught.value.file.endswith("setup.yaml")


def test_a_provider_may_take_whatever_it_calls_its_own_settings(folder: Path) -> None:
    text = (
        "guardrails:\n  - use: policyengine.policies.guardrails.allowlist:AllowlistProvider\n    config: {enabled: 1}"
    )
    with pytest.raises(LoadError, match="cannot be made"):
        judging(read_setup(_setup(folder, text)))


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("{}", LoadError, "not on record"),
        ("states: {sqlite: s.db}\naudit: {path: log, keys: audit-keys}", LoadError, "stores outlive this process"),
        ("keys: {}\naudit: {path: log, keys: audit-keys}", LoadError, "keys come from one place"),
        (
            "keys: {file: keys, environment: X}\naudit: {path: log, keys: audit-keys}",
            LoadError,
            "keys come from one place",
        ),
        ("keys: {file: nowhere}\naudit: {path: log, keys: audit-keys}", TokenError, "there is no file"),
        ("keys: {environment: POLICYENGINE_NOT_SET}\naudit: {path: log, keys: audit-keys}", TokenError, "is not set"),
        ("audit: {path: log, keys: nowhere}", TokenError, "there is no file"),
        ("audit: {path: roles.yaml/log, keys: audit-keys}", AuditError, "roles.yaml"),
        ("audit: {path: log, keys: audit-keys, durability: never}", LoadError, "process-crash"),
    ],
)
def test_a_gate_needs_a_log_and_keys_that_last_as_long_as_its_stores(
    folder: Path, text: str, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        holding(read_setup(_setup(folder, text)))


def test_keys_that_others_can_read_are_refused(folder: Path) -> None:
    os.chmod(folder / "keys", 0o644)
    with pytest.raises(TokenError) as caught:
        holding(read_setup(_setup(folder, "keys: {file: keys}\naudit: {path: log, keys: audit-keys}")))
    assert caught.value.code == "key.permissions"


def test_without_keys_a_process_has_its_own(folder: Path) -> None:
    setup = read_setup(_setup(folder, "audit: {path: log, keys: audit-keys}"))
    assert holding(setup).keyring.active == "process"
