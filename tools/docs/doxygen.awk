# A header as Doxygen reads it: comments become documentation, a header a group, each of its sections a group in that.
# usage: awk -v names="NAMES" -f header.awk -f doxygen.awk HEADER

BEGIN { n = split(names, list, " "); for (i = 1; i <= n; i++) known[list[i]] = 1; n = 0 }

function begin(file) {
    header = file; sub(/.*include\//, "", header)
    stem = header; gsub(/[^a-z]+/, "_", stem)
    opened_group = first = 0
}

function section(title,    slug) {
    begin_header("")
    close_group()
    slug = tolower(title); gsub(/[^a-z0-9]+/, "_", slug)
    group = stem "_" slug
    print "/** @defgroup " group " " toupper(substr(title, 1, 1)) substr(title, 2) "\n@ingroup " stem " */"
}

function finish() {
    begin_header("")
    close_group()
}

# Text is added to a group that is not open.
function open_group() { if (!opened_group++) print "/** @addtogroup " group "\n@{ */" }
function close_group() { if (opened_group) print "/** @} */"; opened_group = 0 }

function begin_header(purpose) {
    if (first++) return
    group = stem
    print "/** @file */"
    print "/** @defgroup " stem " " header purpose " */"
}

function block(n, m,    i, at, doc, purpose) {
    if (!first) {
        if (n && text[1] ~ / - /) { purpose = text[1]; sub(/^[^ ]* -/, ":", purpose); sub(/ *\.$/, "", purpose); text[1] = "" ; kind[1] = "blank" }
        sub(/^: /, ": ", purpose)
        begin_header(purpose)
    }
    doc = documented(n)
    if (!m) { close_group(); print "/** @addtogroup " group "\n\n" doc "*/"; return }
    open_group()
    calls(m)
    for (i = 1; i <= m; i++) {
        if (begins(i)) print "/** " about(code[i], doc) "*/"
        print member(code[i])
    }
    print ""
}

# A declaration begins where nothing is left of the one before it.
function begins(i,    s, j) {
    s = code[i]
    if (i > 1 && code[i - 1] ~ /\\$/) return 0
    if (s !~ /^[A-Za-z#]/ || s ~ /^#undef/) return 0
    if (i == 1) { braces = 0 }
    for (j = seen_to + 1; j < i; j++) braces += opened(code[j])
    seen_to = i - 1
    return !braces
}
function opened(s) { sub(/\/\*.*/, "", s); return gsub(/\{/, "{", s) - gsub(/\}/, "}", s) }

# Which functions of a block are called by macros of it: those have the text.
function calls(m,    i, s) {
    split("", behind)
    seen_to = braces = 0
    for (i = 1; i <= m; i++)
        if (code[i] ~ /^#define tn_/) { s = name_of(code[i]); behind[s "_at"] = s }
}
function name_of(line) { return match(line, /tn_[a-z0-9_]*\(/) ? substr(line, RSTART, RLENGTH - 1) : "" }
function about(line, doc,    s) {
    s = name_of(line)
    if (line ~ /^#define/) return doc (s "_at" in known_at ? "@see " s "_at(), which has the types\n" : "")
    if (s in behind) { known_at[s]; return "What " behind[s] "() calls, with the place that messages speak of.\n" }
    return doc
}

# Comments of members.
function member(line,    at, s) {
    if (in_member) {
        if (line ~ /\*\//) in_member = 0
        sub(/^ *\* ?/, "", line)
        return in_member ? escape(line) : ended(line)
    }
    if (!(at = index(line, "/*"))) return line
    s = substr(line, at + 2)
    line = substr(line, 1, at - 1) (line ~ /^ *\/\*/ ? "/** " : "/**< ")
    if (s !~ /\*\//) { in_member = 1; return line escape(s) }
    return line ended(s)
}
function ended(s,    at) { at = index(s, "*/"); return escape(substr(s, 1, at - 1)) " */" substr(s, at + 2) }

function documented(n,    i, s, line, was) {
    for (i = 1; i <= n; i++) {
        if (was == "code" && kind[i] != "code") {
            if (kind[i] == "blank" && kind[i + 1] == "code") { s = s "\n"; continue }
            s = s "@endverbatim\n\n"
        }
        line = text[i]
        if (kind[i] == "code") s = s (was == "code" ? "" : "\n\n@verbatim\n") line "\n"
        else if (kind[i] == "heading") s = s "\n\n<b>" escape(substr(line, 4)) "</b>\n\n"
        else if (kind[i] == "blank") s = s "\n\n"
        else { if (kind[i] == "paragraph") s = s "\n\n"; sub(/^ */, "", line); s = s escape(line) " " }
        was = kind[i]
    }
    return s (was == "code" ? "@endverbatim\n" : "\n")
}

# Markdown and Doxygen see nothing in it but `code`; names of functions become links.
function escape(s,    out, part, count, i) {
    count = split(s, part, "`")
    for (i = 1; i <= count; i++) out = out (i > 1 ? "`" : "") (i % 2 || i == count ? plain(part[i]) : part[i])
    return out
}
function plain(s,    out, word) {
    while (match(s, /[^ ]+/)) {
        out = out substr(s, 1, RSTART - 1)
        word = substr(s, RSTART, RLENGTH); s = substr(s, RSTART + RLENGTH)
        out = out (word ~ /[*_~]/ && word !~ /^[(]?tn_[a-z0-9_]*[^a-z0-9_(]*$/ ? "<tt>" signs(word) "</tt>" : linked(signs(word)))
    }
    return out s
}
function signs(s) {
    gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); gsub(/file:/, "file\\&zwj;:", s)
    gsub(/\\/, "\\\\&", s); gsub(/@/, "\\@", s); gsub(/#/, "\\#", s); gsub(/%/, "\\%", s); gsub(/"/, "\\&quot;", s)
    gsub(/\*/, "\\&lowast;", s)
    return s
}
function linked(word,    s) {
    if (!match(word, /tn_[a-z0-9_]*/)) return word
    s = substr(word, RSTART, RLENGTH)
    return s in known ? substr(word, 1, RSTART - 1) s "()" substr(word, RSTART + RLENGTH) : word
}
