"""Ways to run a command without simply saying it: wrappers around it, and carriers that bring its text to a shell.

Each gives shell text that runs the payload on the machine that judges it. An empty text says that the way does not fit
the payload.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from fuzz.payloads import Payload, quoted

Way: TypeAlias = Callable[[Payload], str]


def _q(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _tail(one: Payload) -> str:
    """The payload as the last words of a wrapper's command line."""
    return one.text if one.words and "\n" not in one.text else f"sh -c {_q(one.text)}"


def _inline(one: Payload) -> str:
    """The payload as one command between operators."""
    return f"{{ {one.text}\n}}" if set(";\n#&|") & set(one.text) else one.text


def _body(one: Payload) -> str:
    """The payload where something on its line would end it: a comment and a here-document end with theirs."""
    return f"{one.text}\n" if set("\n#") & set(one.text) else one.text


def _argument(one: Payload) -> str:
    """As `_tail`, for places where words end at `;`, `+` or `{}`."""
    return f"sh -c {_q(one.text)}" if {";", "+", "{}"} & set(one.words) else _tail(one)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _hex(text: str) -> str:
    return text.encode().hex()


def _escaped(text: str, form: str) -> str:
    return "".join(form % byte for byte in text.encode())


def _words(one: Payload) -> str:
    """The payload's words, each for a shell; empty where it is no single command or where one is expanded."""
    return " ".join(map(quoted, one.words)) if "~" not in "".join(one.words) else ""


def _listed(one: Payload) -> str:
    """The payload's words as a list of strings, as JSON, Python, perl, ruby and others write it; may be empty."""
    return json.dumps(list(one.words)) if _words(one) else ""


def _fits(given: str, text: str) -> str:
    return text if given else ""


def _end(one: Payload) -> str:
    """A delimiter of a here-document that no text inside has."""
    return f"END_{len(one.text)}"


def _run(program: str, code: str) -> str:
    return f"{program} {_q(code)}"


def _os_system(one: Payload) -> str:
    return f"import os; os.system({one.text!r})"


_HEX: Final = "\\x%02x"
_OCTAL: Final = "\\%03o"

