#!/usr/bin/env bash
# Builds the plugin, puts it through `baleen validate`, and trains the example with it. Words are passed on to validate,
# as in ./test.sh --set OPTION=VALUE. BALEEN names the program where it is not in PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
baleen=${BALEEN:-$(command -v baleen)}
prefix=$(cd "$(dirname "$(readlink -f "$baleen")")/.." && pwd)
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
cmake --build build
"$baleen" validate build/baleen_@KIND@_@NAME@.so@VALIDATE@ "$@"
@TRAIN@
