#!/bin/sh
# tansy run --mpi: what --ranks gives, from processes; and that what is wrong on one of them ends all, and is said once.
#   usage: tool.sh MPIRUN        (TANSY is the tool's path)
set -u
here=$(dirname "$0")
mpirun=$1
tansy=${TANSY:-build/tansy}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
ok() { passed=$((passed + 1)); }
wrong() {
    failed=$((failed + 1))
    echo "FAIL: $1"
    cat "$tmp/out" "$tmp/err"
}
ranks() { # number, arguments of run --mpi
    n=$1
    shift
    "$here/mpirun.sh" "$mpirun" -n "$n" "$tansy" run --mpi "$@" >"$tmp/out" 2>"$tmp/err"
}
fails() { # name, how often it is said (0: any), what, number, arguments
    name=$1 times=$2 says=$3
    shift 3
    if ranks "$@"; then
        wrong "$name: it runs"
    elif [ "$times" = 0 ] && ! grep -qF -- "$says" "$tmp/err"; then
        wrong "$name: it does not say $says"
    elif [ "$times" != 0 ] && [ "$(grep -cF -- "$says" "$tmp/err")" != "$times" ]; then
        wrong "$name: it says $says other than $times times"
    else
        ok
    fi
}

cat >"$tmp/line.tn" <<'T'
grid (w=2)
{ lambda a:f64[3]{V:w} b:f64[3] . let
    c:f64[3]{V:w} = pvary[axes=w] b
    d:f64[3]{V:w} = mul a c
    e:f64[3] = psum[axes=w] d
  in (d, e) }
T
cat >"$tmp/square.tn" <<'T'
grid (r=2, c=2)
{ lambda a:f64[2]{V:(r,c)} . let
    d:f64[2]{V:r} = psum[axes=c] a
    e:f64[2] = psum[axes=r] d
    s:f64[2]{V:(r,c)} = shift[axes=c by=1] a
  in (d, e, s, a) }
T
cat >"$tmp/assert.tn" <<'T'
grid (w=3)
{ lambda . let
    i:i64[]{V:w} = axis_index[axes=w]
    l:i64[]{V:w} = pvary[axes=w] 1:i64[]
    p:bool[]{V:w} = ne i l
    () = assert[message="not the middle"] p
    x:f64[]{V:w} = convert_element_type[new_dtype=f64] i
    s:f64[] = psum[axes=w] x
  in (s,) }
T
cat >"$tmp/no_grid.tn" <<'T'
{ lambda a:f64[] . let
    b:f64[] = neg a
  in (b) }
T
"$tansy" vmap --size 1 --in-axes 0 "$tmp/no_grid.tn" >/dev/null || wrong "a text is refused"

for p in line:2 square:4; do
    program=$tmp/${p%:*}.tn n=${p#*:}
    if [ "$n" = 2 ]; then set -- '[1, 2, 3]' '[1, -1, 0.5]'; else set -- '[0.5, 2]'; fi
    "$tansy" run --ranks "$n" "$program" "$@" >"$tmp/want" || wrong "run --ranks $n"
    if ranks "$n" "$program" "$@" && cmp -s "$tmp/want" "$tmp/out"; then ok; else wrong "$program: printed otherwise"; fi
    "$tansy" run --ranks "$n" --out "$tmp/want.d" "$program" "$@" || wrong "run --ranks --out"
    if ranks "$n" --wait 60 "$program" "$@" && cmp -s "$tmp/want" "$tmp/out"; then ok; else wrong "$program: printed otherwise with a limit"; fi
    if ranks "$n" --out "$tmp/got.d" "$program" "$@" && diff -r "$tmp/want.d" "$tmp/got.d"; then ok; else wrong "$program: other files"; fi
    rm -rf "$tmp/want.d" "$tmp/got.d"
done

# What each rank writes, each reads again.
ranks 2 --out "$tmp/rank{rank}" "$tmp/line.tn" '[1, 2, 3]' '[1, -1, 0.5]' || wrong "--out with {rank}"
if ranks 2 "$tmp/line.tn" "@$tmp/rank{rank}/0.npy" '[2, 2, 2]' && [ "$(sed -n 3p "$tmp/out")" = '[4, -8, 6]' ]; then ok; else wrong "files of each rank"; fi

rm "$tmp/rank1/0.npy"
fails "a file that one rank has not" 1 "rank1/0.npy" 2 "$tmp/line.tn" "@$tmp/rank{rank}/0.npy" '[2, 2, 2]'
fails "other ranks than the grid's" 1 "has 2 ranks, the communicator 3" 3 "$tmp/line.tn" '[1, 2, 3]' '[1, 1, 1]'
fails "an assertion on one rank" 1 "rank 1: " 3 "$tmp/assert.tn"
fails "no grid" 0 "the program has no grid of ranks" 1 "$tmp/no_grid.tn" 1
fails "threads as well" 0 "one of them" 1 --ranks 2 "$tmp/line.tn" '[1, 2, 3]' '[1, 1, 1]'
fails "standard input" 0 "--mpi needs a file" 1 - 1
"$tansy" run --ranks 2 --out "$tmp/b{rank}" "$tmp/line.tn" '[1, 2, 3]' '[1, 1, 1]' && mv "$tmp/b1/1.npy" "$tmp/b1/x.npy" &&
    "$tansy" run --ranks 2 --out "$tmp/c{rank}" "$tmp/line.tn" '[1, 2, 3]' '[1, 1, 2]' && cp "$tmp/c1/1.npy" "$tmp/b1/1.npy"
fails "an input that should be replicated" 1 "is declared replicated" 2 "$tmp/line.tn" '[1, 2, 3]' "@$tmp/b{rank}/1.npy"

# Without the library; a sanitized tool finds its own library in another way, and it may be installed.
if [ -z "${SAN:-}" ] && ! ldconfig -p 2>/dev/null | grep -q libtansy-mpi; then
    mkdir "$tmp/bin" && cp "$tansy" "$tmp/bin/tansy"
    if LD_LIBRARY_PATH='' "$tmp/bin/tansy" run --mpi "$tmp/line.tn" 1 1 >"$tmp/out" 2>"$tmp/err"; then
        wrong "it runs without libtansy-mpi"
    elif grep -q "libtansy-mpi.so.0 cannot be loaded: .*(make doors" "$tmp/err"; then
        ok
    else
        wrong "it does not say what is missing"
    fi
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