# Around a command; what a wrapper needs of its surroundings (a file, a directory) is always there.
WRAPPERS: Final[Mapping[str, Way]] = {
    "sudo": lambda one: f"sudo {_tail(one)}",
    "env": lambda one: f"env A=1 {_tail(one)}",
    "env.empty": lambda one: f"env -i {_tail(one)}",
    "env.unset": lambda one: f"env -u A -- {_tail(one)}",
    "nice": lambda one: f"nice -n 5 {_tail(one)}",
    "nohup": lambda one: f"nohup {_tail(one)}",
    "setsid": lambda one: f"setsid -w {_tail(one)}",
    "stdbuf": lambda one: f"stdbuf -oL {_tail(one)}",
    "timeout": lambda one: f"timeout 5 {_tail(one)}",
    "timeout.long": lambda one: f"timeout --signal=KILL --kill-after=1 5s {_tail(one)}",
    "ionice": lambda one: f"ionice -c 3 {_tail(one)}",
    "taskset": lambda one: f"taskset -c 0 {_tail(one)}",
    "flock": lambda one: f"flock /tmp/lock {_tail(one)}",
    "flock.command": lambda one: f"flock /tmp/lock -c {_q(one.text)}",
    "chrt": lambda one: f"chrt -i 0 {_tail(one)}",
    "strace": lambda one: f"strace -f {_tail(one)}",
    "watch": lambda one: f"watch -n 1 {_q(one.text)}",
    "script": lambda one: f"script -qc {_q(one.text)} /dev/null",
    "command": lambda one: f"command {_tail(one)}",
    "command.path": lambda one: f"command -p {_tail(one)}",
    "exec": lambda one: f"exec {_tail(one)}",
    "exec.name": lambda one: f"exec -a x {_tail(one)}",
    "time": lambda one: f"time -p {_tail(one)}",
    "time.program": lambda one: f"/usr/bin/time {_tail(one)}",
    "not": lambda one: f"! {_inline(one)}",
    "builtin.command": lambda one: f"builtin command {_tail(one)}",
    "busybox": lambda one: f"busybox sh -c {_q(one.text)}",
    "xargs": lambda one: f"xargs {_tail(one)} < /dev/null",
    "xargs.fed": lambda one: f"echo | xargs -r {_tail(one)}",
    "xargs.replace": lambda one: f"echo a | xargs -I% {_argument(one)}" if "%" not in one.text else "",
    "xargs.shell": lambda one: f"echo a | xargs -n 1 sh -c {_q(one.text)}",
    "find.exec": lambda one: f"find . -maxdepth 0 -exec {_argument(one)} \\;",
    "find.exec-quoted": lambda one: f"find . -maxdepth 0 -exec {_argument(one)} ';'",
    "find.execdir": lambda one: f"find . -maxdepth 0 -type d -execdir {_argument(one)} \\;",
    "find.shell": lambda one: f"find . -maxdepth 0 -exec sh -c {_q(one.text)} x {{}} +",
    "subshell": lambda one: f"( {_body(one)} )",
    "group": lambda one: f"{{ {one.text}\n}}",
    "then-true": lambda one: f"{_inline(one)}; true",
    "after-true": lambda one: f"true && {_inline(one)}",
    "after-false": lambda one: f"false || {_inline(one)}",
    "before-or": lambda one: f"{_inline(one)} || true",
    "background": lambda one: f"{_inline(one)} & wait",
    "piped": lambda one: f"{_inline(one)} | cat",
    "piped-both": lambda one: f"{_inline(one)} |& cat",
    "fed": lambda one: f"true | {_inline(one)}",
    "if": lambda one: f"if true; then {one.text}\nfi",
    "if.condition": lambda one: f"if {one.text}\nthen :; fi",
    "else": lambda one: f"if false; then :; else {one.text}\nfi",
    "while": lambda one: f"while true; do {one.text}\nbreak; done",
    "while.condition": lambda one: f"while {one.text}\ndo break; done",
    "until": lambda one: f"until {one.text}\ndo break; done",
    "for": lambda one: f"for i in 1; do {one.text}\ndone",
    "for.arithmetic": lambda one: f"for ((i = 0; i < 1; i++)); do {one.text}\ndone",
    "case": lambda one: f"case x in y) ;; *) {one.text}\n;; esac",
    "case.test": lambda one: f"case x in x) {one.text}\n;& z) true ;; esac",
    "select": lambda one: f"select i in a b; do {one.text}\nbreak; done <<< 1",
    "function": lambda one: f"f() {{ {one.text}\n}}; f",
    "function.keyword": lambda one: f"function f {{ {one.text}\n}}\nf a b",
    "function.subshell": lambda one: f"f() ( {_body(one)} ); f",
    "function.nested": lambda one: f"g() {{ f() {{ {one.text}\n}}; f; }}; g",
    "substitution": lambda one: f"$({_body(one)})",
    "substitution.value": lambda one: f'echo "$({_body(one)})"',
    "substitution.assigned": lambda one: f"y=$({_body(one)})",
    "substitution.heredoc": lambda one: f"cat <<{_end(one)}\n$({_body(one)})\n{_end(one)}",
    "substitution.here-string": lambda one: f'cat <<< "$({_body(one)})"',
    "substitution.test": lambda one: f"[[ -n $({_body(one)}) ]]",
    "substitution.arithmetic": lambda one: f"echo $(( $({_body(one)}) + 1 ))",
    "substitution.default": lambda one: f'echo "${{nope:-$({_body(one)})}}"',
    "substitution.array": lambda one: f"y=( $({_body(one)}) )",
    "substitution.case": lambda one: f"case $({_body(one)}) in a) ;; esac",
    "substitution.export": lambda one: f'export Y="$({_body(one)})"',
    "substitution.local": lambda one: f"f() {{ local y=$({_body(one)}); }}; f",
    "backticks": lambda one: f"`{one.text}`" if not {"`", "\\", "$"} & set(one.text) else "",
    "backticks.value": lambda one: f'echo "`{one.text}`"' if not {"`", "\\", "$", '"'} & set(one.text) else "",
    "process.read": lambda one: f"cat <({_body(one)})",
    "process.written": lambda one: f"true > >({_body(one)})",
    "coproc": lambda one: f"coproc {{ {one.text}\n}}; wait",
    "trap.exit": lambda one: f"trap {_q(one.text)} EXIT",
    "trap.debug": lambda one: f"trap -- {_q(one.text)} DEBUG; true",
    "trap.signal": lambda one: f"trap {_q(one.text)} INT TERM; true",
    "assignment": lambda one: f"A=1 {_tail(one)}",
    "assignments": lambda one: f"A=1 B='x y' C= {_tail(one)}",
    "comment": lambda one: f"{one.text} # a comment\n" if "\n" not in one.text else "",
    "error-joined": lambda one: f"{_inline(one)} 2>&1",
    "output-dropped": lambda one: f"{_inline(one)} > /dev/null",
    "both-dropped": lambda one: f"{_inline(one)} &> /dev/null",
    "input-none": lambda one: f"{_inline(one)} < /dev/null",
    "redirect-first": lambda one: f"> /dev/null {_tail(one)}",
    "cd": lambda one: f"cd . && {_inline(one)}",
    "set-e": lambda one: f"set -euo pipefail; {one.text}" if "nope" not in one.text else "",
    "lines": lambda one: f"true\n{one.text}\ntrue\n",
    "doubled": lambda one: f"{one.text}\n{one.text}",
}  # fmt: skip

