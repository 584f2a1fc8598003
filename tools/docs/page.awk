# A document as Doxygen reads it: headings have labels, and links lead to those, to headers, or to copies of files,
# which are listed.   usage: awk -v path=PATH -v pages="PATHS" -v files=LIST -f page.awk PATH

BEGIN { count = split(pages, list, " "); for (i = 1; i <= count; i++) is_page[list[i]] = 1; dir = path; if (!sub(/[^\/]*$/, "", dir)) dir = "" }

/^```/ { code = !code; print; next }
code { print; next }
/^<!--.*-->$/ { next }
/^    / && (blank || NR == 1 || was_indented) { print; was_indented = 1; blank = 0; next }
/^#+ / {
    was_indented = 0; blank = 0
    s = $0; sub(/^#+ */, "", s)
    h = $0; gsub(/`/, "", h) # Doxygen shows the tags of code in a heading as text
    print links(h) " {#" (titles++ ? label(path) "_" slug(s) : label(path)) "}"
    next
}
{ blank = $0 == ""; was_indented = was_indented && blank; print links($0) }

function label(p) {
    if (p == "docs/README.md") return "mainpage"
    gsub(/[^A-Za-z0-9]/, "_", p)
    return "page_" p
}
function slug(s) { s = tolower(s); gsub(/[^a-z0-9_ -]/, "", s); gsub(/[ -]/, "_", s); return s }

function links(s,    out, text, to, image) {
    while (match(s, /!?\[[^\]]*\]\([^) ]*\)/)) {
        out = out plain(substr(s, 1, RSTART - 1))
        text = substr(s, RSTART, RLENGTH); s = substr(s, RSTART + RLENGTH)
        image = text ~ /^!/
        to = text; sub(/^.*\]\(/, "", to); sub(/\)$/, "", to)
        sub(/^!?\[/, "", text); sub(/\]\([^)]*\)$/, "", text)
        out = out (to ~ /^[a-z]+:/ ? "[" text "](" to ")" : image ? picture(text, to) : link(text, to))
    }
    return out plain(s)
}

# What is neither code nor a link.
function plain(s,    out, part, count, i) {
    count = split(s, part, "`")
    for (i = 1; i <= count; i++) {
        if (i % 2 || i == count) { gsub(/\\[^|]/, "\\\\&", part[i]); gsub(/@/, "\\@", part[i]); gsub(/</, "\\&lt;", part[i]); gsub(/file:/, "file\\&zwj;:", part[i]) }
        # Doxygen takes a quote for the end of code between single backquotes.
        else if (part[i] ~ /'/) { out = out "<code>" signs(part[i]) "</code>"; quoted = 1; continue }
        out = out (i > 1 && !quoted ? "`" : "") part[i]
        quoted = 0
    }
    return out
}

function resolved(to) {
    to = dir to
    while (sub(/[^\/]+\/\.\.\//, "", to)) ;
    return to
}

function signs(s) {
    gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); gsub(/"/, "\\&quot;", s); gsub(/'/, "\\&apos;", s)
    gsub(/\\/, "\\\\&", s); gsub(/@/, "\\@", s); gsub(/#/, "\\#", s); gsub(/%/, "\\%", s); gsub(/\*/, "\\&lowast;", s)
    return s
}

function picture(text, to) {
    to = resolved(to)
    print to >files
    return "\n<img src=\"files/" to "\" alt=\"" text "\"/>\n"
}

function link(text, to,    at, place) {
    if (at = index(to, "#")) { place = substr(to, at + 1); to = substr(to, 1, at - 1) }
    to = to == "" ? path : resolved(to)
    gsub(/`/, "", text); gsub(/"/, "", text)
    if (to in is_page) return "@ref " (place == "" ? (label(to) == "mainpage" ? "index" : label(to)) : label(to) "_" slug(place)) " \"" text "\""
    if (to ~ /include\/.*\.h$/) { sub(/.*include\//, "", to); gsub(/[^a-z]+/, "_", to); return "@ref " to " \"" text "\"" }
    if (to !~ /\.[a-z0-9]+$/ && to !~ /^(LICENSE|Makefile)$/) return text # a folder
    print to >files
    return "<a href=\"files/" to ".txt\">" text "</a>"
}
