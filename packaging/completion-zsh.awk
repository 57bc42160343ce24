# The functions of a zsh completion, from the lines of options.sh.
function quoted(text) {
    gsub(/'/, "'\\''", text)
    gsub(/[][]/, "\\\\&", text)
    gsub(/:/, "\\:", text)
    return text
}

# What completes a value that --help calls so, of this option.
function action(name, value) {
    if (name == "system" || name == "systems") return "{ _sequence compadd -- $(_farfault_names systems) }"
    if (name == "gpu") return "{ _sequence compadd -- $(_farfault_names gpus) }"
    if (name == "programs") return "{ _sequence compadd -- $(_farfault_names programs) }"
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
    if ($3 != "-")
        lines[$2] = lines[$2] sprintf("            '-%s%s%s%s' \\\n", $3 == "?" ? "\\?" : $3, $6 == "required" ? "+" : "", about, after)
}

# What completes the words of a command that are no options.
function words(command) {
    if (command == "run" || command == "record") return "'*::program:_normal'"
    if (command == "compare") return "'*:program:{ _sequence compadd -- $(_farfault_names programs) }'"
    if (command == "sim" || command == "train") return "'*:workload:{ _sequence compadd -- $(_farfault_names workloads) }'"
    if (command == "predict") return "'1:model:_files' '*:workload:{ _sequence compadd -- $(_farfault_names workloads) }'"
    if (command == "list") return "'1:list:(" first[command] ")' '*:name:{ compadd -- $(_farfault_names $line[1]) }'"
    if (command in first) return "'1: :(" first[command] ")' '*:file:_files'"
    return "'*:file:_files'"
}

END {
    print "\n_farfault() {\n    local -a commands=(\n" commands "    )"
    print "    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi"
    print "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n    help) _describe command commands ;;"
    for (command in lines)
        printf "    %s)\n        _arguments -s \\\n%s            %s\n        ;;\n", command, lines[command], words(command)
    print "    esac\n}\n\n_farfault \"$@\""
}
