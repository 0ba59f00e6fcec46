#!/usr/bin/env bash
# Runs a Python program with the interpreter that BALEEN_PYTHON names, else python3. Exits with 77 where there is none.
set -euo pipefail
python=${BALEEN_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "skipped: there is no Python \`$python\`"; exit 77; }
exec "$python" "$@"
