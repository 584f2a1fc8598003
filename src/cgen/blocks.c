/* The walk: loops, branches, and functions that parts of them are. */
#include "cgen/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

TN_C_ONLY(
    count, static int64_t tn_i_count(int64_t n, int64_t more, int64_t most) {
        if (more > 0 && n > INT64_MAX - more) return most;
        if (more < 0 && n < INT64_MIN - more) return 0;
        n += more;
        return n < 0 ? 0 : n < most ? n : most;
    })
static const tn_i_c_helper helpers[] = {{"tn_i_count", count}, {NULL, NULL}};

/* ---- carries ---- */

static void begin_carries(tn_i_cwriter *w, uint32_t loop) {
    char x[TN_C_NAME], to[TN_C_NAME];
    bool lanes = false;
    for (uint32_t c = loop + 1; w->p->op[c].kind == TN_L_CARRY; c++) {
        if (!w->note[c].needed) continue;
        tn_i_c_declare(w, c);
        if (w->note[c].array)
            lanes = true;
        else
            tn_i_c_line(w, "%s = %s;", tn_i_c_value(w, c, to), tn_i_c_value(w, w->p->op[c].in[0], x));
    }
    if (!lanes) return;
    tn_i_c_open_lanes(w, w->note[loop + 1].lanes, false);
    for (uint32_t c = loop + 1; w->p->op[c].kind == TN_L_CARRY; c++)
        if (w->note[c].needed && w->note[c].array)
            tn_i_c_line(w, "%s = %s;", tn_i_c_value(w, c, to), tn_i_c_value(w, w->p->op[c].in[0], x));
    tn_i_c_close_lanes(w);
}

/* A carry that becomes what another one is, or was, must be read before that is written. */
static bool reads_carry(const tn_i_cwriter *w, uint32_t k) {
    const uint32_t v = tn_i_c_root(w->p, w->p->op[k].in[1]);
    return w->p->op[v].kind == TN_L_CARRY && v != w->p->op[k].in[0] &&
           w->note[v].block == w->note[w->p->op[k].in[0]].block;
}

void tn_i_c_next(tn_i_cwriter *w, uint32_t k, uint32_t last) {
    char x[TN_C_NAME], to[TN_C_NAME];
    for (uint32_t j = k; j < last; j++)
        if (w->note[j].needed && reads_carry(w, j))
            tn_i_c_line(w, "const %s t%" PRIu32 " = %s;", tn_i_c_name(w->p->op[w->p->op[j].in[0]].dtype), j - k,
                        tn_i_c_value(w, w->p->op[j].in[1], x));
    for (uint32_t j = k; j < last; j++) {
        const tn_i_l_op *o = &w->p->op[j];
        if (!w->note[j].needed || o->in[0] == tn_i_c_root(w->p, o->in[1])) continue;
        (void)tn_i_c_value(w, o->in[0], to);
        if (reads_carry(w, j))
            tn_i_c_line(w, "%s = t%" PRIu32 ";", to, j - k);
        else
            tn_i_c_line(w, "%s = %s;", to, tn_i_c_value(w, o->in[1], x));
    }
}

/* ---- loops ---- */

/* How often it runs, as text; NULL: until it is left. */
static const char *count_of(tn_i_cwriter *w, uint32_t k, char text[TN_C_NAME]) {
    const tn_i_l_op *o = &w->p->op[k];
    const uint32_t label = w->note[k].label;
    char e[TN_C_AFFINE], more[TN_C_NAME];
    int64_t n;
    if (o->hi == INT64_MAX) return NULL;
    const bool blocks = w->note[k].blocks;
    if (tn_i_l_known_count(w->p, k, &n) && !blocks) {
        (void)snprintf(text, TN_C_NAME, "%" PRId64, n);
        return text;
    }
    (void)snprintf(text, TN_C_NAME, "n%" PRIu32, label);
    (void)tn_i_c_affine(w, &o->at, e);
    if (tn_i_l_known_count(w->p, k, &n))
        tn_i_c_line(w, "const int64_t %s = %" PRId64 ";", text, n);
    else {
        tn_i_c_need(w->g, helpers, "tansy_count");
        tn_i_c_line(w, "const int64_t %s = tansy_count(%s, %s, INT64_C(%" PRId64 "));", text, e,
                    o->in[0] == TN_L_NONE ? "0" : tn_i_c_value(w, o->in[0], more), o->hi);
    }
    return text;
}

