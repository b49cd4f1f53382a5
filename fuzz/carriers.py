"""What may bring the text of a command to a shell: pipes, here-documents, files, encodings, other languages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from fuzz.payloads import quoted
from fuzz.spelling import (
    HEX,
    OCTAL,
    ROT,
    Way,
    as_hex,
    b64,
    double,
    end,
    escaped,
    for_make,
    is_plain,
    listed,
    one_line,
    opened,
    os_system,
    plainly,
    q,
    run,
    single,
    stem,
    without,
    worded,
    words,
)

# From text to a shell.
CARRIERS: Final[Mapping[str, Way]] = {
    "sh": lambda one: f"sh -c {q(one.text)}",
    "bash.login": lambda one: f"bash -lc {q(one.text)}",
    "bash.options": lambda one: f"bash --norc -e -o pipefail -c {q(one.text)} x y",
    "zsh": lambda one: f"zsh -c {q(one.text)}",
    "dash": lambda one: f"/bin/dash -c {q(one.text)}",
    "eval": lambda one: f"eval {q(one.text)}",
    "eval.words": lambda one: worded(one, f"eval {' '.join(q(quoted(word)) for word in one.words)}"),
    "eval.twice": lambda one: f"eval eval {q(q(one.text))}",
    "builtin.eval": lambda one: f"builtin eval {q(one.text)}",
    "here-string": lambda one: f"bash <<< {q(one.text)}",
    "here-string.s": lambda one: f"sh -s a b <<< {q(one.text)}",
    "heredoc": lambda one: f"bash <<'{end(one)}'\n{one.text}\n{end(one)}",
    "heredoc.open": lambda one: f"sh <<{end(one)}\n{opened(one.text)}\n{end(one)}",
    "heredoc.tabs": lambda one: f"bash <<-'{end(one)}'\n\t{one.text}\n\t{end(one)}",
    "heredoc.cat": lambda one: f"cat <<'{end(one)}' | bash\n{one.text}\n{end(one)}",
    "pipe": lambda one: f"echo {q(one.text)} | sh" if "\\" not in one.text else "",
    "pipe.printf": lambda one: f"printf '%s\\n' {q(one.text)} | bash",
    "pipe.cat": lambda one: f"printf %s {q(one.text)} | cat | tee /dev/null | bash -",
    "pipe.stdin": lambda one: f"printf %s {q(one.text)} | bash /dev/stdin",
    "pipe.group": lambda one: f"printf %s {q(one.text)} | {{ bash; }}",
    "pipe.while": lambda one: one_line(
        one, f"printf '%s\\n' {q(one.text)} | while IFS= read -r l; do eval \"$l\"; done"
    ),
    "pipe.sudo": lambda one: f"printf %s {q(one.text)} | sudo bash -s",
    "pipe.env": lambda one: f"printf %s {q(one.text)} | env bash",
    "pipe.source": lambda one: f". <(printf %s {q(one.text)})",
    "process": lambda one: f"bash <(printf %s {q(one.text)})",
    "process.input": lambda one: f"bash < <(printf %s {q(one.text)})",
    "variable": lambda one: f'y={q(one.text)}; eval "$y"',
    "variable.shell": lambda one: f'y={q(one.text)}; bash -c "$y"',
    "variable.here-string": lambda one: f'y={q(one.text)}; sh <<< "$y"',
    "variable.exported": lambda one: f"export Y={q(one.text)}; sh -c 'eval \"$Y\"'",
    "variable.prefix": lambda one: f"Y={q(one.text)} bash -c 'eval \"$Y\"'",
    "variable.split": lambda one: plainly(one, f"y={q(one.text)}; $y"),
    "variable.joined": lambda one: f'y={q(one.text[:2])}; y+={q(one.text[2:])}; eval "$y"',
    "variable.two": lambda one: f'y={q(one.text[:3])} z={q(one.text[3:])}; eval "$y$z"',
    "variable.array": lambda one: worded(one, f'y=({words(one)}); "${{y[@]}}"'),
    "variable.positional": lambda one: f'set -- {q(one.text)}; eval "$1"',
    "variable.argument": lambda one: f"sh -c 'eval \"$1\"' x {q(one.text)}",
    "variable.arguments": lambda one: worded(one, f"sh -c '\"$@\"' x {words(one)}"),
    "variable.function": lambda one: f'f() {{ eval "$1"; }}; f {q(one.text)}',
    "variable.function-words": lambda one: worded(one, f'f() {{ "$@"; }}; f {words(one)}'),
    "variable.loop": lambda one: f'for y in {q(one.text)}; do eval "$y"; done',
    "variable.read": lambda one: one_line(one, f'IFS= read -r y <<< {q(one.text)}; eval "$y"'),
    "variable.mapfile": lambda one: one_line(one, f'mapfile -t y <<< {q(one.text)}; eval "${{y[0]}}"'),
    "variable.captured": lambda one: f'y=$(printf %s {q(one.text)}); eval "$y"',
    "variable.printf": lambda one: f'printf -v y %s {q(one.text)}; eval "$y"',
    "variable.nameref": lambda one: f'y={q(one.text)}; declare -n z=y; eval "$z"',
    "substitution": lambda one: plainly(one, f"$(echo {q(one.text)})") if "\\" not in one.text else "",
    "substitution.shell": lambda one: f'sh -c "$(printf %s {q(one.text)})"',
    "substitution.eval": lambda one: f"eval \"$(cat <<'{end(one)}'\n{one.text}\n{end(one)}\n)\"",
    "file": lambda one: f"printf %s {q(one.text)} > {stem(one)}.sh; sh {stem(one)}.sh",
    "file.executable": lambda one: (
        f"printf '#!/bin/sh\\n%s\\n' {q(one.text)} > {stem(one)}.sh; chmod +x {stem(one)}.sh; ./{stem(one)}.sh"
    ),
    "file.heredoc": lambda one: f"cat > {stem(one)}.sh <<'{end(one)}'\n{one.text}\n{end(one)}\nbash ./{stem(one)}.sh",
    "file.tee": lambda one: f"printf %s {q(one.text)} | tee {stem(one)}.sh > /dev/null && bash {stem(one)}.sh",
    "file.sourced": lambda one: f"printf %s {q(one.text)} > {stem(one)}.sh; source ./{stem(one)}.sh",
    "file.dot": lambda one: f"printf %s {q(one.text)} > /tmp/{stem(one)}; . /tmp/{stem(one)}",
    "file.input": lambda one: f"printf %s {q(one.text)} > {stem(one)}.sh; bash < {stem(one)}.sh",
    "file.read": lambda one: f'printf %s {q(one.text)} > {stem(one)}.sh; eval "$(cat {stem(one)}.sh)"',
    "file.redirected-read": lambda one: f'printf %s {q(one.text)} > {stem(one)}.sh; eval "$(<{stem(one)}.sh)"',
    "file.copied": lambda one: (
        f"printf %s {q(one.text)} > {stem(one)}.txt; cp {stem(one)}.txt {stem(one)}.sh; sh {stem(one)}.sh"
    ),
    "file.moved": lambda one: (
        f"printf %s {q(one.text)} > {stem(one)}.txt; mv {stem(one)}.txt {stem(one)}.sh; sh {stem(one)}.sh"
    ),
    "file.appended": lambda one: (
        f"echo true > {stem(one)}.sh; printf %s {q(one.text)} >> {stem(one)}.sh; sh {stem(one)}.sh"
    ),
    "file.piped": lambda one: f"printf %s {q(one.text)} > {stem(one)}.sh; cat {stem(one)}.sh | sh",
    "file.python": lambda one: (
        f"cat > {stem(one)}.py <<'{end(one)}'\nimport os\nos.system({one.text!r})\n{end(one)}\npython3 {stem(one)}.py"
    ),
    "file.make": lambda one: one_line(one, f"printf 'all:\\n\\t%s\\n' {q(for_make(one.text))} > Makefile; make"),
    "make": lambda one: one_line(one, f"printf 'all:\\n\\t%s\\n' {q(for_make(one.text))} | make -f -"),
    "base64": lambda one: f"echo {b64(one.text)} | base64 -d | sh",
    "base64.here-string": lambda one: f"base64 -d <<< {b64(one.text)} | bash",
    "base64.eval": lambda one: f'eval "$(echo {b64(one.text)} | base64 --decode)"',
    "base64.process": lambda one: f"bash <(echo {b64(one.text)} | base64 -d)",
    "base64.python": lambda one: run(
        "python3 -c", f"import os,base64;os.system(base64.b64decode({b64(one.text)!r}).decode())"
    ),
    "base64.openssl": lambda one: f"echo {b64(one.text)} | openssl base64 -d -A | sh",
    "base64.file": lambda one: f"echo {b64(one.text)} | base64 -d > {stem(one)}.sh; sh {stem(one)}.sh",
    "hex.xxd": lambda one: f"echo {as_hex(one.text)} | xxd -r -p | sh",
    "hex.printf": lambda one: f"printf '{escaped(one.text, HEX)}' | sh",
    "hex.echo": lambda one: f"echo -e '{escaped(one.text, HEX)}' | sh",
    "hex.ansi": lambda one: f"eval $'{escaped(one.text, HEX)}'",
    "octal.printf": lambda one: plainly(one, f"$(printf '{escaped(one.text, OCTAL)}')"),
    "reversed": lambda one: f"echo {q(one.text[::-1])} | rev | sh" if not {"\n", "\\"} & set(one.text) else "",
    "translated": lambda one: (
        f"echo {q(one.text.translate(ROT))} | tr a-z n-za-m | sh" if not {"\n", "\\"} & set(one.text) else ""
    ),
    "xargs.shell": lambda one: (
        f"printf '%s\\0' {q(one.text)} | xargs -0 -I{{}} sh -c {{}}" if "{}" not in one.text else ""
    ),
    "xargs.shell-last": lambda one: f"printf '%s\\0' {q(one.text)} | xargs -0 sh -c",
    "xargs.words": lambda one: worded(one, f"printf '%s\\0' {words(one)} | xargs -0 env"),
    "xargs.rest": lambda one: (
        f"echo {' '.join(one.words[1:])} | xargs {one.words[0]}"
        if is_plain(one) and len(one.words) > 1 and not one.words[1].startswith(("-e", "-n", "-E"))
        else ""
    ),
    "parallel": lambda one: one_line(one, f"printf '%s\\n' {q(one.text)} | parallel"),
    "env.split": lambda one: plainly(one, f"env -S {q(words(one))}"),
    "env.split-long": lambda one: plainly(one, f"env --split-string={q(words(one))}"),
    "env.split-shell": lambda one: f"env -S 'sh -c' {q(one.text)}",
    "alias": lambda one: f"shopt -s expand_aliases\nalias y={q(one.text)}\ny",
    "git.alias": lambda one: f"git -c alias.y={q('!' + one.text)} y",
    "git.pager": lambda one: f"GIT_PAGER={q(one.text)} git -p log",
    "git.rebase": lambda one: f"git rebase --exec {q(one.text)} HEAD~1",
    "git.bisect": lambda one: f"git bisect run sh -c {q(one.text)}",
    "python.system": lambda one: run("python3 -c", os_system(one)),
    "python.popen": lambda one: run("python -c", f"from os import popen as p; print(p({one.text!r}).read())"),
    "python.run-shell": lambda one: run(
        "python3 -c", f"import subprocess; subprocess.run({one.text!r}, shell=True, check=True)"
    ),
    "python.run-list": lambda one: worded(
        one, run("python3 -c", f"import subprocess as s; s.check_call({listed(one)})")
    ),
    "python.output": lambda one: run("python3 -c", f"import subprocess; subprocess.getoutput({one.text!r})"),
    "python.import": lambda one: run("python3 -c", f"__import__('os').system({one.text!r})"),
    "python.exec": lambda one: run("python3 -c", f"exec({os_system(one)!r})"),
    "python.heredoc": lambda one: f"python3 - <<'{end(one)}'\nimport os\nos.system({one.text!r})\n{end(one)}",
    "python.pipe": lambda one: run("printf %s", os_system(one)) + " | python3",
    "python.execvp": lambda one: worded(one, run("python3 -c", f"import os; a = {listed(one)}; os.execvp(a[0], a)")),
    "python.variable": lambda one: run("python3 -c", f"import os; c = {one.text!r}; os.system(c)"),
    "perl.system": lambda one: run("perl -e", f"system({single(one.text)});"),
    "perl.exec": lambda one: run("perl -e", f"exec {single(one.text)}"),
    "perl.ticks": lambda one: without("`\\$@%", one, run("perl -e", f"print `{one.text}`")),
    "perl.qx": lambda one: without("!\\$@%", one, run("perl -we", f"my $x = qx!{one.text}!;")),
    "ruby.system": lambda one: run("ruby -e", f"system({single(one.text)})"),
    "ruby.ticks": lambda one: without("`\\#", one, run("ruby -e", f"puts `{one.text}`")),
    "ruby.x": lambda one: without("()\\#", one, run("ruby -e", f"%x({one.text})")),
    "node.exec": lambda one: run("node -e", f"require('child_process').execSync({json.dumps(one.text)})"),
    "node.const": lambda one: run(
        "node -e", f"const {{exec}} = require('child_process'); exec({json.dumps(one.text)})"
    ),
    "node.print": lambda one: run("node -p", f"require('child_process').execSync({json.dumps(one.text)}).toString()"),
    "php.system": lambda one: run("php -r", f"system({single(one.text)});"),
    "php.shell": lambda one: run("php -r", f"echo shell_exec({single(one.text)});"),
    "lua.execute": lambda one: run("lua -e", f"os.execute({double(one.text)})"),
    "awk.system": lambda one: run("awk", f"BEGIN {{ system({double(one.text)}) }}"),
    "awk.getline": lambda one: run("awk", f"BEGIN {{ {double(one.text)} | getline x; print x }}"),
    "awk.print": lambda one: run("awk", f"BEGIN {{ print 1 | {double(one.text)} }}"),
    "sed.e": lambda one: (
        f"sed -n {q('1e ' + one.text)} /etc/hostname" if "\n" not in one.text and "\\" not in one.text else ""
    ),
    "tar.checkpoint": lambda one: f"tar cf /dev/null --checkpoint=1 --checkpoint-action=exec={q(one.text)} .",
    "tar.program": lambda one: f"tar -cf x.tar --use-compress-program={q(one.text)} .",
    "vim": lambda one: one_line(one, f"vim -c {q(':!' + one.text)} -c :q"),
    "npm": lambda one: f"npm exec -c {q(one.text)}",
    "npx": lambda one: f"npx -c {q(one.text)}",
    "gdb": lambda one: one_line(one, f"gdb -batch -ex {q('!' + one.text)}"),
    "su": lambda one: f"su -c {q(one.text)}",
    "runuser": lambda one: f"runuser -u nobody -- sh -c {q(one.text)}",
    "nsenter": lambda one: f"nsenter -t 1 -m sh -c {q(one.text)}",
    "prompt": lambda one: f"PROMPT_COMMAND={q(one.text)} bash -i",
    "bash-env": lambda one: f"printf %s {q(one.text)} > {stem(one)}.sh; BASH_ENV={stem(one)}.sh bash -c true",
    "function.exported": lambda one: f"f() {{ {one.text}\n}}; export -f f; bash -c f",
}

# Ways after which a harmless command may be held, and why.
HELD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("sudo", "pipe.sudo", "su", "runuser", "nsenter"), "other privileges"),
    **dict.fromkeys((name for name in CARRIERS if name.startswith(("base64", "hex", "octal"))), "decoded text is run"),
    **dict.fromkeys(("reversed", "translated"), "decoded text is run"),
    **dict.fromkeys(
        ("substitution", "backticks", "git.rebase", "git.bisect", "git.alias"),
        "what was printed is run, or git is configured",
    ),
    **dict.fromkeys(
        ("gdb", "strace", "prompt", "bash-env", "git.pager"), "a debugger, or a variable that runs commands"
    ),
    **dict.fromkeys(("npm", "npx"), "may fetch what it runs"),
}
