"""The proof that the bash reader reads what bash reads. Nothing of this package is imported by `policyengine`.

How it is run, and which module is what:

    python -m fuzz --minutes N [--seed S] [--keep]    corpus, canary, hunt, second opinions, wrappers; 1 on any finding
    python -m fuzz.atheris_target                     coverage-guided, where atheris is installed

    choices, grammar, grammar_commands, grammar_words, strategy    scripts that know what is code in them
    mutate, seeds/                                                 real-looking scripts, broken a little
    bash, trace                                                    real bash, contained, and what it executed
    reading, oracles, splitting, opinions, oddities                what is compared, and where bash itself is odd
    canary                                                         broken readers that must be caught
    hunt, minimise, corpus/                                        rounds; findings made small and kept
    wrappers, wrapper_runs, wrapper_hunt, effects_oracle           programs that run programs, against reported effects
"""
