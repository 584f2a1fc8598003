#!/bin/sh
# Whether programs that were built with an older interface run with a newer one (docs/abi.md).
# usage: compare.sh OLD NEW   both as abi.sh writes them.  What is broken is listed, unless the soname says so, too.
set -eu
export LC_ALL=C
awk '
    # Structs that a caller states the size of, of which any size is taken.  Others stay as they are: the caller makes
    # them by value, or they are taken in the one size that is known.
    BEGIN {
        split("tn_ctx_options tn_compile_options tn_policy tn_cost_report tn_residual_totals tn_budget_report " \
              "tn_schedule_options tn_schedule_counts tn_check_options tn_external_spec tn_loop_options tn_emit_c_options " \
              "tn_coloring_options tn_sparsity_options tn_sparse_options", list, " ")
        for (i in list) grows[list[i]] = 1
        # What the library fills, and states the size of.
        split("tn_lint_warning tn_candidate tn_residual tn_step tn_effect", list, " ")
        for (i in list) grows[list[i]] = 1
        counts["TN_NDTYPES"] = 1 # one more than the last
    }
    function key() { return $1 ~ /^tn_/ ? "symbol " $1 : $1 == "function" ? $1 " " name($0) : $1 " " $2 }
    function name(line) { match(line, /tn_[a-z0-9_]* \(/); return substr(line, RSTART, RLENGTH - 2) }
    function broken(text) { n++; report = report text "\n" }
    /^#/ { next }
    FILENAME == ARGV[1] { old[key()] = $0; order[++m] = key(); next }
    { new[key()] = $0 }
    END {
        if (!m) { print "no version has been released: there is nothing to compare with"; exit 0 }
        for (i = 1; i <= m; i++) {
            k = order[i]
            split(k, part, " ")
            if (part[1] == "soname") { soname = soname || !(k in new); continue }
            if (!(k in new)) { broken(k " is gone"); continue }
            if (old[k] == new[k] || part[1] == "symbol") continue
            if (part[1] == "value" && part[2] in counts) continue
            if (part[2] in grows) {
                was = old[k]; sub(/ }$/, "", was)
                if (part[1] == "struct" && index(new[k], was) == 1) continue
                split(old[k], a, " "); split(new[k], b, " ")
                if (part[1] == "sizeof" && b[3] + 0 >= a[3] + 0) continue
            }
            broken(k ": was " old[k] "\n    is " new[k])
        }
        if (n && !soname) { printf "%s%d changes break programs that are built: they want a new soname (docs/abi.md)\n", report, n; exit 1 }
        printf "%d entries of the older interface hold%s\n", m - n, soname ? ", and the soname has changed" : ""
    }
    ' "$1" "$2"