static void open_plain(tn_i_cwriter *w, uint32_t k, const char *n) {
    const tn_i_l_op *o = &w->p->op[k];
    const uint32_t i = w->note[k].label;
    if (o->vector) tn_i_c_line(w, w->g->native ? "#pragma omp simd" : "TANSY_SIMD");
    if (w->g->native && o->unroll && !o->vector) tn_i_c_line(w, "#pragma GCC unroll %d", o->unroll);
    if (n)
        tn_i_c_open_brace(w, "for (int64_t i%" PRIu32 " = 0; i%" PRIu32 " < %s; i%" PRIu32 "++) ", i, i, n, i);
    else if (w->note[k].counted)
        tn_i_c_open_brace(w, "for (int64_t i%" PRIu32 " = 0;; i%" PRIu32 "++) ", i, i);
    else
        tn_i_c_open_brace(w, "for (;;) ");
    if (w->note[k].slot != TN_L_NONE) tn_i_c_line(w, "s->i64[%" PRIu32 "] = i%" PRIu32 ";", w->note[k].slot, i);
}

static uint32_t first_next(const tn_i_cwriter *w, uint32_t k) {
    uint32_t n = w->p->op[k].to;
    while (w->p->op[n - 1].kind == TN_L_NEXT) n--;
    return n;
}

static uint32_t part_of(const tn_i_cwriter *w, uint32_t k) {
    uint32_t f = w->g->native && w->p->op[k].parallel ? w->at[k + 1] : TN_L_NONE;
    while (f != TN_L_NONE && w->fn[f].part != k) f = w->fn[f].twin;
    return f;
}

static void write_function(tn_i_cwriter *w, uint32_t f);

static void share(tn_i_cwriter *w, uint32_t f, const char *n) {
    write_function(w, f);
    w->status = true;
    tn_i_c_line(w, "status = tansy_share(run, base, %s, %s_%" PRIu32 ");", n, w->name, f);
    tn_i_c_line(w, "if (status) return status;");
}

static void loop(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    char text[TN_C_NAME];
    bool only = false;
    begin_carries(w, k);
    if (w->note[k].blocks) {
        (void)tn_i_c_block(w, k, &only);
        if (!only) (void)count_of(w, k, text);
        tn_i_c_blocks(w, k);
        return;
    }
    const char *n = count_of(w, k, text);
    const uint32_t part = part_of(w, k), next = first_next(w, k);
    if (part != TN_L_NONE) {
        share(w, part, n);
        return;
    }
    tn_i_c_declare_halves(w, k);
    open_plain(w, k, n);
    if (w->note[k].keeps) {
        tn_i_c_body(w, k + 1, next);
        tn_i_c_keep(w, k);
        tn_i_c_body(w, next, o->to);
    } else
        tn_i_c_body(w, k + 1, o->to);
    tn_i_c_close_brace(w);
}

/* ---- branches ---- */

static void join(tn_i_cwriter *w, uint32_t first, uint32_t k, int which) {
    char x[TN_C_NAME], to[TN_C_NAME];
    for (uint32_t j = first; j < w->p->nop && w->note[j].behind == k; j++) {
        if (w->p->op[j].kind != TN_L_JOIN || !w->note[j].needed) continue;
        const bool lanes = w->note[j].array;
        if (lanes) tn_i_c_open_lanes(w, w->note[j].lanes, false);
        (void)tn_i_c_value(w, j, to);
        tn_i_c_line(w, "%s = %s;", to, tn_i_c_value(w, w->p->op[j].in[which], x));
        if (lanes) tn_i_c_close_lanes(w);
    }
}

