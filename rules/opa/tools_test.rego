package agent.tools_test

import rego.v1

import data.agent.tools

lists := {
	"roles": {"engineer": {"tools": ["bash", "read_file"]}, "reader": {"tools": ["read_file"]}},
	"hosts": ["*.example.test"],
}

call(roles, tool, effects) := {
	"principal": {"id": "dev", "roles": roles},
	"resource": {"kind": "tool", "id": tool},
	"context": {"workspace": ["/workspace"]},
	"effects": effects,
	"run": {"labels": []},
}

write(path) := {"kind": "file.write", "path": path, "unknown": false}

connect(host) := {"kind": "net.connect", "host": host, "unknown": false}

test_a_role_may_use_its_tools if {
	tools.allow with input as call(["engineer"], "bash", []) with data.organisation as lists
}

test_any_role_of_several_will_do if {
	tools.allow with input as call(["reader", "engineer"], "bash", []) with data.organisation as lists
}

test_a_tool_of_another_role_is_refused if {
	not tools.allow with input as call(["reader"], "bash", []) with data.organisation as lists
}

test_nobody_in_particular_is_refused if {
	not tools.allow with input as call([], "read_file", []) with data.organisation as lists
}

test_an_unknown_role_is_refused if {
	not tools.allow with input as call(["wizard"], "read_file", []) with data.organisation as lists
}

test_writing_in_the_workspace_is_allowed if {
	tools.allow with input as call(["engineer"], "bash", [write("/workspace/a/b.py")])
		with data.organisation as lists
}

test_writing_beside_the_workspace_is_refused if {
	not tools.allow with input as call(["engineer"], "bash", [write("/workspace2/b.py")])
		with data.organisation as lists
}

test_one_effect_of_several_is_enough_to_refuse if {
	not tools.allow with input as call(["engineer"], "bash", [write("/workspace/a"), write("/etc/hosts")])
		with data.organisation as lists
}

test_a_path_that_is_known_in_part_is_refused if {
	effect := object.union(write("/workspace/a"), {"unknown": true})
	not tools.allow with input as call(["engineer"], "bash", [effect]) with data.organisation as lists
}

test_a_listed_host_is_reached if {
	tools.allow with input as call(["engineer"], "bash", [connect("Docs.example.test")])
		with data.organisation as lists
}

test_a_host_that_only_ends_alike_is_refused if {
	not tools.allow with input as call(["engineer"], "bash", [connect("a.evil-example.test")])
		with data.organisation as lists
}

test_what_is_not_understood_is_refused if {
	not tools.allow with input as call(["engineer"], "bash", [{"kind": "opaque", "cause": "program"}])
		with data.organisation as lists
}

test_nothing_leaves_after_secrets_were_read if {
	read := object.union(call(["engineer"], "bash", [connect("docs.example.test")]), {"run": {"labels": ["secrets"]}})
	not tools.allow with input as read with data.organisation as lists
}

test_without_lists_nothing_is_allowed if {
	not tools.allow with input as call(["engineer"], "bash", []) with data.organisation as {}
}
