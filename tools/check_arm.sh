#!/bin/sh
# Compiles the C++ kernel for ARM and asks it questions with known answers, on any machine with a
# cross compiler and qemu (Debian: g++-aarch64-linux-gnu and qemu-user).
set -eu
cd "$(dirname "$0")/.."
for needed in aarch64-linux-gnu-g++ qemu-aarch64; do
    command -v "$needed" >/dev/null || { echo "check_arm: $needed is missing" >&2; exit 1; }
done
native=src/spantree/kernels/_native
program=build/arm/known_answers
mkdir -p build/arm
# The flags of CMakeLists.txt.
aarch64-linux-gnu-g++ -std=c++20 -O2 -fno-math-errno -ffp-contract=off \
    -fno-tree-loop-distribute-patterns -Wall -Wextra -Wno-psabi -Werror \
    -DSPANTREE_ISA=neon -I "$native" tools/known_answers.cpp \
    "$native"/engine.cpp "$native"/decoder.cpp "$native"/sampler.cpp \
    "$native"/dispatch.cpp "$native"/decoding.cpp "$native"/sampling.cpp "$native"/threads.cpp \
    -static -pthread -o "$program"
qemu-aarch64 "$program"
