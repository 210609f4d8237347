#!/usr/bin/env bash
# Ends with 0 if the task is complete, 1 if it is not, 3 if stopgate cannot be reached: never a pass by accident.
set -euo pipefail
npx stopgate verify --task "${1:?usage: gate.sh TASK}"
