# shellcheck shell=bash disable=SC2034
# The Debian packages the build and the tests need, and installing those that are missing. Sourced, not run.

# What users need to build and train.
baleen_build_packages=(build-essential g++ cmake ninja-build ccache pkg-config libboost-dev libtomlplusplus-dev
  libspdlog-dev liblua5.4-dev libgtest-dev nlohmann-json3-dev libcli11-dev libxxhash-dev libxbyak-dev libssl-dev libucx-dev
  libhwloc-dev libicu-dev libsentencepiece-dev liburing-dev)
# Debian has it for this architecture alone; without it, OpenSSL encrypts.
[ "$(uname -m)" != x86_64 ] || baleen_build_packages+=(libipsec-mb-dev)
# What the tests need besides: the second compiler and standard library, the Lua linter, and small helper programs, some of
# which make hosts and bad networks between them.
baleen_test_packages=(clang libclang-rt-14-dev libc++-dev libc++abi-dev lld lua-check clang-format clang-tidy python3 python3-venv iproute2 iptables
  e2fsprogs)

# Prints those of the given packages that are not installed, one a line.
baleen_missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

# Installs those of the given packages that are missing, where root or a password-less sudo allows it.
# Otherwise names them, says how to install them, and exits with status 2.
baleen_need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "note: no dpkg here, so the packages are not checked; needed are those of Debian 12: $*" >&2
    return 0
  fi
  local missing=()
  mapfile -t missing < <(baleen_missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      echo "error: these Debian packages are missing: ${missing[*]}" >&2
      echo "       install them with: sudo apt-get install ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo -n)
  fi
  echo "Installing Debian packages: ${missing[*]}"
  if ! "${as_root[@]}" apt-get update -qq ||
     ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
  then
    echo "error: installing failed (apt-get's own words are above); missing: ${missing[*]}" >&2
    exit 2
  fi
}
