"""Skills in files: front matter with its mess, folders with their links, and who may use what."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyengine.cli.run import run
from policyengine.config import ready
from policyengine.config.permissions import means_of
from policyengine.config.skills import SkillFolders, load
from policyengine.config.skills_folders import SETTLED
from policyengine.config.skills_lint import lint_skills
from policyengine.config.skills_matter import MAX_ENTRIES, MAX_FILE, MAX_MATTER, declared
from policyengine.effects import Facts, FileRead
from policyengine.errors import LoadError
from policyengine.model import ANONYMOUS, Context, Outcome, Principal, Request, Resource, ResourceKind
from policyengine.policies.skill import Mode, SkillPolicy, UserMessage
from policyengine.policies.skill.entries import clause_of
from policyengine.records import replace
from policyengine.state import START, RunState


def _file(matter: str) -> bytes:
    return f"---\n{matter}\n---\n# Skill\n".encode()


def _allowed(data: bytes) -> tuple[str, ...] | None:
    return declared(data, "SKILL.md", "/skills/x").allowed


# --------------------------------------------------------------------------------------------------------- front matter
@pytest.mark.parametrize(
    ("matter", "allowed"),
    [
        ("name: x", None),
        ("", None),
        ("allowed-tools: []", ()),
        ("allowed-tools: ''", ()),
        ("allowed-tools: Read", ("Read",)),
        ("allowed-tools: Read, Write", ("Read", "Write")),
        ("allowed-tools: Read,Write,", ("Read", "Write")),
        ("allowed-tools: Read Write  Bash", ("Read", "Write", "Bash")),
        ("allowed-tools: [Read, Write]", ("Read", "Write")),
        ('allowed-tools: ["Read", "Bash(git add:*)"]', ("Read", "Bash(git add:*)")),
        ("allowed-tools:\n  - Read\n  - Bash(git diff:*)", ("Read", "Bash(git diff:*)")),
        ("allowed-tools:\n- Read", ("Read",)),
        ("allowed-tools: |\n  Read\n  Write", ("Read", "Write")),
        ("allowed-tools: >\n  Read,\n  Write", ("Read", "Write")),
        ("allowed-tools: Bash(git:*)", ("Bash(git:*)",)),
        ("allowed-tools: Bash(git add:*),Bash(git commit:*)", ("Bash(git add:*)", "Bash(git commit:*)")),
        ("allowed-tools: Bash(git add:*) Read", ("Bash(git add:*)", "Read")),
        ("allowed-tools: Bash(echo a, b:*), Read", ("Bash(echo a, b:*)", "Read")),
        (r"allowed-tools: Bash(echo \)), Read", (r"Bash(echo \))", "Read")),
        ("allowed-tools: Read, Read", ("Read",)),
        ("allowed-tools: mcp__github__*, mcp__figma", ("mcp__github__*", "mcp__figma")),
        ("allowed-tools: Azure MCP/documentation, context7/*", ("Azure MCP/documentation", "context7/*")),
        ("allowed-tools: yes", ("yes",)),
        ("allowed-tools: Read # and no more", ("Read",)),
        ("description: 'a\n\n  allowed-tools: Bash'", None),
        ("allowed-tools: Bash(python ${CLAUDE_SKILL_DIR}/a.py:*)", ("Bash(python /skills/x/a.py:*)",)),
        ("allowed-tools: Bash({baseDir}/a.sh)", ("Bash(/skills/x/a.sh)",)),
        ("allowed-tools: Read\nmetadata:\n  tools: [x]\n  tags: [allowed]", ("Read",)),
        # free text that is no YAML, as many real files have it
        ("argument-hint: [a] | [b]\nallowed-tools: Read", ("Read",)),
        ("description: Use this: always\nallowed-tools: Read", ("Read",)),
        ('description: Say "this": always\nallowed-tools: Bash(git:*), Read', ("Bash(git:*)", "Read")),
    ],
)
def test_front_matter_is_read(matter: str, allowed: tuple[str, ...] | None) -> None:
    data = _file(matter)
    assert _allowed(data) == allowed
    assert _allowed(b"\xef\xbb\xbf" + data) == allowed
    assert _allowed(data.replace(b"\n", b"\r\n")) == allowed
    assert _allowed(data.replace(b"---\n", b"--- \t\n", 1)) == allowed


@pytest.mark.parametrize(
    ("matter", "reason"),
    [
        ("allowed-tools:", "neither a list nor a text"),
        ("allowed-tools: null", "neither a list nor a text"),
        ("allowed-tools: 7", "neither a list nor a text"),
        ("allowed-tools: true", "neither a list nor a text"),
        ("allowed-tools: {Bash: git}", "neither a list nor a text"),
        ("allowed-tools: [Read, 7]", "an entry that is no text"),
        ("allowed-tools: [Read, null]", "an entry that is no text"),
        ("allowed-tools:\n  - Bash: git", "an entry that is no text"),
        ("allowed-tools: [[Read]]", "an entry that is no text"),
        ("allowed-tools: ['Read, Write']", "several entries in one item"),
        ("allowed-tools: ['Read Write']", "several entries in one item"),
        ("allowed-tools: ['']", "without a tool's name"),
        ("allowed-tools: [Bash(a, b)]", "not closed"),
        ("allowed-tools: Bash(git", "not closed"),
        ("allowed-tools: Bash(git))", "nothing opens"),
        ("allowed-tools: Bash(git:*) Read, Write", "two entries without a comma"),
        ("allowed-tools: Read Write, Grep", "two entries without a comma"),
        ("allowed-tools: '*'", "every tool"),
        ("allowed-tools: ['*']", "every tool"),
        ("allowed-tools: '**, Read'", "every tool"),
        ("allowed-tools: '*(git:*)'", "every tool"),
        ("allowed-tools: *", "alphabetic or numeric"),
        ("allowed-tools: (git)", "without a tool's name"),
        ('allowed-tools: "Re\\u0430d"', "no name of a tool"),
        ('allowed-tools: ["Read\\u202e"]', "unprintable"),
        ("allowed-tools: " + "x" * 513, "more than 512 characters"),
        ("allowed-tools: [" + ", ".join(f"t{at}" for at in range(MAX_ENTRIES + 1)) + "]", "more than 256 entries"),
        ("allowed-tools: Read\nallowed-tools: Bash", "a second time"),
        ("allowed_tools: Read", "would not be read"),
        ("allowedTools: Read", "would not be read"),
        ("Allowed-Tools: Read", "would not be read"),
        ('"allowed\\u2010tools": Read', "would not be read"),
        ('"\\uff41llowed-tools": Read', "would not be read"),
        ("allowed-tools : Read\nAllowed-tools: Bash", "would not be read"),
        ("metadata:\n  allowed-tools: Read", "would not be read"),
        ("disallowed-tools: Bash", "is not supported"),
        ("disallowedTools: [Bash]", "is not supported"),
        ("allowed-tools: &a [Read]", "anchor"),
        ("allowed-tools: !!set {Read}", "tags are not read"),
        ("a: &x Read\nallowed-tools: *x", "anchor"),
        ("name: [x", "did not find"),
        ("- name: x", "no mapping"),
        ("just text", "no mapping"),
        ("name: 7", "the name is no text"),
        ("name: x\n...\nallowed-tools: Bash", "<document start>"),
        ("description: Use this: always", "mapping values"),  # broken, and nothing declared
        ("description: Use this: always\nallowed-tools: [Read, 7]", "an entry that is no text"),
        ("description: Use this: always\nallowed-tools: Read\nallowed-tools: Bash", "mapping values"),
        ("argument-hint: [a] | [b]\nother: [c] | [d]\nallowed-tools: Read", "did not find"),
        ("description: x\u2028allowed-tools: Read", "readers of YAML take differently"),
        ("description: x\rallowed-tools: Read", "readers of YAML take differently"),
        ("description: x\u0085allowed-tools: Read", "readers of YAML take differently"),
        ("description: " + "x" * MAX_MATTER, "a front matter of more than"),
        ("a: " + "[" * 80 + "]" * 80, "nests deeper"),
        ("name: \u0000", "a character that YAML does not allow"),
    ],
)
def test_front_matter_that_could_mean_something_else_is_refused(matter: str, reason: str) -> None:
    with pytest.raises(LoadError) as caught:
        _allowed(_file(matter))
    assert reason in str(caught.value)
    assert caught.value.file == "SKILL.md"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no front matter"),
        (b"# Skill\n", "no front matter"),
        (b"\n---\nname: x\n---\n", "no front matter"),
        (b" ---\nname: x\n---\n", "no front matter"),
        (b"----\nname: x\n----\n", "no front matter"),
        (b"--- name: x\n---\n", "no front matter"),
        (b"---", "not closed"),
        (b"---\nname: x\n", "not closed"),
        (b"---\nname: x\n ---\n", "not closed"),
        (b"---\nname: x\n----\n", "not closed"),
        (b"---\nname: \xff\n---\n", "not UTF-8"),
        (b"\xff\xfe-\x00-\x00-\x00", "not UTF-8"),
        (b"---\nname: x\n---\n" + b"x" * MAX_FILE, "longer than"),
    ],
)
def test_a_file_without_a_whole_front_matter_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        _allowed(data)


_PIECES = (
    *("---\n", "\n", "\t", "\r\n", " ", "  ", "\ufeff", "\u2028", "\\", "'", '"', "#", "*", "&a", "|\n", "null", "7"),
    *("allowed-tools:", "name: x\n", "description: a: b\n", "metadata:\n", "- ", "[", "]", "{", "}", ",", "(", ")"),
    *("Read", "Bash(git:*)"),
)
_MESS = st.lists(st.sampled_from(_PIECES), max_size=24)


@given(_MESS)
def test_no_mess_does_more_than_be_refused_or_be_read(pieces: list[str]) -> None:
    """Whatever a file holds: it is read into entries that can be read again, or refused with a reason."""
    try:
        allowed = _allowed(f"---\n{''.join(pieces)}\n---\n".encode())
    except LoadError as error:
        assert error.message
        return
    assert len(clause_of(allowed or ())) == len(allowed or ())


@pytest.mark.parametrize("piece", ["a, ", "(", "()", "a(b) ", "\\", "\\(", " ", ","])
def test_a_long_text_is_split_in_linear_time(piece: str) -> None:
    text = piece * (MAX_MATTER // len(piece) - 20)
    with suppress(LoadError):
        _allowed(_file(f"allowed-tools: '{text}'"))


def test_the_first_closing_fence_ends_the_front_matter() -> None:
    assert _allowed(b"---\nname: x\n---\n---\nallowed-tools: Read\n---\n") is None
    assert _allowed(b"---\nallowed-tools: Read\n---") == ("Read",)


def test_lines_of_errors_are_those_of_the_file() -> None:
    with pytest.raises(LoadError) as caught:
        _allowed(b"---\nname: x\nallowed-tools:\n  - Read\n  - 7\n---\n")
    assert caught.value.line == 5


def test_what_is_passed_over_or_mended_is_said() -> None:
    assert "`tools` is not read" in declared(_file("tools: [claude]"), "f", "/x").notes[0]
    assert "taken as it stands" in declared(_file("argument-hint: [a] | b\nallowed-tools: Read"), "f", "/x").notes[0]
    assert "nobody fills in" in declared(_file("allowed-tools: Bash($SKILL/x:*)"), "f", "/x").notes[0]
    assert declared(_file("tools: Read, Bash(git:*)"), "f", "/x", key="tools").allowed == ("Read", "Bash(git:*)")


# -------------------------------------------------------------------------------------------------------------- folders
class _Disk:
    """Two roots, `public` and `custom`, and settings beside them."""

    def __init__(self, top: Path, settings: str = "") -> None:
        self.top = top
        self.file = top / "skills.yaml"
        for root in ("public", "custom"):
            (top / root).mkdir()
        self.settings("roots: [{path: public, mount: /mnt/skills/public}, {path: custom}]\n" + settings)

    def settings(self, text: str) -> None:
        self.file.write_text(text)

    def add(self, folder: str, allowed: str | None = "Read", name: str = "") -> str:
        at = self.top / folder
        at.mkdir(parents=True, exist_ok=True)
        lines = [f"name: {name or at.name}"] + ([] if allowed is None else [f"allowed-tools: {allowed}"])
        (at / "SKILL.md").write_bytes(_file("\n".join(lines)))
        return str(at / "SKILL.md")

    @property
    def folders(self) -> SkillFolders:
        return SkillFolders(self.file)


@pytest.fixture
def disk(tmp_path: Path) -> _Disk:
    return _Disk(Path(os.path.realpath(tmp_path)))


def test_a_skill_is_found_by_every_path_that_leads_to_it(disk: _Disk) -> None:
    path = disk.add("public/pdf")
    (disk.top / "link").symlink_to(disk.top / "public" / "pdf")
    (disk.top / "other.md").symlink_to(path)
    folders = disk.folders
    for name in (
        path,
        "/mnt/skills/public/pdf/SKILL.md",
        "/mnt/skills/public/../public/./pdf//SKILL.md",
        f"{disk.top}/public/../public/pdf/SKILL.md",
        f"{disk.top}/link/SKILL.md",
        f"{disk.top}/other.md",
    ):
        skill = folders.find(name)
        assert skill is not None, name
        assert (skill.path, skill.name, skill.allowed, skill.enabled) == (path, "pdf", ("Read",), True)
        assert len(skill.digest) == 64


def test_what_is_no_skill_is_not_found(disk: _Disk) -> None:
    disk.add("public/pdf")
    disk.add("elsewhere/pdf")
    (disk.top / "public" / "pdf" / "notes.md").write_text("x")
    (disk.top / "public" / "out").symlink_to(disk.top / "elsewhere" / "pdf")
    (disk.top / "public" / "loop").symlink_to(disk.top / "public" / "loop")
    folders = disk.folders
    for name in (
        "",
        "pdf/SKILL.md",
        "/mnt/skills/public/SKILL.md",
        "/mnt/skills/public/pdf",
        "/mnt/skills/publicity/pdf/SKILL.md",
        "/mnt/skills/public/../../x/SKILL.md",
        f"{disk.top}/public/pdf/notes.md",
        f"{disk.top}/public/pdf/skill.md",
        f"{disk.top}/public/out/SKILL.md",
        f"{disk.top}/public/loop/SKILL.md",
        f"{disk.top}/elsewhere/pdf/SKILL.md",
        f"{disk.top}/public/pdf/SKILL.md\0",
    ):
        assert folders.find(name) is None, name
    stray = [found for found in folders.listing() if found.skill is None]
    assert [(found.id, "leads out" in found.notes[0]) for found in stray] == [("public/out", True)]


def test_a_file_that_cannot_be_read_as_a_skill_is_refused_and_leaves_nothing(disk: _Disk) -> None:
    path = disk.add("public/broken", "7")
    skill = disk.folders.find(path)
    assert skill is not None
    assert "neither a list nor a text" in skill.refused
    assert (skill.allowed, skill.name) == ((), "broken")
    os.unlink(path)
    os.mkfifo(path)
    skill = disk.folders.find(path)
    assert skill is not None
    assert "regular" in skill.refused


def test_every_answer_is_about_the_files_as_they_are_now(disk: _Disk) -> None:
    path = disk.add("public/pdf")
    folders = disk.folders
    first = folders.find(path)
    assert first is not None
    disk.add("public/pdf", "Bash")  # as long, and within the same tick
    second = folders.find(path)
    assert second is not None
    assert (first.allowed, second.allowed) == (("Read",), ("Bash",))
    assert first.digest != second.digest
    os.unlink(path)
    assert folders.find(path) is None


def test_an_unchanged_file_is_read_once(disk: _Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = disk.add("public/pdf")
    later = time.time_ns() + 2 * SETTLED
    monkeypatch.setattr("policyengine.config.skills_folders.time.time_ns", lambda: later)
    folders = disk.folders
    first = folders.find(path)
    assert folders.find(path) is first
    status = os.stat(path)
    Path(path).write_bytes(_file("name: pdf\nallowed-tools: Bash"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # its change time tells
    changed = folders.find(path)
    assert changed is not None
    assert changed.allowed == ("Bash",)


def test_settings_are_read_anew_when_they_change(disk: _Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = disk.add("public/pdf")
    later = time.time_ns() + 2 * SETTLED
    monkeypatch.setattr("policyengine.config.skills_folders.time.time_ns", lambda: later)
    folders = disk.folders
    assert getattr(folders.find(path), "enabled", None) is True
    disk.settings("roots: [{path: public, tier: project}]\ndisabled: [pdf]\n")
    skill = folders.find(path)
    assert skill is not None
    assert (skill.enabled, skill.widens) == (False, False)
    disk.settings("roots: [{path: custom}]\n")
    assert folders.find(path) is None
    os.unlink(disk.file)
    with pytest.raises(LoadError, match="cannot be read"):
        folders.find(path)


def test_a_root_that_comes_to_lead_elsewhere_is_another_one(disk: _Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = disk.add("old/pdf"), disk.add("new/pdf", "Bash")
    (disk.top / "now").symlink_to(disk.top / "old")
    disk.settings("roots: [{path: now, mount: /mnt/skills}]\n")
    later = time.time_ns() + 2 * SETTLED
    monkeypatch.setattr("policyengine.config.skills_folders.time.time_ns", lambda: later)
    folders = disk.folders
    assert getattr(folders.find("/mnt/skills/pdf/SKILL.md"), "path", None) == old
    (disk.top / "now").unlink()
    (disk.top / "now").symlink_to(disk.top / "new")
    assert getattr(folders.find("/mnt/skills/pdf/SKILL.md"), "path", None) == new
    assert folders.find(old) is None


@pytest.mark.parametrize("entry", ["pdf", "public/pdf", "{top}/public/pdf", "{top}/public/pdf/SKILL.md"])
def test_a_skill_can_be_disabled_by_any_of_its_names(disk: _Disk, entry: str) -> None:
    paths = [disk.add(folder) for folder in ("public/pdf", "public/docx")]
    disk.settings(f"roots: [{{path: public}}]\ndisabled: ['{entry.format(top=disk.top)}']\n")
    assert [getattr(disk.folders.find(path), "enabled", None) for path in paths] == [False, True]


@pytest.mark.parametrize("entry", ["pdf", "public/pdf", "{top}/public/pdf", "{top}/public/pdf/SKILL.md"])
def test_an_allowlist_says_which_skills_an_agent_may_use(disk: _Disk, entry: str) -> None:
    paths = [disk.add(folder) for folder in ("public/pdf", "public/docx")]
    disk.settings(f"roots: [{{path: public}}]\nagents: {{writer: ['{entry.format(top=disk.top)}'], none: []}}\n")
    folders = disk.folders
    skills = [skill for path in paths if (skill := folders.find(path)) is not None]
    assert [[folders.permits(skill, agent) for skill in skills] for agent in ("writer", "none", "other")] == [
        [True, False],
        [False, False],
        [True, True],
    ]


def test_a_skill_that_takes_the_name_of_another_is_not_allowed_by_that_name(disk: _Disk) -> None:
    public, custom = disk.add("public/pdf"), disk.add("custom/mine", "Bash", name="pdf")
    disk.settings("roots: [{path: custom}, {path: public}]\nagents: {by-name: [pdf], by-path: [public/pdf]}\n")
    folders = disk.folders
    skills = [skill for path in (public, custom) if (skill := folders.find(path)) is not None]
    assert [folders.permits(skill, "by-name") for skill in skills] == [False, False]
    assert [folders.permits(skill, "by-path") for skill in skills] == [True, False]


def test_a_name_means_the_skill_of_the_earliest_root(disk: _Disk) -> None:
    public, custom = disk.add("public/pdf"), disk.add("custom/pdf", "Bash")
    disk.settings("roots: [{path: custom}, {path: public}]\n")
    folders = disk.folders
    assert getattr(folders.named("pdf"), "path", None) == custom
    disk.settings("roots: [{path: custom}, {path: public}]\ndisabled: [custom/pdf]\n")
    assert getattr(folders.named("pdf"), "enabled", None) is False  # and not the one behind it
    disk.add("custom/second", name="pdf")
    assert folders.named("pdf") is None
    assert folders.named("nothing") is None
    disk.settings("roots: [{path: custom, tier: project}, {path: public}]\n")
    assert getattr(folders.named("pdf"), "path", None) == public


def test_a_root_that_is_not_there_has_no_skills_and_one_that_is_no_folder_fails(disk: _Disk) -> None:
    disk.settings("roots: [{path: missing}, {path: public}]\n")
    path = disk.add("public/pdf")
    assert disk.folders.named("pdf") is not None
    (disk.top / "missing").write_text("x")
    with pytest.raises(LoadError, match="not a folder"):
        disk.folders.named("pdf")
    assert disk.folders.find(path) is not None


def test_folders_are_not_looked_through_without_end(disk: _Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        disk.add(f"public/s{number}")
    monkeypatch.setattr("policyengine.config.skills.MAX_FOUND", 2)
    with pytest.raises(LoadError, match="more than 2 skills"):
        disk.folders.listing()
    monkeypatch.setattr("policyengine.config.skills_folders.MAX_FOLDERS", 2)
    with pytest.raises(LoadError, match="more than 2 folders"):
        disk.folders.listing()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("roots: []\nframework: [tool_search, task]", "never exempt"),
        ("roots: []\nframework: [Agent]", "never exempt"),
        ("roots: []\nmode: any", "mode"),
        ("roots: []\nfail_open: true", "not known here"),
        ("roots: [{path: public}, {path: ./public/, name: other}]", "a second root"),
        ("roots: [{path: public}, {path: custom, name: public}]", "a second root"),
        ("roots: [{path: public, mount: mnt/x}]", "mount"),
        ("roots: [{path: public, mount: /mnt/../x}]", "mount"),
        ("roots: [{path: public, mount: /}]", "mount"),
        ("roots: [{path: public, name: a/b}]", "name"),
        ("roots: [{path: /, name: all}]", "path"),
        ("roots: [{path: ''}]", "at least 1 character"),
        ("roots: [{path: public, tier: admin}]", "tier"),
        ("disabled: []", "roots"),
        ("agents: {a: pdf}\nroots: []", "list"),
    ],
)
def test_settings_that_are_wrong_are_refused(disk: _Disk, settings: str, reason: str) -> None:
    disk.settings(settings)
    with pytest.raises(LoadError) as caught:
        disk.folders.settings()
    assert reason in str(caught.value)


def test_nothing_that_was_written_to_restrict_is_passed_over_in_silence(
    disk: _Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    disk.add("public/pdf")
    disk.add("public/twin", name="pdf")
    disk.add("custom/pdf")
    disk.add("custom/broken", "7")
    disk.add("custom/hinted", "Bash($DIR/x)")
    outside = disk.top / "outside"
    disk.add("outside")
    (disk.top / "custom" / "out").symlink_to(outside)
    disk.settings(
        "roots: [{path: public}, {path: custom}]\ndisabled: [nothing, hinted]\n"
        "agents: {a: [pdf, public/pdf, public/no], b: [hinted]}\n"
    )
    found = [(one.text, one.code) for one in lint_skills(disk.folders, "skills.yaml")]
    assert sorted(found) == [
        ("custom/broken", "refused"),
        ("custom/hinted", "note"),
        ("custom/out", "stray"),
        ("custom/pdf", "shadowed"),
        ("nothing", "unused"),
        ("pdf", "ambiguous"),
        ("public/no", "unused"),
        ("public/twin", "ambiguous"),
    ]
    assert run(["lint", "--skills", str(disk.file)]) == 1
    assert "custom/broken" in capsys.readouterr().out


# ----------------------------------------------------------------------------------------------------- the whole policy
def _policy(disk: _Disk) -> SkillPolicy:
    return load(disk.file, means_of(ready(profile="sandbox")))


def _decide(policy: SkillPolicy, state: RunState, tool: str, **arguments: str) -> str:
    context = Context(cwd="/workspace")
    resource = Resource(ResourceKind.TOOL, tool)
    request = Request(principal=ANONYMOUS, action="invoke", resource=resource, arguments=arguments, context=context)
    decision, _ = ready(profile="sandbox").engine(policy).decide(request, state)
    codes = [finding.code for finding in decision.findings if finding.code.startswith("skill.")]
    return codes[0] if codes else "allow"


def _slash(policy: SkillPolicy, text: str) -> RunState:
    message = UserMessage(id="m", text=text, genuine=True)
    return replace(START, skills=policy.hear(START, message, Context(run_id="r"), ANONYMOUS).skills)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("git status", "allow"),
        ("git log --oneline -3", "allow"),
        ("git add . && git commit -m x", "allow"),
        ("git status; rm -rf x", "skill.not-covered"),
        ("git status | sh", "skill.not-covered"),
        ("git $(rm x)", "skill.not-covered"),
        ("git status > out.txt", "skill.not-covered"),
        ("gitk", "skill.not-covered"),
        ("ls", "skill.not-covered"),
        ("python3 scripts/a.py", "allow"),
        ("python3 -c 'print(1)'", "skill.not-covered"),
        ("", "skill.not-covered"),
        ("git 'status", "skill.not-covered"),
    ],
)
def test_an_entry_with_a_command_binds_what_the_line_does(disk: _Disk, command: str, answer: str) -> None:
    disk.add("public/git", "Bash(git:*), Bash(python3 *), Read(./src/**)")
    policy = _policy(disk)
    state = _slash(policy, "/git go")
    assert _decide(policy, state, "Bash", command=command) == answer
    assert _decide(policy, state, "bash", command=command) == answer


def test_an_entry_with_a_path_binds_the_path(disk: _Disk) -> None:
    disk.add("public/reader", "Read(./src/**)")
    policy = _policy(disk)
    state = _slash(policy, "/reader go")
    assert _decide(policy, state, "read_file", path="/workspace/src/a.py") == "allow"
    assert _decide(policy, state, "read_file", path="/workspace/src/../.env") == "skill.not-covered"
    assert _decide(policy, state, "read_file", path="/etc/passwd") == "skill.not-covered"
    assert _decide(policy, state, "write_file", path="/workspace/src/a.py", content="x") == "skill.not-allowed"
    assert _decide(policy, state, "Bash", command="cat src/a.py") == "skill.not-allowed"


@pytest.mark.parametrize(
    ("text", "tool", "arguments", "answer"),
    [
        ("/router x", "Bash", {"command": "ls"}, "skill.not-allowed"),  # parsed and then not enforced
        ("/router x", "Task", {"prompt": "run ls", "subagent_type": "general"}, "skill.not-allowed"),
        ("/router x", "Read", {"file_path": "/workspace/a"}, "allow"),
        (
            "/a x",
            "write_file",
            {"path": "/workspace/a", "content": "x"},
            "skill.not-allowed",
        ),  # united with all enabled
        ("/b x", "write_file", {"path": "/workspace/a", "content": "x"}, "allow"),
        ("/py x", "Bash", {"command": "python3 -c 'print(1)'"}, "skill.not-covered"),  # an interpreter is no script
        ("/py x", "Bash", {"command": "python3 scripts/a.py"}, "allow"),
    ],
)
def test_what_users_have_reported_elsewhere(
    disk: _Disk, text: str, tool: str, arguments: dict[str, str], answer: str
) -> None:
    disk.add("public/router", "Read, Skill")
    disk.add("public/a", "read_file, bash")
    disk.add("public/b", "write_file")
    disk.add("public/py", "Bash(python3 *)")
    policy = _policy(disk)
    assert _decide(policy, _slash(policy, text), tool, **arguments) == answer


def test_the_whole_way_from_files_to_an_answer(disk: _Disk) -> None:
    path = disk.add("public/pdf", "Read")
    disk.add("custom/shell", "Bash")
    disk.settings("roots: [{path: public}, {path: custom}]\nmode: intersection\nframework: [describe_skill]\n")
    policy = _policy(disk)
    assert (policy.mode, policy.framework) == (Mode.INTERSECTION, frozenset({"describe_skill"}))
    context = Context(run_id="r")
    resource = Resource(ResourceKind.TOOL, "Read")
    request = Request(
        principal=Principal(), action="invoke", resource=resource, arguments={"file_path": path}, context=context
    )
    state = policy.attempt(policy.begin(START, context, ANONYMOUS), [(request, Facts((FileRead(path),)))])
    state = policy.begin(policy.complete(state, request, Facts((FileRead(path),))), context, ANONYMOUS)
    assert _decide(policy, state, "Read", file_path="/workspace/a") == "allow"
    assert _decide(policy, state, "Bash", command="ls") == "skill.not-allowed"
    assert _decide(policy, state, "describe_skill", name="pdf") == "allow"
    assert _decide(policy, state, "tool_search", query="x") == "skill.not-allowed"
    disk.file.write_text("roots: [")
    assert _decide(policy, state, "Read", file_path="/workspace/a") == "skill.registry-failed"
    assert policy.evaluate(request, Facts((FileRead(path),)), START).outcome is Outcome.ALLOW
