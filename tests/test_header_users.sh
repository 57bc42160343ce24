#!/bin/sh
# test_header_users.sh ROOT: each function, macro, constant and member of the public headers has a
# user in src or examples.
#
# A header is no user of what it declares itself, but for an inline function or a macro that has a
# user. The definition of a function is no use of it. Members are told by their names alone: one
# that another struct has as well passes.
set -eu
cd "$1"
# shellcheck disable=SC2046 # no name of a file has a space
awk '
# Notes the words of a text, and the members that it names.
function note(text, line,    rest, word) {
    rest = line
    while (match(rest, /(\.|->) *[a-z_][a-z_0-9]*/)) {
        word = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/^(\.|->) */, "", word)
        member[text, word]
    }
    rest = line
    while (match(rest, /[A-Za-z_][A-Za-z_0-9]*/)) {
        word = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (word ~ /^(ff_|FF_)/)
            mention[text, word]
    }
}

function declare(what, name) {
    kind[name] = what
    item_of[name] = item_of[name] " " items
    where[name] = FILENAME
}

# The members of a struct or the constants of an enum.
function declare_all(what, body,    parts, count, i, names, more, j, name) {
    count = split(body, parts, what == "member" ? ";" : ",")
    for (i = 1; i <= count; i++) {
        if (parts[i] ~ /\(\*/) {
            name = parts[i]
            sub(/.*\(\*/, "", name)
            sub(/\).*/, "", name)
            declare(what, name)
            continue
        }
        more = split(parts[i], names, ",")
        for (j = 1; j <= more; j++) {
            name = names[j]
            sub(/__attribute__.*/, "", name)
            sub(/=.*/, "", name)
            gsub(/\[[^]]*\]/, "", name)
            gsub(/[ \n]+$/, "", name)
            sub(/.*[ \n*]/, "", name)
            if (name != "")
                declare(what, name)
        }
    }
}

# One declaration of a header, or one macro.
function end_item(    body, name) {
    items++
    is_struct[items] = item ~ /^struct [a-z_]+ \{/
    if (is_struct[items] || item ~ /^enum [a-z_]+ \{/) {
        body = item
        sub(/^[^{]*\{/, "", body)
        sub(/\}[^}]*$/, "", body)
        declare_all(item ~ /^struct/ ? "member" : "constant", body)
    } else if (match(item, /^#define +[A-Za-z_0-9]+/)) {
        name = substr(item, 9, RLENGTH - 8)
        gsub(/ /, "", name)
        if (name ~ /^FF_/)
            declare("macro", name)
    } else if (match(item, /ff_[a-z_0-9]+\(/) && item !~ /^typedef/) {
        declare("function", substr(item, RSTART, RLENGTH - 1))
    }
    note(items, item)
    item = ""
}

function strip(line,    at) {
    gsub(/\/\*([^*]|\*[^\/])*\*\//, " ", line)
    if (in_comment) {
        at = index(line, "*/")
        if (!at)
            return ""
        in_comment = 0
        line = substr(line, at + 2)
    }
    at = index(line, "/*")
    if (at) {
        in_comment = 1
        line = substr(line, 1, at - 1)
    }
    return line
}

{ line = strip($0) }

FILENAME !~ /^include/ {
    name = line
    if (line ~ /^[A-Za-z][^=]*[ *]ff_[a-z_0-9]+\(/) # a definition or declaration
        sub(/ff_[a-z_0-9]+\(/, "(", line)
    note("src", line)
    next
}

line ~ /^#ifdef __cplusplus/ { skips = 1 }
skips { skips = line !~ /^#(else|endif)/; next }
line ~ /^#/ && line !~ /^#define/ && !in_macro { next }
line ~ /^#define/ || in_macro {
    in_macro = line ~ /\\$/
    item = item line "\n"
    if (!in_macro)
        end_item()
    next
}
line ~ /^[ \t]*$/ { next }
{
    item = item line "\n"
    depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
    if (depth == 0 && line ~ /(;|\}) *$/)
        end_item()
}

END {
    for (pair in mention) {
        split(pair, at, SUBSEP)
        if (at[1] == "src" || is_struct[at[1]])
            used[at[2]] = 1
    }
    for (pair in member)
        if (split(pair, at, SUBSEP) && at[1] == "src")
            used_member[at[2]] = 1
    do { # what has a user uses what it names
        changed = 0
        for (name in kind) {
            if (!(name in used) || kind[name] !~ /function|macro/ || name in followed)
                continue
            followed[name]
            changed = 1
            count = split(item_of[name], of, " ")
            for (i = 1; i <= count; i++)
                lives[of[i]]
        }
        for (pair in mention) {
            split(pair, at, SUBSEP)
            own = item_of[at[2]] " "
            if (at[1] in lives && at[2] in kind && !index(own, " " at[1] " "))
                used[at[2]] = 1
        }
    } while (changed)
    for (pair in member)
        if (split(pair, at, SUBSEP) && at[1] in lives)
            used_member[at[2]] = 1
    for (name in kind) {
        known++
        is_used = kind[name] == "member" ? name in used_member : name in used
        if (!is_used) {
            print where[name] ": " kind[name], name, "has no user in src or examples" | "sort >&2"
            failed = 1
        }
    }
    if (known < 350) {
        print "only " known " names were found in the headers" | "cat >&2"
        failed = 1
    }
    exit failed
}' include/farfault/*.h $(find src examples -name '*.[ch]' -o -name '*.def')
