#!/bin/sh
# Runs a command, with what the sanitizers named in SAN need around it.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export ASAN_OPTIONS="detect_stack_use_after_return=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export TSAN_OPTIONS="halt_on_error=1:suppressions=$here/tests/threads/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
case ${SAN:-} in
'') exec "$@" ;;
esac
# The sanitizers' fixed shadow addresses collide with the address space layout of newer kernels.
if setarch -R true 2>/dev/null; then exec setarch -R "$@"; fi
exec "$@"
