/* tansy._core: programs and executables of libtansy as Python objects.
 *
 * One file against the limited API of Python 3.11, so that one wheel serves all later versions; arrays come through the
 * buffer protocol, so that NumPy's headers are not needed.  What is comfortable is in the Python files beside it.
 *
 * SPDX-License-Identifier: MIT */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tansy.h>
#include <tansy/emit.h>

/* ---- the module's own ------------------------------------------------------------ */

typedef struct state {
    PyObject *fn, *exec;     /* types */
    PyObject *error;         /* tansy.Error */
    PyObject *empty, *dtype; /* of numpy */
    PyObject *arrange;       /* tansy._arrays.arrange */
} state;

/* A context, which one thread uses at a time: who does takes the lock, without the GIL.  References are counted under
 * the GIL. */
typedef struct context {
    tn_ctx *c;
    PyThread_type_lock lock;
    size_t refs;
    struct callback *callbacks;
    Py_ssize_t ncallbacks;
} context;

/* A function of Python that programs call: f(memory of inputs, memory of outputs).  Bytes are of all inputs, then of
 * all outputs. */
typedef struct callback {
    PyObject *f;
    size_t nin, nout, *bytes;
} callback;

typedef struct fn_object {
    PyObject_HEAD context *ctx;
    tn_fn *fn;
} fn_object;

typedef struct exec_object {
    PyObject_HEAD context *ctx;
    tn_exec *exec;
    size_t nin, nout;
    tn_type *type;   /* of inputs, then of outputs */
    PyObject **make; /* arguments of numpy.empty for each output */
    PyObject *empty, *arrange;
    tn_work **idle; /* workspaces that no call uses now; room for all that there are */
    size_t nidle, nwork;
} exec_object;

static const char *const dtype_name[] = {"bool",  "int32", "int64",  "float32", "float64", "uint32",  "int8",
                                         "int16", "uint8", "uint16", "uint64",  "float16", "bfloat16"};
static const char *const status_name[] = {
#define STATUS_NAME(name, code, text) [code] = #name,
    TN_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
};

static context *context_new(void) {
    context *x = PyMem_Calloc(1, sizeof *x);
    if (!x) return NULL;
    x->refs = 1;
    x->c = tn_ctx_new(NULL);
    x->lock = PyThread_allocate_lock();
    if (x->c && x->lock) return x;
    tn_ctx_free(x->c);
    if (x->lock) PyThread_free_lock(x->lock);
    PyMem_Free(x);
    return NULL;
}

static void context_unref(context *x) {
    if (!x || --x->refs) return;
    tn_ctx_free(x->c);
    for (Py_ssize_t i = 0; i < x->ncallbacks; i++) {
        Py_DECREF(x->callbacks[i].f);
        PyMem_Free(x->callbacks[i].bytes);
    }
    PyMem_Free(x->callbacks);
    PyThread_free_lock(x->lock);
    PyMem_Free(x);
}

/* From enter to leave this thread has the context, and no GIL. */
static PyThreadState *enter(context *x) {
    PyThreadState *t = PyEval_SaveThread();
    PyThread_acquire_lock(x->lock, WAIT_LOCK);
    return t;
}

/* The same with the GIL, for deallocation: who waits for the lock has no GIL, so that who holds it may wait for that.
 */
static void enter_with_gil(context *x) {
    if (PyThread_acquire_lock(x->lock, NOWAIT_LOCK)) return;
    PyThreadState *t = enter(x);
    PyEval_RestoreThread(t);
}

/* What went wrong, copied while the context is ours. */
typedef struct failure {
    tn_status status;
    char text[4096];
} failure;

static void leave(context *x, PyThreadState *t, failure *why) {
    if (why) {
        const char *text = tn_error(x->c);
        const size_t n = strlen(text), most = sizeof why->text - 1;
        why->status = tn_last_status(x->c);
        memcpy(why->text, text, n < most ? n : most);
        why->text[n < most ? n : most] = 0;
        tn_error_clear(x->c);
    }
    PyThread_release_lock(x->lock);
    PyEval_RestoreThread(t);
}

static void raise_status(PyObject *type, tn_status s, const char *text) {
    const char *say = *text ? text : tn_status_text(s);
    PyObject *message = PyUnicode_DecodeUTF8(say, (Py_ssize_t)strlen(say), "replace");
    const bool known = (size_t)s < sizeof status_name / sizeof *status_name;
    PyObject *e = message ? PyObject_CallFunction(type, "Os", message, known ? status_name[s] : "") : NULL;
    if (e) PyErr_SetObject(type, e);
    Py_XDECREF(e);
    Py_XDECREF(message);
}

static state *state_of(PyObject *self) { return PyType_GetModuleState(Py_TYPE(self)); }

static void raise_failure(state *st, const failure *why) {
    if (why->status == TN_ENOMEM && !*why->text)
        PyErr_NoMemory();
    else
        raise_status(st->error, why->status, why->text);
}

/* A new object over f, which it takes; NULL with an exception. */
static PyObject *wrap_fn(state *st, context *x, tn_fn *f) {
    fn_object *o = (fn_object *)PyType_GenericAlloc((PyTypeObject *)st->fn, 0);
    if (!o) return NULL; /* f is the context's, which frees it */
    x->refs++;
    o->ctx = x;
    o->fn = f;
    return (PyObject *)o;
}

/* ---- arguments --------------------------------------------------------------------- */

typedef struct int_list {
    int *v;
    Py_ssize_t n;
} int_list;

