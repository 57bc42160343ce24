# The manual page of a command, on standard output, from what its --help says, with no line of that
# broken.
#   also=MACROS awk -v name=PAGE -v summary=TEXT -v version=V -f page.awk -f command.awk

# Literal words in bold, what stands for something in italics.
function marked(text,    out, word, font) {
    while (match(text, /[A-Za-z0-9-]+/)) {
        word = substr(text, RSTART, RLENGTH)
        font = word ~ /^[A-Z]+$/ ? "\\fI" : "\\fB"
        out = out plain(substr(text, 1, RSTART - 1)) font plain(word) "\\fR"
        text = substr(text, RSTART + RLENGTH)
    }
    return out plain(text)
}

function option(text,    names) {
    sub(/^ +/, "", text)
    names = text
    sub(/  .*/, "", names)
    text = substr(text, length(names) + 1)
    sub(/^ +/, "", text)
    return ".TP\n" marked(names) "\n" plain(text) "\n"
}

# A command to type; what is too long for a line goes on in the next one.
function example(text,    out, end) {
    sub(/^ +/, "", text)
    while (length(text) > 70) {
        for (end = 69; substr(text, end, 1) != " "; end--)
            ;
        out = out plain(substr(text, 1, end) "\\") "\n"
        text = "    " substr(text, end + 1)
    }
    return out plain(text) "\n"
}

/^Usage: / { usage = substr($0, 8); next }
/^$/ { in_list = ""; next }
/^(More e|E)xamples?:/ { in_list = "examples"; next }
/^Commands:/ { in_list = "commands"; next }
/^[A-Z][a-z ]+:$/ { options = options ".SS " plain(substr($0, 1, length($0) - 1)) "\n"; next }
/^ +-/ && in_list == "" { options = options option($0); next }
in_list == "examples" { examples = examples example($0); next }
in_list == "commands" { commands = commands option($0); next }
/^Mandatory or optional arguments/ { next } # each option shows whether it has an argument
/^The exit status / { status = status plain($0) "\n"; next }
{ description = description (description == "" ? "" : ".PP\n") plain($0) "\n" }

END {
    begin(name, 1, summary, "User Commands")
    split(usage, parts, / \[OPTION/)
    printf ".SH SYNOPSIS\n\\fB%s\\fR%s\n", plain(parts[1]),
        marked(substr(usage, length(parts[1]) + 1))
    printf ".SH DESCRIPTION\n%s", description
    if (commands != "")
        printf ".SH COMMANDS\n%s", commands
    printf ".SH OPTIONS\n%s", options
    if (status != "")
        printf ".SH EXIT STATUS\n%s", status
    printf ".SH EXAMPLES\n.EX\n%s.EE\n", examples
    finish()
}