static void branch(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *op = w->p->op, *o = &op[k];
    const bool two = op[o->to].kind == TN_L_ELSE;
    const uint32_t end = two ? op[o->to].to : o->to;
    char p[TN_C_NAME];
    bool joins = false;
    for (uint32_t j = end + 1; j < w->p->nop && w->note[j].behind == k; j++)
        if (op[j].kind == TN_L_JOIN && w->note[j].needed) {
            tn_i_c_declare(w, j);
            joins = true;
        }
    tn_i_c_open_brace(w, "if (%s) ", tn_i_c_value(w, o->in[0], p));
    tn_i_c_body(w, k + 1, o->to);
    join(w, end + 1, k, 0);
    if (two || joins) {
        w->depth--;
        tn_i_c_open_brace(w, "} else ");
        if (two) tn_i_c_body(w, o->to + 1, end);
        join(w, end + 1, k, 1);
    }
    tn_i_c_close_brace(w);
}

/* ---- operations ---- */

static void index_of(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    char e[TN_C_AFFINE], define[TN_C_NAME];
    (void)tn_i_c_affine(w, &o->at, e);
    (void)tn_i_c_define(w, k, define);
    if (o->dtype == TN_I32)
        tn_i_c_line(w, "%s(int32_t)(uint32_t)(%s);", define, e);
    else if (o->dtype == TN_I64)
        tn_i_c_line(w, "%s%s;", define, e);
    else
        tn_i_c_line(w, "%s(%s)(int64_t)(%s);", define, tn_i_c_name(o->dtype), e);
}

static void within(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    const bool low = o->lo != INT64_MIN, high = o->hi != INT64_MAX;
    char e[TN_C_AFFINE], define[TN_C_NAME];
    (void)tn_i_c_define(w, k, define);
    (void)tn_i_c_affine(w, &o->at, e);
    if (o->at.n == 0)
        tn_i_c_line(w, "%s%d;", define, o->lo <= o->at.at && (o->at.at < o->hi || !high));
    else if (low && high)
        tn_i_c_line(w, "%s(%s >= %" PRId64 ") & (%s < %" PRId64 ");", define, e, o->lo, e, o->hi);
    else if (high && o->hi == INT64_MIN)
        tn_i_c_line(w, "%s0;", define);
    else if (low || high)
        tn_i_c_line(w, "%s%s %s %" PRId64 ";", define, e, low ? ">=" : "<", low ? o->lo : o->hi);
    else
        tn_i_c_line(w, "%s1;", define);
}

void tn_i_c_operation(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    char x[TN_C_NAME];
    switch (o->kind) {
    case TN_L_INDEX: index_of(w, k); break;
    case TN_L_WITHIN: within(w, k); break;
    case TN_L_MAP: tn_i_c_map(w, k); break;
    case TN_L_LOAD: tn_i_c_load(w, k); break;
    case TN_L_HALVES: tn_i_c_halves(w, k); break;
    case TN_L_TOTAL: tn_i_c_total(w, k); break;
    case TN_L_REDUCE: tn_i_c_reduce(w, k); break;
    case TN_L_INTO: tn_i_c_into(w, k); break;
    case TN_L_STORE: tn_i_c_store(w, k); break;
    case TN_L_WHILE: tn_i_c_line(w, "if (!%s) break;", tn_i_c_value(w, o->in[0], x)); break;
    case TN_L_CALL: tn_i_c_call(w, k); break;
    case TN_L_FOR: loop(w, k); break;
    case TN_L_IF: branch(w, k); break;
    default: break; /* where their blocks begin and end */
    }
}

/* ---- functions ---- */

static bool returns(const tn_i_cwriter *w, uint32_t f) { return f == 0 || w->fn[f].part != TN_L_NONE || w->calls; }

static void call_piece(tn_i_cwriter *w, uint32_t f) {
    write_function(w, f);
    const char *run = w->g->native ? "run, " : "", *live = w->fn[w->fn[f].root].has_live ? ", s" : "";
    if (returns(w, f)) {
        w->status = true;
        tn_i_c_line(w, "status = %s_%" PRIu32 "(%sbase%s);", w->name, f, run, live);
        tn_i_c_line(w, "if (status) return status;");
    } else
        tn_i_c_line(w, "%s_%" PRIu32 "(%sbase%s);", w->name, f, run, live);
}

static uint32_t piece_at(const tn_i_cwriter *w, uint32_t k) {
    uint32_t f = w->at[k];
    while (f != TN_L_NONE && (w->fn[f].parent != w->cur || w->fn[f].part != TN_L_NONE)) f = w->fn[f].twin;
    return f;
}

