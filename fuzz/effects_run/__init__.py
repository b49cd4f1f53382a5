"""The effects oracle: real programs run under `strace`, and what they did is compared with the effects reported.

`programs/*.yaml` holds command lines of programs that a Debian machine can install (`packages.txt`). Each runs in a
root directory of its own (`root`), `trace` reads the system calls, `observed` folds them into what remained of them,
and `compare` holds that against the interpretation of the same text with the shipped descriptions. What is a program's
inside, not an effect, stands in `noise.yaml` with a reason; why a reported effect need not happen, in
`explained.yaml`.
"""
