#!/bin/sh
# options.sh FARFAULT: what the command line has, read from --help, a line each, its fields
# separated by tabs:
#   command  NAME     SUMMARY
#   words    COMMAND  WORD...  what its first argument may be, where --help names all
#   option   COMMAND  SHORT  LONG  VALUE  HOW  HELP
# SHORT and VALUE may be -; HOW is required, optional or none.
set -eu
farfault=$1
help=$(dirname "$0")/help.sh
tab=$(printf '\t')

"$help" "$farfault" --help | sed -n \
    "/^Commands:/,/^\$/s/^  \([a-z][a-z]*\)  *\(.*\)/command$tab\1$tab\2/p"
for command in $("$help" "$farfault" --help | sed -n \
    '/^Commands:/,/^$/s/^  \([a-z][a-z]*\)  .*/\1/p'); do
    [ "$command" = help ] || "$help" "$farfault" "$command" --help | awk -v command="$command" '
        /^Usage: .*\] \[?[a-z0-9-]+\|/ {
            sub(/^[^]]*\] \[?/, "")
            sub(/[^a-z0-9|-].*/, "")
            gsub(/\|/, " ")
            printf "words\t%s\t%s\n", command, $0
        }
        /^ +(-., )?--?[a-z?]/ {
            sub(/^ +/, "")
            text = $0
            sub(/  .*/, "", text)       # what is before the description
            about = substr($0, length(text) + 1)
            sub(/^ +/, "", about)
            short = "-"
            if (text ~ /^-[^-],/) { short = substr(text, 2, 1); text = substr(text, 5) }
            how = "none"; value = "-"; name = text
            if (text ~ /\[=/) {
                how = "optional"; value = text
                sub(/^[^[]*\[=/, "", value); sub(/\]$/, "", value); sub(/\[=.*/, "", name)
            } else if (text ~ /=/) {
                how = "required"; value = text
                sub(/^[^=]*=/, "", value); sub(/=.*/, "", name)
            }
            sub(/^--/, "", name)
            printf "option\t%s\t%s\t%s\t%s\t%s\t%s\n", command, short, name, value, how, about
        }'
done