/* A tuple of numbers as ints, None as `none`; v NULL for None itself. */
static bool take_ints(PyObject *o, int none, int_list *out) {
    *out = (int_list){0};
    if (!o || o == Py_None) return true;
    const Py_ssize_t n = PyTuple_Size(o);
    if (n < 0 || !(out->v = PyMem_Calloc((size_t)n + 1, sizeof *out->v))) return false;
    for (out->n = 0; out->n < n; out->n++) {
        PyObject *item = PyTuple_GetItem(o, out->n);
        const long k = item == Py_None ? none : PyLong_AsLong(item);
        if ((k == -1 && PyErr_Occurred()) || k > INT32_MAX || k < INT32_MIN) {
            PyMem_Free(out->v);
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "a number is too large");
            return false;
        }
        out->v[out->n] = (int)k;
    }
    return true;
}

static PyObject *type_tuple(const tn_type *t) {
    PyObject *shape = PyTuple_New(t->rank);
    for (int i = 0; shape && i < t->rank; i++) {
        PyObject *n = PyLong_FromLongLong(t->dim[i]);
        if (!n || PyTuple_SetItem(shape, i, n)) Py_CLEAR(shape);
    }
    return shape ? Py_BuildValue("(sN)", dtype_name[t->dtype], shape) : NULL;
}

/* ---- functions of Python that programs call --------------------------------------------- */

static PyObject *views(size_t n, const void *const *at, const size_t *bytes, int flags) {
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; all && i < n; i++) {
        static char nothing;
        char *memory = bytes[i] ? (char *)(uintptr_t)at[i] : &nothing;
        PyObject *view = PyMemoryView_FromMemory(memory, (Py_ssize_t)bytes[i], flags);
        if (!view || PyTuple_SetItem(all, (Py_ssize_t)i, view)) Py_CLEAR(all);
    }
    return all;
}

/* tn_external_fn.  The thread is the one whose call let go of the GIL; what the function raised stays its exception. */
static int call_back(void *user, const void *const *in, void *const *out) {
    const callback *k = user;
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *ins = views(k->nin, in, k->bytes, PyBUF_READ);
    PyObject *outs = ins ? views(k->nout, (const void *const *)out, k->bytes + k->nin, PyBUF_WRITE) : NULL;
    PyObject *done = outs ? PyObject_CallFunctionObjArgs(k->f, ins, outs, NULL) : NULL;
    const int failed = !done;
    Py_XDECREF(done);
    Py_XDECREF(outs);
    Py_XDECREF(ins);
    PyGILState_Release(gil);
    return failed;
}

static bool dtype_named(const char *name, int *dtype) {
    for (size_t d = 0; d < sizeof dtype_name / sizeof *dtype_name; d++)
        if (strcmp(dtype_name[d], name) == 0) return *dtype = (int)d, true;
    PyErr_Format(PyExc_ValueError, "there is no dtype %s", name);
    return false;
}

/* ((dtype, shape)..) behind `type`, and their bytes. */
static bool take_types(PyObject *all, tn_type *type, size_t *bytes) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(all); i++) {
        const char *name;
        PyObject *shape;
        int64_t dim[TN_MAX_RANK];
        int dtype;
        if (!PyArg_ParseTuple(PyTuple_GetItem(all, i), "sO!", &name, &PyTuple_Type, &shape)) return false;
        const Py_ssize_t rank = PyTuple_Size(shape);
        if (!dtype_named(name, &dtype)) return false;
        if (rank > TN_MAX_RANK) return PyErr_SetString(PyExc_ValueError, "too many dimensions"), false;
        for (Py_ssize_t d = 0; d < rank; d++) {
            dim[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
            if (dim[d] < 0) return PyErr_Occurred() ? false : (PyErr_SetString(PyExc_ValueError, "a size"), false);
        }
        type[i] = tn_type_of((tn_dtype)dtype, (size_t)rank, dim);
        bytes[i] = tn_type_bytes(&type[i]);
    }
    return true;
}

/* (name, inputs, outputs, effect, f); the context is ours alone. */
static bool add_callback(state *st, context *x, PyObject *spec) {
    const char *name;
    PyObject *in, *out, *f;
    int effect;
    callback *k = &x->callbacks[x->ncallbacks];
    if (!PyArg_ParseTuple(spec, "sO!O!pO", &name, &PyTuple_Type, &in, &PyTuple_Type, &out, &effect, &f)) return false;
    k->nin = (size_t)PyTuple_Size(in);
    k->nout = (size_t)PyTuple_Size(out);
    tn_type *type = PyMem_Calloc(k->nin + k->nout + 1, sizeof *type);
    k->bytes = PyMem_Calloc(k->nin + k->nout + 1, sizeof *k->bytes);
    k->f = Py_NewRef(f);
    x->ncallbacks++;
    bool ok = type && k->bytes;
    if (!ok) PyErr_NoMemory();
    ok = ok && take_types(in, type, k->bytes) && take_types(out, type + k->nin, k->bytes + k->nin);
    if (ok) {
        const tn_external_spec e = {.size = sizeof e,
                                    .name = name,
                                    .nin = k->nin,
                                    .nout = k->nout,
                                    .in = type,
                                    .out = type + k->nin,
                                    .fn = call_back,
                                    .user = k,
                                    .effect = effect};
        failure why;
        PyThreadState *t = enter(x);
        ok = tn_external_register(x->c, &e) == TN_OK;
        leave(x, t, &why);
        if (!ok) raise_failure(st, &why);
    }
    PyMem_Free(type);
    return ok;
}

