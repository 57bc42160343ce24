#!/bin/sh
# help.sh PROGRAM [COMMAND] --help: the program's help with no line broken, and the headings of
# groups of options at the margin.
set -eu
ARGP_HELP_FMT=opt-doc-col=60,rmargin=500 "$@" | sed -E 's/^ ([A-Z][A-Za-z ]*:)$/\1/'
