"""The proof that the bash reader reads what bash reads: generator, sandbox, oracles, canary, corpus.

`python -m fuzz --minutes N [--seed S]` runs all of it. Nothing of this package is imported by `policyengine`.
"""
