#!/bin/sh
# completion.sh bash|zsh FARFAULT: a completion of the command line, on standard output, from what
# --help says.
set -eu
shell=$1 farfault=$2
here=$(dirname "$0")

echo "#$([ "$shell" = zsh ] && echo compdef farfault || echo ' bash completion for farfault')"
echo '# From what farfault --help says.'
cat <<'END'

# The names of a list, which has a heading.
_farfault_names() {
    farfault list "$1" 2>/dev/null | awk 'NR > 1 { sub(/:$/, "", $1); print $1 }'
}
END
"$here/options.sh" "$farfault" | awk -F '\t' -v FOLDER="$here/" -f "$here/completion-$shell.awk"