void tn_i_c_body(tn_i_cwriter *w, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last && !w->failed && !w->g->failed;) {
        const tn_i_l_op *o = &w->p->op[k];
        const tn_i_cnote *n = &w->note[k];
        const uint32_t f = piece_at(w, k);
        if (f != TN_L_NONE && w->fn[f].last > w->fn[f].first) {
            call_piece(w, f);
            k = w->fn[f].last;
        } else if (!n->needed || o->kind == TN_L_NUMBER)
            k = o->kind == TN_L_FOR || o->kind == TN_L_IF ? o->to + (w->p->op[o->to].kind == TN_L_END) : k + 1;
        else if (n->lanes != TN_L_NONE && n->run)
            k = tn_i_c_run(w, k, last);
        else if (o->kind == TN_L_NEXT) {
            tn_i_c_next(w, k, last);
            k = last;
        } else {
            const uint32_t behind = n->lanes == TN_L_NONE && o->kind == TN_L_MAP ? tn_i_c_functions(w, k, last) : k;
            if (behind > k) {
                k = behind;
                continue;
            }
            tn_i_c_operation(w, k);
            k = o->kind == TN_L_FOR ? o->to + 1 : k + 1;
            if (o->kind == TN_L_IF) k = (w->p->op[o->to].kind == TN_L_ELSE ? w->p->op[o->to].to : o->to) + 1;
        }
    }
}

/* Numbers of the loops around, as they were left in `live`. */
static void put_loops(tn_i_cwriter *w, tn_i_text *t, const tn_i_cpiece *z, const char *body) {
    char name[24];
    for (uint32_t b = z->part == TN_L_NONE && z->last ? w->note[z->first].block : TN_L_NONE; b != TN_L_NONE;
         b = w->note[b].block) {
        const tn_i_cnote *n = &w->note[b];
        if (w->p->op[b].kind != TN_L_FOR || n->slot == TN_L_NONE) continue;
        const char *letters = n->blocks ? "bm" : "i";
        for (uint32_t j = 0; letters[j]; j++) {
            (void)snprintf(name, sizeof name, "%c%" PRIu32, letters[j], n->label);
            if (tn_i_c_names(body, name))
                tn_i_text_put(t, "    const int64_t %s = s->i64[%" PRIu32 "];\n", name, n->slot + j);
        }
    }
}

static void put_live(const tn_i_cwriter *w, tn_i_text *t, uint32_t f) {
    tn_i_text_put(t, "struct %s_live%" PRIu32 " {\n", w->name, f);
    for (int d = 0; d < TN_NDTYPES; d++)
        if (w->fn[f].live[d]) tn_i_text_put(t, "    %s %s[%zu];\n", tn_i_c_name(d), tn_i_c_suffix(d), w->fn[f].live[d]);
    bool some = false;
    for (int d = 0; d < TN_NDTYPES; d++) some |= w->fn[f].live[d] > 0;
    for (uint32_t k = 0; k < w->p->nop; k++) {
        const tn_i_l_op *o = &w->p->op[k];
        if (o->kind != TN_L_REDUCE || w->note[k].slot == TN_L_NONE || w->fn[w->note[k].fn].root != f) continue;
        some = true;
        tn_i_text_put(t, "    %s r%" PRIu32 "[%" PRId64 "][%" PRId64 "];\n    uint64_t c%" PRIu32 "[%" PRId64 "];\n",
                      tn_i_c_name(o->dtype), w->note[k].label, o->hi, tn_i_c_words(w, k), w->note[k].label, o->hi);
        if (o->code >= TN_FOLD_ARGMAX)
            tn_i_text_put(t, "    int64_t a%" PRIu32 "[%" PRId64 "];\n", w->note[k].label, o->hi);
    }
    tn_i_text_put(t, some ? "};\n" : "    int nothing;\n};\n");
}

