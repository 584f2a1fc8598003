#!/bin/sh
# Manual pages of functions, from what the headers say.   usage: man.sh DIR HEADER.. | man.sh --list HEADER..
set -eu
export LC_ALL=C
here=$(dirname "$0")
dir=$1
shift
version=$(sed -n 's/^.define TN_VERSION *"\(.*\)".*/\1/p' "$here/../../include/tansy.h")
if [ "$dir" = --list ]; then dir=; else mkdir -p "$dir"; fi
awk -v dir="$dir" -v version="$version" -f "$here/header.awk" -f "$here/man.awk" "$@"
