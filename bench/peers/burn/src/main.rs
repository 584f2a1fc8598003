//! Two workloads of bench/suite in Burn, on the processor, one thread: the chain and a step of the MLP.

use burn::tensor::{Device, Tensor, TensorData, activation::log_softmax};

const SAMPLES: usize = 7;

/// Seconds of processor time of this process.
fn now() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// One processor: that of PEERS_CPU, or the first.
fn pin() {
    let cpu = std::env::var("PEERS_CPU").ok().and_then(|s| s.parse().ok());
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&allowed), &mut allowed);
        let first = (0..1024).find(|&i| libc::CPU_ISSET(i, &allowed)).unwrap_or(0);
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu.unwrap_or(first), &mut one);
        libc::sched_setaffinity(0, size_of_val(&one), &one);
    }
}

fn put(workload: &str, variant: &str, n: usize, mut f: impl FnMut()) {
    f();
    let start = now();
    f();
    let repeat = (0.02 / (now() - start).max(1e-9)).ceil().max(1.0) as usize;
    let mut samples = [0.0; SAMPLES];
    for s in &mut samples {
        let start = now();
        (0..repeat).for_each(|_| f());
        *s = (now() - start) / repeat as f64;
    }
    samples.sort_by(f64::total_cmp);
    println!(
        "{{\"workload\": \"{workload}\", \"variant\": \"{variant}\", \"n\": {n}, \"dtype\": \"f32\", \"backend\": \"burn\", \
         \"median_s\": {:e}, \"ratio_to_c\": null, \"bytes\": null, \"samples\": {SAMPLES}}}",
        samples[SAMPLES / 2]
    );
}

/// Numbers in [lo, hi) that depend on the seed alone.
fn fill<const D: usize>(dims: [usize; D], lo: f32, hi: f32, seed: u64, on: &Device) -> Tensor<D> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let count = dims.iter().product::<usize>();
    let numbers: Vec<f32> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            lo + (hi - lo) * ((state >> 40) as f32 / (1u64 << 24) as f32)
        })
        .collect();
    Tensor::from_data(TensorData::new(numbers, dims), on)
}

fn chain_of(x: &Tensor<1>) -> Tensor<1> {
    let e = (x.clone() * x.clone()).neg().exp();
    (x.clone().sin() * e + x.clone()).tanh().sum()
}

fn chain() {
    for n in [1_000, 100_000, 10_000_000] {
        let x = fill([n], -1.0, 2.0, 1, &Device::flex());
        put("chain", "f", n, || drop(std::hint::black_box(chain_of(&x))));
        let x = fill([n], -1.0, 2.0, 1, &Device::flex().autodiff()).require_grad();
        put("chain", "grad", n, || drop(std::hint::black_box(x.grad(&chain_of(&x).backward()))));
    }
}

fn mlp() {
    let size = [784, 512, 512, 10];
    let on = Device::flex().autodiff();
    let bound = |k: usize| (3.0 / size[k] as f32).sqrt();
    let mut p: Vec<Tensor<2>> = Vec::new();
    for k in 0..3 {
        p.push(fill([size[k], size[k + 1]], -bound(k), bound(k), k as u64, &on).require_grad());
        p.push(fill([1, size[k + 1]], -0.1, 0.1, 10 + k as u64, &on).require_grad());
    }
    let x = fill([256, 784], -1.7, 1.7, 99, &on);
    let mut one_hot = vec![0f32; 2560];
    (0..256).for_each(|i| one_hot[i * 10 + 7 * i % 10] = 1.0);
    let label: Tensor<2> = Tensor::from_data(TensorData::new(one_hot, [256, 10]), &on);
    put("mlp", "step", 256, || {
        let h = (x.clone().matmul(p[0].clone()) + p[1].clone()).tanh();
        let h = (h.matmul(p[2].clone()) + p[3].clone()).tanh();
        let z = log_softmax(h.matmul(p[4].clone()) + p[5].clone(), 1);
        let g = (z * label.clone()).sum().mul_scalar(-1.0 / 256.0).backward();
        for t in &p {
            std::hint::black_box(t.clone().inner() - t.grad(&g).unwrap().mul_scalar(0.01));
        }
    });
}

fn main() {
    pin();
    let only = std::env::args().nth(1).unwrap_or_default();
    let wanted = |name: &str| only.is_empty() || only.split(',').any(|s| s == name);
    if wanted("chain") {
        chain();
    }
    if wanted("mlp") {
        mlp();
    }
}
