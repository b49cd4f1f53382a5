"""One file that says what stands behind a gate.

    profile: workstation              # of the rules
    rules: [my-rules]                 # directories, or one bundle; `shipped_rules: false` starts empty
    rbac: {model: model.conf, policy: policy.csv, default_role: guest}      # or {deerflow: config.yaml}
    opa: {url: "http://127.0.0.1:8181", path: agent.tools.allow, deadline: 0.5}      # or unix:///run/opa.sock
    guardrails:
      - {use: "acme.guard:Passport", deadline: 2, config: {strict: true}}
    content: {secret: {remote: redact}}       # detector or category → where a text is from → what is done instead
    tools: {user: [tools.yaml], project: []}  # `config.toolpolicy`: what tools declare, and which are offered
    skills: skills.yaml                       # `config.skills`: roots, agents' allowlists, mode
    permissions: {user: [settings.json], project: [.claude/settings.json], organisation: []}
    keys: {file: keys}                        # or {environment: POLICYENGINE_KEYS}; absent: made anew for this process
    approvals: {sqlite: approvals.db}         # or {redis: "redis://…"}, or memory: one long-lived process only
    states: {sqlite: states.db}
    audit: {path: audit, keys: audit-keys, durability: process-crash, detail: redacted}
    hide: deny                                # or ask: tools of which every call would ask are hidden as well
    lifetimes: {approval: 3600}               # of tokens, in seconds

Relative paths begin at the file's folder. There is no switch that turns something off or lets a failure allow: what is
not to be asked is left out. A setup never loads half.
"""

from policyengine.config.setup.holding import Holding, holding
from policyengine.config.setup.judging import Judging, judging
from policyengine.config.setup.reading import Setup, read_setup

__all__ = ["Holding", "Judging", "Setup", "holding", "judging", "read_setup"]
