#!/usr/bin/env bash
# Makes what a build for ARM's 64 bits needs on another machine: the cross compiler, qemu, and build/aarch64_sysroot with
# Debian's libraries for arm64. They are fetched beside the system's own packages, which know nothing of them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/packages.sh
source "$root/scripts/packages.sh"
baleen_need_packages g++-aarch64-linux-gnu qemu-user

sysroot=$root/build/aarch64_sysroot
if [ -e "$sysroot/complete" ]; then
  echo "aarch64: the libraries are in ${sysroot#"$root"/}"
  exit 0
fi
state=$root/build/aarch64_apt
rm -rf "$sysroot" "$state"
mkdir -p "$sysroot" "$state/lists/partial" "$state/cache/archives/partial" "$state/etc"
touch "$state/status"
# Debian's own places alone: another vendor's need not have packages for this machine.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  if grep -qs 'deb\.debian\.org\|\.debian\.org/debian\|/debian[ /]' "$list"; then cp "$list" "$state/etc/"; fi
done
options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$state" -o "Dir::State::lists=$state/lists"
  -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache" -o Dir::Etc::sourcelist=/dev/null
  -o "Dir::Etc::sourceparts=$state/etc" -o APT::Install-Recommends=false -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
apt-get "${options[@]}" update
packages=()
for package in "${baleen_build_packages[@]}"; do
  case "$package" in
    build-essential | g++ | cmake | ninja-build | ccache | pkg-config | libxbyak-dev | libipsec-mb-dev) ;; # of the machine that compiles
    *) packages+=("$package") ;;
  esac
done
apt-get "${options[@]}" --download-only -y install "${packages[@]}"
for archive in "$state"/cache/archives/*.deb; do
  case "$(basename "$archive")" in
    # The cross compiler has its own.
    libc6-dev_* | linux-libc-dev_* | libstdc++-*-dev_* | libgcc-*-dev_*) ;;
    *) dpkg-deb -x "$archive" "$sysroot" ;;
  esac
done
# Links to /lib/... mean the sysroot's.
while IFS= read -r link; do
  ln -sfn "$sysroot$(readlink "$link")" "$link"
done < <(find "$sysroot" -type l -lname '/*')
rm -rf "$state"
touch "$sysroot/complete"
echo "aarch64: ${#packages[@]} libraries and what they need are in ${sysroot#"$root"/}"
