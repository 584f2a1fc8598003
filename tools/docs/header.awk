# Reads the public headers for man.awk and doxygen.awk, which define what is done with
#
#   begin(file)       a header begins
#   section(title)    "/* ---- title ---- */"
#   block(n, m)       a comment, text[1..n], and what it is about, code[1..m] (m = 0: nothing of its own)
#   finish()          the header ends
#
# A line of text has the kind kind[i]: "flow", "paragraph" (one begins here), "blank", "heading" (## ..), or "code".

FNR == 1 { if (NR > 1) { flush(); finish() } n = m = inside = 0; begin(FILENAME) }

inside { comment($0); next }
/^\/\*/ { flush(); sub(/^\/\* ?/, ""); comment($0); next }
/^$/ { flush(); next }
plumbing($0) { next }
{ code[++m] = $0 }
END { flush(); finish() }

function comment(line,    last) {
    last = sub(/ *\*\/$/, "", line)
    if (inside) { sub(/^ \*/, "", line); sub(/^ /, "", line) }
    inside = !last
    if (line ~ /^---- /) {
        sub(/^---- /, "", line); sub(/ *-*$/, "", line)
        section(line)
        return
    }
    if (line !~ /^SPDX/) text[++n] = line
}

function indent(line) { match(line, /^ */); return RLENGTH }

# An indented line in front of one that is not begins a paragraph; among others of its kind it is laid out as it is.
function classify(    i, next_one, before) {
    for (i = 1; i <= n; i++) {
        next_one = i < n ? text[i + 1] : ""
        if (text[i] == "") kind[i] = "blank"
        else if (text[i] ~ /^## /) kind[i] = "heading"
        else if (!indent(text[i])) kind[i] = "flow"
        else if (before == "code" || (next_one != "" && indent(next_one)) || (next_one == "" && before != "flow")) kind[i] = "code"
        else kind[i] = "paragraph"
        before = kind[i]
    }
}

# What compilers need and readers do not.
function plumbing(line) {
    return line ~ /^#(ifn?def|if|else|endif|include|define (TN_API|TANSY_([A-Z]+_)?H)($| )|define TN_I_)/ ||
           line ~ /^(extern "C" [{]|[}] \/\* extern "C" \*\/)$/
}

function flush() {
    while (n && text[n] == "") n--
    classify()
    if (n + m) block(n, m)
    n = m = 0
}