/* A sequence of them. */
static bool add_callbacks(state *st, context *x, PyObject *specs) {
    const Py_ssize_t n = PySequence_Size(specs);
    if (n < 0) return false;
    x->callbacks = PyMem_Calloc((size_t)n + 1, sizeof *x->callbacks);
    if (!x->callbacks) return PyErr_NoMemory(), false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *spec = PySequence_GetItem(specs, i);
        const bool ok = spec && add_callback(st, x, spec);
        Py_XDECREF(spec);
        if (!ok) return false;
    }
    return true;
}

/* ---- programs ---------------------------------------------------------------------- */

static void fn_dealloc(PyObject *self) {
    fn_object *o = (fn_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (o->ctx) {
        enter_with_gil(o->ctx);
        tn_fn_free(o->fn);
        PyThread_release_lock(o->ctx->lock);
        context_unref(o->ctx);
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

/* (text, filename, callbacks) */
static PyObject *core_parse(PyObject *module, PyObject *args) {
    state *st = PyModule_GetState(module);
    const char *text, *filename;
    PyObject *callbacks;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "s#sO", &text, &n, &filename, &callbacks)) return NULL;
    context *x = context_new();
    if (!x) return PyErr_NoMemory();
    if (!add_callbacks(st, x, callbacks)) {
        context_unref(x);
        return NULL;
    }
    failure why;
    PyThreadState *t = enter(x);
    tn_fn *f = tn_fn_parse(x->c, text, (size_t)n, filename);
    leave(x, t, &why);
    PyObject *o = f ? wrap_fn(st, x, f) : NULL;
    if (!f) raise_failure(st, &why);
    context_unref(x);
    return o;
}

static PyObject *fn_text(PyObject *self, PyObject *none) {
    fn_object *o = (fn_object *)self;
    failure why;
    size_t n = 0;
    (void)none;
    PyThreadState *t = enter(o->ctx);
    char *text = tn_fn_print(o->fn, &n);
    leave(o->ctx, t, &why);
    if (!text) {
        raise_failure(state_of(self), &why);
        return NULL;
    }
    PyObject *s = PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace");
    t = enter(o->ctx);
    tn_text_free(o->ctx->c, text);
    leave(o->ctx, t, NULL);
    return s;
}

static PyObject *fn_check(PyObject *self, PyObject *none) {
    fn_object *o = (fn_object *)self;
    failure why;
    (void)none;
    PyThreadState *t = enter(o->ctx);
    const tn_status s = tn_check(o->fn);
    leave(o->ctx, t, &why);
    if (s == TN_OK) Py_RETURN_NONE;
    raise_failure(state_of(self), &why);
    return NULL;
}

typedef enum derivative {
    D_JVP,
    D_TRANSPOSE,
    D_VJP,
    D_GRAD,
    D_VALUE_AND_GRAD,
    D_HVP,
    D_JACFWD,
    D_JACREV,
    D_HESSIAN,
    D_COUNT
} derivative;

static tn_fn *derive(const tn_fn *f, int what, const tn_wrt_list *wrt, const tn_policy *policy, size_t block) {
    switch ((derivative)what) {
    case D_JVP: return tn_jvp(f, wrt);
    case D_TRANSPOSE: return tn_transpose(f);
    case D_VJP: return tn_vjp(f, wrt, policy);
    case D_GRAD: return tn_grad(f, wrt, policy);
    case D_VALUE_AND_GRAD: return tn_value_and_grad_aux(f, wrt, policy);
    case D_HVP: return tn_hvp(f, wrt, policy);
    case D_JACFWD: return tn_jacfwd(f, wrt, block);
    case D_JACREV: return tn_jacrev(f, wrt, policy, block);
    case D_HESSIAN: return tn_hessian(f, wrt, policy, block);
    case D_COUNT: break;
    }
    return NULL;
}

/* (what, wrt or None, policy or None, block) */
static PyObject *fn_derive(PyObject *self, PyObject *args) {
    fn_object *o = (fn_object *)self;
    PyObject *wrt;
    const char *policy;
    int what;
    Py_ssize_t block;
    int_list w;
    failure why;
    if (!PyArg_ParseTuple(args, "iOzn", &what, &wrt, &policy, &block)) return NULL;
    if (what < 0 || what >= D_COUNT || block < 0) {
        PyErr_SetString(PyExc_ValueError, block < 0 ? "block is negative" : "no such derivative");
        return NULL;
    }
    if (!take_ints(wrt, 0, &w)) return NULL;
    const tn_wrt_list list = {(size_t)w.n, w.v};
    const tn_policy p = {.size = sizeof p, .name = policy};
    PyThreadState *t = enter(o->ctx);
    tn_fn *f = derive(o->fn, what, w.v ? &list : NULL, policy ? &p : NULL, (size_t)block);
    leave(o->ctx, t, &why);
    PyMem_Free(w.v);
    if (f) return wrap_fn(state_of(self), o->ctx, f);
    raise_failure(state_of(self), &why);
    return NULL;
}

/* What reverse mode is asked for: (wrt or None, policy or None). */
typedef struct reverse {
    int_list w;
    tn_wrt_list list;
    tn_policy named;
    const tn_wrt_list *wrt; /* NULL: all inputs */
    const tn_policy *policy;
} reverse;

static bool take_reverse(PyObject *args, reverse *r) {
    PyObject *wrt;
    const char *policy;
    if (!PyArg_ParseTuple(args, "Oz", &wrt, &policy) || !take_ints(wrt, 0, &r->w)) return false;
    r->list = (tn_wrt_list){(size_t)r->w.n, r->w.v};
    r->named = (tn_policy){.size = sizeof r->named, .name = policy};
    r->wrt = r->w.v ? &r->list : NULL;
    r->policy = policy ? &r->named : NULL;
    return true;
}

/* (wrt or None, policy or None) -> (primal, linear) */
static PyObject *fn_linearize(PyObject *self, PyObject *args) {
    fn_object *o = (fn_object *)self;
    state *st = state_of(self);
    reverse q;
    failure why;
    if (!take_reverse(args, &q)) return NULL;
    PyThreadState *t = enter(o->ctx);
    const tn_linearized l = tn_linearize(o->fn, q.wrt, q.policy);
    leave(o->ctx, t, &why);
    PyMem_Free(q.w.v);
    if (!l.primal) {
        raise_failure(st, &why);
        return NULL;
    }
    PyObject *primal = wrap_fn(st, o->ctx, l.primal), *linear = wrap_fn(st, o->ctx, l.linear), *both = NULL;
    if (primal && linear) both = PyTuple_Pack(2, primal, linear);
    Py_XDECREF(primal);
    Py_XDECREF(linear);
    return both;
}

/* (size, in_axes or None, out_axes or None); None in a tuple is an input that is not mapped. */
static PyObject *fn_vmap(PyObject *self, PyObject *args) {
    fn_object *o = (fn_object *)self;
    PyObject *in, *out;
    long long size;
    int_list ins, outs;
    failure why;
    if (!PyArg_ParseTuple(args, "LOO", &size, &in, &out)) return NULL;
    if ((in != Py_None && PyTuple_Size(in) != (Py_ssize_t)tn_fn_inputs(o->fn)) ||
        (out != Py_None && PyTuple_Size(out) != (Py_ssize_t)tn_fn_outputs(o->fn))) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError,
                         "vmap: the program has %zu inputs and %zu outputs, and each wants an axis or None",
                         tn_fn_inputs(o->fn), tn_fn_outputs(o->fn));
        return NULL;
    }
    if (!take_ints(in, TN_NOT_MAPPED, &ins)) return NULL;
    if (!take_ints(out, TN_NOT_MAPPED, &outs)) {
        PyMem_Free(ins.v);
        return NULL;
    }
    PyThreadState *t = enter(o->ctx);
    tn_fn *f = tn_vmap(o->fn, size, ins.v, outs.v);
    leave(o->ctx, t, &why);
    PyMem_Free(ins.v);
    PyMem_Free(outs.v);
    if (f) return wrap_fn(state_of(self), o->ctx, f);
    raise_failure(state_of(self), &why);
    return NULL;
}

