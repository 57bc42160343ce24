#!/bin/sh
# Where the system call is forbidden, as in containers, the device of userfaultfd is enough; without
# it the message names it. Usage: test_container.sh WITHOUT_USERFAULTFD FARFAULT PROGRAM
set -eu
if [ -r /dev/userfaultfd ] && [ -w /dev/userfaultfd ]; then
    "$1" --device "$2" run --quiet --memory 8M -- "$3" --size 12M --check | grep 'verified: yes'
else
    "$1" --device "$2" run -- "$3" 2>&1 | grep /dev/userfaultfd
fi