static void put_head(tn_i_cwriter *w, tn_i_text *t, uint32_t f) {
    const tn_i_cpiece *z = &w->fn[f];
    const bool root = z->root == f;
    tn_i_text_put(t, "\n");
    if (!root) tn_i_text_put(t, "TANSY_APART ");
    tn_i_text_put(t, "static %s %s", returns(w, f) ? "int" : "void", w->name);
    if (f) tn_i_text_put(t, "_%" PRIu32, f);
    tn_i_text_put(t, "(%schar *const *base", w->g->native ? "const struct tansy_run *run, " : "");
    if (z->part != TN_L_NONE) tn_i_text_put(t, ", int64_t i%" PRIu32, w->note[z->part].label);
    if (!root && w->fn[z->root].has_live) tn_i_text_put(t, ", struct %s_live%" PRIu32 " *s", w->name, z->root);
    tn_i_text_put(t, ") {\n");
}

/* Behind the program's scratch arrays. */
static size_t live_at(const tn_i_cwriter *w) { return ((size_t)w->p->bytes + 63) & ~(size_t)63; }

/* No less than that structure has: each member may be padded. */
static size_t live_bytes(const tn_i_cwriter *w) {
    size_t bytes = 64;
    for (int d = 0; d < TN_NDTYPES; d++) bytes += 8 + w->fn[0].live[d] * tn_i_dtype_size(d);
    for (uint32_t k = 0; k < w->p->nop; k++)
        if (w->p->op[k].kind == TN_L_REDUCE && w->note[k].needed)
            bytes += 24 + (size_t)w->p->op[k].hi * (16 + 8 * (size_t)tn_i_c_words(w, k));
    return bytes;
}

static void put_live_at(const tn_i_cwriter *w, tn_i_text *t, uint32_t f) {
    if (w->in_scratch)
        tn_i_text_put(t, "    struct %s_live0 *const s = (struct %s_live0 *)(void *)(base[%" PRIu32 "] + %zu);\n",
                      w->name, w->name, w->p->arena, live_at(w));
    else
        tn_i_text_put(t, "    struct %s_live%" PRIu32 " live, *const s = &live;\n", w->name, f);
}

static void put_function(tn_i_cwriter *w, tn_i_text *t, uint32_t f) {
    const tn_i_cpiece *z = &w->fn[f];
    const char *body = w->t->at ? w->t->at : "";
    char name[24];
    put_head(w, t, f);
    if (w->table) tn_i_text_put(t, "    const void *const *const T = run->table;\n");
    if (w->pointers.at) tn_i_text_add(t, w->pointers.at, w->pointers.n);
    if (!w->table && !strstr(w->pointers.at ? w->pointers.at : "", "base[") && !tn_i_c_names(body, "base") &&
        !(w->in_scratch && z->root == f && z->has_live))
        tn_i_text_put(t, "    (void)base;\n");
    if (w->g->native && !w->table && !tn_i_c_names(body, "run")) tn_i_text_put(t, "    (void)run;\n");
    if (z->root == f && z->has_live) {
        put_live_at(w, t, f);
        if (!tn_i_c_names(body, "s")) tn_i_text_put(t, "    (void)s;\n");
        if (z->part != TN_L_NONE && w->note[z->part].slot != TN_L_NONE)
            tn_i_text_put(t, "    s->i64[%" PRIu32 "] = i%" PRIu32 ";\n", w->note[z->part].slot,
                          w->note[z->part].label);
    } else if (z->root != f) {
        put_loops(w, t, z, body);
        if (w->fn[z->root].has_live && !tn_i_c_names(body, "s")) tn_i_text_put(t, "    (void)s;\n");
    }
    if (z->part != TN_L_NONE) {
        (void)snprintf(name, sizeof name, "i%" PRIu32, w->note[z->part].label);
        if (!tn_i_c_names(body, name)) tn_i_text_put(t, "    (void)%s;\n", name);
    }
    if (w->status) tn_i_text_put(t, "    int status = 0;\n");
    tn_i_text_add(t, body, strlen(body));
    if (returns(w, f)) tn_i_text_put(t, "    return 0;\n");
    tn_i_text_put(t, "}\n");
}

