#!/bin/sh
# What derivatives keep and recompute: every program of the examples, of tests/golden/jax and of tests/costs that has
# one, under every policy that takes no arguments, as tests/costs.csv.  None of it depends on the machine.  The last
# column is the saved set: who made each value, and in which line.
#     costs.sh            prints it
#     costs.sh --diff     compares it with tests/costs.csv, one test a row
# TANSY is the tool's path.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
TANSY=${TANSY:-$PWD/build/tansy}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

columns='residual_bytes recomputed_flops recomputed_transcendentals peak_forward_bytes peak_backward_bytes peak_bytes equations'

rows() {
    printf 'program,policy,%s,saved\n' "$(printf '%s' "$columns" | tr ' ' ,)"
    for file in examples/*.tn tests/golden/jax/*.tn tests/costs/*.tn; do
        # A linear program has no derivative but itself.
        "$TANSY" policies "$file" --json >"$temp/lines" 2>"$temp/why" || continue
        awk -v program="$(basename "$file" .tn)" -v columns="$columns" '
            function field(name,  at, rest) {
                at = index($0, "\"" name "\": ")
                if (!at) return ""
                rest = substr($0, at + length(name) + 4)
                sub(/[,}].*/, "", rest)
                gsub(/"/, "", rest)
                return rest
            }
            {
                line = program "," field("policy")
                n = split(columns, column, " ")
                for (i = 1; i <= n; i++) line = line "," field(column[i])
                print line
            }' "$temp/lines" >"$temp/rows"
        while IFS= read -r row; do
            policy=${row#*,}
            printf '%s,' "$row"
            "$TANSY" residuals "$file" --policy "${policy%%,*}" | awk '
                NF == 0 { exit }
                $3 == "saved" || $3 == "offloaded" { sub(/.*:/, "", $5); printf "%s%s:%s", space, $4, $5; space = " " }
                END { print "" }'
        done <"$temp/rows"
    done
}

rows >"$temp/new"
[ "${1-}" = --diff ] || { cat "$temp/new"; exit 0; }
diff -u tests/costs.csv "$temp/new" >"$temp/diff" || :
total=$(wc -l <"$temp/new")
failed=$(grep -c '^[-+][^-+]' "$temp/diff" || :)
[ "$failed" -le "$total" ] || failed=$total
cat "$temp/diff"
echo "$((total - failed)) passed, $failed failed"
[ "$failed" = 0 ] || { echo "if that is meant: make costs-record" >&2; exit 1; }
