"""Tansy, hand-written C and other systems in one run: every line as it comes, a table at the end.

Arguments: --suite PROGRAM --ode PROGRAM --python PYTHON (with JAX, Diffrax, CasADi), --torch-python PYTHON, --burn
PROGRAM, --only NAME,.., --long.  What is not there is passed over with a line that says so."""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ADJOINTS = ("RecursiveCheckpoint", "Direct", "Backsolve")
lines = []


def run(backend, command, translate=lambda line: line, timeout=3600):
    if not command[0]:
        print(json.dumps(dict(backend=backend, skipped="not installed")), flush=True)
        return
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    except OSError as e:
        print(json.dumps(dict(backend=backend, skipped=str(e))), flush=True)
        return
    for text in child.stdout:
        if text.startswith("{"):
            line = translate(json.loads(text))
            lines.append(line)
            print(json.dumps(line), flush=True)
    if child.wait():
        print(json.dumps(dict(backend=backend, failed=" ".join(command[:3]))), flush=True)


def from_ode(line):
    """bench/ode_adjoint's line with the names of the others."""
    if "adjoint" not in line:
        return line
    variant = f"grad {line['adjoint']}"
    return dict(line, workload="tsit5_" + line["field"], variant=variant, n=line["steps"], dtype="f32",
                backend="default", median_s=line["seconds"], ratio_to_c=None, bytes=line["exec_bytes"])


def ode(args):
    """Diffrax's adjoints and ours, the same solves."""
    steps = 80000 if args.long else 8000
    run("default", [args.ode, str(steps // 10), "1", *ADJOINTS], from_ode)
    for field in ("linear", "cubic"):
        for name in ADJOINTS:
            run("diffrax", [args.python, os.path.join(HERE, "with_diffrax.py"), field, str(steps), name])


def seconds(s):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if s * scale >= 1:
            return f"{s * scale:.4g} {unit}"
    return f"{s * 1e9:.4g} ns"


def table():
    backends = [b for b in ("c", "default", "native", "jax", "diffrax", "torch", "casadi", "burn")
                if any(l.get("backend") == b and "median_s" in l for l in lines)]
    rows = {}
    for l in lines:
        if "median_s" in l:
            rows.setdefault((l["workload"], l["variant"], l["n"], l["dtype"]), {})[l["backend"]] = l["median_s"]
    print("\n| workload | variant | n | dtype | " + " | ".join(backends) + " | Tansy / best peer |")
    print("|---" * (len(backends) + 5) + "|")
    for key, row in rows.items():
        ours = [row[b] for b in ("default", "native") if b in row]
        peers = [row[b] for b in backends if b in row and b not in ("c", "default", "native")]
        ratio = f"{min(ours) / min(peers):.2f}" if ours and peers else "-"
        cells = [seconds(row[b]) if b in row else "-" for b in backends]
        print("| " + " | ".join([*map(str, key), *cells, ratio]) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for name in ("suite", "ode", "python", "torch-python", "burn", "only", "data"):
        p.add_argument("--" + name, default="")
    p.add_argument("--long", action="store_true", help="80,000 steps of the solves under every adjoint")
    args = p.parse_args()
    os.environ["PEERS_ONLY"] = args.only
    cpu = ["--cpu", os.environ["PEERS_CPU"]] if os.environ.get("PEERS_CPU") else []
    run("tansy", [args.suite, "--data", args.data, *cpu, *(["--only", args.only] if args.only else [])])
    run("jax", [args.python, os.path.join(HERE, "with_jax.py")])
    run("torch", [args.torch_python, os.path.join(HERE, "with_torch.py")])
    run("casadi", [args.python, os.path.join(HERE, "with_casadi.py")])
    if not args.only or {"chain", "mlp"} & set(args.only.split(",")):
        run("burn", [args.burn, args.only])
    if not args.only or "ode" in args.only.split(","):
        ode(args)
    table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
