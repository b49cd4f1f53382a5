"""A decision engine for agent runtimes: which tools may be seen, which calls may run, and why."""
