#!/bin/sh
# Prints a Python 3.11 … 3.14 that can make virtual environments; otherwise says in one line how to get one.
for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3 python; do
  [ -n "$candidate" ] || continue
  if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; then
    "$candidate" -c 'import sys; print(sys.executable)'
    exit 0
  fi
done
if command -v apt-get >/dev/null 2>&1; then
  echo "gputuner needs Python 3.11 or newer with venv: sudo apt-get install python3 python3-venv" >&2
elif command -v dnf >/dev/null 2>&1; then
  echo "gputuner needs Python 3.11 or newer with venv: sudo dnf install python3.12" >&2
elif command -v pacman >/dev/null 2>&1; then
  echo "gputuner needs Python 3.11 or newer with venv: sudo pacman -S python" >&2
else
  echo "gputuner needs Python 3.11 … 3.14 with the module ensurepip: https://www.python.org/downloads/" >&2
fi
exit 1
