/* Kernels that read or write windows at places that operands say (prims/arrays/windows.h) as loops: over the windows,
 * whose places are computed there, and over one window.  What is written at one place more than once is written in the
 * order of windows: it is stored, or an update. */
#include "lower/nest_i.h"

#include "plan/planner.h"
#include "prims/held.h"

typedef struct windows {
    const tn_i_lower_part *w;
    tn_i_l_builder *b;
    const tn_i_eqn *e;
    tn_i_window_form f;
    tn_i_lower_side place, window; /* arrays: where the windows' places are, and the windows */
    uint32_t loop[TN_MAX_RANK];    /* over the windows, then over one; TN_L_NONE: it has one iteration */
    uint32_t index, mask;          /* of the window at hand, counted in `by`s; TN_L_NONE: there is none, or always */
    int64_t by, last;
} windows;

static uint32_t two(tn_i_l_builder *b, tn_i_l_code code, uint32_t x, uint32_t y) {
    return tn_i_l_map(b, code, x, y, TN_L_NONE);
}

static tn_i_affine by_loops(const windows *z, int first, int n, const int64_t *by, tn_i_affine e) {
    for (int i = 0; i < n; i++)
        if (z->loop[first + i] != TN_L_NONE && by[i]) e = tn_i_affine_term(z->b, e, z->loop[first + i], by[i]);
    return e;
}

static void open_loops(windows *z, int first, int n, const int64_t *size) {
    for (int i = 0; i < n; i++) z->loop[first + i] = size[i] > 1 ? tn_i_l_for_n(z->b, size[i]) : TN_L_NONE;
}

static void close_loops(const windows *z, int first, int n) {
    for (int i = 0; i < n; i++)
        if (z->loop[first + i] != TN_L_NONE) tn_i_l_close(z->b);
}

/* ---- places -------------------------------------------------------------------------------------------------- */

static uint32_t index_of(const windows *z, uint32_t c) {
    const tn_i_plan *p = z->w->p;
    const tn_i_window_column *k = &z->f.column[c];
    const tn_i_var v = tn_i_in(p->f, z->e)[k->in];
    const tn_i_lower_side from = tn_i_lower_side_of(z->w, p->f->val[v].type, &p->place[v], false);
    const tn_i_affine first = tn_i_affine_add(z->b, from.e, 1, tn_i_affine_number(k->at));
    return tn_i_l_load_at(z->b, from.array, by_loops(z, 0, z->f.rank, z->f.index, first));
}

/* x as an index like v, which has no larger ones than its dtype has. */
static uint32_t bound(const windows *z, uint32_t v, int64_t x) {
    if (z->b->failed) return TN_L_NONE;
    const int dtype = z->b->p->op[v].dtype;
    if (dtype == TN_I32) return tn_i_l_number(z->b, dtype, (uint32_t)(x > INT32_MAX ? INT32_MAX : x));
    return tn_i_l_number(z->b, dtype, (uint64_t)x);
}

static void only_inside(windows *z, uint32_t x, int64_t last) {
    tn_i_l_builder *b = z->b;
    const uint32_t is = tn_i_lower_is_index(b, x, last);
    z->mask = z->mask == TN_L_NONE ? is : two(b, TN_L_and, z->mask, is);
}

/* One index is clamped by the access itself; of several each is, and they become one number of elements. */
static void find_place(windows *z) {
    tn_i_l_builder *b = z->b;
    z->index = z->mask = TN_L_NONE;
    z->by = 1;
    for (uint32_t c = 0; c < z->f.columns && !b->failed; c++) {
        const tn_i_window_column *k = &z->f.column[c];
        uint32_t x = index_of(z, c);
        if (!z->f.clip) only_inside(z, x, k->last);
        if (z->f.columns == 1) {
            z->index = x;
            z->by = k->by;
            z->last = k->last;
            return;
        }
        x = two(b, TN_L_min, two(b, TN_L_max, x, bound(z, x, 0)), bound(z, x, k->last));
        if (!b->failed && b->p->op[x].dtype != TN_I64) x = tn_i_l_convert(b, TN_I64, x);
        x = two(b, TN_L_mul, x, bound(z, x, k->by));
        z->index = z->index == TN_L_NONE ? x : two(b, TN_L_add, z->index, x);
        z->last += k->last * k->by;
    }
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

static tn_i_l_code code_of(int prim) {
    int code = 0;
    while (code < TN_L_fn && !(tn_i_l_rows[code].prim == prim && tn_i_l_rows[code].nin == 2)) code++;
    return (tn_i_l_code)code;
}

static tn_i_affine element(const windows *z, const tn_i_lower_side *s, const int64_t *by, const int64_t *inner) {
    return by_loops(z, z->f.rank, z->f.inner, inner, by_loops(z, 0, z->f.rank, by, s->e));
}

static void move_element(const windows *z, int dtype) {
    tn_i_l_builder *b = z->b;
    const tn_i_window_form *f = &z->f;
    const tn_i_affine in_window = element(z, &z->window, f->window, f->in_window);
    tn_i_l_where place = {.array = z->place.array,
                          .e = element(z, &z->place, f->place, f->in_place),
                          .indexed = z->index != TN_L_NONE,
                          .index = z->index,
                          .by = z->by,
                          .last = z->last,
                          .masked = z->mask != TN_L_NONE,
                          .mask = z->mask};
    if (f->how == TN_WINDOWS_READ) {
        if (place.masked) place.otherwise = tn_i_l_number(b, tn_i_holder(dtype), tn_i_held_bits(dtype, f->fill));
        tn_i_l_store_at(b, z->window.array, in_window, tn_i_l_load(b, &place));
        return;
    }
    const uint32_t x = tn_i_l_load_at(b, z->window.array, in_window);
    if (f->how == TN_WINDOWS_WRITE)
        tn_i_l_store(b, &place, x);
    else
        tn_i_l_update(b, &place, code_of(f->how), x);
}

void tn_i_lower_windows(const tn_i_lower_part *w, const tn_i_step *s) {
    const tn_i_plan *p = w->p;
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const tn_i_var *in = tn_i_in(p->f, e);
    const tn_type *t = p->f->val[e->out].type;
    windows z = {.w = w, .b = w->b, .e = e};
    tn_i_part_windows(p, s, &z.f);
    const bool reads = z.f.how == TN_WINDOWS_READ;
    if (!reads && !tn_i_lower_same_place(w, &p->place[in[0]], &p->place[e->out]))
        tn_i_lower_copy(w, t, &p->place[in[0]], &p->place[e->out]);
    if (z.f.none) return;
    const tn_i_var place = reads ? in[0] : e->out, window = reads ? e->out : in[z.f.windows];
    z.place = tn_i_lower_side_of(w, p->f->val[place].type, &p->place[place], !reads);
    z.window = tn_i_lower_side_of(w, p->f->val[window].type, &p->place[window], reads);
    open_loops(&z, 0, z.f.rank, z.f.dim);
    find_place(&z);
    open_loops(&z, z.f.rank, z.f.inner, z.f.size);
    if (!z.b->failed) move_element(&z, tn_i_is_half(t->dtype) ? TN_U16 : t->dtype);
    close_loops(&z, z.f.rank, z.f.inner);
    close_loops(&z, 0, z.f.rank);
}
