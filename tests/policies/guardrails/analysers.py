"""Processes in the analyser's place: `python -m … MODEL LANGUAGE`, where the language says how it behaves."""

from __future__ import annotations

import json
import sys
import time


def answer(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main(behaviour: str) -> None:
    if behaviour == "never":
        time.sleep(60)
    if behaviour == "crash":
        raise SystemExit(1)
    answer({"ready": True})
    for line in sys.stdin:
        text = json.loads(line)["text"]
        if behaviour == "hang" or text == "hang":
            time.sleep(60)
        if text == "die":
            return
        if text == "drip":
            for _ in range(600):
                sys.stdout.write(" ")
                sys.stdout.flush()
                time.sleep(0.1)
        rubbish = {
            "rubbish": "not JSON\n", "list": "[]\n", "null": "null\n", "no place": '{"entities": [["A", 5, 2, 1]]}\n',
            "outside": '{"entities": [["A", 0, 999, 1]]}\n', "kinds": '{"entities": [[7, 0, 1, 1]]}\n',
            "error": '{"error": "ValueError"}\n', "short": '{"entities": [["A", 0]]}\n',
        }  # fmt: skip
        if text in rubbish:
            sys.stdout.write(rubbish[text])
            sys.stdout.flush()
            continue
        found = [["WORD", 0, len(text), 0.9], ["WEAK", 0, 1, 0.1]] if text else []
        answer({"entities": found})


if __name__ == "__main__":
    main(sys.argv[2])
