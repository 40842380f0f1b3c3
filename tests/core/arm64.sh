#!/usr/bin/env bash
# Play every case of the contract tests on an emulated arm64 processor and compare the bits with bits.json.
# Needs Debian 12 (its Python is 3.11) and root: installs qemu-user and a cross compiler, downloads an arm64 Python.
#     bash tests/core/arm64.sh [rounds: 400 or 4000] [part of a name]
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-400} part=${2:-} root=$PWD work=${ARM64_FOLDER:-build/arm64}
command -v qemu-aarch64 aarch64-linux-gnu-g++ >/dev/null || {
  apt-get update -qq && apt-get install -qq -y qemu-user g++-aarch64-linux-gnu >/dev/null
}
mkdir -p "$work" && work=$(cd "$work" && pwd)
if [ ! -d "$work/root" ]; then
  mkdir -p "$work/debs" "$work/site"
  dpkg --add-architecture arm64 && apt-get update -qq
  packages="libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libssl3 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1
    libpython3.11-minimal libpython3.11-stdlib python3.11-minimal libpython3.11-dev"
  (cd "$work/debs" && for package in $packages; do apt-get download -qq "$package:arm64" 2>/dev/null; done)
  for package in "$work"/debs/*.deb; do dpkg -x "$package" "$work/root"; done
  for package in numpy msgspec; do
    version=$(grep -i "^$package==" constraints.txt)
    python3 -m pip download --quiet --no-deps --dest "$work/wheels" --only-binary=:all: --python-version 3.11 \
      --platform manylinux2014_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 "$version"
  done
  for wheel in "$work"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/site"; done
fi
# A copy of the sources: the extension modules of this machine stay as they are.
rm -rf "$work/tree/src" "$work/tree/tests"
mkdir -p "$work/tree" && cp -r src tests build_core.py "$work/tree" && rm -f "$work"/tree/src/smidgen/_core/*.so
cd "$work/tree"
include="$work/root/usr/include"
emulated() { PYTHONPATH="$work/site:src:tests" qemu-aarch64 -L "$work/root" "$work/root/usr/bin/python3.11" "$@"; }
CXX=aarch64-linux-gnu-g++ CXXFLAGS="-I$include -I$include/python3.11 -I$include/aarch64-linux-gnu" emulated build_core.py
emulated -m core.play "$rounds" ${part:+"$part"} | tail -n +2 > "$work/played.txt"
python3 - "$rounds" "$part" "$work/played.txt" "$root/tests/core/bits.json" <<'PYTHON'
import json
import sys

rounds, part, file, recorded = sys.argv[1:]
with open(recorded) as bits, open(file) as lines:
    expected = {name: each for name, each in json.load(bits)[rounds].items() if not part or part in name}
    played = dict(line.strip().rsplit(": ", 1) for line in lines)
different = sorted(name for name in expected if played.get(name) != expected[name])
print("\n".join(different))
print(f"arm64: {len(expected) - len(different)} of {len(expected)} digests are equal")
sys.exit(bool(different) or not expected)
PYTHON
