#!/usr/bin/env bash
# The reference inspector as a client: lists the tools, reads, creates, is denied outside.
#
# usage: inspector.sh INSPECTOR RINGFENCE WORKSPACE
# WORKSPACE is an empty directory with nothing of worth beside it. It says `done` at its end.
set -euo pipefail
inspector=$1 ringfence=$2 workspace=$3

ask() { "$inspector" --cli "$ringfence" mcp --mode workspace-write --workspace "$workspace" "$@"; }
call() { name=$1; shift; ask --method tools/call --tool-name "$name" "$@"; }
fail() { printf '%s\n' "$@" >&2; exit 1; }
has() { case $1 in *"$2"*) ;; *) fail "no $2 in:" "$1" ;; esac; }

printf 'one\n' >"$workspace/a"

tools=$(ask --method tools/list)
for name in read write edit list bash; do has "$tools" "\"name\": \"$name\""; done

has "$(call read --tool-arg file_path=a)" '"totalLines": 1'

call write --tool-arg file_path=b --tool-arg content=two >/dev/null
[ "$(cat "$workspace/b")" = two ] || fail "b holds $(cat "$workspace/b")"

outside=$(dirname "$workspace")/outside
# A call that fails may end the inspector as an error.
has "$(call write --tool-arg file_path="$outside" --tool-arg content=x 2>&1 || true)" FS_SANDBOX_DENIED
[ ! -e "$outside" ] || fail "$outside is there"

echo done
