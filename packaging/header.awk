# A manual page of a public header, on standard output: comments become text, declarations stay as they are, the bodies of inline
# functions are left out.  awk -v header=NAME -v page=NAME -v version=V -f header.awk FILE

function plain(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

function end_code() {
    if (in_code)
        print ".EE"
    in_code = 0
}

function code(text) {
    if (!in_code)
        print ".PP\n.EX"
    in_code = 1
    print plain(text)
}

# One line of a comment: what is indented keeps its lines.
function comment(text) {
    indented = text ~ /^ /
    if (text == "")
        print ".PP"
    else {
        if (was_text && (indented || was_indented))
            print ".br"
        print (indented ? "\\ \\ " : "") plain(text)
    }
    was_text = text != ""
    was_indented = indented
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
    printf ".TH %s 3 \"\" \"farfault %s\" \"Library Functions Manual\"\n.SH NAME\n%s \\- %s\n", toupper(page), version, page, plain(title)
    printf ".SH SYNOPSIS\n.B #include <farfault/%s>\n.PP\n.B pkg\\-config \\-\\-cflags \\-\\-libs farfault\n.SH DESCRIPTION\n", header
    in_head = 0
    if (rest != "")
        comment(rest)
}

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
/^#(ifn?def|if|else|endif|include|pragma)/ || /^#define (FARFAULT_[A-Z]*_H|FARFAULT_H|FF_API)/ || /^extern "C"/ || /^} *$/ { next }
/^static inline/ { sub(/^static inline /, ""); inline = 1 }
{ sub(/^FF_API /, "") }
inline && / {$/ { sub(/ {$/, ";"); code($0); inline = 0; in_body = 1; next }
/^$/ { end_code(); next }
{ code($0) }
END { end_code() }