# From text to a shell.
CARRIERS: Final[Mapping[str, Way]] = {
    "sh": lambda one: f"sh -c {_q(one.text)}",
    "bash.login": lambda one: f"bash -lc {_q(one.text)}",
    "bash.options": lambda one: f"bash --norc -e -o pipefail -c {_q(one.text)} x y",
    "zsh": lambda one: f"zsh -c {_q(one.text)}",
    "dash": lambda one: f"/bin/dash -c {_q(one.text)}",
    "eval": lambda one: f"eval {_q(one.text)}",
    "eval.words": lambda one: _fits(_words(one), f"eval {' '.join(_q(quoted(word)) for word in one.words)}"),
    "eval.twice": lambda one: f"eval eval {_q(_q(one.text))}",
    "builtin.eval": lambda one: f"builtin eval {_q(one.text)}",
    "here-string": lambda one: f"bash <<< {_q(one.text)}",
    "here-string.s": lambda one: f"sh -s a b <<< {_q(one.text)}",
    "heredoc": lambda one: f"bash <<'{_end(one)}'\n{one.text}\n{_end(one)}",
    "heredoc.open": lambda one: f"sh <<{_end(one)}\n{_open(one.text)}\n{_end(one)}",
    "heredoc.tabs": lambda one: f"bash <<-'{_end(one)}'\n\t{one.text}\n\t{_end(one)}",
    "heredoc.cat": lambda one: f"cat <<'{_end(one)}' | bash\n{one.text}\n{_end(one)}",
    "pipe": lambda one: f"echo {_q(one.text)} | sh" if "\\" not in one.text else "",
    "pipe.printf": lambda one: f"printf '%s\\n' {_q(one.text)} | bash",
    "pipe.cat": lambda one: f"printf %s {_q(one.text)} | cat | tee /dev/null | bash -",
    "pipe.stdin": lambda one: f"printf %s {_q(one.text)} | bash /dev/stdin",
    "pipe.group": lambda one: f"printf %s {_q(one.text)} | {{ bash; }}",
    "pipe.while": lambda one: f"printf '%s\\n' {_q(one.text)} | while IFS= read -r l; do eval \"$l\"; done" if "\n" not in one.text else "",
    "pipe.sudo": lambda one: f"printf %s {_q(one.text)} | sudo bash -s",
    "pipe.env": lambda one: f"printf %s {_q(one.text)} | env bash",
    "pipe.source": lambda one: f". <(printf %s {_q(one.text)})",
    "process": lambda one: f"bash <(printf %s {_q(one.text)})",
    "process.input": lambda one: f"bash < <(printf %s {_q(one.text)})",
    "variable": lambda one: f"y={_q(one.text)}; eval \"$y\"",
    "variable.shell": lambda one: f"y={_q(one.text)}; bash -c \"$y\"",
    "variable.here-string": lambda one: f"y={_q(one.text)}; sh <<< \"$y\"",
    "variable.exported": lambda one: f"export Y={_q(one.text)}; sh -c 'eval \"$Y\"'",
    "variable.prefix": lambda one: f"Y={_q(one.text)} bash -c 'eval \"$Y\"'",
    "variable.split": lambda one: _fits(_plain(one), f"y={_q(one.text)}; $y"),
    "variable.joined": lambda one: f"y={_q(one.text[:2])}; y+={_q(one.text[2:])}; eval \"$y\"",
    "variable.two": lambda one: f"y={_q(one.text[:3])} z={_q(one.text[3:])}; eval \"$y$z\"",
    "variable.array": lambda one: _fits(_words(one), f"y=({_words(one)}); \"${{y[@]}}\""),
    "variable.positional": lambda one: f"set -- {_q(one.text)}; eval \"$1\"",
    "variable.argument": lambda one: f"sh -c 'eval \"$1\"' x {_q(one.text)}",
    "variable.arguments": lambda one: _fits(_words(one), f"sh -c '\"$@\"' x {_words(one)}"),
    "variable.function": lambda one: f"f() {{ eval \"$1\"; }}; f {_q(one.text)}",
    "variable.function-words": lambda one: _fits(_words(one), f"f() {{ \"$@\"; }}; f {_words(one)}"),
    "variable.loop": lambda one: f"for y in {_q(one.text)}; do eval \"$y\"; done",
    "variable.read": lambda one: f"IFS= read -r y <<< {_q(one.text)}; eval \"$y\"" if "\n" not in one.text else "",
    "variable.mapfile": lambda one: f"mapfile -t y <<< {_q(one.text)}; eval \"${{y[0]}}\"" if "\n" not in one.text else "",
    "variable.captured": lambda one: f"y=$(printf %s {_q(one.text)}); eval \"$y\"",
    "variable.printf": lambda one: f"printf -v y %s {_q(one.text)}; eval \"$y\"",
    "variable.nameref": lambda one: f"y={_q(one.text)}; declare -n z=y; eval \"$z\"",
    "substitution": lambda one: _fits(_plain(one), f"$(echo {_q(one.text)})") if "\\" not in one.text else "",
    "substitution.shell": lambda one: f"sh -c \"$(printf %s {_q(one.text)})\"",
    "substitution.eval": lambda one: f"eval \"$(cat <<'{_end(one)}'\n{one.text}\n{_end(one)}\n)\"",
    "file": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.sh; sh s{len(one.text)}.sh",
    "file.executable": lambda one: f"printf '#!/bin/sh\\n%s\\n' {_q(one.text)} > s{len(one.text)}.sh; chmod +x s{len(one.text)}.sh; ./s{len(one.text)}.sh",
    "file.heredoc": lambda one: f"cat > s{len(one.text)}.sh <<'{_end(one)}'\n{one.text}\n{_end(one)}\nbash ./s{len(one.text)}.sh",
    "file.tee": lambda one: f"printf %s {_q(one.text)} | tee s{len(one.text)}.sh > /dev/null && bash s{len(one.text)}.sh",
    "file.sourced": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.sh; source ./s{len(one.text)}.sh",
    "file.dot": lambda one: f"printf %s {_q(one.text)} > /tmp/s{len(one.text)}; . /tmp/s{len(one.text)}",
    "file.input": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.sh; bash < s{len(one.text)}.sh",
    "file.read": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.sh; eval \"$(cat s{len(one.text)}.sh)\"",
    "file.redirected-read": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.sh; eval \"$(<s{len(one.text)}.sh)\"",
    "file.copied": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.txt; cp s{len(one.text)}.txt s{len(one.text)}.sh; sh s{len(one.text)}.sh",
    "file.moved": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.txt; mv s{len(one.text)}.txt s{len(one.text)}.sh; sh s{len(one.text)}.sh",
    "file.appended": lambda one: f"printf %s {_q(one.text[:2])} > s{len(one.text)}.sh; printf %s {_q(one.text[2:])} >> s{len(one.text)}.sh; sh s{len(one.text)}.sh",
    "file.piped": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.sh; cat s{len(one.text)}.sh | sh",
    "file.python": lambda one: f"cat > s{len(one.text)}.py <<'{_end(one)}'\nimport os\nos.system({one.text!r})\n{_end(one)}\npython3 s{len(one.text)}.py",
    "file.make": lambda one: f"printf 'all:\\n\\t%s\\n' {_q(_make(one.text))} > Makefile; make" if "\n" not in one.text else "",
    "make": lambda one: f"printf 'all:\\n\\t%s\\n' {_q(_make(one.text))} | make -f -" if "\n" not in one.text else "",
    "base64": lambda one: f"echo {_b64(one.text)} | base64 -d | sh",
    "base64.here-string": lambda one: f"base64 -d <<< {_b64(one.text)} | bash",
    "base64.eval": lambda one: f"eval \"$(echo {_b64(one.text)} | base64 --decode)\"",
    "base64.process": lambda one: f"bash <(echo {_b64(one.text)} | base64 -d)",
    "base64.python": lambda one: _run("python3 -c", f"import os,base64;os.system(base64.b64decode({_b64(one.text)!r}).decode())"),
    "base64.openssl": lambda one: f"echo {_b64(one.text)} | openssl base64 -d -A | sh",
    "base64.file": lambda one: f"echo {_b64(one.text)} | base64 -d > s{len(one.text)}.sh; sh s{len(one.text)}.sh",
    "hex.xxd": lambda one: f"echo {_hex(one.text)} | xxd -r -p | sh",
    "hex.printf": lambda one: f"printf '{_escaped(one.text, _HEX)}' | sh",
    "hex.echo": lambda one: f"echo -e '{_escaped(one.text, _HEX)}' | sh",
    "hex.ansi": lambda one: f"eval $'{_escaped(one.text, _HEX)}'",
    "octal.printf": lambda one: f"$(printf '{_escaped(one.text, _OCTAL)}')" if _plain(one) else "",
    "reversed": lambda one: f"echo {_q(one.text[::-1])} | rev | sh" if not {"\n", "\\"} & set(one.text) else "",
    "translated": lambda one: f"echo {_q(one.text.translate(_ROT))} | tr a-z n-za-m | sh" if not {"\n", "\\"} & set(one.text) else "",
    "xargs.shell": lambda one: f"printf '%s\\0' {_q(one.text)} | xargs -0 -I{{}} sh -c {{}}" if "{}" not in one.text else "",
    "xargs.shell-last": lambda one: f"printf '%s\\0' {_q(one.text)} | xargs -0 sh -c",
    "xargs.words": lambda one: _fits(_words(one), f"printf '%s\\0' {_words(one)} | xargs -0 env"),
    "xargs.rest": lambda one: f"echo {' '.join(one.words[1:])} | xargs {one.words[0]}" if _plain(one) and len(one.words) > 1 and not one.words[1].startswith("-e") else "",
    "parallel": lambda one: f"printf '%s\\n' {_q(one.text)} | parallel" if "\n" not in one.text else "",
    "env.split": lambda one: f"env -S {_q(_words(one))}" if _plain(one) else "",
    "env.split-long": lambda one: f"env --split-string={_q(_words(one))}" if _plain(one) else "",
    "env.split-shell": lambda one: f"env -S 'sh -c' {_q(one.text)}",
    "alias": lambda one: f"shopt -s expand_aliases\nalias y={_q(one.text)}\ny",
    "git.alias": lambda one: f"git -c alias.y={_q('!' + one.text)} y",
    "git.pager": lambda one: f"GIT_PAGER={_q(one.text)} git -p log",
    "git.rebase": lambda one: f"git rebase --exec {_q(one.text)} HEAD~1",
    "git.bisect": lambda one: f"git bisect run sh -c {_q(one.text)}",
    "python.system": lambda one: _run("python3 -c", _os_system(one)),
    "python.popen": lambda one: _run("python -c", f"from os import popen as p; print(p({one.text!r}).read())"),
    "python.run-shell": lambda one: _run("python3 -c", f"import subprocess; subprocess.run({one.text!r}, shell=True, check=True)"),
    "python.run-list": lambda one: _fits(_listed(one), _run("python3 -c", f"import subprocess as s; s.check_call({_listed(one)})")),
    "python.output": lambda one: _run("python3 -c", f"import subprocess; subprocess.getoutput({one.text!r})"),
    "python.import": lambda one: _run("python3 -c", f"__import__('os').system({one.text!r})"),
    "python.exec": lambda one: _run("python3 -c", f"exec({_os_system(one)!r})"),
    "python.heredoc": lambda one: f"python3 - <<'{_end(one)}'\nimport os\nos.system({one.text!r})\n{_end(one)}",
    "python.pipe": lambda one: _run("printf %s", _os_system(one)) + " | python3",
    "python.execvp": lambda one: _fits(_listed(one), _run("python3 -c", f"import os; a = {_listed(one)}; os.execvp(a[0], a)")),
    "python.variable": lambda one: _run("python3 -c", f"import os; c = {one.text!r}; os.system(c)"),
    "perl.system": lambda one: _run("perl -e", f"system({_perl(one.text)});"),
    "perl.exec": lambda one: _run("perl -e", f"exec {_perl(one.text)}"),
    "perl.ticks": lambda one: _run("perl -e", f"print `{one.text}`") if not set("`\\$@%") & set(one.text) else "",
    "perl.qx": lambda one: _run("perl -we", f"my $x = qx!{one.text}!;") if not set("!\\$@%") & set(one.text) else "",
    "ruby.system": lambda one: _run("ruby -e", f"system({_perl(one.text)})"),
    "ruby.ticks": lambda one: _run("ruby -e", f"puts `{one.text}`") if not set("`\\#") & set(one.text) else "",
    "ruby.x": lambda one: _run("ruby -e", f"%x({one.text})") if not set("()\\#") & set(one.text) else "",
    "node.exec": lambda one: _run("node -e", f"require('child_process').execSync({json.dumps(one.text)})"),
    "node.const": lambda one: _run("node -e", f"const {{exec}} = require('child_process'); exec({json.dumps(one.text)})"),
    "node.print": lambda one: _run("node -p", f"require('child_process').execSync({json.dumps(one.text)}).toString()"),
    "php.system": lambda one: _run("php -r", f"system({_perl(one.text)});"),
    "php.shell": lambda one: _run("php -r", f"echo shell_exec({_perl(one.text)});"),
    "lua.execute": lambda one: _run("lua -e", f"os.execute({_string(one.text)})"),
    "awk.system": lambda one: _run("awk", f"BEGIN {{ system({_string(one.text)}) }}"),
    "awk.getline": lambda one: _run("awk", f"BEGIN {{ {_string(one.text)} | getline x; print x }}"),
    "awk.print": lambda one: _run("awk", f"BEGIN {{ print 1 | {_string(one.text)} }}"),
    "sed.e": lambda one: f"sed -n {_q('1e ' + one.text)} /etc/hostname" if "\n" not in one.text and "\\" not in one.text else "",
    "tar.checkpoint": lambda one: f"tar cf /dev/null --checkpoint=1 --checkpoint-action=exec={_q(one.text)} .",
    "tar.program": lambda one: f"tar -cf x.tar --use-compress-program={_q(one.text)} .",
    "vim": lambda one: f"vim -c {_q(':!' + one.text)} -c :q" if "\n" not in one.text else "",
    "npm": lambda one: f"npm exec -c {_q(one.text)}",
    "npx": lambda one: f"npx -c {_q(one.text)}",
    "gdb": lambda one: f"gdb -batch -ex {_q('!' + one.text)}" if "\n" not in one.text else "",
    "su": lambda one: f"su -c {_q(one.text)}",
    "runuser": lambda one: f"runuser -u nobody -- sh -c {_q(one.text)}",
    "nsenter": lambda one: f"nsenter -t 1 -m sh -c {_q(one.text)}",
    "prompt": lambda one: f"PROMPT_COMMAND={_q(one.text)} bash -i",
    "bash-env": lambda one: f"printf %s {_q(one.text)} > s{len(one.text)}.sh; BASH_ENV=s{len(one.text)}.sh bash -c true",
    "function.exported": lambda one: f"f() {{ {one.text}\n}}; export -f f; bash -c f",
}  # fmt: skip

