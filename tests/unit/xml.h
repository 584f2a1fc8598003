/* XML, as far as drawings use it; behind cli/svg_writer.h. */
#ifndef TN_TESTS_XML_H
#define TN_TESTS_XML_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static inline const char *name_end(const char *s) { return s + strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-"); }

/* Text or the value of an attribute, up to one of `stop`. */
static inline const char *content(const char *s, const char *stop) {
    while (*s && !strchr(stop, *s)) {
        assert_true((unsigned char)*s >= 32 || *s == '\n');
        const size_t n = svg_character((const unsigned char *)s);
        assert_true(n > 0);
        if (*s == '&')
            assert_true(strncmp(s, "&amp;", 5) == 0 || strncmp(s, "&lt;", 4) == 0 || strncmp(s, "&gt;", 4) == 0);
        assert_true(*s != '<' && *s != '>');
        s += n;
    }
    return s;
}

/* A tag behind its name: attributes, each once, then ">" or "/>". */
static inline const char *attributes(const char *s, bool *empty) {
    const char *seen[16];
    size_t length[16], n = 0;
    while (*s == ' ') {
        const char *name = ++s;
        s = name_end(s);
        while (*s >= 'A' && *s <= 'Z') s = name_end(s + 1); /* viewBox */
        assert_true(s > name && n < 16);
        for (size_t i = 0; i < n; i++)
            assert_false(length[i] == (size_t)(s - name) && memcmp(seen[i], name, length[i]) == 0);
        seen[n] = name;
        length[n++] = (size_t)(s - name);
        assert_memory_equal(s, "='", 2);
        s = content(s + 2, "'");
        assert_int_equal(*s, '\'');
        s++;
    }
    *empty = *s == '/';
    s += *empty;
    assert_int_equal(*s, '>');
    return s + 1;
}

/* Every element is closed by its own name, and there is one around all. */
static inline void assert_well_formed(const char *s) {
    const char *open[8];
    size_t depth = 0, roots = 0;
    while (*s) {
        bool empty;
        if (*s != '<') {
            if (depth == 0) assert_int_equal(*s, '\n');
            s = content(s, "<");
            continue;
        }
        if (s[1] == '/') {
            assert_true(depth > 0);
            const char *end = name_end(s + 2);
            depth--;
            assert_memory_equal(s + 2, open[depth], (size_t)(end - s - 2));
            assert_true(name_end(open[depth]) - open[depth] == end - s - 2);
            assert_int_equal(*end, '>');
            s = end + 1;
            continue;
        }
        roots += depth == 0;
        assert_true(depth < 8);
        open[depth] = s + 1;
        s = attributes(name_end(s + 1), &empty);
        depth += !empty;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(roots, 1);
}

#endif
