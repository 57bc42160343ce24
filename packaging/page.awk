# What every manual page has.

# Text as it stands.
function plain(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

# Names are looked for and copied: no word is broken, and no line is stretched.
function begin(name, section, summary, volume) {
    printf ".TH %s %s \"\" \"farfault %s\" \"%s\"\n.nh\n.nr HY 0\n.ad l\n",
        plain(toupper(name)), section, version, volume
    printf ".SH NAME\n%s \\- %s\n", plain(name), plain(summary)
}

# `also` in the environment: the macros of other pages' names.
function finish() {
    printf ".SH SEE ALSO\n%s\n", ENVIRON["also"]
}
