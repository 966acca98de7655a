#!/bin/sh
# Stands in for Docker where there is none: `build` follows the Dockerfile in a fresh root folder, instruction by instruction,
# and `run` runs the entry point there. It knows what docs/team.md uses, and fails at anything else.
set -eu
image="$STAND_IN/image"
in_image() { MOUNTS="${mounts:-}" NODE="$NODE" "$FRESH_ROOT" "$image" "${as:-0:0}" env -i PATH="$PATH" HOME="${home:-/root}" $(cat "$STAND_IN/env") "$@"; }

build() {
  mkdir -p "$STAND_IN"
  : > "$STAND_IN/env"
  in_image true
  cwd=/
  while read -r instruction rest; do
    case "$instruction" in
      FROM) [ "$rest" = node:24-slim ] ;;
      WORKDIR) cwd="$rest"; mkdir -p "$image$cwd" ;;
      COPY) [ "${rest##* }" = ./ ]; cp ${rest% *} "$image$cwd" ;;
      RUN) in_image sh -euc "cd $cwd; $rest" ;;
      ENV) printf '%s\n' $rest >> "$STAND_IN/env" ;;
      USER) grep "^$rest:" "$image/etc/passwd" | cut -d: -f3,4 > "$STAND_IN/user" ;;
      VOLUME) [ -d "$image$rest" ] ;;
      ENTRYPOINT) [ "$rest" = '["hooktrail"]' ] ;;
      *) echo "docker: what is $instruction?" >&2; exit 125 ;;
    esac
  done < Dockerfile
}

run() {
  while :; do
    case "$1" in
      --rm) shift ;;
      --volume)
        # A new volume is like the image's folder.
        volume="$STAND_IN/volume-${2%%:*}"
        [ -d "$volume" ] || cp -a "$image${2#*:}" "$volume"
        mounts="${mounts:-}
$volume:${2#*:}"
        shift 2 ;;
      --mount)
        source="${2#*source=}"
        target="${2#*target=}"
        mounts="${mounts:-}
${source%%,*}:${target%%,*}"
        shift 2 ;;
      --env) more="${more:-} $2"; shift 2 ;;
      hooktrail:*) shift; break ;;
      *) echo "docker: what is $1?" >&2; exit 125 ;;
    esac
  done
  as="$(cat "$STAND_IN/user")"
  home=/home/node
  in_image ${more:-} hooktrail "$@"
}

case "$1" in
  build) [ "$2 $4" = "--tag ." ]; build ;;
  run) shift; run "$@" ;;
esac
