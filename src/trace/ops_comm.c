/* What ranks exchange: axes are named as the context's grid names them. */
#include "prims/ids.h"
#include "tansy/comm.h"
#include "trace/trace.h"

/* One operator: x over axes; what else it has is set before it is emitted. */
typedef struct over {
    tn_i_site s;
    tn_i_args a;
    tn_i_var x;
    uint32_t axes;
} over;

static bool find_axes(over *o, const char *axes) {
    if (o->s.b->failed) return false;
    if (tn_i_axes_named(o->s.b->ctx, o->s.b->loc, o->s.name, axes, &o->axes)) return true;
    o->s.b->failed = true;
    return false;
}

/* false when the site is dead; it is to be closed all the same. */
static bool open(over *o, const char *name, int id, const tn_val *x, const char *axes, const char *file, int line) {
    tn_i_site_open(&o->s, name, NULL, 1, x, &o->x, 0, file, line);
    if (!find_axes(o, axes)) return false;
    tn_i_args_init(&o->a, &o->s, id);
    tn_i_args_int(&o->a, "axes", o->axes);
    return true;
}

static tn_i_var emit(over *o) { return tn_i_args_emit(&o->s, &o->a, 1, &o->x); }

/* What has axes alone. */
static tn_val plain(const char *name, int id, tn_val x, const char *axes, const char *file, int line) {
    over o;
    const bool live = open(&o, name, id, &x, axes, file, line);
    return tn_i_site_close(&o.s, live ? emit(&o) : TN_NOVAR);
}

static tn_val rooted(const char *name, int id, tn_val x, const char *axes, int64_t root, const char *file, int line) {
    over o;
    if (!open(&o, name, id, &x, axes, file, line)) return tn_i_site_close(&o.s, TN_NOVAR);
    tn_i_args_int(&o.a, "root", root);
    return tn_i_site_close(&o.s, emit(&o));
}

/* ---- what ranks know together ---------------------------------------------------------- */

tn_val tn_psum_at(tn_val x, const char *axes, tn_flags flags, const char *file, int line) {
    over o;
    if (!open(&o, "psum", TN_P_psum, &x, axes, file, line) || !tn_i_site_flags(&o.s, flags, TN_ORDERED))
        return tn_i_site_close(&o.s, TN_NOVAR);
    if (flags & TN_ORDERED) tn_i_args_int(&o.a, "ordered", true);
    return tn_i_site_close(&o.s, emit(&o));
}

tn_val tn_pmean_at(tn_val x, const char *axes, const char *file, int line) {
    over o;
    if (!open(&o, "pmean", TN_P_psum, &x, axes, file, line) || !tn_i_need_float(&o.s, 1))
        return tn_i_site_close(&o.s, TN_NOVAR);
    const double ranks = (double)tn_i_ranks(o.s.b->ctx, o.axes);
    const tn_i_var sum = emit(&o);
    return tn_i_site_close(&o.s, tn_i_do2n(&o.s, TN_P_div, sum, ranks));
}

/* Over those of the axes that x does not vary over yet. */
tn_val tn_vary_at(tn_val x, const char *axes, const char *file, int line) {
    over o;
    const bool live = open(&o, "vary", TN_P_pvary, &x, axes, file, line);
    return tn_i_site_close(&o.s, live ? tn_i_vary(o.s.b, o.x, o.axes) : TN_NOVAR);
}

tn_val tn_pick_at(tn_val x, const char *axes, int64_t root, const char *file, int line) {
    return rooted("pick", TN_P_pick, x, axes, root, file, line);
}
tn_val tn_place_at(tn_val x, const char *axes, int64_t root, const char *file, int line) {
    return rooted("place", TN_P_place, x, axes, root, file, line);
}
tn_val tn_all_gather_at(tn_val x, const char *axes, const char *file, int line) {
    return plain("all_gather", TN_P_all_gather, x, axes, file, line);
}
tn_val tn_own_at(tn_val x, const char *axes, const char *file, int line) {
    return plain("own", TN_P_own, x, axes, file, line);
}
tn_val tn_reduce_scatter_at(tn_val x, const char *axes, const char *file, int line) {
    return plain("reduce_scatter", TN_P_reduce_scatter, x, axes, file, line);
}