static PyObject *residual_tuple(const tn_residual *r) {
    char type[TN_TYPE_TEXT];
    (void)tn_type_print(&r->type, type, sizeof type);
    return Py_BuildValue("(snssisissids)", type, (Py_ssize_t)r->bytes, tn_residual_verdict_text(r->verdict),
                         r->primitive, r->input, r->file, r->line, r->scope, r->reader, r->reader_line, r->times,
                         r->rule);
}

/* (wrt or None, policy or None) -> ([residual..], totals) */
static PyObject *fn_residuals(PyObject *self, PyObject *args) {
    fn_object *o = (fn_object *)self;
    PyObject *both = NULL;
    reverse q;
    failure why;
    if (!take_reverse(args, &q)) return NULL;
    tn_residual_totals total = {.size = sizeof total};
    PyThreadState *t = enter(o->ctx);
    tn_residuals *r = tn_saved_residuals(o->fn, q.wrt, q.policy);
    const bool ok = r && tn_residuals_total(r, &total) == TN_OK;
    leave(o->ctx, t, &why);
    PyMem_Free(q.w.v);
    if (!ok) {
        raise_failure(state_of(self), &why);
        return NULL;
    }
    PyObject *rows = PyList_New(0);
    for (size_t i = 0; rows && i < tn_residuals_count(r); i++) {
        PyObject *row = residual_tuple(tn_residuals_at(r, i));
        if (!row || PyList_Append(rows, row)) Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    if (rows)
        both = Py_BuildValue("(N(sddddd))", rows, total.policy, total.residual_bytes, total.offloaded_bytes,
                             total.recomputed_flops, total.peak_bytes, total.modelled_ns);
    t = enter(o->ctx);
    tn_residuals_free(r);
    leave(o->ctx, t, NULL);
    return both;
}

typedef struct alive {
    size_t *bytes, n, room;
    bool failed;
} alive;

/* Without the GIL, so not in Python's memory. */
static void take_step(void *user, const tn_memory_step *s) {
    alive *a = user;
    if (a->n == a->room && !a->failed) {
        const size_t room = a->room ? 2 * a->room : 64;
        size_t *bytes = room <= SIZE_MAX / sizeof *bytes ? realloc(a->bytes, room * sizeof *bytes) : NULL;
        if (bytes) a->bytes = bytes, a->room = room;
        a->failed = !bytes;
    }
    if (!a->failed) a->bytes[a->n++] = s->bytes;
}

/* (wrt or None, policy or None) -> ([bytes..], backward, kept, peak) */
static PyObject *fn_memory(PyObject *self, PyObject *args) {
    fn_object *o = (fn_object *)self;
    PyObject *bytes = NULL;
    reverse q;
    failure why;
    if (!take_reverse(args, &q)) return NULL;
    tn_memory_report r = {.size = sizeof r};
    alive a = {0};
    PyThreadState *t = enter(o->ctx);
    const tn_status s = tn_memory_profile(o->fn, q.wrt, q.policy, &r, take_step, &a);
    leave(o->ctx, t, &why);
    PyMem_Free(q.w.v);
    if (s != TN_OK)
        raise_failure(state_of(self), &why);
    else if (a.failed)
        PyErr_NoMemory();
    else
        bytes = PyList_New((Py_ssize_t)a.n);
    for (size_t i = 0; bytes && i < a.n; i++) {
        PyObject *one = PyLong_FromSize_t(a.bytes[i]);
        if (!one || PyList_SetItem(bytes, (Py_ssize_t)i, one)) Py_CLEAR(bytes);
    }
    free(a.bytes);
    return bytes ? Py_BuildValue("(Nnnn)", bytes, (Py_ssize_t)r.backward, (Py_ssize_t)r.kept_bytes,
                                 (Py_ssize_t)r.peak_bytes)
                 : NULL;
}

static PyObject *fn_cost(PyObject *self, PyObject *none) {
    fn_object *o = (fn_object *)self;
    failure why;
    tn_cost_report r = {.size = sizeof r};
    (void)none;
    PyThreadState *t = enter(o->ctx);
    const tn_status s = tn_cost(o->fn, &r);
    leave(o->ctx, t, &why);
    if (s == TN_OK)
        return Py_BuildValue("(ddddddd)", r.equations, r.flops, r.transcendentals, r.products, r.bytes, r.peak_bytes,
                             r.spill_bytes);
    raise_failure(state_of(self), &why);
    return NULL;
}

/* (name or None, header or None, cblas, strict_zero, capacity) -> (source, header) */
static PyObject *fn_emit_c(PyObject *self, PyObject *args) {
    fn_object *o = (fn_object *)self;
    tn_emit_c_options opt = {.size = sizeof opt};
    int strict;
    long long capacity;
    char *source, *header;
    failure why;
    if (!PyArg_ParseTuple(args, "zzppL", &opt.name, &opt.header, &opt.cblas, &strict, &capacity)) return NULL;
    opt.strict_zero = strict;
    opt.capacity = capacity;
    PyThreadState *t = enter(o->ctx);
    const tn_status s = tn_emit_c(o->fn, &opt, &source, &header);
    leave(o->ctx, t, &why);
    if (s != TN_OK) {
        raise_failure(state_of(self), &why);
        return NULL;
    }
    PyObject *both = Py_BuildValue("(ss)", source, header);
    t = enter(o->ctx);
    tn_text_free(o->ctx->c, source);
    tn_text_free(o->ctx->c, header);
    leave(o->ctx, t, NULL);
    return both;
}

static PyObject *fn_types(PyObject *self, PyObject *args) {
    fn_object *o = (fn_object *)self;
    int outputs;
    if (!PyArg_ParseTuple(args, "p", &outputs)) return NULL;
    const size_t n = outputs ? tn_fn_outputs(o->fn) : tn_fn_inputs(o->fn);
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; all && i < n; i++) {
        const tn_type type = outputs ? tn_fn_output_type(o->fn, i) : tn_fn_input_type(o->fn, i);
        PyObject *one = type_tuple(&type);
        if (!one || PyTuple_SetItem(all, (Py_ssize_t)i, one)) Py_CLEAR(all);
    }
    return all;
}

