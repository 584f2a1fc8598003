#!/bin/sh
# Sees that the packages of the given sets are there, and installs those that
# are not.   usage: install.sh build|check|format ...
#
#   DEPS=no    only look; say what is missing
#   BLIS_DIR=  a BLIS of your own; no BLIS package is asked for
#   CC= CLANG= the compilers, where they are not cc and clang-16
#
# Exit status: 0 all there, 2 something is missing and could not be installed.
set -u
export LC_ALL=C
here=$(dirname "$0")
list=${DEPS_LIST:-$here/packages.txt}
clang=${CLANG:-clang-16}

rows() { # the rows of the sets named in the arguments
    awk -v sets=" $* " '!/^#/ && NF && index(sets, " " $2 " ") { print $1, $3 }' "$list"
}

installed() { # those of the packages in the arguments that dpkg has
    dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | awk '$2 == "installed" { print $1 }'
}

probe() {
    case $1 in
    cmd:*) command -v "${1#cmd:}" >/dev/null 2>&1 ;;
    header:*)
        echo "${1#header:}" | tr ',' '\n' | sed 's/.*/#include <&>/' | ${CC:-cc} -E -x c - >/dev/null 2>&1 ;;
    blis) CC=${CC:-cc} "$here/blis.sh" --cflags >/dev/null ;;
    file:*) [ -e "${1#file:}" ] ;;
    clang) command -v "$clang" >/dev/null 2>&1 ;;
    clang-rt) find "$("$clang" -print-runtime-dir 2>/dev/null)" -name '*fuzzer*' 2>/dev/null | grep -q . ;;
    *) return 1 ;;
    esac
}

missing() { # the packages of the given sets that are neither installed nor found
    all=$(rows "$@")
    # shellcheck disable=SC2046 # package names have no spaces
    have=" $(installed $(echo "$all" | cut -d' ' -f1) | tr '\n' ' ') "
    echo "$all" | while read -r package how; do
        [ "$how" = blis ] && [ -n "${BLIS_DIR:-}" ] && { probe blis || echo "$package"; continue; }
        case $have in *" $package "*) continue ;; esac
        probe "$how" || echo "$package"
    done
}

give_up() { # reason
    echo
    echo "tansy: $1"
    echo "tansy: the missing packages are installed by this line, as root:"
    echo
    echo "    apt-get install -y $want"
    echo
    exit 2
} >&2

apt() { # apt-get with what makes it quiet, unattended and quick to give up
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
        -o Dpkg::Use-Pty=0 -o APT::Update::Error-Mode=any -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
        -o Acquire::https::Timeout=20 -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
}

[ $# -gt 0 ] || { echo "usage: install.sh build|check|format ..." >&2; exit 2; }
want=$(missing "$@" | tr '\n' ' ')
want=${want% }
[ -n "$want" ] || exit 0

if [ -n "${BLIS_DIR:-}" ] && ! probe blis; then
    echo "tansy: no BLIS in BLIS_DIR=$BLIS_DIR (looked for include/blis/blis.h and lib/libblis.*)" >&2
    exit 2
fi
if ! command -v apt-get >/dev/null 2>&1; then
    {
        echo
        echo "tansy: not found on this system: $want"
        echo "tansy: (these are Debian's package names). There is no apt-get here: install them with"
        echo "tansy: the system's own tools. BLIS (https://github.com/flame/blis) may stand anywhere:"
        echo
        echo "    make BLIS_DIR=/its/prefix"
        echo
    } >&2
    exit 2
fi

echo "tansy: missing packages: $want" >&2
[ "${DEPS:-yes}" = no ] && give_up "DEPS=no, so nothing is installed."
as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || give_up "neither root nor sudo, so nothing can be installed."
    if sudo -n true 2>/dev/null; then as_root="sudo -n"
    elif [ -t 2 ] && sudo -v; then as_root=sudo
    else give_up "sudo asks for a password, so nothing can be installed."
    fi
fi

echo "tansy: installing them: apt-get install -y $want" >&2
# shellcheck disable=SC2086 # a list of package names
{
    if ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 && apt install --no-install-recommends $want; then :
    else
        apt update || give_up "apt-get update failed (no network?)."
        apt install --no-install-recommends $want || give_up "apt-get install failed (no network?)."
    fi
}
left=$(missing "$@" | tr '\n' ' ')
[ -z "$left" ] || { want=${left% }; give_up "still missing after the installation: $want"; }