# Ways after which a harmless command may be held, and why.
HELD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("sudo", "pipe.sudo", "su", "runuser", "nsenter"), "other privileges"),
    **dict.fromkeys((name for name in CARRIERS if name.startswith(("base64", "hex", "octal"))), "decoded text is run"),
    **dict.fromkeys(("reversed", "translated"), "decoded text is run"),
    **dict.fromkeys(("substitution", "backticks", "git.rebase", "git.bisect", "git.alias"), "what was printed is run, or git is configured"),
    **dict.fromkeys(("gdb", "strace", "prompt", "bash-env", "git.pager"), "a debugger, or a variable that runs commands"),
    **dict.fromkeys(("npm", "npx", "parallel"), "may fetch, or is seldom"),
}  # fmt: skip

_ROT: Final = {ord(a): ord(b) for a, b in zip("nopqrstuvwxyzabcdefghijklm", "abcdefghijklmnopqrstuvwxyz", strict=True)}


def _open(text: str) -> str:
    return text.replace("\\", "\\\\").replace("$", "\\$").replace("`", "\\`")


def _make(text: str) -> str:
    return text.replace("$", "$$")


def _perl(text: str) -> str:
    """Text in perl's single quotes, which ruby and php read alike."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _string(text: str) -> str:
    """Text in the double quotes of awk and lua."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _plain(one: Payload) -> bool:
    """Whether splitting the text at blanks gives the words: nothing is quoted or expanded."""
    return bool(one.words) and not set("~*?[{'\"\\$`") & set(one.text) and "\n" not in one.text