static PyObject *fn_linear_inputs(PyObject *self, PyObject *none) {
    (void)none;
    return PyLong_FromSize_t(tn_fn_linear_inputs(((fn_object *)self)->fn));
}

/* ---- executables -------------------------------------------------------------------- */

static void exec_dealloc(PyObject *self) {
    exec_object *o = (exec_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (o->ctx) {
        enter_with_gil(o->ctx);
        for (size_t i = 0; i < o->nidle; i++) tn_work_free(o->idle[i]);
        tn_exec_free(o->exec);
        PyThread_release_lock(o->ctx->lock);
        context_unref(o->ctx);
    }
    for (size_t j = 0; o->make && j < o->nout; j++) Py_XDECREF(o->make[j]);
    Py_XDECREF(o->empty);
    Py_XDECREF(o->arrange);
    PyMem_Free(o->make);
    PyMem_Free(o->type);
    PyMem_Free(o->idle);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* (shape, dtype) for numpy.empty; the dtype as an object, which takes no look-up in calls. */
static PyObject *make_args(state *st, const tn_type *type) {
    PyObject *t = type_tuple(type), *dtype = t ? PyObject_CallFunction(st->dtype, "s", dtype_name[type->dtype]) : NULL;
    PyObject *args = dtype ? PyTuple_Pack(2, PyTuple_GetItem(t, 1), dtype) : NULL;
    Py_XDECREF(t);
    Py_XDECREF(dtype);
    return args;
}

static bool exec_fill(state *st, exec_object *o, const tn_fn *f) {
    o->nin = tn_fn_inputs(f);
    o->nout = tn_fn_outputs(f);
    o->type = PyMem_Calloc(o->nin + o->nout + 1, sizeof *o->type);
    o->make = PyMem_Calloc(o->nout + 1, sizeof *o->make);
    if (!o->type || !o->make) return PyErr_NoMemory(), false;
    for (size_t i = 0; i < o->nin; i++) o->type[i] = tn_fn_input_type(f, i);
    for (size_t j = 0; j < o->nout; j++) {
        o->type[o->nin + j] = tn_fn_output_type(f, j);
        if (!(o->make[j] = make_args(st, &o->type[o->nin + j]))) return false;
    }
    return true;
}

/* (backend, threads, math, strict_zero, cc or None, cache_dir or None, flush_subnormals) */
static PyObject *fn_compile(PyObject *self, PyObject *args) {
    fn_object *o = (fn_object *)self;
    state *st = state_of(self);
    tn_compile_options opt = {.size = sizeof opt};
    int strict, flush;
    failure why;
    if (!PyArg_ParseTuple(args, "iiipzzp", &opt.backend, &opt.threads, &opt.math, &strict, &opt.cc, &opt.cache_dir,
                          &flush))
        return NULL;
    opt.strict_zero = strict;
    opt.flush_subnormals = flush;
    exec_object *e = (exec_object *)PyType_GenericAlloc((PyTypeObject *)st->exec, 0);
    if (!e) return NULL;
    e->empty = Py_NewRef(st->empty);
    e->arrange = Py_NewRef(st->arrange);
    if (!exec_fill(st, e, o->fn)) {
        Py_DECREF(e);
        return NULL;
    }
    PyThreadState *t = enter(o->ctx);
    e->exec = tn_compile(o->fn, &opt);
    leave(o->ctx, t, &why);
    if (!e->exec) {
        raise_failure(st, &why);
        Py_DECREF(e);
        return NULL;
    }
    o->ctx->refs++;
    e->ctx = o->ctx;
    return (PyObject *)e;
}

/* A workspace that nobody uses: each call at the same time has its own. */
static tn_work *take_work(exec_object *o) {
    if (o->nidle) return o->idle[--o->nidle];
    tn_work **room = PyMem_Realloc(o->idle, (o->nwork + 1) * sizeof *room);
    if (!room) return PyErr_NoMemory(), NULL;
    o->idle = room;
    o->nwork++; /* before others may come: its place in the list is reserved */
    failure why;
    PyThreadState *t = enter(o->ctx);
    tn_work *w = tn_work_new(o->exec, NULL, 0);
    leave(o->ctx, t, &why);
    if (!w) {
        o->nwork--;
        raise_failure(state_of((PyObject *)o), &why);
    }
    return w;
}

static int dtype_of(const Py_buffer *v) {
    const char *f = v->format ? v->format : "B";
    if (*f == '@' || *f == '=' || *f == '<') f++;
    if (!*f || f[1]) return TN_BUFFER_NONE;
    switch (*f) {
    case '?': return TN_BOOL;
    case 'b': return TN_I8;
    case 'B': return TN_U8;
    case 'h': return TN_I16;
    case 'H': return TN_U16;
    case 'e': return TN_F16;
    case 'i':
    case 'l':
    case 'q': return v->itemsize == 4 ? TN_I32 : v->itemsize == 8 ? TN_I64 : TN_BUFFER_NONE;
    case 'I':
    case 'L':
    case 'Q': return v->itemsize == 4 ? TN_U32 : v->itemsize == 8 ? TN_U64 : TN_BUFFER_NONE;
    case 'f': return TN_F32;
    case 'd': return TN_F64;
    default: return TN_BUFFER_NONE;
    }
}

static bool view_fits(const Py_buffer *v, const tn_type *t) {
    /* buffers of bfloat16 are of its bits */
    if (dtype_of(v) != (t->dtype == TN_BF16 ? TN_U16 : (int)t->dtype) || v->ndim != t->rank ||
        ((uintptr_t)v->buf & (uintptr_t)(v->itemsize - 1)))
        return false;
    for (int i = 0; i < t->rank; i++)
        if (v->shape[i] != t->dim[i]) return false;
    return true;
}

/* Input i as it is, or what NumPy makes of it; refused with its number where dtype or shape is another. */
static bool view_input(exec_object *o, size_t i, PyObject *given, Py_buffer *v) {
    const tn_type *t = &o->type[i];
    if (PyObject_CheckBuffer(given) && !PyObject_GetBuffer(given, v, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        if (view_fits(v, t)) return true;
        PyBuffer_Release(v);
    }
    PyErr_Clear();
    PyObject *type = type_tuple(t);
    PyObject *array = type ? PyObject_CallFunction(o->arrange, "OOn", given, type, (Py_ssize_t)i) : NULL;
    Py_XDECREF(type);
    const bool ok = array && !PyObject_GetBuffer(array, v, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    Py_XDECREF(array); /* the view holds it */
    if (ok && !view_fits(v, t)) {
        PyBuffer_Release(v);
        PyErr_Format(PyExc_TypeError, "input %zu has another type than the program's", i);
        return false;
    }
    return ok;
}

/* What has a buffer: of an array of ml_dtypes' bfloat16, which has none, its bits. */
static PyObject *with_buffer(const tn_type *t, PyObject *array) {
    return t->dtype == TN_BF16 && PyObject_HasAttrString(array, "view")
               ? PyObject_CallMethod(array, "view", "s", "uint16")
               : Py_NewRef(array);
}

static bool view_output(exec_object *o, size_t j, PyObject *array, Py_buffer *v) {
    PyObject *bits = with_buffer(&o->type[o->nin + j], array);
    const bool none = !bits || PyObject_GetBuffer(bits, v, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE);
    Py_XDECREF(bits); /* the view holds it */
    if (none) return false;
    if (view_fits(v, &o->type[o->nin + j])) return true;
    char type[TN_TYPE_TEXT];
    (void)tn_type_print(&o->type[o->nin + j], type, sizeof type);
    PyErr_Format(PyExc_TypeError, "out[%zu] is no aligned, contiguous array of the type %s", j, type);
    PyBuffer_Release(v);
    return false;
}

/* A call while it is prepared: views[0 .. nviews) are held. */
typedef struct call {
    exec_object *o;
    Py_buffer *view;
    tn_buffer *buffer;
    size_t nviews;
    PyObject *result;
} call;

static void hold(call *k, int dtype) {
    const Py_buffer *v = &k->view[k->nviews];
    k->buffer[k->nviews++] = (tn_buffer){.at.out = v->buf, .bytes = (size_t)v->len, .dtype = dtype};
}

static bool take_inputs(call *k, PyObject *args) {
    const Py_ssize_t n = PyTuple_Size(args);
    if (n != (Py_ssize_t)k->o->nin) {
        PyErr_Format(PyExc_TypeError, "the program has %zu inputs, and %zd were given", k->o->nin, n);
        return false;
    }
    for (size_t i = 0; i < k->o->nin; i++) {
        if (!view_input(k->o, i, PyTuple_GetItem(args, (Py_ssize_t)i), &k->view[i])) return false;
        hold(k, k->o->type[i].dtype);
    }
    return true;
}

/* `out` is NULL, the one array, or a tuple of them; None in it: a new one. */
static bool take_outputs(call *k, PyObject *out) {
    exec_object *o = k->o;
    const bool many = out && PyTuple_Check(out);
    if (out == Py_None) out = NULL;
    if (out && (many ? PyTuple_Size(out) != (Py_ssize_t)o->nout : o->nout != 1)) {
        PyErr_Format(PyExc_TypeError, "out: the program has %zu outputs, and wants a tuple of as many arrays", o->nout);
        return false;
    }
    if (!(k->result = PyTuple_New((Py_ssize_t)o->nout))) return false;
    for (size_t j = 0; j < o->nout; j++) {
        PyObject *given = many ? PyTuple_GetItem(out, (Py_ssize_t)j) : out;
        PyObject *array = given && given != Py_None ? Py_NewRef(given) : PyObject_Call(o->empty, o->make[j], NULL);
        if (!array || PyTuple_SetItem(k->result, (Py_ssize_t)j, array)) return false;
        if (!view_output(o, j, array, &k->view[k->nviews])) return false;
        hold(k, o->type[o->nin + j].dtype);
    }
    return true;
}

static bool run(call *k) {
    exec_object *o = k->o;
    tn_work *w = take_work(o);
    if (!w) return false;
    const tn_buffer_list ins = {o->nin, k->buffer}, outs = {o->nout, k->buffer + o->nin};
    const void *in[] = {tn_described, &ins};
    void *out[] = {(void *)(uintptr_t)tn_described, (void *)(uintptr_t)&outs};
    PyThreadState *t = PyEval_SaveThread();
    const tn_status s = tn_call_in(o->exec, w, in, out);
    PyEval_RestoreThread(t);
    /* what a callback raised is there already */
    if (s != TN_OK && !PyErr_Occurred()) raise_status(state_of((PyObject *)o)->error, s, tn_work_error(w));
    o->idle[o->nidle++] = w;
    return s == TN_OK;
}

static PyObject *out_of(PyObject *kwargs) {
    PyObject *out = kwargs ? PyDict_GetItemString(kwargs, "out") : NULL;
    if (kwargs && PyDict_Size(kwargs) != (out ? 1 : 0)) {
        PyErr_SetString(PyExc_TypeError, "a call has no keyword argument but out");
        return NULL;
    }
    return out ? out : Py_None;
}

#define FEW 24 /* arguments whose views are on the stack */

static PyObject *exec_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    exec_object *o = (exec_object *)self;
    const size_t n = o->nin + o->nout;
    Py_buffer few[FEW];
    tn_buffer few_buffers[FEW];
    call k = {.o = o, .view = few, .buffer = few_buffers};
    PyObject *out = out_of(kwargs), *given = NULL;
    if (!out) return NULL;
    if (n > FEW) {
        k.view = PyMem_Calloc(n, sizeof *k.view);
        k.buffer = PyMem_Calloc(n, sizeof *k.buffer);
    }
    if (!k.view || !k.buffer)
        PyErr_NoMemory();
    else if (take_inputs(&k, args) && take_outputs(&k, out) && run(&k))
        given = o->nout == 1 ? Py_NewRef(PyTuple_GetItem(k.result, 0)) : Py_NewRef(k.result);
    for (size_t i = 0; i < k.nviews; i++) PyBuffer_Release(&k.view[i]);
    Py_XDECREF(k.result);
    if (n > FEW) {
        PyMem_Free(k.view);
        PyMem_Free(k.buffer);
    }
    return given;
}

static PyObject *exec_backend(PyObject *self, void *closure) {
    static const char *const name[] = {"default", "reference", "native", "assembler", "strips"};
    (void)closure;
    return PyUnicode_FromString(name[tn_exec_backend(((exec_object *)self)->exec, NULL)]);
}

static PyObject *exec_why(PyObject *self, void *closure) {
    const char *why = "";
    (void)closure;
    (void)tn_exec_backend(((exec_object *)self)->exec, &why);
    return PyUnicode_FromString(why);
}

static PyObject *exec_bytes(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromSize_t(tn_exec_bytes(((exec_object *)self)->exec));
}

static PyObject *exec_types(exec_object *o, size_t from, size_t n) {
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; all && i < n; i++) {
        PyObject *one = type_tuple(&o->type[from + i]);
        if (!one || PyTuple_SetItem(all, (Py_ssize_t)i, one)) Py_CLEAR(all);
    }
    return all;
}

static PyObject *exec_inputs(PyObject *self, void *closure) {
    (void)closure;
    return exec_types((exec_object *)self, 0, ((exec_object *)self)->nin);
}

static PyObject *exec_outputs(PyObject *self, void *closure) {
    exec_object *o = (exec_object *)self;
    (void)closure;
    return exec_types(o, o->nin, o->nout);
}

/* ---- the module -------------------------------------------------------------------- */

static PyMethodDef fn_methods[] = {{"text", fn_text, METH_NOARGS, "The program's text."},
                                   {"check", fn_check, METH_NOARGS, "Scoping, types and linearity."},
                                   {"derive", fn_derive, METH_VARARGS, "A derivative, by number."},
                                   {"linearize", fn_linearize, METH_VARARGS, "The primal and the linear program."},
                                   {"vmap", fn_vmap, METH_VARARGS, "The program over a new axis."},
                                   {"residuals", fn_residuals, METH_VARARGS, "What a derivative keeps."},
                                   {"memory", fn_memory, METH_VARARGS, "What is alive in a derivative's arena."},
                                   {"cost", fn_cost, METH_NOARGS, "The static cost of one run."},
                                   {"emit_c", fn_emit_c, METH_VARARGS, "C source and header."},
                                   {"types", fn_types, METH_VARARGS, "Types of inputs, or of outputs."},
                                   {"linear_inputs", fn_linear_inputs, METH_NOARGS, "How many inputs are linear."},
                                   {"compile", fn_compile, METH_VARARGS, "An executable."},
                                   {0}};
static PyType_Slot fn_slots[] = {{Py_tp_dealloc, fn_dealloc}, {Py_tp_methods, fn_methods}, {0}};
static PyType_Spec fn_spec = {"tansy._core.Fn", sizeof(fn_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, fn_slots};

static PyGetSetDef exec_members[] = {
    {"backend", exec_backend, NULL, "Who runs it: \"assembler\", \"strips\", \"native\" or \"reference\".", NULL},
    {"why", exec_why, NULL, "Why another runs it than was asked for, or strips by default; else \"\".", NULL},
    {"bytes", exec_bytes, NULL, "Bytes of workspace that each call at the same time has.", NULL},
    {"inputs", exec_inputs, NULL, "(dtype, shape) of each input.", NULL},
    {"outputs", exec_outputs, NULL, "(dtype, shape) of each output.", NULL},
    {0}};
static PyType_Slot exec_slots[] = {
    {Py_tp_dealloc, exec_dealloc},
    {Py_tp_call, exec_call},
    {Py_tp_getset, exec_members},
    {Py_tp_doc,
     "A compiled program: run(x, y, .., out=None) -> an array, or a tuple of them.\n\n"
     "Inputs that have the buffer protocol (NumPy arrays) are read where they are if they are contiguous, aligned and "
     "of\n"
     "the program's dtype and shape.  Other layouts, numbers, lists and arrays of other libraries become NumPy arrays\n"
     "first; another shape, or a dtype that would be rounded, is a TypeError that names the input.  Outputs are new\n"
     "arrays, or those given as `out`, which may share no memory with an input.  The GIL is released while it runs, "
     "and\n"
     "calls from several threads run at the same time."},
    {0}};
static PyType_Spec exec_spec = {"tansy._core.Executable", sizeof(exec_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, exec_slots};

static PyObject *attribute(const char *module, const char *name) {
    PyObject *m = PyImport_ImportModule(module), *a = m ? PyObject_GetAttrString(m, name) : NULL;
    Py_XDECREF(m);
    return a;
}

static int core_exec(PyObject *module) {
    state *st = PyModule_GetState(module);
    st->empty = attribute("numpy", "empty");
    st->dtype = attribute("tansy._arrays", "dtype");
    st->arrange = attribute("tansy._arrays", "arrange");
    st->error = attribute("tansy._errors", "Error");
    st->fn = PyType_FromModuleAndSpec(module, &fn_spec, NULL);
    st->exec = PyType_FromModuleAndSpec(module, &exec_spec, NULL);
    if (!st->empty || !st->dtype || !st->arrange || !st->error || !st->fn || !st->exec) return -1;
    if (PyModule_AddObjectRef(module, "Fn", st->fn) || PyModule_AddObjectRef(module, "Executable", st->exec)) return -1;
    return PyModule_AddStringConstant(module, "version", tn_version());
}

static int core_traverse(PyObject *module, visitproc visit, void *arg) {
    state *st = PyModule_GetState(module);
    Py_VISIT(st->fn);
    Py_VISIT(st->exec);
    Py_VISIT(st->error);
    Py_VISIT(st->empty);
    Py_VISIT(st->dtype);
    Py_VISIT(st->arrange);
    return 0;
}

static int core_clear(PyObject *module) {
    state *st = PyModule_GetState(module);
    Py_CLEAR(st->fn);
    Py_CLEAR(st->exec);
    Py_CLEAR(st->error);
    Py_CLEAR(st->empty);
    Py_CLEAR(st->dtype);
    Py_CLEAR(st->arrange);
    return 0;
}

static PyMethodDef core_methods[] = {{"parse", core_parse, METH_VARARGS, "A program from its text."}, {0}};
static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, (void *)core_exec}, {0}};
static PyModuleDef core_module = {PyModuleDef_HEAD_INIT,     .m_name = "tansy._core", .m_size = sizeof(state),
                                  .m_methods = core_methods, .m_slots = core_slots,   .m_traverse = core_traverse,
                                  .m_clear = core_clear};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core_module); }
