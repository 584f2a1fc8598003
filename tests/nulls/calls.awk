# One prototype a line, "TYPE NAME(PARAMETERS)", to a C function that calls it with parameter `bad` zero and the others as
# frame.h has them for their types, and a table of these functions.
function trim(s) { gsub(/^ +| +$/, "", s); return s }
function parameter(k, text) {
    text = trim(text)
    if (text == "..." || text == "void") return
    if (match(text, /\[[0-9]*\]$/)) text = substr(text, 1, RSTART - 1) "_array"
    name = text
    sub(/.*[ *]/, "", name)
    type = trim(substr(text, 1, length(text) - length(name)))
    if (name ~ /_array$/) type = type " *"
    printf "    __typeof__(%s) a%d;\n    FILL(a%d, bad, %d);\n", type, k, k, k
    list = list (k ? ", " : "") "a" k
    count = k + 1
}
{
    open = index($0, "(")
    head = substr($0, 1, open - 1)
    rest = substr($0, open + 1)
    sub(/\)[^)]*$/, "", rest)
    function_name = head
    sub(/.*[ *]/, "", function_name)
    result = trim(substr(head, 1, length(head) - length(function_name)))
    list = ""
    count = 0
    printf "static void call_%s(int bad) {\n    (void)bad;\n", function_name
    n = split(rest, part, ",")
    for (i = 1; i <= n; i++) parameter(i - 1, part[i])
    if (result == "void") printf "    %s(%s);\n", function_name, list
    else printf "    __typeof__(%s(%s)) r = %s(%s);\n    RESULT(r);\n", function_name, list, function_name, list
    printf "}\n"
    table = table sprintf("    {\"%s\", call_%s, %d},\n", function_name, function_name, count)
}
END { printf "static const entry table[] = {\n%s};\n", table }
