#!/bin/sh
# Every public header compiles by itself as each version of C and C++, with both compilers'
# warnings. Usage: test_headers.sh INCLUDE
set -eu
include=$1
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'

# whole LANGUAGE STANDARD COMPILER
whole() {
    for header in "$include"/farfault/*.h; do
        echo "#include <farfault/${header##*/}>" |
            "$3" -x "$1" -std="$2" $warnings -I "$include" -fsyntax-only - ||
                { echo "${header##*/}: $3 -std=$2"; exit 1; }
    done
}

for standard in c11 c17 c2x; do
    whole c $standard gcc
    whole c $standard clang
done
for standard in c++17 c++20; do
    whole c++ $standard g++
    whole c++ $standard clang++
done
