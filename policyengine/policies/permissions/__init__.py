"""Permission rules of agent runtimes, judged on effects: deny and ask rules are policy, allow rules are grants."""
