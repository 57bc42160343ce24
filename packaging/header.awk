# A manual page of a public header, on standard output: comments become text, declarations stay as
# they are, the bodies of inline functions are left out.  also=MACROS awk -v header=NAME -v
# page=NAME -v version=V -f page.awk -f header.awk FILE

# Words of a comment in lines of the page, indented by spaces.
function say(text, spaces,    n, words, i, line) {
    n = split(text, words, " ")
    line = spaces "/*"
    for (i = 1; i <= n; i++) {
        if (length(line " " words[i]) > WIDTH - (i == n ? 3 : 0)) {
            print plain(line)
            line = spaces " *"
        }
        line = line " " words[i]
    }
    print plain(line " */")
}

# One declaration, in lines of the page.
function declare(text,    spaces, end) {
    match(text, /^ */)
    spaces = substr(text, 1, RLENGTH) "    "
    if (text ~ /\\$/)
        sub(/ *\\$/, " \\", text)
    while (length(text) > WIDTH && text !~ /\\$/) {
        for (end = WIDTH; substr(text, end, 1) != " "; end--)
            ;
        if (end <= length(spaces))
            break
        print plain(substr(text, 1, end - 1))
        text = spaces substr(text, end + 1)
    }
    print plain(text)
}

# How many more brackets a text opens than it closes.
function open_brackets(text) {
    return gsub(/\(/, "(", text) - gsub(/\)/, ")", text)
}

function trimmed(text) {
    gsub(/^ +| +$/, "", text)
    return text
}

# Prints lines of code so that they fit on the page: each declaration in one line if it can be, and
# what a line is too short for, a comment after it, above it. Of the variants for several compilers
# the first stands for all.
function end_code(    i, text, at, about, name) {
    for (i = 1; i <= lines; i++) {
        text = line[i]
        about = ""
        at = text ~ /^#define/ ? 0 : index(text, "/*")
        while (at && text !~ /\*\/$/ && i < lines) {
            sub(/^ *(\* )?/, "", line[++i])
            text = text " " line[i]
        }
        if (at) {
            about = trimmed(substr(text, at + 2, length(text) - at - 3))
            if (trimmed(substr(text, 1, at - 1)) == "") {
                say(about, substr(text, 1, at - 1))
                continue
            }
            if (length(text) > WIDTH) {
                match(text, /^ */)
                say(about, substr(text, 1, RLENGTH))
                text = substr(text, 1, at - 1)
                sub(/ +$/, "", text)
            }
        }
        while (text !~ /\\$/ && i < lines && (open_brackets(text) > 0 || text == "extern"))
            text = text " " trimmed(line[++i])
        name = text
        if (text ~ /^#define/)
            sub(/\).*/, "", name)
        if (name ~ /\(/ && name ~ /^[#a-z]/ && seen[name]++)
            continue
        declare(text)
    }
    if (lines)
        print ".EE"
    lines = 0
}

function code(text) {
    if (!lines)
        print ".PP\n.EX"
    line[++lines] = text
}

# One line of a comment: of what is indented a list has its items, and the rest keeps its lines.
function comment(text) {
    indented = text ~ /^ /
    if (text == "") {
        print ".PP"
        in_item = 0
    } else if (text ~ /^ *- /) {
        in_item = 1
        sub(/^ *- /, "", text)
        print ".IP \\- 2\n" plain(text)
    } else {
        if (in_item && !indented)
            print ".PP"
        in_item = in_item && indented
        if (was_text && !in_item && (indented || was_indented))
            print ".br"
        print (indented && !in_item ? "\\ \\ " : "") plain(in_item ? trimmed(text) : text)
    }
    was_text = text != ""
    was_indented = indented && !in_item
}

# The first sentence of the first comment is the name of the page, and the rest its description.
function head(text) {
    title = title (title == "" ? "" : " ") text
    if (title !~ /[.:]( |$)/)
        return
    rest = title
    sub(/[.:]( .*)?$/, "", title)
    rest = substr(rest, length(title) + 3)
    sub(/^[^ ]* - /, "", title)
    begin(page, 3, title, "Library Functions Manual")
    printf ".SH SYNOPSIS\n.B #include <farfault/%s>\n.PP\n", header
    print ".B pkg\\-config \\-\\-cflags \\-\\-libs farfault\n.SH DESCRIPTION"
    in_head = 0
    if (rest != "")
        comment(rest)
}

BEGIN { WIDTH = 72 }
NR == 1 { in_head = 1 }

in_body { if (/^}/) in_body = 0; next }
in_comment || /^\/\*/ {
    if (!in_comment)
        end_code()
    if ($0 ~ /^\/\* ---- .* ---- \*\/$/) {
        gsub(/^\/\* ---- | ---- \*\/$/, "")
        print ".SH " toupper($0)
        next
    }
    if (!in_comment && !in_head) {
        print ".PP"
        was_text = 0
    }
    in_comment = $0 !~ /\*\/$/
    sub(/^\/\* ?/, "")
    sub(/^ \* ?/, "")
    sub(/ ?\*\/$/, "")
    if (in_head) head($0)
    else comment($0)
    next
}
/^#(ifn?def|if|else|endif|include|pragma)/ { next }
/^#define (FARFAULT_[A-Z]*_H|FARFAULT_H|FF_API)/ || /^extern "C"/ || /^} *$/ { next }
/^static inline/ { sub(/^static inline /, ""); inline = 1 }
{ sub(/^FF_API /, "") }
inline && / {$/ { sub(/ {$/, ";"); code($0); inline = 0; in_body = 1; next }
/^$/ { end_code(); next }
{ code($0) }
END { end_code(); finish() }
