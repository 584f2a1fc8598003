"""JAX programs as Tansy's: a jaxpr is written as text (docs/ir.md, docs/jax.md) and parsed.

An equation is one line or more, each with the place in the user's Python beside it, so that messages and residuals
speak of that.  What is missing is noted while the walk goes on, and refused once, all of it."""

import functools
import re
import warnings

import numpy as np

from . import _bits, _callbacks, _composed, _core, _equinox
from ._errors import Error, Unsupported
from ._program import _parse

_DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "bool"}
_DTYPES |= {f"{kind}int{bits}": f"{kind or 'i'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)}
# Texts have complex arrays, and the parser makes two real ones of each (docs/ir.md).
_DTYPES |= {"complex64": "c64", "complex128": "c128"}
_COMPLEX = set(
    """neg add sub mul div pow integer_pow abs sign square sqrt rsqrt exp exp2 expm1 log log1p sin cos tan asin acos atan sinh
    cosh tanh asinh acosh atanh logistic eq ne is_finite stop_gradient add_any convert_element_type reduce_sum reduce_prod
    cumsum broadcast_in_dim transpose rev slice pad concatenate split dynamic_slice dynamic_update_slice gather scatter
    scatter-add scatter_add dot_general conv_general_dilated select_n reshape squeeze expand_dims name real imag conj complex
    cumprod sort cholesky triangular_solve lu qr eigh svd schur fft eig geqrf hessenberg householder_product ormqr
    tridiagonal_solve lu_pivots_to_permutation iota stack tile jit pjit closed_call core_call core_closed_call checkpoint remat remat2 scan while cond
    custom_linear_solve linear_solve custom_jvp_call custom_jvp_call_jaxpr custom_vjp_call custom_vjp_call_jaxpr pure_callback
    select_if_vmap maybe_set""".split()
)
_INDICES = ("int32", "int64")
_FILE = "<jax>"
_UNROLLED = 64  # steps of a scan that are written out where it asks for all of them at once
# Rules within rules that are kept.  The rule of logaddexp calls logaddexp: in the third of them it is its program.
RULES = 3

_WINDOW = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")

# Primitives that are spelled as here, with the parameters that have a meaning here.
_PLAIN = (
    {
        name: ()
        for name in """neg add sub mul div rem pow max min abs sign sqrt rsqrt cbrt square exp exp2 expm1 log log1p sin cos tan
    asin acos atan atan2 sinh cosh tanh asinh acosh atanh logistic erf erfc erf_inv lgamma digamma polygamma zeta igamma igammac
    igamma_grad_a random_gamma_grad regularized_incomplete_beta bessel_i0e bessel_i1e floor ceil clamp
    eq ne lt le gt ge lt_to le_to and or xor not shift_left shift_right_logical
    shift_right_arithmetic population_count clz is_finite stop_gradient add_any cholesky lu dynamic_update_slice""".split()
    }
    | {
        "real": (),
        "imag": (),
        "conj": (),
        "complex": (),
        "fft": ("fft_lengths", "fft_type"),
        "integer_pow": ("y",),
        "round": ("rounding_method",),
        "convert_element_type": ("new_dtype",),
        "bitcast_convert_type": ("new_dtype",),
        "reduce_sum": ("axes",),
        "reduce_max": ("axes",),
        "reduce_min": ("axes",),
        "reduce_prod": ("axes",),
        "reduce_or": ("axes",),
        "reduce_and": ("axes",),
        "reduce_xor": ("axes",),
        "argmax": ("axes", "index_dtype"),
        "argmin": ("axes", "index_dtype"),
        "cumsum": ("axis", "reverse"),
        "cumprod": ("axis", "reverse"),
        "cummax": ("axis", "reverse"),
        "cummin": ("axis", "reverse"),
        "cumlogsumexp": ("axis", "reverse"),
        "sort": ("dimension", "is_stable", "num_keys"),
        "broadcast_in_dim": ("shape", "broadcast_dimensions"),
        "transpose": ("permutation",),
        "rev": ("dimensions",),
        "slice": ("start_indices", "limit_indices", "strides"),
        "pad": ("padding_config",),
        "concatenate": ("dimension",),
        "split": ("sizes", "axis"),
        "iota": ("dtype", "shape", "dimension"),
        "dynamic_slice": ("slice_sizes",),
        "gather": ("dimension_numbers", "slice_sizes", "mode", "fill_value"),
        "dot_general": ("dimension_numbers", "preferred_element_type"),
        "triangular_solve": ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"),
        "eigh": ("lower",),
        "qr": ("full_matrices",),
        "svd": ("full_matrices", "compute_uv"),
        "name": ("name",),
        "conv_general_dilated": (
            "window_strides",
            "padding",
            "lhs_dilation",
            "rhs_dilation",
            "dimension_numbers",
            "feature_group_count",
            "batch_group_count",
            "preferred_element_type",
        ),
        "reduce_window_sum": _WINDOW,
        "reduce_window_max": _WINDOW,
        "reduce_window_min": _WINDOW,
        "select_and_gather_add": (*_WINDOW, "select_prim"),
        "select_and_scatter_add": ("window_dimensions", "window_strides", "padding", "select_prim"),
    }
)
# What moves keys.
_OF_KEYS = set(
    """reshape squeeze expand_dims slice broadcast_in_dim transpose concatenate rev split dynamic_slice
    dynamic_update_slice gather select_n convert_element_type""".split()
)
# From which operand on they are indices.
_PLACES = {"gather": 1, "dynamic_slice": 1, "dynamic_update_slice": 2}
# Nothing where there is one device.
_SAME = {
    "copy",
    "copy_p",
    "optimization_barrier",
    "sharding_constraint",
    "device_put",
    "layout_constraint",
    "mesh_cast",
    "random_wrap",
    "random_unwrap",
    "random_clone",
} | _equinox.SAME
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "core_closed_call": "call_jaxpr",
}
_REMAT = {"checkpoint", "remat", "remat2"}


def _is_key(aval):
    return str(getattr(aval, "dtype", "")).startswith("key<")


def _dtypes(eqn):
    return {str(getattr(v.aval, "dtype", "")) for v in [*eqn.invars, *eqn.outvars]}


def _string(s):
    plain = lambda b: 32 <= b < 127 and b not in b'"\\'
    return '"' + "".join(chr(b) if plain(b) else f"\\x{b:02x}" for b in str(s).encode()) + '"'


def _value(v):
    """A parameter's value."""
    if isinstance(v, (bool, np.bool_)) or v is None:
        return str(v)
    if isinstance(v, (int, np.integer)) and type(v).__name__ in ("int", "int32", "int64", "uint32"):
        return str(int(v))
    if isinstance(v, (float, np.floating)):
        return repr(float(v))
    if hasattr(v, "_fields"):  # GatherDimensionNumbers and the like
        return f"{type(v).__name__}({', '.join(f'{k}={_value(getattr(v, k))}' for k in v._fields)})"
    if isinstance(v, (tuple, list)):
        return "(" + "".join(_value(i) + ", " for i in v) + ")"
    if hasattr(v, "name") and not isinstance(v, np.dtype):  # an enumerator
        return str(v.name)
    try:
        return _DTYPES.get(np.dtype(v).name, np.dtype(v).name)
    except TypeError:
        return _string(v)


def _number(x, dtype):
    if dtype[0] == "c":
        return f"({float(x.real)!r}{float(x.imag):+}j)"
    if dtype == "bool":
        return str(bool(x))
    if dtype[0] == "f" or dtype == "bf16":
        return repr(float(x))
    return str(int(x))


def _array(x, dtype):
    """Nested lists; an array without elements is []."""
    if x.ndim == 0:
        return _number(x, dtype)
    return "[" + (", ".join(_array(i, dtype) for i in x) if x.size else "") + "]"


