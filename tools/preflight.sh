#!/bin/sh
# `preflight.sh python` and `preflight.sh compiler` print the command that builds spantree, which
# begins with a slash, or else one line that says what is missing.
#
# PYTHON and CXX, where set, name the interpreter and the compiler; otherwise the usual names are
# tried in turn. Everything is tried by running it: a name on PATH may be a shim that leads nowhere.

find_python() {
    problem=
    for name in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
        python=$(command -v "$name") || continue
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            : "${problem:=$name has no venv module: install it (on Debian and Ubuntu: $name-venv)}"
        elif ! "$python" -c '
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_config_var("INCLUDEPY"), "Python.h")))
' 2>/dev/null; then
            : "${problem:=$name has no C headers (Python.h): install them (on Debian and Ubuntu: $name-dev)}"
        else
            echo "$python"
            return
        fi
    done
    : "${problem:=Python 3.11 or newer is missing: install python3.11, or name an interpreter in PYTHON}"
    echo "$problem"
}

find_compiler() {
    problem="A C++ compiler is missing: install g++ or clang++, or name one in CXX"
    scratch=$(mktemp -d) || return
    trap 'rm -rf "$scratch"' EXIT
    echo '#include <concepts>
    template <std::integral T> T twice(T x) { return 2 * x; }
    int main() { return twice(0); }' >"$scratch/probe.cpp"
    if [ -n "${CXX:-}" ]; then set -- "$CXX"; else set -- c++ g++ clang++; fi
    for name in "$@"; do
        # CXX may carry flags, so $name is split into words on purpose.
        command -v ${name%% *} >/dev/null 2>&1 || continue
        if $name -std=c++20 "$scratch/probe.cpp" -o "$scratch/probe" >/dev/null 2>&1; then
            case $name in
            /*) echo "$name" ;;
            *" "*) echo "$(command -v "${name%% *}") ${name#* }" ;;
            *) command -v "$name" ;;
            esac
            return
        fi
        problem="The C++ compiler $name cannot build a C++20 program: install a newer g++ or clang++"
    done
    echo "$problem"
}

"find_$1"
