# Manual pages of the public headers: one for each header's introduction and each of its sections, and for each
# function a page that names it.   usage: awk -v dir=DIR -v version=V -f header.awk -f man.awk HEADERS
# With list=1 the names of the files are printed, and nothing is written.

function begin(file) {
    header = file; sub(/.*include\//, "", header)
    stem = header; sub(/\.h$/, "", stem); gsub(/\//, "-", stem)
    open_page(stem == "tansy" ? "tansy-introduction" : stem, "")
}

function section(name,    slug) {
    close_page()
    slug = tolower(name); sub(/ *\(.*/, "", slug); gsub(/[^a-z0-9]+/, "-", slug); sub(/-$/, "", slug)
    open_page(stem "-" slug, name)
}

function finish() { close_page() }

function open_page(name, what) { page = name; title = what; body = ""; names = "" }

# NAME wants the functions, which are known at the end.
function close_page(    file, i, list, word) {
    if (body == "") return
    # lists.h and cxx.h are how TN_INPUTS, tn_ints and the like are spelled: they stand with what they are for.
    if (stem ~ /^tansy-(lists|cxx)$/) return
    file = page ".3"
    if (title == "") title = header == "tansy.h" ? "introduction" : purpose
    word = split(names, list, " ")
    put(file, ".TH " toupper(page) " 3 \"\" \"Tansy " version "\" \"Library Functions\"")
    put(file, ".SH NAME")
    put(file, page (word ? names_text(list, word) : "") " \\- " roff(title))
    put(file, ".SH SYNOPSIS\n.nf\n.B #include <" header ">\n.fi\n.SH DESCRIPTION")
    put(file, body ".SH SEE ALSO\n.BR tansy (3)")
    if (!list_only()) close(dir "/" file)
    for (i = 1; i <= word; i++) {
        put(list[i] ".3", ".so man3/" file)
        if (!list_only()) close(dir "/" list[i] ".3")
    }
}

function names_text(list, count,    i, s) {
    for (i = 1; i <= count; i++) s = s ", " list[i]
    return s
}

function list_only() { return dir == "" }
function put(file, s) {
    if (!list_only()) print s >(dir "/" file)
    else if (!(file in listed)) { listed[file] = 1; print file }
}

function roff(s) {
    gsub(/\\/, "\\e", s)
    gsub(/`/, "", s)
    if (s ~ /^[.']/) s = "\\\\&" s
    return s
}
function code_line(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    if (s ~ /^[.']/) s = "\\\\&" s
    return s
}

function block(n, m,    i, was, what) {
    if (n && body == "" && text[1] ~ /^tansy[a-z\/]*\.h - /) {
        purpose = text[1]; sub(/^[^ ]* - /, "", purpose); sub(/\.$/, "", purpose)
        text[1] = ""; kind[1] = "blank"
    }
    if (m) {
        body = body ".PP\n.EX\n"
        for (i = 1; i <= m; i++) {
            what = declared(code[i])
            sub(/^TN_API /, "", code[i])
            body = body "\\fB" code_line(code[i]) "\\fR\n"
            if (what != "" && !(what in seen)) { seen[what] = 1; names = names (names == "" ? "" : " ") what }
        }
        body = body ".EE\n"
    }
    if (!n) return
    body = body (m ? ".RS 4\n" : ".PP\n")
    was = "flow"
    for (i = 1; i <= n; i++) {
        if (was == "code" && kind[i] != "code" && !(kind[i] == "blank" && kind[i + 1] == "code")) { body = body ".EE\n.RE\n"; was = "" }
        if (kind[i] == "heading") body = body ".SS " roff(substr(text[i], 4)) "\n"
        else if (kind[i] == "code") {
            if (was != "code") body = body ".PP\n.RS 4\n.EX\n"
            body = body code_line(text[i]) "\n"
        } else if (kind[i] == "blank") {
            if (was == "code") { body = body "\n"; continue }
            if (i > 1 && kind[i + 1] != "heading" && kind[i + 1] != "code" && kind[i - 1] != "heading") body = body ".PP\n"
        } else {
            if (was == "") body = body ".PP\n"
            else if (kind[i] == "paragraph") body = body ".PP\n"
            what = text[i]; sub(/^ */, "", what)
            body = body roff(what) "\n"
        }
        was = kind[i]
    }
    if (was == "code") body = body ".EE\n.RE\n"
    if (m) body = body ".RE\n"
}

# The function or macro that a line declares; not tn_NAME_at, which tn_NAME calls.
function declared(line,    s) {
    if (line ~ /^#define tn_[a-z0-9_]*\(/ && line !~ /^#define tn_i_/) {
        s = line; sub(/^#define /, "", s); sub(/\(.*/, "", s)
        return s
    }
    if (line ~ /^TN_API / && match(line, /tn_[a-z0-9_]*\(/)) {
        s = substr(line, RSTART, RLENGTH - 1)
        return s ~ /_at$/ && !(s in own_at) ? "" : s
    }
    return ""
}
# Functions whose names end so and that no macro calls.
BEGIN { own_at["tn_policy_at"]; own_at["tn_residuals_at"]; own_at["tn_schedule_at"] }