def _place(eqn):
    """file:line of the user's code, "" where JAX does not tell."""
    try:
        from jax._src import source_info_util

        where = source_info_util.summarize(eqn.source_info)
    except Exception:  # an internal function of JAX, whose place may change
        return ""
    found = re.match(r"(.*?:\d+)", where)
    return found.group(1) if found else ""


def _policy(policy):
    """The name of a policy of jax.checkpoint_policies; None where it has none here."""
    from jax import checkpoint_policies as known

    if policy is None:
        return "nothing_saveable"
    for name in ("everything_saveable", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable"):
        if policy is getattr(known, name) or (
            type(policy).__name__ == "DotsSaveable" and policy == getattr(known, name)
        ):
            return name
    kind = re.sub(r"\.<locals>.*", "", getattr(policy, "__qualname__", type(policy).__qualname__))
    held = dict(vars(policy)) if hasattr(policy, "__dict__") else {}
    if hasattr(policy, "__code__"):
        held = dict(zip(policy.__code__.co_freevars, [c.cell_contents for c in policy.__closure__ or ()]))
    names = [
        ",".join(sorted(v)) for _, v in sorted(held.items(), reverse=True) if isinstance(v, (set, frozenset, tuple))
    ]
    kind = {"SaveOnlyTheseNames": "save_only_these_names", "SaveAnyNamesButThese": "save_any_names_but_these"}.get(
        kind, kind
    )
    if kind in ("save_only_these_names", "save_any_names_but_these") and len(names) == 1:
        return f"{kind}:{names[0]}"
    if kind == "save_from_both_policies" and {"policy_1", "policy_2"} <= held.keys():
        both = [_policy(held["policy_1"]), _policy(held["policy_2"])]
        return f"{kind}:{'|'.join(both)}" if all(both) else None
    return None


class _Walk:
    """The programs of one text: nested ones stand in front, by name, each once."""

    def __init__(self):
        self.lets = []  # (name, lines)
        self.names = {}  # of nested jaxprs by identity; `kept` keeps that
        self.kept = []
        self.missing = {}
        self.callbacks = _callbacks.Callbacks()
        self.rules = 0  # of the user, around what is written now

    def lack(self, what, place):
        places = self.missing.setdefault(what, [])
        if place and place not in places:
            places.append(place)

    def define(self, lines):
        name = f"p{len(self.lets) + 1}"
        self.lets.append((name, lines))
        return name

    def nested(self, jaxpr, consts=None):
        """The name of a jaxpr's program, closed or with constants of its own."""
        if consts is None:
            jaxpr, consts = (jaxpr.jaxpr, jaxpr.consts) if hasattr(jaxpr, "consts") else (jaxpr, ())
        key = (id(jaxpr), tuple(map(id, consts)), self.rules)
        if key not in self.names:
            self.kept.append((jaxpr, consts))
            self.names[key] = self.define(_Body(self).program(jaxpr, consts))
        return self.names[key]

    def text(self, main):
        lines = [line for name, body in self.lets for line in [(f"let {name} =", ""), *body, ("in", "")]] + main
        return "\n".join(line for line, _ in lines), [place for _, place in lines]


def _live(jaxpr):
    """The equations that an output needs, or that have effects."""
    needed = {v for v in jaxpr.outvars if not hasattr(v, "val")}
    live = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(v in needed for v in eqn.outvars):
            live.append(eqn)
            needed.update(v for v in eqn.invars if not hasattr(v, "val"))
    return live[::-1]


class _Body(_equinox.Equinox):
    """One program while it is written."""

    def __init__(self, walk):
        self.walk, self.lines, self.names, self.count = walk, [], {}, 0
        self.place = ""
        self.permutations = {}  # of pivots, as `lu` has them
        self.numbers = {}  # variables that are known when the program is made
        self.values = {}  # those that are constants of rank 0

    # ---- names, types, operands ------------------------------------------

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def type(self, aval):
        dtype, shape = str(getattr(aval, "dtype", aval)), aval.shape
        if dtype == "key<fry>":
            dtype, shape = "uint32", (*shape, 2)
        if dtype not in _DTYPES:
            self.walk.lack(f"dtype {dtype}", self.place)
        if any(not isinstance(d, (int, np.integer)) for d in aval.shape):
            self.walk.lack("shapes that are not numbers", self.place)
        return f"{_DTYPES.get(dtype, 'f32')}[{','.join(map(str, shape))}]"

    def put(self, text, aval=None, type=None):
        """A line `v:type = text`; v."""
        v = self.new()
        self.lines.append((f"  {v}:{type or self.type(aval)} = {text}", self.place))
        return v

    def constant(self, x):
        if _is_key(x):
            from jax.random import key_data

            x = key_data(x)
        x = np.asarray(x)
        dtype = _DTYPES.get(str(x.dtype))
        if dtype is None:
            self.walk.lack(f"dtype {x.dtype}", self.place)
            return self.new()
        if dtype[0] == "c" and not (x.ndim == 0 and np.isfinite(x)):
            parts = " ".join([self.constant(np.array(x.real, order="C")), self.constant(np.array(x.imag, order="C"))])
            return self.put(f"complex {parts}", x)
        if dtype[0] == "c":
            return f"{_number(x, dtype)}:{dtype}[]"
        if x.size > 1 and x.tobytes() == x.flat[0].tobytes() * x.size:
            shape = ",".join(map(str, x.shape))
            return self.put(f"broadcast_in_dim {_number(x.flat[0], dtype)}:{dtype}[]", type=f"{dtype}[{shape}]")
        return self.put(f"constant[value={_array(x, dtype)}]", x)

    def atom(self, v):
        if not hasattr(v, "val"):
            return self.names[v]
        x = np.asarray(v.val)
        if x.dtype != v.aval.dtype:  # a number may be written with more digits
            x = x.astype(v.aval.dtype)
        if x.ndim or np.iscomplexobj(x):
            return self.constant(x.astype(v.aval.dtype))
        type = self.type(v.aval)
        return f"{_number(x, type[: type.index('[')])}:{type}"

    def atoms(self, vs):
        return " ".join([self.atom(v) for v in vs])

    value, string = staticmethod(_value), staticmethod(_string)

    def zeros(self, aval):
        x = "False" if str(aval.dtype) == "bool" else "0"
        return self.filled(x, aval)

    # ---- programs -----------------------------------------------------------

    def program(self, jaxpr, consts, linear=0, drop=()):
        """Lines of a program over the jaxpr's inputs, the last `linear` of them behind the bar, without outputs in
        `drop`."""
        inputs = []
        for v in jaxpr.invars:
            self.names[v] = self.new()
            inputs.append(f"{self.names[v]}:{self.type(v.aval)}")
        bar = ["| " + " ".join(inputs[len(inputs) - linear :])] if linear else []
        head = " ".join(["{ lambda", *inputs[: len(inputs) - linear], *bar, ". let"])
        for v, x in zip(jaxpr.constvars, consts):
            self.names[v] = self.constant(x)
            if not _is_key(x) and np.ndim(x) == 0:
                self.values[v] = np.asarray(x).item()
        for eqn in _live(jaxpr):
            self.equation(eqn)
        outputs = [self.atom(v) for i, v in enumerate(jaxpr.outvars) if i not in drop]
        return [(head, ""), *self.lines, (f"  in ({''.join(o + ', ' for o in outputs)}) }}", "")]

    def equation(self, eqn):
        self.place = _place(eqn)
        name = eqn.primitive.name
        if _dtypes(eqn) & {"complex64", "complex128"} and name not in _COMPLEX | _SAME:
            return self.lack(eqn, f"{name} of complex arrays")
        if any(_is_key(v.aval) for v in eqn.outvars) and name in _OF_KEYS:
            self.of_keys(eqn)
        elif name == "dot_general" and eqn.invars[0].aval.dtype != eqn.invars[1].aval.dtype:
            self.mixed_product(eqn)
        elif name in _PLAIN:
            self.plain(eqn)
        elif name in _SAME:
            for v, x in zip(eqn.outvars, eqn.invars):
                self.names[v] = self.atom(x)
        elif name in _CALLS:
            self.call(eqn, _CALLS[name])
        elif name in _REMAT:
            self.remat(eqn)
        else:
            special = getattr(self, "do_" + name.replace("-", "_"), None)
            if special:
                special(eqn)
            else:
                self.lack(eqn, name)

    def of_keys(self, eqn):
        """Keys are moved, a dimension of two words behind the others."""
        name, p, out = eqn.primitive.name, dict(eqn.params), eqn.outvars[0].aval
        operands = [self.atom(v) for v in eqn.invars]
        if name == "convert_element_type":  # of keys to keys
            self.names[eqn.outvars[0]] = operands[0]
            return None
        if name in ("reshape", "squeeze", "expand_dims"):
            return self.emit(eqn, "reshape", [("new_sizes", _value((*out.shape, 2)))], operands[0])
        if name == "slice":
            p["start_indices"], p["limit_indices"] = (*p["start_indices"], 0), (*p["limit_indices"], 2)
            p["strides"] = p["strides"] and (*p["strides"], 1)
        elif name == "broadcast_in_dim":
            p["shape"] = (*out.shape, 2)
            p["broadcast_dimensions"] = (*p["broadcast_dimensions"], len(out.shape))
        elif name == "transpose":
            p["permutation"] = (*p["permutation"], len(out.shape))
        elif name == "dynamic_slice":
            p["slice_sizes"] = (*p["slice_sizes"], 2)
            operands = [operands[0], *map(self.place_of, eqn.invars[1:])]
            operands.append(f"0:{self.index_type(eqn.invars[1])}[]")
        elif name == "dynamic_update_slice":
            operands = [*operands[:2], *map(self.place_of, eqn.invars[2:])]
            operands.append(f"0:{self.index_type(eqn.invars[2])}[]")
        elif name == "gather":
            d = p["dimension_numbers"]
            p["dimension_numbers"] = d._replace(offset_dims=(*d.offset_dims, len(out.shape)))
            p["slice_sizes"] = (*p["slice_sizes"], 2)
            operands[1] = self.place_of(eqn.invars[1])
        elif name == "select_n":
            which = eqn.invars[0].aval
            if str(which.dtype) != "bool" or len(eqn.invars) != 3:
                return self.lack(eqn, "select_n of more than two keys")
            if which.shape:
                shape, dims = (*which.shape, 2), tuple(range(len(which.shape)))
                operands[0] = self.put(
                    f"broadcast_in_dim[shape={_value(shape)} broadcast_dimensions={_value(dims)}] {operands[0]}",
                    type=f"bool[{','.join(map(str, shape))}]",
                )
        params = [(k, _value(p[k])) for k in _PLAIN.get(name, ()) if p.get(k) is not None]
        self.emit(eqn, name, params, " ".join(operands))

    @staticmethod
    def index_type(v):
        return "i32" if str(v.aval.dtype) == "int32" else "i64"

    # ---- random numbers ---------------------------------------------------

    def do_random_seed(self, eqn):
        """The upper half of the seed and the lower one, as two words."""
        seed, aval = self.atom(eqn.invars[0]), eqn.invars[0].aval
        shape, kind = ",".join(map(str, aval.shape)), self.type(aval).split("[")[0]
        if not _is_fry(eqn.outvars[0].aval):
            return self.lack(eqn, f"dtype {eqn.outvars[0].aval.dtype}")
        if kind in ("i64", "u64"):
            high = self.put(f"shift_right_logical {seed} {self.filled(32, aval)}", aval)
            high = self.put(f"convert_element_type[new_dtype=u32] {high}", type=f"u32[{shape}]")
        else:
            high = self.put("broadcast_in_dim 0:u32[]", type=f"u32[{shape}]") if aval.shape else "0:u32[]"
        low = self.put(f"convert_element_type[new_dtype=u32] {seed}", type=f"u32[{shape}]")
        one = (*aval.shape, 1)
        words = [
            self.put(f"reshape[new_sizes={_value(one)}] {w}", type=f"u32[{','.join(map(str, one))}]")
            for w in (high, low)
        ]
        self.emit(eqn, "concatenate", [("dimension", len(aval.shape))], " ".join(words))

    def filled(self, n, aval):
        """A number in the shape and dtype of aval."""
        type = self.type(aval)
        number = f"{n}:{type.split('[')[0]}[]"
        return self.put(f"broadcast_in_dim {number}", type=type) if aval.shape else number

    def spread(self, v, aval):
        """An operand in the shape of aval, where dimensions may be missing in front, or have size 1."""
        shape, own = tuple(aval.shape), tuple(v.aval.shape)
        if own == shape:
            return self.atom(v)
        dims = tuple(range(len(shape) - len(own), len(shape)))
        how = f"[shape={_value(shape)} broadcast_dimensions={_value(dims)}]"
        return self.put(f"broadcast_in_dim{how} {self.atom(v)}", type=self.type(v.aval.update(shape=shape)))

    def do_random_split(self, eqn):
        if not _is_fry(eqn.invars[0].aval):
            return self.lack(eqn, f"dtype {eqn.invars[0].aval.dtype}")
        shape = tuple(eqn.params["shape"])
        if not _is_partitionable(eqn):
            return self.as_jax_has_it(eqn, lambda impl, k: impl.split(k, shape))
        self.emit(eqn, "random_split", [("shape", _value(shape))], self.atom(eqn.invars[0]))

    def do_random_bits(self, eqn):
        width = eqn.params["bit_width"]
        if not _is_fry(eqn.invars[0].aval):
            return self.lack(eqn, f"dtype {eqn.invars[0].aval.dtype}")
        shape = tuple(eqn.params["shape"])
        if not _is_partitionable(eqn):
            return self.as_jax_has_it(eqn, lambda impl, k: impl.random_bits(k, width, shape))
        self.emit(eqn, "random_bits", [("dtype", f"u{width}"), ("shape", _value(shape))], self.atom(eqn.invars[0]))

    def do_random_fold_in(self, eqn):
        key, number = (v.aval for v in eqn.invars)
        if not _is_fry(key):
            return self.lack(eqn, f"dtype {key.dtype}")
        if key.shape != number.shape or str(number.dtype) != "uint32":
            return self.lack(eqn, "random_fold_in of other shapes or dtypes")
        self.emit(eqn, "random_fold_in", [], self.atoms(eqn.invars))

    def do_random_gamma(self, eqn):
        """JAX's own sampler, of a that has no derivative; that of the sample y is the one of the root of P(a, y) = P(a,
        sample), as JAX's, to any order.  With log_space it is log y, whose value is the sampler's."""
        import jax

        key, a = (v.aval for v in eqn.invars)
        if not _is_fry(key):
            return self.lack(eqn, f"dtype {key.dtype}")
        draw = lambda k, a: eqn.primitive.impl(k, a, **eqn.params)
        with jax.threefry_partitionable(_is_partitionable(eqn)):
            sampler = self.walk.nested(jax.make_jaxpr(draw)(*_structs(eqn.invars)))
        type, out = self.type(a), eqn.outvars[0]
        one = lambda op, x: self.put(f"{op} {x}", a)
        shape = self.atom(eqn.invars[1])
        fixed = one("stop_gradient", shape)
        x = self.put(f'call[name="random_gamma" program={sampler}] {self.atom(eqn.invars[0])} {fixed}', a)
        drawn, log_space = x, eqn.params.get("log_space", False)
        if log_space:
            x = one("max", f"{one('exp', x)} {self.filled(np.finfo(a.dtype).tiny, a)}")
        probability = one("stop_gradient", one("igamma", f"{fixed} {x}"))
        y = self.put(f"custom_root[{self.gamma_root(type, a)}] {x} {shape} {probability}", a)
        if log_space:
            y = one("log", y)
            y = one("add", f"{drawn} {one('sub', y + ' ' + one('stop_gradient', y))}")
        self.names[out] = y

    def gamma_root(self, type, a):
        """f, solve and linear_solve of P(a, y) = p: the density divides."""
        key = ("gamma_root", type)
        if key not in self.walk.names:
            head = f"{{ lambda y:{type} a:{type} p:{type} . let"
            one = f"1.0:{type[: type.index('[')]}[]"
            ones = [f"i:{type} = broadcast_in_dim {one}"] if a.shape else []
            lines = lambda *texts: [(f"  {t}", self.place) for t in texts]
            f = [(head, ""), *lines(f"u:{type} = igamma a y", f"v:{type} = sub u p"), ("  in (v,) }", "")]
            solve = [(head, ""), ("  in (y,) }", "")]
            divide = [
                (head.replace(" .", f" | r:{type} ."), ""),
                *lines(
                    *ones,
                    f"b:{type} = sub a {'i' if ones else one}",
                    f"l:{type} = log y",
                    f"m:{type} = mul b l",
                    f"n:{type} = sub m y",
                    f"g:{type} = lgamma a",
                    f"h:{type} = sub n g",
                    f"d:{type} = exp h",
                    f"x:{type} = div r d",
                ),
                ("  in (x,) }", ""),
            ]
            names = [self.walk.define(t) for t in (f, solve, divide)]
            self.walk.names[key] = f"f={names[0]} solve={names[1]} linear_solve={names[2]} batch={len(a.shape)}"
        return self.walk.names[key]

    def as_jax_has_it(self, eqn, f):
        """The numbers of jax_threefry_partitionable=False, the default before JAX 0.5: JAX's own program."""
        import jax
        from jax.extend.random import threefry_prng_impl

        keys = eqn.invars[0].aval
        draw = lambda k: f(threefry_prng_impl, k)
        for _ in keys.shape:
            draw = jax.vmap(draw)
        with jax.threefry_partitionable(False):
            program = jax.make_jaxpr(draw)(jax.ShapeDtypeStruct((*keys.shape, 2), np.uint32))
        params = [("name", _string(eqn.primitive.name)), ("program", self.walk.nested(program))]
        self.emit(eqn, "call", params, self.atom(eqn.invars[0]))

    def do_threefry2x32(self, eqn):
        """Twenty rounds on the words of the counter, with the key's words between."""
        aval = eqn.outvars[0].aval
        type = self.type(aval)
        number = lambda n: self.filled(n, aval)
        two = lambda op, x, y: self.put(f"{op} {x} {y}", type=type)
        k0, k1, x, y = [self.spread(v, aval) for v in eqn.invars]
        keys = [k0, k1, two("xor", two("xor", k0, k1), number(0x1BD11BDA))]
        turns = [(13, 15, 26, 6), (17, 29, 16, 24)]
        by = {n: number(n) for row in turns for r in row for n in (r, 32 - r)}
        x, y = two("add", x, k0), two("add", y, k1)
        for i in range(5):
            for r in turns[i % 2]:
                x = two("add", x, y)
                y = two("or", two("shift_left", y, by[r]), two("shift_right_logical", y, by[32 - r]))
                y = two("xor", y, x)
            x = two("add", x, keys[(i + 1) % 3])
            y = two("add", two("add", y, keys[(i + 2) % 3]), number(i + 1))
        self.names[eqn.outvars[0]], self.names[eqn.outvars[1]] = x, y

    def lack(self, eqn, what):
        """Notes what is missing, here and in nested programs, and goes on."""
        self.walk.lack(what, self.place)
        for v in eqn.outvars:
            self.names[v] = self.new()

    def emit(self, eqn, name, params, operands):
        outs = []
        for v in eqn.outvars:
            self.names[v] = self.new()
            outs.append(f"{self.names[v]}:{self.type(v.aval)}")
        inside = " ".join(f"{k}={v}" for k, v in params)
        left = " ".join(outs) if outs else "()"
        self.lines.append((f"  {left} = {name}{f'[{inside}]' if inside else ''} {operands}", self.place))

    def callback(self, eqn, effect=True):
        """A function of Python as an external one; by default it is an effect.  It gets JAX's arrays, as it does there."""
        from jax.numpy import asarray

        all = [*eqn.invars, *eqn.outvars]
        other = [str(v.aval.dtype) for v in all if str(v.aval.dtype) not in _callbacks.DTYPES]
        if other:
            return self.lack(eqn, f"{eqn.primitive.name} of {other[0]}")
        f = eqn.params.get("callback") or functools.partial(eqn.primitive.impl, **eqn.params)
        types = lambda vs: tuple((str(v.aval.dtype), tuple(map(int, v.aval.shape))) for v in vs)
        title = _equinox.name_of(eqn).rsplit(".", 1)[-1] if "callback" in eqn.params else eqn.primitive.name
        run = lambda *args: list(f(*map(asarray, args)) or ())
        name = self.walk.callbacks.add(title, run, types(eqn.invars), types(eqn.outvars), effect)
        written = "".join(f"{self.type(v.aval)}, " for v in eqn.outvars)
        called = [("name", _string(name)), ("mode", "fn"), ("out", f"({written})"), ("batch", "()")]
        self.emit(eqn, "external_call", [*called, ("effect", effect), ("linear", False)], self.atoms(eqn.invars))

    do_io_callback = do_debug_callback = do_debug_print = callback

    def mixed_product(self, eqn):
        """Of two dtypes: both are converted to the result's."""
        out = eqn.outvars[0].aval
        dtype = self.type(out).split("[")[0]
        of = [
            self.put(f"convert_element_type[new_dtype={dtype}] {self.atom(v)}", v.aval.update(dtype=out.dtype, weak_type=False))
            for v in eqn.invars
        ]
        params = [("dimension_numbers", _value(eqn.params["dimension_numbers"]))]
        self.emit(eqn, "dot_general", params, " ".join(of))

    def plain(self, eqn):
        name = eqn.primitive.name
        params = [(k, eqn.params[k]) for k in _PLAIN[name] if eqn.params.get(k) is not None]
        params = [(k, _string(v) if k == "name" else _value(v)) for k, v in params]
        if name == "bitcast_convert_type" and eqn.invars[0].aval.shape != eqn.outvars[0].aval.shape:
            return self.lack(eqn, "bitcast_convert_type to another width")
        if str(eqn.params.get("index_dtype", "int32")) not in _INDICES:
            return self.other_index(eqn)
        for wish in ("subset_by_index", "pivoting"):
            if eqn.params.get(wish) not in (None, False):
                return self.lack(eqn, f"{name} with {wish}")
        first = _PLACES.get(name, len(eqn.invars))
        operands = [*map(self.atom, eqn.invars[:first]), *map(self.place_of, eqn.invars[first:])]
        self.emit(eqn, name, params, " ".join(operands))

    def other_index(self, eqn):
        """argmax and argmin, which are i32 or i64 here."""
        out = eqn.outvars[0].aval
        shape = ",".join(map(str, out.shape))
        params = f"axes={_value(eqn.params['axes'])} index_dtype=i64"
        place = self.put(f"{eqn.primitive.name}[{params}] {self.atom(eqn.invars[0])}", type=f"i64[{shape}]")
        self.names[eqn.outvars[0]] = self.put(f"convert_element_type[new_dtype={_DTYPES[str(out.dtype)]}] {place}", out)

    def place_of(self, v):
        """An index: i32 or i64."""
        if str(v.aval.dtype) in _INDICES:
            return self.atom(v)
        shape, x = ",".join(map(str, v.aval.shape)), self.atom(v)
        if str(v.aval.dtype) == "uint64":  # what is more is beyond all arrays, too
            x = self.put(f"min {x} {self.filled(2**63 - 1, v.aval)}", v.aval)
        return self.put(f"convert_element_type[new_dtype=i64] {x}", type=f"i64[{shape}]")

    # ---- what is spelled otherwise --------------------------------------------

    def do_select_n(self, eqn):
        which, *cases = eqn.invars
        if str(which.aval.dtype) == "bool" and len(cases) == 2:
            return self.emit(eqn, "select_n", [], self.atoms(eqn.invars))
        index, chosen = self.atom(which), self.atom(cases[0])
        kind, shape = self.type(which.aval).split("[")
        for k, x in enumerate(cases[1:], 1):
            number = f"{bool(k) if kind == 'bool' else k}:{kind}[]"
            taken = self.put(f"eq {index} {number}", type=f"bool[{shape}")
            chosen = self.put(f"select {taken} {self.atom(x)} {chosen}", x.aval)
        self.names[eqn.outvars[0]] = chosen

    def do_stack(self, eqn):
        """[..] of each becomes [.., 1, ..], and these are joined."""
        out, axis = eqn.outvars[0].aval, eqn.params.get("axis", eqn.params.get("dimension"))
        shape = tuple(1 if i == axis else n for i, n in enumerate(out.shape))
        kind = self.type(out).split("[")[0]
        shape += (2,) if _is_key(out) else ()
        one = f"{kind}[{','.join(map(str, shape))}]"
        dims = _value([i for i in range(len(shape)) if i != axis])
        how = f"broadcast_in_dim[shape={_value(shape)} broadcast_dimensions={dims}]"
        rows = [self.put(f"{how} {self.atom(x)}", type=one) for x in eqn.invars]
        self.emit(eqn, "concatenate", [("dimension", axis)], " ".join(rows))

    def do_tile(self, eqn):
        """[a, b] becomes [m, a, n, b], and that [m a, n b]."""
        x, reps = eqn.invars[0].aval, eqn.params.get("reps", eqn.params.get("repetitions"))
        reps = (1,) * (len(x.shape) - len(reps)) + tuple(reps)
        shape = [n for pair in zip(reps, (1,) * (len(reps) - len(x.shape)) + tuple(x.shape)) for n in pair]
        dims = [2 * i + 1 for i in range(len(reps) - len(x.shape), len(reps))]
        if len(shape) > 8:
            return self.lack(eqn, "tile of more than four dimensions")
        kind = self.type(x).split("[")[0]
        wide = self.put(
            f"broadcast_in_dim[shape={_value(shape)} broadcast_dimensions={_value(dims)}] {self.atom(eqn.invars[0])}",
            type=f"{kind}[{','.join(map(str, shape))}]",
        )
        self.emit(eqn, "reshape", [("new_sizes", _value(eqn.outvars[0].aval.shape))], wide)

    def do_platform_index(self, eqn):
        """Which branch is for this processor: of lax.platform_dependent."""
        platforms = eqn.params["platforms"]
        found = [i for i, p in enumerate(platforms) if p is None or "cpu" in p]
        if not found:
            return self.lack(eqn, "platform_dependent without a branch for CPUs")
        self.numbers[eqn.outvars[0]] = found[0]
        self.names[eqn.outvars[0]] = f"{found[0]}:i32[]"

    def do_reshape(self, eqn):
        x, order = self.atom(eqn.invars[0]), eqn.params.get("dimensions")
        if order is not None:
            aval = eqn.invars[0].aval
            shape = ",".join(str(aval.shape[d]) for d in order)
            kind = self.type(aval)
            x = self.put(f"transpose[permutation={_value(tuple(order))}] {x}", type=f"{kind[: kind.index('[')]}[{shape}]")
        self.emit(eqn, "reshape", [("new_sizes", _value(eqn.outvars[0].aval.shape))], x)

    def do_squeeze(self, eqn):
        self.emit(eqn, "reshape", [("new_sizes", _value(eqn.outvars[0].aval.shape))], self.atom(eqn.invars[0]))

    def do_expand_dims(self, eqn):
        self.do_squeeze(eqn)

    def do_top_k(self, eqn):
        axis = eqn.params.get("axis", len(eqn.invars[0].aval.shape) - 1)
        self.emit(eqn, "top_k", [("k", eqn.params["k"]), ("axis", axis)], self.atoms(eqn.invars))

    def do_reduce_precision(self, eqn):
        parts = eqn.params["exponent_bits"], eqn.params["mantissa_bits"]
        self.of_bits(eqn, lambda x: _bits.reduce_precision(x, *parts))

    def do_nextafter(self, eqn):
        if str(eqn.outvars[0].aval.dtype) in ("float16", "bfloat16"):
            return self.lack(eqn, f"nextafter of {eqn.outvars[0].aval.dtype}")
        self.of_bits(eqn, _bits.nextafter)

    def of_bits(self, eqn, f):
        out = eqn.outvars[0]
        operands = [self.spread(v, out.aval) for v in eqn.invars]
        if out.aval.dtype.itemsize > 2:
            self.names[out] = self.near(f, operands, out.aval)
            return
        single = out.aval.update(dtype=np.dtype(np.float32), weak_type=False)
        x = self.near(f, [self.put(f"convert_element_type[new_dtype=f32] {x}", single) for x in operands], single)
        self.names[out] = self.put(f"convert_element_type[new_dtype={_DTYPES[str(out.aval.dtype)]}] {x}", out.aval)

    def near(self, f, operands, aval):
        """What is hardly another number than operand 0, whose tangent it has."""
        import jax

        n, type = len(operands), self.type(aval)
        one = jax.ShapeDtypeStruct(aval.shape, np.float32 if type.startswith("f32") else np.float64)
        primal = self.walk.nested(jax.make_jaxpr(f)(*[one] * n))
        inputs = [f"{name}{i}:{type}" for name in ("x", "dx") for i in range(n)]
        head = " ".join(["{ lambda", *inputs[:n], "|", *inputs[n:], ". let"])
        rule = self.walk.define([(head, ""), ("  in (dx0,) }", "")])
        return self.put(f"custom_jvp[call={primal} jvp={rule}] {' '.join(operands)}", type=type)

    def do_lu_pivots_to_permutation(self, eqn):
        """As lu has it, where that is in this program."""
        made = self.permutations.get(eqn.invars[0])
        if made is None:
            return self.composed(eqn)
        self.names[eqn.outvars[0]] = made

    def composed(self, eqn):
        program = self.walk.nested(_composed.jaxpr_of(eqn))
        self.emit(eqn, "call", [("name", f'"{eqn.primitive.name}"'), ("program", program)], self.atoms(eqn.invars))

    do_geqrf = do_hessenberg = do_householder_product = do_ormqr = do_tridiagonal_solve = composed

    def do_eig(self, eqn):
        """Left eigenvectors are made of the right ones."""
        left, right = (bool(eqn.params[f"compute_{side}_eigenvectors"]) for side in ("left", "right"))
        a, values = eqn.invars[0], eqn.outvars[0]
        if not left:
            return self.emit(eqn, "eig", [("compute_vectors", right)], self.atom(a))
        import jax

        dtype = values.aval.dtype
        whole = f"{_DTYPES[str(dtype)]}[{','.join(map(str, a.aval.shape))}]"
        w, v = self.new(), self.new()
        self.lines.append((f"  {w}:{self.type(values.aval)} {v}:{whole} = eig[compute_vectors=True] {self.atom(a)}", self.place))
        made = jax.make_jaxpr(_composed.left_eigenvectors)(jax.ShapeDtypeStruct(a.aval.shape, dtype))
        vl = self.put(f'call[name="left_eigenvectors" program={self.walk.nested(made)}] {v}', type=whole)
        for out, name in zip(eqn.outvars, [w, vl, v]):
            self.names[out] = name
        return None

    def do_schur(self, eqn):
        if eqn.params["sort_eig_vals"] or eqn.params["select_callable"]:
            return self.lack(eqn, "schur with sorted eigenvalues")
        vectors = [("compute_schur_vectors", bool(eqn.params["compute_schur_vectors"]))]
        return self.emit(eqn, "schur", vectors, self.atoms(eqn.invars))

    def scatter_params(self, eqn):
        mode = _value(eqn.params["mode"])
        return [("dimension_numbers", _value(eqn.params["dimension_numbers"])), ("mode", mode)]

    def scatter(self, eqn, name, unique=False):
        x, at, u = eqn.invars
        params = self.scatter_params(eqn)
        if unique and eqn.params["unique_indices"]:
            params.append(("unique_indices", True))
        self.emit(eqn, name, params, f"{self.atom(x)} {self.place_of(at)} {self.atom(u)}")

    def do_scatter_add(self, eqn):
        self.scatter(eqn, "scatter_add")

    def do_scatter_sub(self, eqn):
        x, at, u = eqn.invars
        less = self.put(f"neg {self.atom(u)}", u.aval)
        self.emit(eqn, "scatter_add", self.scatter_params(eqn), f"{self.atom(x)} {self.place_of(at)} {less}")

    def do_scatter(self, eqn):
        if eqn.params.get("update_jaxpr") is not None:
            return self.lack(eqn, "scatter_apply")
        self.scatter(eqn, "scatter", unique=True)

    def do_scatter_mul(self, eqn):
        self.scatter(eqn, "scatter_mul", unique=True)

    def do_scatter_min(self, eqn):
        self.scatter(eqn, "scatter_min")

    def do_scatter_max(self, eqn):
        self.scatter(eqn, "scatter_max")

    # ---- windows -------------------------------------------------------------------

    def do_reduce_window(self, eqn):
        """By a function that is one operation, from a start that changes nothing."""
        p = eqn.params
        body, x = p["jaxpr"], eqn.invars[0].aval
        body = getattr(body, "jaxpr", body)
        one = len(eqn.outvars) == 1 and len(body.eqns) == 1 and list(body.eqns[0].outvars) == list(body.outvars)
        name = body.eqns[0].primitive.name if one and set(body.eqns[0].invars) == set(body.invars) else ""
        start = self.known(eqn.invars[-1])
        kind = np.dtype(x.dtype).kind if not _is_key(x) else ""
        if name in ("or", "and") and kind == "b":
            name = {"or": "max", "and": "min"}[name]
        if name not in ("add", "mul", "max", "min") or kind not in "bifu":
            return self.lack(eqn, "reduce_window by a function other than add, mul, max, min, or, and")
        if kind == "f":
            least, most = -np.inf, np.inf
        else:
            least, most = (False, True) if kind == "b" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
        if start is None or start != {"add": 0, "mul": 1, "max": least, "min": most}[name]:
            return self.lack(eqn, f"reduce_window by {name} from a start other than its neutral element")
        name = {"add": "sum", "mul": "prod"}.get(name, name)
        self.emit(eqn, f"reduce_window_{name}", [(k, _value(p[k])) for k in _WINDOW], self.atom(eqn.invars[0]))

    def known(self, v):
        """The number that a scalar is, or None."""
        if hasattr(v, "val"):
            return np.asarray(v.val).item() if np.ndim(v.val) == 0 else None
        return self.values.get(v)

    # ---- calls, loops ------------------------------------------------------------

    def call(self, eqn, key):
        program = eqn.params[key]
        layout = self.solve_layout(program.jaxpr) if eqn.params.get("name") in ("solve", "_solve") else None
        if layout:
            return self.solve(eqn, *layout)
        params = [("name", _string(eqn.params.get("name", ""))), ("program", self.walk.nested(program))]
        self.emit(eqn, "call", params, self.atoms(eqn.invars))

    @staticmethod
    def solve_layout(jaxpr):
        """Of jnp.linalg.solve(a, b), by itself or mapped: the dimensions of b that a has as well, its rows and its
        columns, each in their order, and what the result's dimensions are in b; None: it is something else."""
        if len(jaxpr.invars) != 2:
            return None
        a, b = jaxpr.invars
        if a.aval.dtype != b.aval.dtype or str(a.aval.dtype) not in ("float32", "float64", "complex64", "complex128"):
            return None
        matrices, dims, system = [a], {b: list(range(len(b.aval.shape)))}, None
        for e in jaxpr.eqns:
            name, x = e.primitive.name, e.invars[0]
            if name == "stop_gradient" and x in matrices:
                matrices.append(e.outvars[0])
            elif name == "transpose" and not hasattr(x, "val") and x in dims:
                dims[e.outvars[0]] = [dims[x][int(k)] for k in e.params["permutation"]]
            elif name == "custom_linear_solve" and e.invars[-1] in dims and system is None:
                system, matvec = e, e.params["jaxprs"].matvec.jaxpr
                dims[e.outvars[0]] = dims[e.invars[-1]]
            elif name != "lu" or x not in matrices:
                return None
        out = jaxpr.outvars[0]
        if system is None or out not in dims or system.params["const_lengths"].matvec != 1 or system.invars[0] not in matrices:
            return None
        product, rank = matvec.eqns[0], len(a.aval.shape)
        if product.primitive.name != "dot_general" or list(product.invars) != list(matvec.invars):
            return None
        (sums_a, sums_x), (both_a, both_x) = product.params["dimension_numbers"]
        if [int(k) for k in sums_a] != [rank - 1] or [int(k) for k in both_a] != list(range(rank - 2)):
            return None
        of_x = dims[system.invars[-1]]
        both, rows = [of_x[int(k)] for k in both_x], of_x[int(sums_x[0])]
        columns = [k for k in range(len(of_x)) if k not in both and k != rows]
        return both, rows, columns, dims[out]

    def solve(self, eqn, both, rows, columns, out):
        """linear_solve of matrices: b with its dimensions in their order, all columns as one."""
        a, b = map(self.atom, eqn.invars)
        aval = eqn.invars[1].aval
        of = lambda dims: tuple(aval.shape[k] for k in dims)
        put = lambda text, shape: self.put(text, type=self.type(aval.update(shape=shape)))
        order = [*both, rows, *columns]
        matrix, spread = of([*both, rows]) + (int(np.prod(of(columns), dtype=int)),), of(order)
        if order != sorted(order):
            b = put(f"transpose[permutation={_value(tuple(order))}] {b}", spread)
        if len(columns) != 1:
            b = put(f"reshape[new_sizes={_value(matrix)}] {b}", matrix)
        back = [order.index(k) for k in out]
        if len(columns) == 1 and back == sorted(back):
            return self.emit(eqn, "linear_solve", [], f"{a} {b}")
        x = put(f"linear_solve {a} {b}", matrix)
        if back == sorted(back):
            return self.emit(eqn, "reshape", [("new_sizes", _value(spread))], x)
        if len(columns) != 1:
            x = put(f"reshape[new_sizes={_value(spread)}] {x}", spread)
        self.emit(eqn, "transpose", [("permutation", _value(tuple(back)))], x)

    def remat(self, eqn):
        policy = _policy(eqn.params["policy"])
        if policy is None:
            return self.lack(eqn, f"checkpoint with the policy {eqn.params['policy']}")
        params = [("name", '""'), ("program", self.walk.nested(eqn.params["jaxpr"])), ("policy", _string(policy))]
        self.emit(eqn, "checkpoint", params, self.atoms(eqn.invars))

    def do_scan(self, eqn):
        p = eqn.params
        avals = [v.aval for v in eqn.invars + eqn.outvars]
        all_at_once = 0 < p["length"] <= min(int(p["unroll"]), _UNROLLED) and not p["jaxpr"].effects
        if all_at_once and not any(str(getattr(a, "dtype", "")).startswith("key<") for a in avals):
            return self.unrolled(eqn)
        params = [("program", self.walk.nested(p["jaxpr"]))]
        params += [(k, _value(p[k])) for k in ("length", "num_consts", "num_carry", "reverse")]
        self.emit(eqn, "scan", params, self.atoms(eqn.invars))

    def unrolled(self, eqn):
        """A scan of which all steps are asked for at once (its `unroll`), as calls of its program."""
        p = eqn.params
        nc, nk, length, program = p["num_consts"], p["num_carry"], p["length"], self.walk.nested(p["jaxpr"])
        of = [self.atom(v) for v in eqn.invars]
        consts, carry, xs = of[:nc], of[nc : nc + nk], list(zip(of[nc + nk :], eqn.invars[nc + nk :]))
        avals, ys = p["jaxpr"].out_avals, {}
        for i in reversed(range(length)) if p["reverse"] else range(length):
            parts = []
            for name, v in xs:
                shape = v.aval.shape[1:]
                first, limit = (i,) + (0,) * len(shape), (i + 1,) + shape
                part = self.put(
                    f"slice[start_indices={_value(first)} limit_indices={_value(limit)} strides=None] {name}",
                    type=self.type(v.aval.update(shape=(1, *shape))),
                )
                parts.append(self.put(f"reshape[new_sizes={_value(shape)}] {part}", v.aval.update(shape=shape)))
            outs = [self.new() for _ in avals]
            left = " ".join(f"{name}:{self.type(a)}" for name, a in zip(outs, avals)) or "()"
            self.lines.append((f'  {left} = call[name="" program={program}] {" ".join(consts + carry + parts)}', self.place))
            carry, ys[i] = outs[:nk], outs[nk:]
        for v, name in zip(eqn.outvars, carry):
            self.names[v] = name
        for k, v in enumerate(eqn.outvars[nk:]):
            one = v.aval.update(shape=(1, *v.aval.shape[1:]))
            rows = [self.put(f"reshape[new_sizes={_value(one.shape)}] {ys[i][k]}", one) for i in range(length)]
            self.names[v] = rows[0] if length == 1 else self.put(f"concatenate[dimension=0] {' '.join(rows)}", v.aval)

    def do_while(self, eqn):
        p = eqn.params
        params = [("cond", self.walk.nested(p["cond_jaxpr"])), ("body", self.walk.nested(p["body_jaxpr"]))]
        params += [(k, _value(p[k])) for k in ("cond_nconsts", "body_nconsts")]
        self.emit(eqn, "while", params, self.atoms(eqn.invars))

    def do_cond(self, eqn):
        unchecked = _equinox.unchecked(eqn) if self.walk.rules else None
        if unchecked:  # a check within a rule, which may have no effects
            for v, i in zip(eqn.outvars, unchecked):
                self.names[v] = self.atom(eqn.invars[i])
            return None
        if not hasattr(eqn.invars[0], "val") and eqn.invars[0] in self.numbers:
            chosen = eqn.params["branches"][self.numbers[eqn.invars[0]]]
            return self.emit(
                eqn, "call", [("name", '""'), ("program", self.walk.nested(chosen))], self.atoms(eqn.invars[1:])
            )
        branches = ", ".join(self.walk.nested(b) for b in eqn.params["branches"])
        self.emit(eqn, "cond", [("branches", f"({branches},)")], self.atoms(eqn.invars))

    def do_custom_linear_solve(self, eqn):
        """The same, of programs that all read the constants of each, in this order: matvec, solve, transpose_solve."""
        ends, jaxprs = np.cumsum(list(eqn.params["const_lengths"])), eqn.params["jaxprs"]
        part = lambda k: list(eqn.invars[ends[k] - eqn.params["const_lengths"][k] : ends[k]])
        matvec, vecmat, solve, transpose = map(part, range(4))
        rhs = list(eqn.invars[ends[3] :])
        symmetric = jaxprs.vecmat is jaxprs.matvec and list(map(id, vecmat)) == list(map(id, matvec))
        if not _is_linear(jaxprs.matvec, len(rhs)):
            return self.lack(eqn, "custom_linear_solve of a matvec that is not seen to be linear")
        consts = matvec + solve + ([] if symmetric or not jaxprs.transpose_solve else transpose)

        def shared(program, at, n, nout=None, linear=False, conjugate=False):
            """A jaxpr as a program of all constants, its own n at `at`, and right-hand sides; `conjugate`: of these
            conjugate, with conjugate results."""
            types = [self.type(v.aval) for v in consts + rhs]
            names = [f"k{i}" for i in range(len(types))]
            binders = [f"{name}:{t}" for name, t in zip(names, types)]
            before, after = " ".join(binders[: len(consts)]), " ".join(binders[len(consts) :])
            outs = [f"y{j}" for j in range(len(program.out_avals))]
            turned = [j for j, v in enumerate(rhs) if conjugate and _is_complex(v.aval)]
            ins = names[at : at + n] + [f"c{j}" if j in turned else b for j, b in enumerate(names[len(consts) :])]
            left = " ".join(f"{y}:{self.type(v)}" for y, v in zip(outs, program.out_avals))
            kept = "".join(f"z{j}, " if j in turned else f"{y}, " for j, y in enumerate(outs[:nout]))
            name = f"{before} {'|' if linear else ''} {after} ."
            line = lambda to, j, x: (f"  {to}{j}:{self.type(rhs[j].aval)} = conj {x}", self.place)
            call = f'  {left} = call[name="" program={self.walk.nested(program)}] {" ".join(ins)}'
            lines = [line("c", j, names[len(consts) + j]) for j in turned] + [(call, self.place)]
            lines += [line("z", j, outs[j]) for j in turned]
            return self.walk.define([(f"{{ lambda {name} let", ""), *lines, (f"  in ({kept}) }}", "")])

        params = [("matvec", shared(jaxprs.matvec, 0, len(matvec), linear=True))]
        params += [("solve", shared(jaxprs.solve, len(matvec), len(solve)))]
        # Of parts the transpose is the conjugate one: a^H x = b is a^T conj(x) = conj(b).
        if symmetric and any(_is_complex(v.aval) for v in rhs):
            turned = shared(jaxprs.solve, len(matvec), len(solve), nout=len(rhs), conjugate=True)
            params += [("transpose_solve", turned)]
        elif symmetric:
            params += [("symmetric", "True")]
        elif jaxprs.transpose_solve:
            at = len(matvec) + len(solve)
            turned = shared(jaxprs.transpose_solve, at, len(transpose), nout=len(rhs), conjugate=True)
            params += [("transpose_solve", turned)]
        self.emit(eqn, "custom_linear_solve", params, self.atoms(consts + rhs))

    # ---- rules of the user ---------------------------------------------------------

    def do_custom_jvp_call(self, eqn):
        primal = self.walk.nested(eqn.params.get("call_jaxpr") or eqn.params["fun_jaxpr"])
        into = [i for i, v in enumerate(eqn.outvars) if _is_float(v)]
        tangents = sum(_is_float(v) for v in eqn.invars)
        if not tangents or not into or self.walk.rules == RULES:
            return self.emit(eqn, "call", [("name", '""'), ("program", primal)], self.atoms(eqn.invars))
        if self.walk.rules and _equinox.checks(_program_of(eqn)):
            return self.emit(eqn, "call", [("name", '""'), ("program", primal)], self.atoms(eqn.invars))
        try:
            rule = _jvp_rule(eqn)
        except RuntimeError as e:  # of Equinox's nondifferentiable
            if "cannot be autodifferentiated" not in str(e) or len(eqn.invars) != len(eqn.outvars):
                raise
            warnings.warn(f"{self.place}: what JAX refuses to differentiate is taken as a constant there", stacklevel=2)
            for v, x in zip(eqn.outvars, eqn.invars):
                self.names[v] = self.put(f"stop_gradient {self.atom(x)}", v.aval)
            return None
        same = _passes(eqn)
        if same is not None:
            for v, i in zip(eqn.outvars, same):
                self.names[v] = self.atom(eqn.invars[i])
            return None
        self.walk.rules += 1
        jvp = self.walk.define(_Body(self.walk).program(rule.jaxpr, rule.consts, linear=tangents))
        self.walk.rules -= 1
        self.emit(eqn, "custom_jvp", [("call", primal), ("jvp", jvp)], self.atoms(eqn.invars))

    do_custom_jvp_call_jaxpr = do_custom_jvp_call

    def do_custom_vjp_call(self, eqn):
        primal = self.walk.nested(eqn.params.get("call_jaxpr") or eqn.params["fun_jaxpr"])
        if not any(map(_is_float, eqn.outvars)) or not any(map(_is_float, eqn.invars)) or self.walk.rules == RULES:
            return self.emit(eqn, "call", [("name", '""'), ("program", primal)], self.atoms(eqn.invars))
        self.walk.rules += 1
        fwd, bwd, cotangents = _vjp_rule(eqn)
        params = [("call", primal), ("fwd", self.walk.nested(fwd))]
        linear = _is_linear(bwd, cotangents)
        lines = _Body(self.walk).program(bwd.jaxpr, bwd.consts, linear=cotangents if linear else 0)
        params += [("bwd", self.walk.define(lines))]
        self.walk.rules -= 1
        if not linear:
            params += [("one_way", '"the bwd of a custom_vjp that is not linear"')]
        self.emit(eqn, "custom_vjp", params, self.atoms(eqn.invars))

    do_custom_vjp_call_jaxpr = do_custom_vjp_call


def _is_float(v):
    return not _is_key(v.aval) and np.issubdtype(v.aval.dtype, np.inexact)


def _is_complex(aval):
    return not _is_key(aval) and np.issubdtype(aval.dtype, np.complexfloating)


def _is_fry(aval):
    return str(aval.dtype) == "key<fry>"


def _is_partitionable(eqn):
    """As it was set where the function drew them."""
    import jax

    return bool(getattr(getattr(eqn, "ctx", None), "threefry_partitionable", jax.config.jax_threefry_partitionable))


def _bound(eqn):
    """The equation as a function of its operands, which JAX can differentiate by the user's rule."""

    def f(*xs):
        got = eqn.primitive.get_bind_params(eqn.params)
        subfuns, params = got if isinstance(got, tuple) else ((), got)
        out = eqn.primitive.bind(*subfuns, *xs, **params)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    return f


def _structs(vs):
    import jax

    return [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in vs]


def _with_floats(eqn):
    """f over the float operands alone, given all."""
    f = _bound(eqn)
    into = [i for i, v in enumerate(eqn.invars) if _is_float(v)]
    outof = [j for j, v in enumerate(eqn.outvars) if _is_float(v)]

    def part(xs):
        def g(*floats):
            all = list(xs)
            for i, x in zip(into, floats):
                all[i] = x
            return tuple(f(*all))

        return g, [xs[i] for i in into]

    return part, into, outof


def _program_of(eqn):
    return (eqn.params.get("call_jaxpr") or eqn.params["fun_jaxpr"]).jaxpr


def _passes(eqn, depth=0):
    """Which operand each output of a custom_jvp is, where its program does nothing and its rule says so of tangents; None:
    it does something.  The rule may be of such calls again: as deep as rules are kept."""
    jaxpr = _program_of(eqn)
    if _live(jaxpr) or not all(not hasattr(v, "val") and v in jaxpr.invars for v in jaxpr.outvars):
        return None
    chosen = [list(jaxpr.invars).index(v) for v in jaxpr.outvars]
    if depth == RULES:
        return chosen
    rule = _jvp_rule(eqn).jaxpr
    same = {v: v for v in rule.invars}
    for inner in _live(rule):
        which = _passes(inner, depth + 1) if inner.primitive.name == "custom_jvp_call" else None
        if which is None:
            return None
        same.update((v, same.get(inner.invars[i])) for v, i in zip(inner.outvars, which))
    floats = [i for i, v in enumerate(jaxpr.invars) if _is_float(v)]
    tangents = dict(zip(floats, rule.invars[len(rule.invars) - len(floats) :]))
    wanted = [tangents[i] for i, v in zip(chosen, jaxpr.outvars) if _is_float(v)]
    got = [None if hasattr(v, "val") else same.get(v) for v in rule.outvars]
    return chosen if got == wanted else None


def _jvp_rule(eqn):
    """x.., dx of float x.. -> dy of float y.., by the user's rule."""
    import jax

    part, into, outof = _with_floats(eqn)

    def rule(xs, ts):
        g, floats = part(xs)
        dy = jax.jvp(g, floats, ts)[1]
        return [dy[j] for j in outof]

    return jax.make_jaxpr(rule)(_structs(eqn.invars), _structs([eqn.invars[i] for i in into]))


def _vjp_rule(eqn):
    """(fwd: x.. -> y.., residuals..; bwd: residuals.., ct of float y.. -> ct of float x..; how many ct).  JAX's cotangents
    of complex arrays are conjugates of those of parts."""
    import jax

    turn = lambda ct: ct.conj() if jax.numpy.iscomplexobj(ct) else ct

    part, into, outof = _with_floats(eqn)
    seen = {}

    def fwd(xs):
        g, floats = part(xs)
        ys, back = jax.vjp(g, *floats)
        residuals, seen["tree"] = jax.tree_util.tree_flatten(back)
        return list(ys), residuals

    forward = jax.make_jaxpr(fwd)(_structs(eqn.invars))

    def bwd(residuals, cts):
        back = jax.tree_util.tree_unflatten(seen["tree"], residuals)
        all = [np.zeros(v.aval.shape, jax.dtypes.float0) for v in eqn.outvars]
        for j, ct in zip(outof, cts):
            all[j] = turn(ct)
        return [turn(ct) for ct in back(tuple(all))]

    residuals = _structs(forward.jaxpr.outvars[len(eqn.outvars) :])
    cts = _structs([eqn.outvars[j] for j in outof])
    return forward, jax.make_jaxpr(bwd)(residuals, cts), len(cts)


def _is_linear(bwd, cotangents):
    """Whether the checker sees that a bwd is linear in its cotangents."""
    walk = _Walk()
    walk.rules = RULES
    text, _ = walk.text(_Body(walk).program(bwd.jaxpr, bwd.consts, linear=cotangents))
    if walk.missing:
        return True  # which is said later
    try:
        _core.parse(text, _FILE, walk.callbacks.specs())
    except Error as e:
        return e.status != "TN_ELINEAR"
    return True


def from_jaxpr(closed_jaxpr):
    """The program of a ClosedJaxpr, as jax.make_jaxpr gives it: its inputs and outputs in their order, its constants
    inside.  tansy.Unsupported lists all that Tansy has not, with places; docs/jax.md says what becomes of what."""
    walk = _Walk()
    main = _Body(walk).program(closed_jaxpr.jaxpr, closed_jaxpr.consts)
    if walk.missing:
        raise Unsupported(walk.missing)
    text, places = walk.text(main)
    return _parse(text, _FILE, places, walk.callbacks.specs())


def from_jax(f, *args):
    """The program of a JAX function at the shapes and dtypes of args (arrays, numbers, jax.ShapeDtypeStruct, or trees
    of them).  The program's inputs and outputs are the leaves of args and of the result, in jax.tree_util's order.  One that
    is complex has its parts in a last dimension of 2: calls take complex arrays for it, and `array.view(complex)[..., 0]`
    is the result that way.  Derivatives by it are those of real and imaginary parts: of a real function the conjugate of
    what jax.grad gives.

    Without jax_enable_x64, JAX makes f32 of f64; a warning says so."""
    import jax

    leaves = jax.tree_util.tree_leaves(args)
    wide = ("float64", "int64")
    if not jax.config.jax_enable_x64 and any(str(getattr(x, "dtype", "")) in wide for x in leaves):
        warnings.warn("jax_enable_x64 is off: arguments of 64 bits become 32 bits in the program", stacklevel=2)
    return from_jaxpr(jax.make_jaxpr(f)(*args))
