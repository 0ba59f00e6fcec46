#!/bin/sh
# Runs nvcc and keeps what it says; says it too where it fails. Usage: compile_kernels.sh LOG nvcc arguments...
log=$1
shift
"$@" >"$log" 2>&1 || { status=$?; cat "$log"; exit "$status"; }
