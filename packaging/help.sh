#!/bin/sh
# help.sh PROGRAM [COMMAND] --help: the program's help in the form that help2man understands: no line is broken, the heading of a
# group of options is a heading, and examples are commands.
set -eu
ARGP_HELP_FMT=opt-doc-col=60,rmargin=500 "$@" |
    sed -E -e 's/^Example:/Examples:/' -e 's/^ ([A-Z][A-Za-z ]*:)$/\1/' -e '/^Examples:/,/^$/s/^  ([a-z])/  $ \1/'
