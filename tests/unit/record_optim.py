"""What optax makes of given gradients: writes optim_table.h, which tests/unit/optim.c compares with.

    pip install optax jax      (recorded with optax 0.2.8, jax 0.10.2, on one processor of x86-64)
    python tests/unit/record_optim.py > tests/unit/optim_table.h

Parameters are w [3, 2] and b [2]; gradients of update k are multiples of 1/4 that both sides make.
"""
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
import optax

STEPS = 12
# Optax counts in i32, of which some schedules make f32 whatever the parameters are: in f64 they are given f64.
real = {"f64": True}


def wide(schedule):
    return lambda count: schedule(jnp.asarray(count, jnp.float64) if real["f64"] else count)


cosine = wide(optax.warmup_cosine_decay_schedule(0.01, 0.1, 4, 10, 0.02))
linear = wide(optax.linear_schedule(0.1, 0.02, 8))
decaying = wide(optax.exponential_decay(0.1, 5, 0.7))
bounded = wide(optax.exponential_decay(0.1, 5, 0.3, end_value=0.03))
warm_exponential = wide(optax.join_schedules([optax.linear_schedule(0.0, 0.1, 3), decaying], [3]))
cases = {
    "sgd": optax.sgd(0.1),
    "momentum": optax.sgd(0.1, momentum=0.9),
    "nesterov": optax.sgd(0.1, momentum=0.8, nesterov=True),
    "adam": optax.adam(0.1),
    "adam_other": optax.adam(0.05, b1=0.7, b2=0.99, eps=1e-3),
    "adamw": optax.adamw(0.1),
    "adamw_more": optax.adamw(0.1, weight_decay=0.01),
    "clipped": optax.chain(optax.clip_by_global_norm(2.0), optax.adam(0.1)),
    "clipped_sgd": optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1, momentum=0.9)),
    "cosine": optax.sgd(cosine),
    "linear": optax.sgd(linear),
    "exponential": optax.adam(decaying),
    "bounded": optax.sgd(bounded),
    "warm_exponential": optax.sgd(warm_exponential),
}
def gradient(k, dtype):
    g = np.array([((k * 7 + i * 13) % 11 - 5) / 4 for i in range(8)])
    return {"b": jnp.asarray(g[6:], dtype), "w": jnp.asarray(g[:6].reshape(3, 2), dtype)}


def run(rule, dtype):
    p = {"b": jnp.asarray([0.5, -0.25], dtype), "w": jnp.asarray(np.arange(6).reshape(3, 2) / 4 - 0.5, dtype)}
    state = rule.init(p)
    rows = []
    for k in range(STEPS):
        updates, state = rule.update(gradient(k, dtype), state, p)
        p = optax.apply_updates(p, updates)
        rows.append(np.concatenate([np.asarray(p["w"]).ravel(), np.asarray(p["b"])]).astype(np.float64))
    return rows


print("/* Written by record_optim.py: parameters after each update, by optax in f64 and in f32. */\n/* clang-format off */")
print("static const struct {\n    const char *name;\n    double f64[%d][8], f32[%d][8];\n} optim_table[] = {" % (STEPS, STEPS))
for name, rule in cases.items():
    print('    {"%s",' % name)
    for dtype in (jnp.float64, jnp.float32):
        real["f64"] = dtype == jnp.float64
        rows = run(rule, dtype)
        print("     {" + ",\n      ".join("{" + ", ".join(float(x).hex() for x in r) + "}" for r in rows) + "}" + ("," if dtype == jnp.float64 else "},"))
print("};")