/* Functions that it calls come in front. */
static void write_function(tn_i_cwriter *w, uint32_t f) {
    const tn_i_cwriter outer = *w;
    tn_i_text body = {.ctx = w->g->ctx};
    const tn_i_cpiece *z = &w->fn[f];
    if (z->root == f && z->has_live) put_live(w, &w->g->functions, f);
    w->cur = f;
    w->t = &body;
    w->pointers = (tn_i_text){.ctx = w->g->ctx};
    w->seen = tn_i_alloc_array(w->p->ctx, w->p->narray + 1u, sizeof *w->seen);
    w->table = w->status = false;
    w->depth = 1;
    w->inside = TN_L_NONE;
    if (w->seen) {
        tn_i_c_body(w, z->first, z->last);
        put_function(w, &w->g->functions, f);
        tn_i_free(w->p->ctx, w->seen, (w->p->narray + 1u) * sizeof *w->seen);
    }
    const bool failed = w->failed || !w->seen || body.failed || w->pointers.failed;
    tn_i_text_free(&body);
    tn_i_text_free(&w->pointers);
    *w = outer;
    w->failed = failed;
}

/* ---- programs ---- */

/* Elements enter reductions one after another. */
static bool no_vectors_of_sums(const tn_i_cwriter *w) {
    for (uint32_t k = 0; k < w->p->nop; k++)
        if (w->p->op[k].kind == TN_L_FOR && w->p->op[k].vector && !tn_i_l_no_sums(w->p, k)) {
            (void)tn_i_fail(w->p->ctx, TN_ERULE, NULL, "%s: a reduction in a vector loop", w->name);
            return false;
        }
    return true;
}

/* Before members of `live` are given: it says where reductions are. */
static bool states_fit(tn_i_cwriter *w) {
    double bytes = 0;
    for (uint32_t k = 0; k < w->p->nop; k++)
        if (w->p->op[k].kind == TN_L_REDUCE && w->note[k].needed)
            bytes += (double)w->p->op[k].hi * (16 + 8 * (double)tn_i_c_words(w, k));
    w->in_scratch = !w->g->native && w->p->arena != TN_L_NONE && bytes > TN_CGEN_C99_STATES;
    if (bytes <= TN_CGEN_STATES || w->in_scratch) return true;
    (void)tn_i_fail(w->p->ctx, TN_ERULE, NULL,
                    "%s: its reductions side by side need %.0f bytes of the stack, and %d is the most there may be",
                    w->name, bytes, TN_CGEN_STATES);
    return false;
}

static void note_scratch(const tn_i_cwriter *w) {
    size_t bytes = (size_t)w->p->bytes;
    if (w->in_scratch) bytes = live_at(w) + live_bytes(w);
    if (bytes > w->g->scratch) w->g->scratch = bytes;
}

bool tn_i_cgen_add(tn_i_cgen *g, const char *name, const tn_i_loops *p) {
    tn_ctx *c = p->ctx;
    const size_t n = p->nop + 1u, arrays = p->narray + 1u;
    if (!g->piece) g->piece = TN_CGEN_PIECE;
    if (!g->helpers.ctx) g->helpers.ctx = g->functions.ctx = g->list.ctx = g->ctx;
    tn_i_cwriter w = {.g = g, .p = p, .name = name, .inside = TN_L_NONE};
    const size_t before = g->functions.n;
    w.note = tn_i_alloc_array(c, n, sizeof *w.note);
    w.seen = tn_i_alloc_array(c, arrays, sizeof *w.seen);
    bool ok = no_vectors_of_sums(&w) && w.note && w.seen && tn_i_c_look(&w) && tn_i_c_pieces(&w) && states_fit(&w) &&
              tn_i_c_live(&w);
    if (ok) {
        write_function(&w, 0);
        ok = !w.failed;
    }
    if (ok) tn_i_text_put(&g->list, "%s,\n", name);
    if (!ok && g->functions.at) g->functions.at[g->functions.n = before] = 0;
    if (ok && !g->native) note_scratch(&w);
    g->failed |= (!ok && c->status == TN_ENOMEM) || g->helpers.failed || g->functions.failed || g->list.failed;
    tn_i_free(c, w.fn, w.cfn * sizeof *w.fn);
    if (w.at) tn_i_free(c, w.at, n * sizeof *w.at);
    if (w.seen) tn_i_free(c, w.seen, arrays * sizeof *w.seen);
    if (w.note) tn_i_free(c, w.note, n * sizeof *w.note);
    return ok && !g->failed;
}
