"""One file per agent runtime: translation between its calls and ours, and nothing else."""
