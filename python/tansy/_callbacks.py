"""Functions of Python that programs call while they run: JAX's callbacks, as external functions (tn_external_register)."""

import keyword
import re

import numpy as np

# Of what arrays they can be.
DTYPES = ("bool", "int32", "int64", "uint32", "float32", "float64")
# What a function of C cannot be called, beside what Python's cannot.
_TAKEN = set(
    """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main""".split()
)


class Callback:
    """f of arrays as tansy._core calls it: with the memory of inputs and outputs."""

    def __init__(self, name, f, ins, outs, effect):
        self.name, self.f, self.effect = name, f, effect
        self.ins, self.outs = ins, outs  # (dtype, shape) each

    def spec(self):
        """What tansy._core.parse takes."""
        return self.name, self.ins, self.outs, self.effect, self

    def __call__(self, ins, outs):
        results = self.f(*map(_copied, ins, self.ins))
        if len(results) != len(self.outs):
            raise TypeError(f"the callback {self.name} gave {len(results)} arrays, and should {len(self.outs)}")
        for j, (memory, (dtype, shape), result) in enumerate(zip(outs, self.outs, results)):
            array = np.asarray(result)
            if (str(array.dtype), array.shape) != (dtype, shape):
                raise TypeError(
                    f"result {j} of the callback {self.name} is {array.dtype}{list(array.shape)}, "
                    f"and should be {dtype}{list(shape)}"
                )
            if array.size:
                np.frombuffer(memory, dtype)[:] = array.ravel()


def _copied(memory, type):
    """An array of its own: the memory is the program's, and something else later."""
    dtype, shape = type
    return np.frombuffer(memory, dtype).reshape(shape).copy() if 0 not in shape else np.empty(shape, dtype)


class Callbacks:
    """Those of one text, by their names there, which are also those of the functions that emitted C calls."""

    def __init__(self):
        self.all = {}

    def add(self, title, f, ins, outs, effect):
        """The name of a new one; `title` is what to call it where that is free and a name in C."""
        free = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", title) and not keyword.iskeyword(title) and title not in _TAKEN
        stem = title if free else "callback"
        name, count = stem, 1
        while name in self.all:
            count += 1
            name = f"{stem}_{count}"
        self.all[name] = Callback(name, f, ins, outs, effect)
        return name

    def specs(self):
        return [c.spec() for c in self.all.values()]
