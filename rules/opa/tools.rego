# A sample policy of an organisation: who may use which tools, and what no call may do. It is asked as
# `agent.tools.allow`; `policyengine/policies/opa/document.py` describes `input`.
# `data.organisation` holds the organisation's lists (`data.json` here).
package agent.tools

import rego.v1

# A decision is a plain boolean with a default: a rule without a value counts as a refusal with a code of its own.
default allow := false

allow if {
	some role in input.principal.roles
	input.resource.id in data.organisation.roles[role].tools
	count(objections) == 0
}

# What speaks against a call. Effects are looked at and not text, so `cp`, `tee` and an editor meet the same rule.
objections contains sprintf("connects to %s", [effect.host]) if {
	some effect in input.effects
	effect.kind in {"net.connect", "net.transfer"}
	not known_host(effect)
}

objections contains sprintf("writes %s", [effect.path]) if {
	some effect in input.effects
	effect.kind in {"file.write", "file.delete", "file.attribute"}
	not in_workspace(effect)
}

objections contains sprintf("is not understood: %s", [effect.cause]) if {
	some effect in input.effects
	effect.kind == "opaque"
}

# Once a run has read secrets, nothing leaves the machine.
objections contains "sends something after secrets were read" if {
	"secrets" in input.run.labels
	some effect in input.effects
	effect.kind in {"net.connect", "net.transfer"}
}

known_host(effect) if {
	not effect.unknown
	some pattern in data.organisation.hosts
	glob.match(pattern, ["."], lower(effect.host))
}

in_workspace(effect) if {
	not effect.unknown
	some root in input.context.workspace
	startswith(effect.path, concat("", [trim_suffix(root, "/"), "/"]))
}
