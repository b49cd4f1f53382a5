usage() { cat <<'USAGE'
usage: tool [-h] [-v] 'file'
  it's $(not) run
USAGE
}
while getopts ":hvo:" opt; do
  case $opt in
    h) usage; exit 0 ;;
    v) verbose=$((verbose+1)) ;;
    o) out=$OPTARG ;;
    \?|:) echo "bad: -$OPTARG" >&2; exit 2;;
  esac
done
shift $((OPTIND-1))
select choice in one two "three four"; do [ -n "$choice" ] && break; done <<< 2
trap 'rm -f "$tmp"' EXIT
tmp=$(mktemp) && sort -u <(grep -v '^#' "$1") <(printf "a\nb\n") > "$tmp"
until ping -c1 host &>/dev/null; do sleep 1; break; done
declare -A map=([a]=1 ["b c"]=2); for k in "${!map[@]}"; do echo "$k=${map[$k]}"; done
