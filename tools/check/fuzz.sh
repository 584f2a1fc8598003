#!/bin/sh
# Runs one libFuzzer target on its corpus.   usage: [SHARE=N] fuzz.sh PROGRAM SECONDS [SEEDS...]
# SHARE: of the corpus one file in N, others with another TURN.
# SEEDS are directories of more inputs to begin with.
# New inputs go to the build directory, never to tests/fuzz/corpus; one that
# crashes is kept beside the program, and fails (77, the exit status that
# libFuzzer has for that, means skipped to run.sh).
set -eu
program=$1 seconds=$2
name=${program##*/}
found=$program.corpus
mkdir -p "$found"
shift 2
set -- "$found" "$@"
corpus=tests/fuzz/corpus/$name
if [ -d "$corpus" ] && [ -n "${SHARE:-}" ]; then
    rm -rf "$program.share" && mkdir "$program.share"
    for f in $(ls "$corpus" | awk -v n="$SHARE" -v turn="${TURN:-0}" '(NR + turn) % n == 0'); do cp "$corpus/$f" "$program.share"; done
    corpus=$program.share
fi
[ ! -d "$corpus" ] || set -- "$@" "$corpus"
[ ! -f "tests/fuzz/$name.dict" ] || set -- -dict="tests/fuzz/$name.dict" "$@"
SAN=address exec "$(dirname "$0")/sanitized.sh" "$program" -max_total_time="$seconds" -timeout=20 -error_exitcode=1 \
    -rss_limit_mb=3000 -print_final_stats=1 -artifact_prefix="$program." "$@"
