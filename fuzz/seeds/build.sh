make -j"$(nproc)" CFLAGS='-O2 -Wall' 2>&1 | tee build.log; test ${PIPESTATUS[0]} -eq 0 || exit 1
find . -name '*.o' -newer Makefile -exec rm -f {} + -o -type d \( -name .git -o -name node_modules \) -prune
sed -e 's/foo;bar/baz/g' -e "s#^\(.*\)\$#'\1'#" in.txt | awk -F: '{ print $1, "it'"'"'s" }' >> out.txt
x=$(case $1 in a) echo A;; b|c) echo "B)";; (*) echo other; esac)
docker run --rm -v "$PWD":/src -w /src node:20 sh -c 'npm ci && npm test' &
pid=$!; wait $pid; echo "status $?"
[[ -f ~/.cache/x && ! -d "$x" || $x == *.tar.@(gz|xz) ]] && tar xf "$x"
python3 - "$x" <<PY | head -n 3 && echo ok
import sys
print(sys.argv[1], "${HOME}", '$(whoami)')
PY
coproc BC { bc -l; }; echo "2^10" >&"${BC[1]}"; read -r answer <&"${BC[0]}"
exec 3<>/tmp/f {log}>>all.log 4>&-
time -p { sleep 0 | cat |& wc -l; } 2>/dev/null
for ((i=0, j=10; i<j; i++, j--)); do echo $[i*j] ${arr[i]:-none} "${s:i:2}" "${s//[^a-z]/_}" ${s^^}; done
