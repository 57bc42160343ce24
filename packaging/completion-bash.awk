# The functions of a bash completion, from the lines of options.sh.
$1 == "command" { commands = commands (commands == "" ? "" : " ") $2 }
$1 == "words" { words[$2] = $3 }
$1 == "option" {
    options[$2] = options[$2] " --" $4 ($6 == "required" ? "=" : "")
    if ($3 != "-" && $6 == "required")
        value[$2, "-" $3] = $5
    if ($5 != "-")
        value[$2, "--" $4] = $5
}
END {
    print "\n_farfault_options() {\n    case $1 in"
    for (command in options)
        printf "    %s) echo \"%s\" ;;\n", command, substr(options[command], 2)
    print "    esac\n}\n\n# What the value of an option is called in --help."
    print "_farfault_value() {\n    case $1$2 in"
    for (key in value) {
        split(key, part, SUBSEP)
        printf "    %s%s) echo '%s' ;;\n", part[1], part[2], value[key]
    }
    print "    esac\n}\n\n# What the first argument of a command may be."
    print "_farfault_words() {\n    case $1 in"
    for (command in words)
        printf "    %s) echo \"%s\" ;;\n", command, words[command]
    print "    esac\n}"
    print "\n_farfault_commands='" commands "'"
    while ((getline line < (FOLDER "completion.bash")) > 0)
        print line
}
