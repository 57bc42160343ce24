# The functions of a zsh completion, from the lines of options.sh.
function quoted(text) {
    gsub(/'/, "'\\''", text)
    gsub(/[][]/, "\\\\&", text)
    gsub(/:/, "\\:", text)
    return text
}

# One of the names that `farfault list LIST` has, or several with commas.
function names(list) {
    return "{ _sequence compadd -- $(_farfault_names " list ") }"
}

# What completes a value that --help calls so, of this option.
function action(name, value) {
    if (name == "system" || name == "systems") return names("systems")
    if (name == "gpu") return names("gpus")
    if (name == "programs") return names("programs")
    if (value ~ /FILE|TRACE|SOCKET|PATH|FOLDER|json/) return "_files"
    if (value ~ /^[a-z0-9]+[A-Z]?\|/) { gsub(/\|/, " ", value); return "(" value ")" }
    return " "
}

$1 == "command" {
    commands = commands sprintf("        '%s:%s'\n", $2, quoted($3))
}
$1 == "words" { first[$2] = $3 }
$1 == "option" {
    mark = $6 == "required" ? "=" : $6 == "optional" ? "=-" : ""
    about = "[" quoted($7) "]"
    after = $6 == "none" ? "" : ($6 == "optional" ? "::" : ":") quoted($5) ":" action($4, $5)
    lines[$2] = lines[$2] sprintf("            '--%s%s%s%s' \\\n", $4, mark, about, after)
    short = $3 == "?" ? "\\?" : $3
    mark = $6 == "required" ? "+" : ""
    if ($3 != "-")
        lines[$2] = lines[$2] sprintf("            '-%s%s%s%s' \\\n", short, mark, about, after)
}

# What completes the words of a command that are no options.
function words(command) {
    if (command == "run" || command == "record") return "'*::program:_normal'"
    if (command == "compare") return "'*:program:" names("programs") "'"
    if (command == "sim" || command == "train") return "'*:workload:" names("workloads") "'"
    if (command == "predict") return "'1:model:_files' '*:workload:" names("workloads") "'"
    if (command == "list")
        return "'1:list:(" first[command] ")' '*:name:{ compadd -- $(_farfault_names $line[1]) }'"
    if (command in first) return "'1: :(" first[command] ")' '*:file:_files'"
    return "'*:file:_files'"
}

END {
    print "\n_farfault() {\n    local -a commands=(\n" commands "    )"
    print "    if ((CURRENT == 2)); then"
    print "        _describe command commands\n        return\n    fi"
    print "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in"
    print "    help) _describe command commands ;;"
    for (command in lines)
        printf "    %s)\n        _arguments -s \\\n%s            %s\n        ;;\n", command,
            lines[command], words(command)
    print "    esac\n}\n\n_farfault \"$@\""
}