tn_val tn_pmax_at(tn_val x, const char *axes, const char *file, int line) {
    return plain("pmax", TN_P_pmax, x, axes, file, line);
}
tn_val tn_pmin_at(tn_val x, const char *axes, const char *file, int line) {
    return plain("pmin", TN_P_pmin, x, axes, file, line);
}
tn_val tn_pprod_at(tn_val x, const char *axes, const char *file, int line) {
    return plain("pprod", TN_P_pprod, x, axes, file, line);
}

/* ---- what ranks give each other ----------------------------------------------------------- */

tn_val tn_gather_to_at(tn_val x, const char *axes, int64_t root, const char *file, int line) {
    return rooted("gather_to", TN_P_gather_to, x, axes, root, file, line);
}
tn_val tn_scatter_from_at(tn_val x, const char *axes, int64_t root, const char *file, int line) {
    return rooted("scatter_from", TN_P_scatter_from, x, axes, root, file, line);
}
tn_val tn_all_to_all_at(tn_val x, const char *axes, const char *file, int line) {
    return plain("all_to_all", TN_P_all_to_all, x, axes, file, line);
}

tn_val tn_shift_at(tn_val x, const char *axis, int64_t by, tn_flags flags, const char *file, int line) {
    over o;
    if (!open(&o, "shift", TN_P_shift, &x, axis, file, line) || !tn_i_site_flags(&o.s, flags, TN_WRAP))
        return tn_i_site_close(&o.s, TN_NOVAR);
    tn_i_args_int(&o.a, "by", by);
    if (flags & TN_WRAP) tn_i_args_int(&o.a, "wrap", true);
    return tn_i_site_close(&o.s, emit(&o));
}

tn_val tn_ppermute_at(tn_val x, const char *axis, tn_int_list pairs, const char *file, int line) {
    over o;
    if (!open(&o, "ppermute", TN_P_ppermute, &x, axis, file, line)) return tn_i_site_close(&o.s, TN_NOVAR);
    if (pairs.n > INT32_MAX || (pairs.n && !pairs.v))
        return tn_i_site_close(&o.s, tn_i_site_fail(&o.s, TN_EINVAL, -1, "the pairs are NULL, or too many"));
    tn_i_args_ints(&o.a, "pairs", pairs.n, pairs.v);
    return tn_i_site_close(&o.s, emit(&o));
}

tn_val tn_pscan_at(tn_val x, const char *axis, tn_flags flags, const char *file, int line) {
    over o;
    if (!open(&o, "pscan", TN_P_pscan, &x, axis, file, line) ||
        !tn_i_site_flags(&o.s, flags, TN_EXCLUSIVE | TN_REVERSE))
        return tn_i_site_close(&o.s, TN_NOVAR);
    if (flags & TN_EXCLUSIVE) tn_i_args_int(&o.a, "exclusive", true);
    if (flags & TN_REVERSE) tn_i_args_int(&o.a, "reverse", true);
    return tn_i_site_close(&o.s, emit(&o));
}

/* ---- which rank this is ------------------------------------------------------------------------ */

static tn_i_var without_operand(over *o, const char *name, int id, tn_ctx *c, const char *axes, const char *file,
                                int line) {
    tn_i_site_open(&o->s, name, c, 0, NULL, NULL, 0, file, line);
    if (!find_axes(o, axes)) return TN_NOVAR;
    tn_i_args_init(&o->a, &o->s, id);
    tn_i_args_int(&o->a, "axes", o->axes);
    return tn_i_args_emit(&o->s, &o->a, 0, NULL);
}

tn_val tn_axis_index_at(tn_ctx *c, const char *axes, const char *file, int line) {
    over o;
    const tn_i_var v = without_operand(&o, "axis_index", TN_P_axis_index, c, axes, file, line);
    return tn_i_site_close(&o.s, v);
}

void tn_barrier_at(tn_ctx *c, const char *axes, const char *file, int line) {
    over o;
    (void)without_operand(&o, "barrier", TN_P_barrier, c, axes, file, line);
    tn_i_site_close_many(&o.s, TN_NOVAR, 0, NULL);
}

int64_t tn_axis_size(tn_ctx *c, const char *axes) {
    uint32_t bits;
    return c && tn_i_axes_named(c, NULL, "tn_axis_size", axes, &bits) ? tn_i_ranks(c, bits) : 0;
}
