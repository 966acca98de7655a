#!/bin/sh
# fresh-root.sh ROOT USER COMMAND…: runs a command in a root folder of its own. It has the system's programs, a /usr/local with
# nothing but Node and npm, empty settings and homes, and the folders of MOUNTS (`FROM:TO`, one a line). As root.
set -eu
export root="$1" user="$2"
shift 2
if [ ! -d "$root" ]; then
  mkdir -p "$root/usr" "$root/proc" "$root/dev" "$root/tmp" "$root/run" "$root/root" "$root/var/lib" "$root/home/node"
  mkdir -p "$root/etc/systemd/system" "$root/local/bin" "$root/local/lib/node_modules"
  chmod 755 "$root"
  chmod 1777 "$root/tmp"
  for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
  printf '%s\n' root:x:0:0::/root:/bin/sh node:x:1000:1000::/home/node:/bin/sh > "$root/etc/passwd"
  printf '%s\n' root:x:0: node:x:1000: > "$root/etc/group"
  chown 1000:1000 "$root/home/node"
  cp "$NODE" "$root/local/bin/node"
  cp -r "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$root/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/local/bin/npm"
fi
exec unshare --mount --pid --fork sh -euc '
  mount --bind /usr "$root/usr"
  mount --bind "$root/local" "$root/usr/local"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  echo "${MOUNTS:-}" | while IFS=: read -r from to; do
    [ -z "$from" ] && continue
    mkdir -p "$root$to"
    mount --bind "$from" "$root$to"
  done
  exec chroot --userspec="$user" "$root" "$@"' sh "$@"
