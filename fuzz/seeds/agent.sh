cd /repo && git status --short | head -20; echo '---'; git diff --stat HEAD~1 -- 'src/*.py'
cat <<'EOF' > /tmp/fix.py
def f(x):
    return "it's" + `x`  # (
EOF
python -m pytest tests/test_a.py -k "not slow" -x -q 2>&1 | tail -n 15
grep -rn "TODO\|FIXME" --include=*.{py,js} . | grep -v node_modules | awk '{print $2}' | sort | uniq -c
curl -fsSL "https://example.com/a?b=c&d=e#f" -o /tmp/a.json && jq -r '.items[] | select(.name=="x") | .id' /tmp/a.json
if ! command -v rg >/dev/null 2>&1; then echo missing; elif [ -z "${A-}" ]; then echo "$(echo "$(echo nested)")"; else :; fi
ls -la | while read -r line; do echo "${line##* }"; done
echo "a \"quoted\" \$word and \`tick\`" 'single '\''quoted'\''' $'tab\there' # trailing 'comment
VAR=1 OTHER="two words" env FOO=bar ./run.sh --flag=value -- "$@" < in.txt > out.txt 2>&1 &
