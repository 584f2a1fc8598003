/* Grids, and sets of their axes. */
#include "base/axes.h"

#include "tansy/comm.h"

#include <stdio.h>
#include <string.h>

/* ---- sets ------------------------------------------------------------------------ */

static size_t write_text(const tn_ctx *c, uint32_t bits, char *text, size_t room) {
    const bool several = (bits & (bits - 1)) != 0;
    size_t at = (size_t)snprintf(text, room, "%s", several ? "(" : "");
    for (int a = 0, k = 0; a < c->grid.naxes; a++)
        if (bits >> a & 1) {
            const size_t left = at < room ? room - at : 0;
            at += (size_t)snprintf(left ? text + at : NULL, left, "%s%s", k++ ? "," : "", c->grid.name[a]);
        }
    const size_t left = at < room ? room - at : 0;
    return at + (size_t)snprintf(left ? text + at : NULL, left, "%s", several ? ")" : "");
}

static bool make(tn_ctx *c, uint32_t bits) {
    tn_axes *a = tn_i_arena_alloc(&c->arena, sizeof *a);
    const size_t n = write_text(c, bits, NULL, 0);
    char *text = a ? tn_i_arena_alloc(&c->arena, n + 1) : NULL;
    if (!text) return false;
    (void)write_text(c, bits, text, n + 1);
    *a = (tn_axes){.ctx = c, .bits = bits, .text = text};
    c->grid.set[bits] = a;
    return true;
}

bool tn_i_axes_of(tn_ctx *c, uint32_t bits, const tn_axes **a) {
    *a = NULL;
    if (!bits) return true;
    if (!c->grid.set[bits] && !make(c, bits)) return false;
    *a = c->grid.set[bits];
    return true;
}

const char *tn_i_axes_text(tn_ctx *c, uint32_t bits) {
    const tn_axes *a;
    return tn_i_axes_of(c, bits, &a) && a ? a->text : "";
}

int64_t tn_i_ranks(const tn_ctx *c, uint32_t bits) {
    int64_t n = 1;
    for (int a = 0; a < c->grid.naxes; a++)
        if (bits >> a & 1) n *= c->grid.extent[a];
    return n;
}

/* ---- names ----------------------------------------------------------------------- */

int tn_i_axis(const tn_ctx *c, const char *name, size_t n) {
    for (int a = 0; a < c->grid.naxes; a++)
        if (strlen(c->grid.name[a]) == n && memcmp(c->grid.name[a], name, n) == 0) return a;
    return -1;
}

static bool bad_names(tn_ctx *c, const tn_i_loc *loc, const char *who, const char *names, const char *why) {
    (void)tn_i_fail(c, TN_EINVAL, loc, "%s: axes \"%.100s\": %s (the grid's are %s)", who, names, why,
                    c->grid.naxes ? tn_i_axes_text(c, (1u << c->grid.naxes) - 1)
                                  : "none: give tn_ctx_options.grid, or a text with one");
    return false;
}

bool tn_i_axes_named(tn_ctx *c, const tn_i_loc *loc, const char *who, const char *names, uint32_t *bits) {
    static const char between[] = "(), ";
    *bits = 0;
    if (!names) {
        (void)tn_i_fail(c, TN_EINVAL, loc, "%s: the names of the axes are NULL", who);
        return false;
    }
    for (const char *p = names + strspn(names, between); *p; p += strspn(p, between)) {
        const size_t n = strcspn(p, between);
        const int a = tn_i_axis(c, p, n);
        if (a < 0) return bad_names(c, loc, who, names, "there is no such axis");
        if (*bits >> a & 1) return bad_names(c, loc, who, names, "an axis stands there twice");
        *bits |= 1u << a;
        p += n;
    }
    return *bits ? true : bad_names(c, loc, who, names, "names no axis");
}

/* ---- grids ------------------------------------------------------------------------ */

static bool identifier(const char *s) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (!s || !*s || !strchr(letters, *s) || strlen(s) > 15) return false;
    for (; *s; s++)
        if (!strchr(letters, *s) && !strchr("0123456789", *s)) return false;
    return true;
}

const char *tn_i_grid_bad(const tn_grid *g) {
    int64_t ranks = 1;
    if (g->naxes > TN_MAX_AXES) return "a grid has at most 8 axes";
    if (g->naxes && (!g->name || !g->extent)) return "its names or extents are NULL";
    for (size_t a = 0; a < g->naxes; a++) {
        if (!identifier(g->name[a])) return "a name is no identifier of at most 15 letters, digits and _";
        if (g->extent[a] < 1 || !tn_i_mul_i64(ranks, g->extent[a], &ranks) || ranks > INT32_MAX)
            return "an extent is less than 1, or there are more than 2^31 - 1 ranks";
        for (size_t k = 0; k < a; k++)
            if (strcmp(g->name[k], g->name[a]) == 0) return "two axes have one name";
    }
    return NULL;
}

static bool same_grid(const tn_ctx *c, const tn_grid *g) {
    if ((size_t)c->grid.naxes != g->naxes) return false;
    for (size_t a = 0; a < g->naxes; a++)
        if (strcmp(c->grid.name[a], g->name[a]) != 0 || c->grid.extent[a] != g->extent[a]) return false;
    return true;
}

bool tn_i_grid_set(tn_ctx *c, const tn_i_loc *loc, const char *who, const tn_grid *grid) {
    const char *bad = tn_i_grid_bad(grid);
    if (!bad && c->grid.naxes && !same_grid(c, grid)) bad = "the context has another one";
    if (bad) return tn_i_fail(c, TN_EINVAL, loc, "%s: grid: %s", who, bad) == TN_OK;
    if (c->grid.naxes || !grid->naxes) return true;
    for (size_t a = 0; a < grid->naxes; a++) {
        c->grid.name[a] = tn_i_string(c, grid->name[a], strlen(grid->name[a]));
        if (!c->grid.name[a]) return false;
        c->grid.extent[a] = grid->extent[a];
    }
    c->grid.set = tn_i_arena_alloc(&c->arena, sizeof *c->grid.set << grid->naxes);
    if (!c->grid.set) return false;
    c->grid.naxes = (int)grid->naxes;
    return true;
}

tn_type tn_varying(tn_ctx *c, tn_type t, const char *axes) {
    uint32_t bits = 0;
    if (!c || !tn_i_axes_named(c, NULL, "tn_varying", axes, &bits) ||
        !tn_i_axes_of(c, bits | tn_i_over(&t), &t.varying))
        t.rank = -1;
    return t;
}
