/* Recorded by record_goldens.py; goldens.h says what a row is. */
#include "laws/goldens.h"

/* clang-format off */
const laws_golden laws_goldens_axes[] = {
    {"reduce_sum", "", "{ lambda a:f32[2,3] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "2 2 2.25"},
    {"reduce_prod", "", "{ lambda a:f32[2,3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "0.75 -8 -3.25"},
    {"reduce_max", "", "{ lambda a:f32[2,3] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 4 3.25"},
    {"reduce_min", "", "{ lambda a:f32[2,3] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "0.5 -2 -1"},
    {"reduce_sum", "", "{ lambda a:f32[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "2.75 3.5"},
    {"reduce_prod", "", "{ lambda a:f32[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-9.75 -2"},
    {"reduce_max", "", "{ lambda a:f32[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "3.25 4"},
    {"reduce_min", "", "{ lambda a:f32[2,3] . let z0 = reduce_min[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-2 -1"},
    {"reduce_sum", "", "{ lambda a:f32[2,3] . let z0 = reduce_sum[axes=(0,1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "6.25"},
    {"reduce_prod", "", "{ lambda a:f32[2,3] . let z0 = reduce_prod[axes=(0,1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "19.5"},
    {"reduce_max", "", "{ lambda a:f32[2,3] . let z0 = reduce_max[axes=(0,1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "4"},
    {"reduce_min", "", "{ lambda a:f32[2,3] . let z0 = reduce_min[axes=(0,1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-2"},
    {"reduce_sum", "", "{ lambda a:f32[2,3] . let z0 = reduce_sum[axes=()] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 3.25 0.5 4 -1"},
    {"reduce_prod", "", "{ lambda a:f32[2,3] . let z0 = reduce_prod[axes=()] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 3.25 0.5 4 -1"},
    {"reduce_max", "", "{ lambda a:f32[2,3] . let z0 = reduce_max[axes=()] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 3.25 0.5 4 -1"},
    {"reduce_min", "", "{ lambda a:f32[2,3] . let z0 = reduce_min[axes=()] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 3.25 0.5 4 -1"},
    {"argmax", "", "{ lambda a:f32[2,3] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "0 1 0"},
    {"argmin", "", "{ lambda a:f32[2,3] . let z0 = argmin[axes=(0,) index_dtype=i64] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1 0 1"},
    {"argmax", "", "{ lambda a:f32[2,3] . let z0 = argmax[axes=(1,) index_dtype=i32] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "2 1"},
    {"argmin", "", "{ lambda a:f32[2,3] . let z0 = argmin[axes=(1,) index_dtype=i64] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1 2"},
    {"cumsum", "", "{ lambda a:f32[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -0.5 2.75 0.5 4.5 3.5"},
    {"cumprod", "", "{ lambda a:f32[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -3 -9.75 0.5 2 -2"},
    {"cummax", "", "{ lambda a:f32[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 1.5 3.25 0.5 4 4"},
    {"cummin", "", "{ lambda a:f32[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 -2 0.5 0.5 -1"},
    {"cumlogsumexp", "", "{ lambda a:f32[2,3] . let z0 = cumlogsumexp[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 1.5297504663467407 3.414684772491455 0.5 4.029750347137451 4.036269664764404"},
    {"cumsum", "", "{ lambda a:f32[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "2.75 1.25 3.25 3.5 3 -1"},
    {"cumprod", "", "{ lambda a:f32[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-9.75 -6.5 3.25 -2 -4 -1"},
    {"cummax", "", "{ lambda a:f32[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "3.25 3.25 3.25 4 4 -1"},
    {"cummin", "", "{ lambda a:f32[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-2 -2 3.25 -1 -1 -1"},
    {"cumlogsumexp", "", "{ lambda a:f32[2,3] . let z0 = cumlogsumexp[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "3.414684772491455 3.2552337646484375 3.25 4.036269664764404 4.006715297698975 -1"},
    {"reduce_sum", "", "{ lambda a:f32[0,2] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "", "0 0"},
    {"reduce_prod", "", "{ lambda a:f32[0,2] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "", "1 1"},
    {"reduce_max", "", "{ lambda a:f32[0] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "", "-inf"},
    {"reduce_min", "", "{ lambda a:f32[0] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "", "inf"},
    {"reduce_sum", "", "{ lambda a:f64[2,3] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "2 2 2.25"},
    {"reduce_prod", "", "{ lambda a:f64[2,3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "0.75 -8 -3.25"},
    {"reduce_max", "", "{ lambda a:f64[2,3] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 4 3.25"},
    {"reduce_min", "", "{ lambda a:f64[2,3] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "0.5 -2 -1"},
    {"reduce_sum", "", "{ lambda a:f64[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "2.75 3.5"},
    {"reduce_prod", "", "{ lambda a:f64[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-9.75 -2"},
    {"reduce_max", "", "{ lambda a:f64[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "3.25 4"},
    {"reduce_min", "", "{ lambda a:f64[2,3] . let z0 = reduce_min[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-2 -1"},
    {"reduce_sum", "", "{ lambda a:f64[2,3] . let z0 = reduce_sum[axes=(0,1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "6.25"},
    {"reduce_prod", "", "{ lambda a:f64[2,3] . let z0 = reduce_prod[axes=(0,1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "19.5"},
    {"reduce_max", "", "{ lambda a:f64[2,3] . let z0 = reduce_max[axes=(0,1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "4"},
    {"reduce_min", "", "{ lambda a:f64[2,3] . let z0 = reduce_min[axes=(0,1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-2"},
    {"reduce_sum", "", "{ lambda a:f64[2,3] . let z0 = reduce_sum[axes=()] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 3.25 0.5 4 -1"},
    {"reduce_prod", "", "{ lambda a:f64[2,3] . let z0 = reduce_prod[axes=()] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 3.25 0.5 4 -1"},
    {"reduce_max", "", "{ lambda a:f64[2,3] . let z0 = reduce_max[axes=()] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 3.25 0.5 4 -1"},
    {"reduce_min", "", "{ lambda a:f64[2,3] . let z0 = reduce_min[axes=()] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 3.25 0.5 4 -1"},
    {"argmax", "", "{ lambda a:f64[2,3] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "0 1 0"},
    {"argmin", "", "{ lambda a:f64[2,3] . let z0 = argmin[axes=(0,) index_dtype=i64] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1 0 1"},
    {"argmax", "", "{ lambda a:f64[2,3] . let z0 = argmax[axes=(1,) index_dtype=i32] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "2 1"},
    {"argmin", "", "{ lambda a:f64[2,3] . let z0 = argmin[axes=(1,) index_dtype=i64] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1 2"},
    {"cumsum", "", "{ lambda a:f64[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -0.5 2.75 0.5 4.5 3.5"},
    {"cumprod", "", "{ lambda a:f64[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -3 -9.75 0.5 2 -2"},
    {"cummax", "", "{ lambda a:f64[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 1.5 3.25 0.5 4 4"},
    {"cummin", "", "{ lambda a:f64[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 -2 -2 0.5 0.5 -1"},
    {"cumlogsumexp", "", "{ lambda a:f64[2,3] . let z0 = cumlogsumexp[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "1.5 1.5297504182726205 3.414684824824351 0.5 4.029750418272621 4.03626956512478"},
    {"cumsum", "", "{ lambda a:f64[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "2.75 1.25 3.25 3.5 3 -1"},
    {"cumprod", "", "{ lambda a:f64[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-9.75 -6.5 3.25 -2 -4 -1"},
    {"cummax", "", "{ lambda a:f64[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "3.25 3.25 3.25 4 4 -1"},
    {"cummin", "", "{ lambda a:f64[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "-2 -2 3.25 -1 -1 -1"},
    {"cumlogsumexp", "", "{ lambda a:f64[2,3] . let z0 = cumlogsumexp[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1", "3.414684824824351 3.255233798151743 3.25 4.03626956512478 4.006715348489118 -1"},
    {"reduce_sum", "", "{ lambda a:f64[0,2] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "", "0 0"},
    {"reduce_prod", "", "{ lambda a:f64[0,2] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "", "1 1"},
    {"reduce_max", "", "{ lambda a:f64[0] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "", "-inf"},
    {"reduce_min", "", "{ lambda a:f64[0] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "", "inf"},
    {"reduce_sum", "", "{ lambda a:i32[2,3] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "4 3 3"},
    {"reduce_prod", "", "{ lambda a:i32[2,3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -10 -28"},
    {"reduce_max", "", "{ lambda a:i32[2,3] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 5 7"},
    {"reduce_min", "", "{ lambda a:i32[2,3] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "1 -2 -4"},
    {"reduce_sum", "", "{ lambda a:i32[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "8 2"},
    {"reduce_prod", "", "{ lambda a:i32[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "-42 -20"},
    {"reduce_max", "", "{ lambda a:i32[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "7 5"},
    {"reduce_min", "", "{ lambda a:i32[2,3] . let z0 = reduce_min[axes=(1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "-2 -4"},
    {"reduce_sum", "", "{ lambda a:i32[2,3] . let z0 = reduce_sum[axes=(0,1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "10"},
    {"reduce_prod", "", "{ lambda a:i32[2,3] . let z0 = reduce_prod[axes=(0,1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "840"},
    {"reduce_max", "", "{ lambda a:i32[2,3] . let z0 = reduce_max[axes=(0,1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "7"},
    {"reduce_min", "", "{ lambda a:i32[2,3] . let z0 = reduce_min[axes=(0,1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "-4"},
    {"reduce_sum", "", "{ lambda a:i32[2,3] . let z0 = reduce_sum[axes=()] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 7 1 5 -4"},
    {"reduce_prod", "", "{ lambda a:i32[2,3] . let z0 = reduce_prod[axes=()] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 7 1 5 -4"},
    {"reduce_max", "", "{ lambda a:i32[2,3] . let z0 = reduce_max[axes=()] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 7 1 5 -4"},
    {"reduce_min", "", "{ lambda a:i32[2,3] . let z0 = reduce_min[axes=()] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 7 1 5 -4"},
    {"argmax", "", "{ lambda a:i32[2,3] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "3 -2 7 1 5 -4", "0 1 0"},
    {"argmin", "", "{ lambda a:i32[2,3] . let z0 = argmin[axes=(0,) index_dtype=i64] a in (z0,) }",
     "3 -2 7 1 5 -4", "1 0 1"},
    {"argmax", "", "{ lambda a:i32[2,3] . let z0 = argmax[axes=(1,) index_dtype=i32] a in (z0,) }",
     "3 -2 7 1 5 -4", "2 1"},
    {"argmin", "", "{ lambda a:i32[2,3] . let z0 = argmin[axes=(1,) index_dtype=i64] a in (z0,) }",
     "3 -2 7 1 5 -4", "1 2"},
    {"cumsum", "", "{ lambda a:i32[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 1 8 1 6 2"},
    {"cumprod", "", "{ lambda a:i32[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -6 -42 1 5 -20"},
    {"cummax", "", "{ lambda a:i32[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 3 7 1 5 5"},
    {"cummin", "", "{ lambda a:i32[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 -2 1 1 -4"},
    {"cumsum", "", "{ lambda a:i32[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "3 -2 7 1 5 -4", "8 5 7 2 1 -4"},
    {"cumprod", "", "{ lambda a:i32[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "3 -2 7 1 5 -4", "-42 -14 7 -20 -20 -4"},
    {"cummax", "", "{ lambda a:i32[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "3 -2 7 1 5 -4", "7 7 7 5 5 -4"},
    {"cummin", "", "{ lambda a:i32[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "3 -2 7 1 5 -4", "-2 -2 7 -4 -4 -4"},
    {"reduce_sum", "", "{ lambda a:i32[0,2] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "", "0 0"},
    {"reduce_prod", "", "{ lambda a:i32[0,2] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "", "1 1"},
    {"reduce_max", "", "{ lambda a:i32[0] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "", "-2147483648"},
    {"reduce_min", "", "{ lambda a:i32[0] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "", "2147483647"},
    {"reduce_sum", "", "{ lambda a:i64[2,3] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "4 3 3"},
    {"reduce_prod", "", "{ lambda a:i64[2,3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -10 -28"},
    {"reduce_max", "", "{ lambda a:i64[2,3] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 5 7"},
    {"reduce_min", "", "{ lambda a:i64[2,3] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "1 -2 -4"},
    {"reduce_sum", "", "{ lambda a:i64[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "8 2"},
    {"reduce_prod", "", "{ lambda a:i64[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "-42 -20"},
    {"reduce_max", "", "{ lambda a:i64[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "7 5"},
    {"reduce_min", "", "{ lambda a:i64[2,3] . let z0 = reduce_min[axes=(1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "-2 -4"},
    {"reduce_sum", "", "{ lambda a:i64[2,3] . let z0 = reduce_sum[axes=(0,1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "10"},
    {"reduce_prod", "", "{ lambda a:i64[2,3] . let z0 = reduce_prod[axes=(0,1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "840"},
    {"reduce_max", "", "{ lambda a:i64[2,3] . let z0 = reduce_max[axes=(0,1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "7"},
    {"reduce_min", "", "{ lambda a:i64[2,3] . let z0 = reduce_min[axes=(0,1,)] a in (z0,) }",
     "3 -2 7 1 5 -4", "-4"},
    {"reduce_sum", "", "{ lambda a:i64[2,3] . let z0 = reduce_sum[axes=()] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 7 1 5 -4"},
    {"reduce_prod", "", "{ lambda a:i64[2,3] . let z0 = reduce_prod[axes=()] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 7 1 5 -4"},
    {"reduce_max", "", "{ lambda a:i64[2,3] . let z0 = reduce_max[axes=()] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 7 1 5 -4"},
    {"reduce_min", "", "{ lambda a:i64[2,3] . let z0 = reduce_min[axes=()] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 7 1 5 -4"},
    {"argmax", "", "{ lambda a:i64[2,3] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "3 -2 7 1 5 -4", "0 1 0"},
    {"argmin", "", "{ lambda a:i64[2,3] . let z0 = argmin[axes=(0,) index_dtype=i64] a in (z0,) }",
     "3 -2 7 1 5 -4", "1 0 1"},
    {"argmax", "", "{ lambda a:i64[2,3] . let z0 = argmax[axes=(1,) index_dtype=i32] a in (z0,) }",
     "3 -2 7 1 5 -4", "2 1"},
    {"argmin", "", "{ lambda a:i64[2,3] . let z0 = argmin[axes=(1,) index_dtype=i64] a in (z0,) }",
     "3 -2 7 1 5 -4", "1 2"},
    {"cumsum", "", "{ lambda a:i64[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 1 8 1 6 2"},
    {"cumprod", "", "{ lambda a:i64[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -6 -42 1 5 -20"},
    {"cummax", "", "{ lambda a:i64[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 3 7 1 5 5"},
    {"cummin", "", "{ lambda a:i64[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "3 -2 7 1 5 -4", "3 -2 -2 1 1 -4"},
    {"cumsum", "", "{ lambda a:i64[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "3 -2 7 1 5 -4", "8 5 7 2 1 -4"},
    {"cumprod", "", "{ lambda a:i64[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "3 -2 7 1 5 -4", "-42 -14 7 -20 -20 -4"},
    {"cummax", "", "{ lambda a:i64[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "3 -2 7 1 5 -4", "7 7 7 5 5 -4"},
    {"cummin", "", "{ lambda a:i64[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "3 -2 7 1 5 -4", "-2 -2 7 -4 -4 -4"},
    {"reduce_sum", "", "{ lambda a:i64[0,2] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "", "0 0"},
    {"reduce_prod", "", "{ lambda a:i64[0,2] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "", "1 1"},
    {"reduce_max", "", "{ lambda a:i64[0] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "", "-9223372036854775808"},
    {"reduce_min", "", "{ lambda a:i64[0] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "", "9223372036854775807"},
    {"reduce_sum", "", "{ lambda a:u32[2,3] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "4 3 3"},
    {"reduce_prod", "", "{ lambda a:u32[2,3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 4294967286 4294967268"},
    {"reduce_max", "", "{ lambda a:u32[2,3] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 4294967294 4294967292"},
    {"reduce_min", "", "{ lambda a:u32[2,3] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "1 5 7"},
    {"reduce_sum", "", "{ lambda a:u32[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "8 2"},
    {"reduce_prod", "", "{ lambda a:u32[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "4294967254 4294967276"},
    {"reduce_max", "", "{ lambda a:u32[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "4294967294 4294967292"},
    {"reduce_min", "", "{ lambda a:u32[2,3] . let z0 = reduce_min[axes=(1,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 1"},
    {"reduce_sum", "", "{ lambda a:u32[2,3] . let z0 = reduce_sum[axes=(0,1,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "10"},
    {"reduce_prod", "", "{ lambda a:u32[2,3] . let z0 = reduce_prod[axes=(0,1,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "840"},
    {"reduce_max", "", "{ lambda a:u32[2,3] . let z0 = reduce_max[axes=(0,1,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "4294967294"},
    {"reduce_min", "", "{ lambda a:u32[2,3] . let z0 = reduce_min[axes=(0,1,)] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "1"},
    {"reduce_sum", "", "{ lambda a:u32[2,3] . let z0 = reduce_sum[axes=()] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 4294967294 7 1 5 4294967292"},
    {"reduce_prod", "", "{ lambda a:u32[2,3] . let z0 = reduce_prod[axes=()] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 4294967294 7 1 5 4294967292"},
    {"reduce_max", "", "{ lambda a:u32[2,3] . let z0 = reduce_max[axes=()] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 4294967294 7 1 5 4294967292"},
    {"reduce_min", "", "{ lambda a:u32[2,3] . let z0 = reduce_min[axes=()] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 4294967294 7 1 5 4294967292"},
    {"argmax", "", "{ lambda a:u32[2,3] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "0 0 1"},
    {"argmin", "", "{ lambda a:u32[2,3] . let z0 = argmin[axes=(0,) index_dtype=i64] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "1 1 0"},
    {"argmax", "", "{ lambda a:u32[2,3] . let z0 = argmax[axes=(1,) index_dtype=i32] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "1 2"},
    {"argmin", "", "{ lambda a:u32[2,3] . let z0 = argmin[axes=(1,) index_dtype=i64] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "0 0"},
    {"cumsum", "", "{ lambda a:u32[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 1 8 1 6 2"},
    {"cumprod", "", "{ lambda a:u32[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 4294967290 4294967254 1 5 4294967276"},
    {"cummax", "", "{ lambda a:u32[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 4294967294 4294967294 1 5 4294967292"},
    {"cummin", "", "{ lambda a:u32[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 3 3 1 1 1"},
    {"cumsum", "", "{ lambda a:u32[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "8 5 7 2 1 4294967292"},
    {"cumprod", "", "{ lambda a:u32[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "4294967254 4294967282 7 4294967276 4294967276 4294967292"},
    {"cummax", "", "{ lambda a:u32[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "4294967294 4294967294 7 4294967292 4294967292 4294967292"},
    {"cummin", "", "{ lambda a:u32[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "3 4294967294 7 1 5 4294967292", "3 7 7 1 5 4294967292"},
    {"reduce_sum", "", "{ lambda a:u32[0,2] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "", "0 0"},
    {"reduce_prod", "", "{ lambda a:u32[0,2] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "", "1 1"},
    {"reduce_max", "", "{ lambda a:u32[0] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "", "0"},
    {"reduce_min", "", "{ lambda a:u32[0] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "", "4294967295"},
    {"reduce_sum", "", "{ lambda a:i32[2] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "2147483647 2", "-2147483647"},
    {"reduce_prod", "", "{ lambda a:i32[2] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "2147483647 2", "-2"},
    {"cumsum", "", "{ lambda a:i32[3] . let z0 = cumsum[axis=0 reverse=False] a in (z0,) }",
     "2147483647 1 1", "2147483647 -2147483648 -2147483647"},
    {"reduce_sum", "", "{ lambda a:i64[2] . let z0 = reduce_sum[axes=(0,)] a in (z0,) }",
     "9223372036854775807 2", "-9223372036854775807"},
    {"reduce_prod", "", "{ lambda a:i64[2] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "9223372036854775807 2", "-2"},
    {"cumsum", "", "{ lambda a:i64[3] . let z0 = cumsum[axis=0 reverse=False] a in (z0,) }",
     "9223372036854775807 1 1", "9223372036854775807 -9223372036854775808 -9223372036854775807"},
    {"reduce_max", "", "{ lambda a:bool[3,2] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "0 1 0 0 1 1", "1 0 1"},
    {"reduce_min", "", "{ lambda a:bool[3,2] . let z0 = reduce_min[axes=(1,)] a in (z0,) }",
     "0 1 0 0 1 1", "0 0 1"},
    {"argmax", "", "{ lambda a:bool[3] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "0 1 1", "1"},
    {"argmin", "", "{ lambda a:bool[3] . let z0 = argmin[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1 1 0", "2"},
    {"reduce_max", "", "{ lambda a:f32[3] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "1 nan 2", "nan"},
    {"reduce_max", "", "{ lambda a:f64[3] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "1 nan 2", "nan"},
    {"reduce_min", "", "{ lambda a:f32[3] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "1 nan 2", "nan"},
    {"reduce_min", "", "{ lambda a:f64[3] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "1 nan 2", "nan"},
    {"cummax", "", "{ lambda a:f32[4] . let z0 = cummax[axis=0 reverse=False] a in (z0,) }",
     "1 nan 2 3", "1 nan nan nan"},
    {"cummax", "", "{ lambda a:f64[4] . let z0 = cummax[axis=0 reverse=False] a in (z0,) }",
     "1 nan 2 3", "1 nan nan nan"},
    {"cummin", "", "{ lambda a:f32[4] . let z0 = cummin[axis=0 reverse=True] a in (z0,) }",
     "3 2 nan 1", "nan nan nan 1"},
    {"cummin", "", "{ lambda a:f64[4] . let z0 = cummin[axis=0 reverse=True] a in (z0,) }",
     "3 2 nan 1", "nan nan nan 1"},
    {"argmax", "", "{ lambda a:f32[4] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1 nan 2 nan", "1"},
    {"argmax", "", "{ lambda a:f64[4] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1 nan 2 nan", "1"},
    {"argmin", "", "{ lambda a:f32[4] . let z0 = argmin[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1 nan -2 nan", "1"},
    {"argmin", "", "{ lambda a:f64[4] . let z0 = argmin[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1 nan -2 nan", "1"},
    {"argmax", "", "{ lambda a:f32[4] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1 3 3 2", "1"},
    {"argmax", "", "{ lambda a:f64[4] . let z0 = argmax[axes=(0,) index_dtype=i32] a in (z0,) }",
     "1 3 3 2", "1"},
    {"argmin", "", "{ lambda a:f32[4] . let z0 = argmin[axes=(0,) index_dtype=i32] a in (z0,) }",
     "5 3 3 4", "1"},
    {"argmin", "", "{ lambda a:f64[4] . let z0 = argmin[axes=(0,) index_dtype=i32] a in (z0,) }",
     "5 3 3 4", "1"},
    {"cumlogsumexp", "", "{ lambda a:f32[4] . let z0 = cumlogsumexp[axis=0 reverse=False] a in (z0,) }",
     "-inf 0 1000 1", "-inf 0 1000 1000"},
    {"cumlogsumexp", "", "{ lambda a:f64[4] . let z0 = cumlogsumexp[axis=0 reverse=False] a in (z0,) }",
     "-inf 0 1000 1", "-inf 0 1000 1000"},
    {"sort", "", "{ lambda a:f32[8] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "3 nan -inf 0 -0 inf -1 nan", "-inf -1 0 -0 3 inf nan nan"},
    {"sort", "", "{ lambda a:f64[8] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "3 nan -inf 0 -0 inf -1 nan", "-inf -1 0 -0 3 inf nan nan"},
    {"sort", "", "{ lambda a:f32[3] b:f32[3] c:f32[3] . let z0 z1 z2 = sort[dimension=0 is_stable=True num_keys=1] a b c in (z0, z1, z2) }",
     "3 -1 2; 10 20 30; 5 6 7", "-1 2 3; 20 30 10; 6 7 5"},
    {"sort", "", "{ lambda a:f64[3] b:f64[3] c:f64[3] . let z0 z1 z2 = sort[dimension=0 is_stable=True num_keys=1] a b c in (z0, z1, z2) }",
     "3 -1 2; 10 20 30; 5 6 7", "-1 2 3; 20 30 10; 6 7 5"},
    {"sort", "", "{ lambda a:i32[3] b:i32[3] c:i32[3] . let z0 z1 z2 = sort[dimension=0 is_stable=True num_keys=1] a b c in (z0, z1, z2) }",
     "3 -1 2; 10 20 30; 5 6 7", "-1 2 3; 20 30 10; 6 7 5"},
    {"sort", "", "{ lambda a:i64[3] b:i64[3] c:i64[3] . let z0 z1 z2 = sort[dimension=0 is_stable=True num_keys=1] a b c in (z0, z1, z2) }",
     "3 -1 2; 10 20 30; 5 6 7", "-1 2 3; 20 30 10; 6 7 5"},
    {"sort", "", "{ lambda a:u32[3] b:u32[3] c:u32[3] . let z0 z1 z2 = sort[dimension=0 is_stable=True num_keys=1] a b c in (z0, z1, z2) }",
     "3 4294967295 2; 10 20 30; 5 6 7", "2 3 4294967295; 30 10 20; 7 5 6"},
    {"sort", "", "{ lambda a:bool[3] b:bool[3] c:bool[3] . let z0 z1 z2 = sort[dimension=0 is_stable=True num_keys=1] a b c in (z0, z1, z2) }",
     "1 0 1; 0 1 1; 1 1 0", "0 1 1; 1 0 1; 1 1 0"},
    {"sort", "vjp", "{ lambda a:f32[4] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "3 -1 2 0.5; 1 2 3 4", "-1 0.5 2 3; 4 1 3 2"},
    {"sort", "vjp", "{ lambda a:f16[4] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "3 -1 2 0.5; 1 2 3 4", "-1 0.5 2 3; 4 1 3 2"},
    {"sort", "vjp", "{ lambda a:bf16[4] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "3 -1 2 0.5; 1 2 3 4", "-1 0.5 2 3; 4 1 3 2"},
    {"sort", "vjp", "{ lambda a:f64[4] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "3 -1 2 0.5; 1 2 3 4", "-1 0.5 2 3; 4 1 3 2"},
    {"sort", "", "{ lambda a:i32[5] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "3 -1 2 3 -7", "-7 -1 2 3 3"},
    {"sort", "", "{ lambda a:i64[5] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "3 -1 2 3 -7", "-7 -1 2 3 3"},
    {"sort", "", "{ lambda a:bool[4] . let z0 = sort[dimension=0 is_stable=True num_keys=1] a in (z0,) }",
     "1 0 1 0", "0 0 1 1"},
    {"sort", "", "{ lambda a:f64[2,3] . let z0 = sort[dimension=1 is_stable=True num_keys=1] a in (z0,) }",
     "3 1 2 -1 5 0", "1 2 3 -1 0 5"},
    {"sort", "", "{ lambda a:i32[4] b:f64[4] c:i64[4] . let z0 z1 z2 = sort[dimension=0 is_stable=True num_keys=2] a b c in (z0, z1, z2) }",
     "2 1 2 1; 0.5 3 0.25 2; 10 20 30 40", "1 1 2 2; 2 3 0.25 0.5; 40 20 30 10"},
    {"sort", "", "{ lambda a:i32[4] b:f32[4] . let z0 z1 = sort[dimension=0 is_stable=True num_keys=1] a b in (z0, z1) }",
     "2 1 2 1; 1 2 3 4", "1 1 2 2; 2 4 1 3"},
    {"top_k", "", "{ lambda a:f32[8] . let z0 z1 = top_k[k=5 axis=0] a in (z0, z1) }",
     "3 nan -inf 0 -0 inf -1 nan", "nan nan inf 3 0; 1 7 5 0 3"},
    {"top_k", "", "{ lambda a:f64[8] . let z0 z1 = top_k[k=5 axis=0] a in (z0, z1) }",
     "3 nan -inf 0 -0 inf -1 nan", "nan nan inf 3 0; 1 7 5 0 3"},
    {"top_k", "", "{ lambda a:f32[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 10 3 -7", "10 3 3; 1 0 2"},
    {"top_k", "", "{ lambda a:f64[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 10 3 -7", "10 3 3; 1 0 2"},
    {"top_k", "", "{ lambda a:i32[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 10 3 -7", "10 3 3; 1 0 2"},
    {"top_k", "", "{ lambda a:i64[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 10 3 -7", "10 3 3; 1 0 2"},
    {"top_k", "", "{ lambda a:u32[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 10 3 4294967289", "4294967289 10 3; 3 1 0"},
    {"top_k", "", "{ lambda a:bool[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "1 0 1 0", "1 1 0; 0 2 1"},
    {"top_k", "vjp", "{ lambda a:f32[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 -1 2 0.5; 1 2 3", "3 2 0.5; 0 2 3; 1 0 2 3"},
    {"top_k", "vjp", "{ lambda a:f16[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 -1 2 0.5; 1 2 3", "3 2 0.5; 0 2 3; 1 0 2 3"},
    {"top_k", "vjp", "{ lambda a:bf16[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 -1 2 0.5; 1 2 3", "3 2 0.5; 0 2 3; 1 0 2 3"},
    {"top_k", "vjp", "{ lambda a:f64[4] . let z0 z1 = top_k[k=3 axis=0] a in (z0, z1) }",
     "3 -1 2 0.5; 1 2 3", "3 2 0.5; 0 2 3; 1 0 2 3"},
    {"reduce_sum", "vjp", "{ lambda a:f32[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "2.75 3.5; 2 2 2 -1 -1 -1"},
    {"reduce_sum", "vjp", "{ lambda a:f16[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "2.75 3.5; 2 2 2 -1 -1 -1"},
    {"reduce_sum", "vjp", "{ lambda a:bf16[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "2.75 3.5; 2 2 2 -1 -1 -1"},
    {"reduce_sum", "vjp", "{ lambda a:f64[2,3] . let z0 = reduce_sum[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "2.75 3.5; 2 2 2 -1 -1 -1"},
    {"reduce_max", "vjp", "{ lambda a:f32[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "3.25 4; 0 0 2 -0 -1 -0"},
    {"reduce_max", "vjp", "{ lambda a:f16[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "3.25 4; 0 0 2 -0 -1 -0"},
    {"reduce_max", "vjp", "{ lambda a:bf16[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "3.25 4; 0 0 2 -0 -1 -0"},
    {"reduce_max", "vjp", "{ lambda a:f64[2,3] . let z0 = reduce_max[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "3.25 4; 0 0 2 -0 -1 -0"},
    {"reduce_prod", "vjp", "{ lambda a:f32[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "-9.75 -2; -13 9.75 -6 4 0.5 -2"},
    {"reduce_prod", "vjp", "{ lambda a:f16[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "-9.75 -2; -13 9.75 -6 4 0.5 -2"},
    {"reduce_prod", "vjp", "{ lambda a:bf16[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "-9.75 -2; -13 9.75 -6 4 0.5 -2"},
    {"reduce_prod", "vjp", "{ lambda a:f64[2,3] . let z0 = reduce_prod[axes=(1,)] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 2 -1", "-9.75 -2; -13 9.75 -6 4 0.5 -2"},
    {"cumsum", "vjp", "{ lambda a:f32[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -0.5 2.75 0.5 4.5 3.5; 2.75 1.25 3.25 3.5 3 -1"},
    {"cumsum", "vjp", "{ lambda a:f16[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -0.5 2.75 0.5 4.5 3.5; 2.75 1.25 3.25 3.5 3 -1"},
    {"cumsum", "vjp", "{ lambda a:bf16[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -0.5 2.75 0.5 4.5 3.5; 2.75 1.25 3.25 3.5 3 -1"},
    {"cumsum", "vjp", "{ lambda a:f64[2,3] . let z0 = cumsum[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -0.5 2.75 0.5 4.5 3.5; 2.75 1.25 3.25 3.5 3 -1"},
    {"cumprod", "vjp", "{ lambda a:f32[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -3 -9.75 0.5 2 -2; -15.625 12.84375 -9.75 20.5 2.5 -2"},
    {"cumprod", "vjp", "{ lambda a:f16[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -3 -9.75 0.5 2 -2; -15.625 12.84375 -9.75 20.5 2.5 -2"},
    {"cumprod", "vjp", "{ lambda a:bf16[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -3 -9.75 0.5 2 -2; -15.625 12.875 -9.75 20.5 2.5 -2"},
    {"cumprod", "vjp", "{ lambda a:f64[2,3] . let z0 = cumprod[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -3 -9.75 0.5 2 -2; -15.625 12.84375 -9.75 20.5 2.5 -2"},
    {"cummax", "vjp", "{ lambda a:f32[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 1.5 3.25 0.5 4 4; -0.5 0 3.25 0.5 3 0"},
    {"cummax", "vjp", "{ lambda a:f16[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 1.5 3.25 0.5 4 4; -0.5 0 3.25 0.5 3 0"},
    {"cummax", "vjp", "{ lambda a:bf16[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 1.5 3.25 0.5 4 4; -0.5 0 3.25 0.5 3 0"},
    {"cummax", "vjp", "{ lambda a:f64[2,3] . let z0 = cummax[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 1.5 3.25 0.5 4 4; -0.5 0 3.25 0.5 3 0"},
    {"cummin", "vjp", "{ lambda a:f32[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -2 -2 0.5 0.5 -1; 1.5 1.25 0 4.5 0 -1"},
    {"cummin", "vjp", "{ lambda a:f16[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -2 -2 0.5 0.5 -1; 1.5 1.25 0 4.5 0 -1"},
    {"cummin", "vjp", "{ lambda a:bf16[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -2 -2 0.5 0.5 -1; 1.5 1.25 0 4.5 0 -1"},
    {"cummin", "vjp", "{ lambda a:f64[2,3] . let z0 = cummin[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "1.5 -2 -2 0.5 0.5 -1; 1.5 1.25 0 4.5 0 -1"},
    {"cumlogsumexp", "vjp", "{ lambda a:f32[2,3] . let z0 = cumlogsumexp[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 2 3.25 0.5 4 1", "1.5 1.5297504663467407 3.414684772491455 0.5 4.029750347137451 4.036269664764404; 3.9203875064849854 0.0730893686413765 2.7565231323242188 0.6463707089424133 4.847131252288818 0.0064979433082044125"},
    {"cumlogsumexp", "vjp", "{ lambda a:f16[2,3] . let z0 = cumlogsumexp[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 2 3.25 0.5 4 1", "1.5 1.529296875 3.4140625 0.5 4.03125 4.03515625; 3.919921875 0.07305908203125 2.755859375 0.646484375 4.84765625 0.006496429443359375"},
    {"cumlogsumexp", "vjp", "{ lambda a:bf16[2,3] . let z0 = cumlogsumexp[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 2 3.25 0.5 4 1", "1.5 1.53125 3.421875 0.5 4.03125 4.03125; 3.921875 0.0732421875 2.75 0.64453125 4.84375 0.006500244140625"},
    {"cumlogsumexp", "vjp", "{ lambda a:f64[2,3] . let z0 = cumlogsumexp[axis=1 reverse=False] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 2 3.25 0.5 4 1", "1.5 1.5297504182726205 3.414684824824351 0.5 4.029750418272621 4.03626956512478; 3.9203874432746217 0.07308936765512894 2.75652318907025 0.6463706845429036 4.847131372141432 0.006497943315661937"},
    {"linear_recurrence", "", "{ lambda a:f32[2,3] b:f32[2,3] . let z0 = linear_recurrence[axis=0 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5", "0.5 -2 1.25 3.25 -8.75 0.25"},
    {"linear_recurrence", "", "{ lambda a:f64[2,3] b:f64[2,3] . let z0 = linear_recurrence[axis=0 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5", "0.5 -2 1.25 3.25 -8.75 0.25"},
    {"linear_recurrence", "vjp", "{ lambda a:f32[2,3] b:f32[2,3] . let z0 = linear_recurrence[axis=0 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "0.5 -2 1.25 3.25 -8.75 0.25; 0 0 0 0.25 -8 -1.25; 1.75 14 4.25 0.5 4 -1"},
    {"linear_recurrence", "vjp", "{ lambda a:f16[2,3] b:f16[2,3] . let z0 = linear_recurrence[axis=0 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "0.5 -2 1.25 3.25 -8.75 0.25; 0 0 0 0.25 -8 -1.25; 1.75 14 4.25 0.5 4 -1"},
    {"linear_recurrence", "vjp", "{ lambda a:bf16[2,3] b:bf16[2,3] . let z0 = linear_recurrence[axis=0 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "0.5 -2 1.25 3.25 -8.75 0.25; 0 0 0 0.25 -8 -1.25; 1.75 14 4.25 0.5 4 -1"},
    {"linear_recurrence", "vjp", "{ lambda a:f64[2,3] b:f64[2,3] . let z0 = linear_recurrence[axis=0 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "0.5 -2 1.25 3.25 -8.75 0.25; 0 0 0 0.25 -8 -1.25; 1.75 14 4.25 0.5 4 -1"},
    {"linear_recurrence", "", "{ lambda a:f32[2,3] b:f32[2,3] . let z0 = linear_recurrence[axis=1 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5", "0.5 -3 -8.5 3 11.25 -9.75"},
    {"linear_recurrence", "", "{ lambda a:f64[2,3] b:f64[2,3] . let z0 = linear_recurrence[axis=1 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5", "0.5 -3 -8.5 3 11.25 -9.75"},
    {"linear_recurrence", "vjp", "{ lambda a:f32[2,3] b:f32[2,3] . let z0 = linear_recurrence[axis=1 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "0.5 -3 -8.5 3 11.25 -9.75; -0 4.28125 -9.75 0 15 -11.25; -15.625 8.5625 3.25 20.5 5 -1"},
    {"linear_recurrence", "vjp", "{ lambda a:f16[2,3] b:f16[2,3] . let z0 = linear_recurrence[axis=1 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "0.5 -3 -8.5 3 11.25 -9.75; -0 4.28125 -9.75 0 15 -11.25; -15.625 8.5625 3.25 20.5 5 -1"},
    {"linear_recurrence", "vjp", "{ lambda a:bf16[2,3] b:bf16[2,3] . let z0 = linear_recurrence[axis=1 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "0.5 -3 -8.5 3 11.25 -9.75; -0 4.28125 -9.75 0 15 -11.25; -15.625 8.5625 3.25 20.5 5 -1"},
    {"linear_recurrence", "vjp", "{ lambda a:f64[2,3] b:f64[2,3] . let z0 = linear_recurrence[axis=1 reverse=False] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "0.5 -3 -8.5 3 11.25 -9.75; -0 4.28125 -9.75 0 15 -11.25; -15.625 8.5625 3.25 20.5 5 -1"},
    {"cumsum", "vjp", "{ lambda a:f32[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "2.75 1.25 3.25 3.5 3 -1; 1.5 -0.5 2.75 0.5 4.5 3.5"},
    {"cumsum", "vjp", "{ lambda a:f16[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "2.75 1.25 3.25 3.5 3 -1; 1.5 -0.5 2.75 0.5 4.5 3.5"},
    {"cumsum", "vjp", "{ lambda a:bf16[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "2.75 1.25 3.25 3.5 3 -1; 1.5 -0.5 2.75 0.5 4.5 3.5"},
    {"cumsum", "vjp", "{ lambda a:f64[2,3] . let z0 = cumsum[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "2.75 1.25 3.25 3.5 3 -1; 1.5 -0.5 2.75 0.5 4.5 3.5"},
    {"cumprod", "vjp", "{ lambda a:f32[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "-9.75 -6.5 3.25 -2 -4 -1; -9.75 0.8125 2.75 -2 -4.25 16"},
    {"cumprod", "vjp", "{ lambda a:f16[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "-9.75 -6.5 3.25 -2 -4 -1; -9.75 0.8125 2.75 -2 -4.25 16"},
    {"cumprod", "vjp", "{ lambda a:bf16[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "-9.75 -6.5 3.25 -2 -4 -1; -9.75 0.8125 2.75 -2 -4.25 16"},
    {"cumprod", "vjp", "{ lambda a:f64[2,3] . let z0 = cumprod[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "-9.75 -6.5 3.25 -2 -4 -1; -9.75 0.8125 2.75 -2 -4.25 16"},
    {"cummax", "vjp", "{ lambda a:f32[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "3.25 3.25 3.25 4 4 -1; 0 0 2.75 0 4.5 -1"},
    {"cummax", "vjp", "{ lambda a:f16[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "3.25 3.25 3.25 4 4 -1; 0 0 2.75 0 4.5 -1"},
    {"cummax", "vjp", "{ lambda a:bf16[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "3.25 3.25 3.25 4 4 -1; 0 0 2.75 0 4.5 -1"},
    {"cummax", "vjp", "{ lambda a:f64[2,3] . let z0 = cummax[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "3.25 3.25 3.25 4 4 -1; 0 0 2.75 0 4.5 -1"},
    {"cummin", "vjp", "{ lambda a:f32[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "-2 -2 3.25 -1 -1 -1; 0 -0.5 3.25 0 0 3.5"},
    {"cummin", "vjp", "{ lambda a:f16[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "-2 -2 3.25 -1 -1 -1; 0 -0.5 3.25 0 0 3.5"},
    {"cummin", "vjp", "{ lambda a:bf16[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "-2 -2 3.25 -1 -1 -1; 0 -0.5 3.25 0 0 3.5"},
    {"cummin", "vjp", "{ lambda a:f64[2,3] . let z0 = cummin[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 -2 3.25 0.5 4 -1", "-2 -2 3.25 -1 -1 -1; 0 -0.5 3.25 0 0 3.5"},
    {"cumlogsumexp", "vjp", "{ lambda a:f32[2,3] . let z0 = cumlogsumexp[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 2 3.25 0.5 4 1", "3.414684772491455 3.2552337646484375 3.25 4.036269664764404 4.006715297698975 -1; 0.2210824191570282 0.0171163622289896 6.511801242828369 0.014560881070792675 4.455418586730957 1.0300203561782837"},
    {"cumlogsumexp", "vjp", "{ lambda a:f16[2,3] . let z0 = cumlogsumexp[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 2 3.25 0.5 4 1", "3.4140625 3.255859375 3.25 4.03515625 4.0078125 -1; 0.2210693359375 0.017120361328125 6.51171875 0.01456451416015625 4.45703125 1.0302734375"},
    {"cumlogsumexp", "vjp", "{ lambda a:bf16[2,3] . let z0 = cumlogsumexp[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 2 3.25 0.5 4 1", "3.421875 3.25 3.25 4.03125 4 -1; 0.220703125 0.01708984375 6.5 0.01458740234375 4.46875 1.03125"},
    {"cumlogsumexp", "vjp", "{ lambda a:f64[2,3] . let z0 = cumlogsumexp[axis=1 reverse=True] a in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 1.5 2 3.25 0.5 4 1", "3.414684824824351 3.255233798151743 3.25 4.03626956512478 4.006715348489118 -1; 0.22108241758953895 0.017116361919001236 6.51180122049146 0.014560880768739192 4.455418743876289 1.0300203753549704"},
    {"linear_recurrence", "", "{ lambda a:f32[2,3] b:f32[2,3] . let z0 = linear_recurrence[axis=0 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5", "5 -0.5 6.125 3 -0.75 1.5"},
    {"linear_recurrence", "", "{ lambda a:f64[2,3] b:f64[2,3] . let z0 = linear_recurrence[axis=0 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5", "5 -0.5 6.125 3 -0.75 1.5"},
    {"linear_recurrence", "vjp", "{ lambda a:f32[2,3] b:f32[2,3] . let z0 = linear_recurrence[axis=0 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "5 -0.5 6.125 3 -0.75 1.5; 4.5 1.5 4.875 0 0 0; 1.5 -2 3.25 2.75 8 9.5625"},
    {"linear_recurrence", "vjp", "{ lambda a:f16[2,3] b:f16[2,3] . let z0 = linear_recurrence[axis=0 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "5 -0.5 6.125 3 -0.75 1.5; 4.5 1.5 4.875 0 0 0; 1.5 -2 3.25 2.75 8 9.5625"},
    {"linear_recurrence", "vjp", "{ lambda a:bf16[2,3] b:bf16[2,3] . let z0 = linear_recurrence[axis=0 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "5 -0.5 6.125 3 -0.75 1.5; 4.5 1.5 4.875 0 0 0; 1.5 -2 3.25 2.75 8 9.5625"},
    {"linear_recurrence", "vjp", "{ lambda a:f64[2,3] b:f64[2,3] . let z0 = linear_recurrence[axis=0 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "5 -0.5 6.125 3 -0.75 1.5; 4.5 1.5 4.875 0 0 0; 1.5 -2 3.25 2.75 8 9.5625"},
    {"linear_recurrence", "", "{ lambda a:f32[2,3] b:f32[2,3] . let z0 = linear_recurrence[axis=1 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5", "-6.25 -4.5 1.25 5.625 5.25 1.5"},
    {"linear_recurrence", "", "{ lambda a:f64[2,3] b:f64[2,3] . let z0 = linear_recurrence[axis=1 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5", "-6.25 -4.5 1.25 5.625 5.25 1.5"},
    {"linear_recurrence", "vjp", "{ lambda a:f32[2,3] b:f32[2,3] . let z0 = linear_recurrence[axis=1 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "-6.25 -4.5 1.25 5.625 5.25 1.5; -6.75 0.3125 0 2.625 6.375 0; 1.5 0.25 2.75 0.5 4.25 16"},
    {"linear_recurrence", "vjp", "{ lambda a:f16[2,3] b:f16[2,3] . let z0 = linear_recurrence[axis=1 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "-6.25 -4.5 1.25 5.625 5.25 1.5; -6.75 0.3125 0 2.625 6.375 0; 1.5 0.25 2.75 0.5 4.25 16"},
    {"linear_recurrence", "vjp", "{ lambda a:bf16[2,3] b:bf16[2,3] . let z0 = linear_recurrence[axis=1 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "-6.25 -4.5 1.25 5.625 5.25 1.5; -6.75 0.3125 0 2.625 6.375 0; 1.5 0.25 2.75 0.5 4.25 16"},
    {"linear_recurrence", "vjp", "{ lambda a:f64[2,3] b:f64[2,3] . let z0 = linear_recurrence[axis=1 reverse=True] a b in (z0,) }",
     "1.5 -2 3.25 0.5 4 -1; 0.5 -2 1.25 3 -0.75 1.5; 1.5 -2 3.25 0.5 4 -1", "-6.25 -4.5 1.25 5.625 5.25 1.5; -6.75 0.3125 0 2.625 6.375 0; 1.5 0.25 2.75 0.5 4.25 16"},
    {"linear_recurrence", "", "{ lambda a:f32[3] b:f32[3] . let z0 = linear_recurrence[axis=0 reverse=False] a b in (z0,) }",
     "nan 0 2; -0 1 inf", "-0 1 inf"},
    {"linear_recurrence", "", "{ lambda a:f64[3] b:f64[3] . let z0 = linear_recurrence[axis=0 reverse=False] a b in (z0,) }",
     "nan 0 2; -0 1 inf", "-0 1 inf"},
    {"fft", "", "{ lambda a:f32[2,1] b:f32[2,1] . let z0 z1 = fft[fft_type=FFT axis=1 length=1] a b in (z0, z1) }",
     "0 -0.35078299045562744; 0.6832399964332581 0.6864979863166809", "0 -0.35078299045562744; 0.6832399964332581 0.6864979863166809"},
    {"fft", "", "{ lambda a:f64[2,1] b:f64[2,1] . let z0 z1 = fft[fft_type=FFT axis=1 length=1] a b in (z0, z1) }",
     "0 -0.350783; 0.68324 0.686498", "0 -0.350783; 0.68324 0.686498"},
    {"fft", "", "{ lambda a:f32[2,1] b:f32[2,1] . let z0 z1 = fft[fft_type=IFFT axis=1 length=1] a b in (z0, z1) }",
     "0 -0.35078299045562744; 0.6832399964332581 0.6864979863166809", "0 -0.35078299045562744; 0.6832399964332581 0.6864979863166809"},
    {"fft", "", "{ lambda a:f64[2,1] b:f64[2,1] . let z0 z1 = fft[fft_type=IFFT axis=1 length=1] a b in (z0, z1) }",
     "0 -0.350783; 0.68324 0.686498", "0 -0.350783; 0.68324 0.686498"},
    {"fft", "", "{ lambda a:f32[2,1] . let z0 z1 = fft[fft_type=RFFT axis=1 length=1] a in (z0, z1) }",
     "0 -0.35078299045562744", "0 -0.35078299045562744; 0 0"},
    {"fft", "", "{ lambda a:f64[2,1] . let z0 z1 = fft[fft_type=RFFT axis=1 length=1] a in (z0, z1) }",
     "0 -0.350783", "0 -0.350783; 0 0"},
    {"fft", "", "{ lambda a:f32[2,1] b:f32[2,1] . let z0 = fft[fft_type=IRFFT axis=1 length=1] a b in (z0,) }",
     "0 -0.35078299045562744; 0.6992400288581848 -0.9917790293693542", "0 -0.35078299045562744"},
    {"fft", "", "{ lambda a:f64[2,1] b:f64[2,1] . let z0 = fft[fft_type=IRFFT axis=1 length=1] a b in (z0,) }",
     "0 -0.350783; 0.69924 -0.991779", "0 -0.350783"},
    {"fft", "", "{ lambda a:f32[1,2] b:f32[1,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=1] a b in (z0, z1) }",
     "0 -0.35078299045562744; 0.6832399964332581 0.6864979863166809", "0 -0.35078299045562744; 0.6832399964332581 0.6864979863166809"},
    {"fft", "", "{ lambda a:f64[1,2] b:f64[1,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=1] a b in (z0, z1) }",
     "0 -0.350783; 0.68324 0.686498", "0 -0.350783; 0.68324 0.686498"},
    {"fft", "", "{ lambda a:f32[1,2] b:f32[1,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=1] a b in (z0, z1) }",
     "0 -0.35078299045562744; 0.6832399964332581 0.6864979863166809", "0 -0.35078299045562744; 0.6832399964332581 0.6864979863166809"},
    {"fft", "", "{ lambda a:f64[1,2] b:f64[1,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=1] a b in (z0, z1) }",
     "0 -0.350783; 0.68324 0.686498", "0 -0.350783; 0.68324 0.686498"},
    {"fft", "", "{ lambda a:f32[1,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=1] a in (z0, z1) }",
     "0 -0.35078299045562744", "0 -0.35078299045562744; 0 0"},
    {"fft", "", "{ lambda a:f64[1,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=1] a in (z0, z1) }",
     "0 -0.350783", "0 -0.350783; 0 0"},
    {"fft", "", "{ lambda a:f32[1,2] b:f32[1,2] . let z0 = fft[fft_type=IRFFT axis=0 length=1] a b in (z0,) }",
     "0 -0.35078299045562744; 0.6992400288581848 -0.9917790293693542", "0 -0.35078299045562744"},
    {"fft", "", "{ lambda a:f64[1,2] b:f64[1,2] . let z0 = fft[fft_type=IRFFT axis=0 length=1] a b in (z0,) }",
     "0 -0.350783; 0.69924 -0.991779", "0 -0.350783"},
    {"fft", "", "{ lambda a:f32[2,2] b:f32[2,2] . let z0 z1 = fft[fft_type=FFT axis=1 length=2] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405", "-0.35078299045562744 0.35078299045562744 1.7931420803070068 0.1855739951133728; 1.369737982749939 -0.0032579898834228516 0.5952690243721008 -0.34806299209594727"},
    {"fft", "", "{ lambda a:f64[2,2] b:f64[2,2] . let z0 z1 = fft[fft_type=FFT axis=1 length=2] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784; 0.68324 0.686498 0.123603 0.471666", "-0.350783 0.350783 1.793142 0.1855739999999999; 1.369738 -0.003258000000000094 0.5952689999999999 -0.34806299999999996"},
    {"fft", "", "{ lambda a:f32[2,2] b:f32[2,2] . let z0 z1 = fft[fft_type=IFFT axis=1 length=2] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405", "-0.17539149522781372 0.17539149522781372 0.8965710401535034 0.0927869975566864; 0.6848689913749695 -0.0016289949417114258 0.2976345121860504 -0.17403149604797363"},
    {"fft", "", "{ lambda a:f64[2,2] b:f64[2,2] . let z0 z1 = fft[fft_type=IFFT axis=1 length=2] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784; 0.68324 0.686498 0.123603 0.471666", "-0.1753915 0.1753915 0.896571 0.09278699999999995; 0.684869 -0.001629000000000047 0.29763449999999997 -0.17403149999999998"},
    {"fft", "", "{ lambda a:f32[2,2] . let z0 z1 = fft[fft_type=RFFT axis=1 length=2] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946", "-0.35078299045562744 0.35078299045562744 1.7931420803070068 0.1855739951133728; 0 0 0 0"},
    {"fft", "", "{ lambda a:f64[2,2] . let z0 z1 = fft[fft_type=RFFT axis=1 length=2] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784", "-0.350783 0.350783 1.793142 0.1855739999999999; 0 0 0 0"},
    {"fft", "", "{ lambda a:f32[2,2] b:f32[2,2] . let z0 = fft[fft_type=IRFFT axis=1 length=2] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405", "-0.17539149522781372 0.17539149522781372 0.8965710401535034 0.0927869975566864"},
    {"fft", "", "{ lambda a:f64[2,2] b:f64[2,2] . let z0 = fft[fft_type=IRFFT axis=1 length=2] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784; 0.68324 0.686498 0.123603 0.471666", "-0.1753915 0.1753915 0.896571 0.09278699999999995"},
    {"fft", "", "{ lambda a:f32[2,2] b:f32[2,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=2] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405", "0.9893580079078674 0.4530010223388672 -0.9893580079078674 -1.154567003250122; 0.8068429827690125 1.1581640243530273 0.5596370100975037 0.21483197808265686"},
    {"fft", "", "{ lambda a:f64[2,2] b:f64[2,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=2] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784; 0.68324 0.686498 0.123603 0.471666", "0.989358 0.45300100000000004 -0.989358 -1.1545670000000001; 0.806843 1.158164 0.5596369999999999 0.21483200000000008"},
    {"fft", "", "{ lambda a:f32[2,2] b:f32[2,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=2] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405", "0.4946790039539337 0.2265005111694336 -0.4946790039539337 -0.577283501625061; 0.4034214913845062 0.5790820121765137 0.27981850504875183 0.10741598904132843"},
    {"fft", "", "{ lambda a:f64[2,2] b:f64[2,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=2] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784; 0.68324 0.686498 0.123603 0.471666", "0.494679 0.22650050000000002 -0.494679 -0.5772835000000001; 0.4034215 0.579082 0.27981849999999997 0.10741600000000004"},
    {"fft", "", "{ lambda a:f32[2,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=2] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946", "0.9893580079078674 0.4530010223388672 -0.9893580079078674 -1.154567003250122; 0 0 0 0"},
    {"fft", "", "{ lambda a:f64[2,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=2] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784", "0.989358 0.45300100000000004 -0.989358 -1.1545670000000001; 0 0 0 0"},
    {"fft", "", "{ lambda a:f32[2,2] b:f32[2,2] . let z0 = fft[fft_type=IRFFT axis=0 length=2] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405", "0.4946790039539337 0.2265005111694336 -0.4946790039539337 -0.577283501625061"},
    {"fft", "", "{ lambda a:f64[2,2] b:f64[2,2] . let z0 = fft[fft_type=IRFFT axis=0 length=2] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784; 0.68324 0.686498 0.123603 0.471666", "0.494679 0.22650050000000002 -0.494679 -0.5772835000000001"},
    {"fft", "", "{ lambda a:f32[2,6] b:f32[2,6] . let z0 z1 = fft[fft_type=FFT axis=1 length=6] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071", "3.054543972015381 -0.9441176652908325 1.7617979049682617 0.7500619292259216 -2.4049899578094482 -2.2172963619232178 -3.1876609325408936 -0.9890289902687073 -2.1759700775146484 -1.8267769813537598 -0.6087689995765686 2.8375320434570312; 2.0400378704071045 0.41479194164276123 1.6878622770309448 "
     "1.4914799928665161 -0.26318222284317017 -1.2715500593185425 -0.9528589248657227 0.9760664701461792 -0.605833113193512 0.19429704546928406 1.4834791421890259 4.701605319976807"},
    {"fft", "", "{ lambda a:f64[2,6] b:f64[2,6] . let z0 z1 = fft[fft_type=FFT axis=1 length=6] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332", "3.054544 -0.9441177064401728 1.7617978497826094 0.7500619999999996 -2.404989849782609 -2.2172962935598273 -3.1876610000000003 -0.9890289797172315 -2.175970069953851 -1.8267769999999997 -0.6087689300461491 2.837531979717231; 2.040038 0.41479199337856715 1.6878621917373278 1.4914799999999997 "
     "-0.2631821917373277 -1.2715499933785668 -0.952859 0.976066451958496 -0.6058331336960358 0.19429700000000016 1.483479133696036 4.701605548041504"},
    {"fft", "vjp", "{ lambda a:f32[2,6] b:f32[2,6] . let z0 z1 = fft[fft_type=FFT axis=1 length=6] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 "
     "-0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 "
     "-0.6800119876861572", "3.054543972015381 -0.9441176652908325 1.7617979049682617 0.7500619292259216 -2.4049899578094482 -2.2172963619232178 -3.1876609325408936 -0.9890289902687073 -2.1759700775146484 -1.8267769813537598 -0.6087689995765686 2.8375320434570312; 2.0400378704071045 0.41479194164276123 1.6878622770309448 "
     "1.4914799928665161 -0.26318222284317017 -1.2715500593185425 -0.9528589248657227 0.9760664701461792 -0.605833113193512 0.19429704546928406 1.4834791421890259 4.701605319976807; 2.0400378704071045 0.41479194164276123 1.6878622770309448 1.4914799928665161 -0.26318222284317017 -1.2715500593185425 "
     "-0.9528589248657227 0.9760664701461792 -0.605833113193512 0.19429704546928406 1.4834791421890259 4.701605319976807; 3.054543972015381 -0.9441176652908325 1.7617979049682617 0.7500619292259216 -2.4049899578094482 -2.2172963619232178 -3.1876609325408936 -0.9890289902687073 -2.1759700775146484 "
     "-1.8267769813537598 -0.6087689995765686 2.8375320434570312"},
    {"fft", "vjp", "{ lambda a:f64[2,6] b:f64[2,6] . let z0 z1 = fft[fft_type=FFT axis=1 length=6] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 "
     "-0.998814 -0.991197 -0.346593 0.987332; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012", "3.054544 -0.9441177064401728 1.7617978497826094 0.7500619999999996 -2.404989849782609 -2.2172962935598273 -3.1876610000000003 -0.9890289797172315 -2.175970069953851 -1.8267769999999997 -0.6087689300461491 2.837531979717231; 2.040038 0.41479199337856715 1.6878621917373278 1.4914799999999997 "
     "-0.2631821917373277 -1.2715499933785668 -0.952859 0.976066451958496 -0.6058331336960358 0.19429700000000016 1.483479133696036 4.701605548041504; 2.040038 0.41479199337856715 1.6878621917373278 1.4914799999999997 -0.2631821917373277 -1.2715499933785668 -0.952859 0.976066451958496 -0.6058331336960358 "
     "0.19429700000000016 1.483479133696036 4.701605548041504; 3.054544 -0.9441177064401728 1.7617978497826094 0.7500619999999996 -2.404989849782609 -2.2172962935598273 -3.1876610000000003 -0.9890289797172315 -2.175970069953851 -1.8267769999999997 -0.6087689300461491 2.837531979717231"},
    {"fft", "", "{ lambda a:f32[2,6] b:f32[2,6] . let z0 z1 = fft[fft_type=IFFT axis=1 length=6] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071", "0.5090906620025635 -0.36954939365386963 -0.4008316397666931 0.12501032650470734 0.29363298416137695 -0.15735295414924622 -0.5312768220901489 0.4729219973087311 -0.1014614999294281 -0.30446285009384155 -0.3626616895198822 -0.16483816504478455; 0.3400063216686249 -0.21192499995231628 "
     "-0.043863702565431595 0.24858000874519348 0.28131037950515747 0.0691319927573204 -0.1588098257780075 0.783600926399231 0.24724653363227844 0.032382842153310776 -0.10097219049930573 0.16267774999141693"},
    {"fft", "", "{ lambda a:f64[2,6] b:f64[2,6] . let z0 z1 = fft[fft_type=IFFT axis=1 length=6] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332", "0.5090906666666666 -0.3695493822599712 -0.40083164163043483 0.12501033333333328 0.2936329749637682 -0.15735295107336206 -0.5312768333333333 0.4729219966195386 -0.10146148834102484 -0.30446283333333324 -0.36266167832564183 -0.1648381632862052; 0.3400063333333333 -0.21192499889642785 "
     "-0.04386369862288795 0.24857999999999997 0.2813103652895546 0.06913199889642788 -0.15880983333333332 0.783600924673584 0.24724652228267266 0.032382833333333395 -0.10097218894933929 0.16267774199308266"},
    {"fft", "vjp", "{ lambda a:f32[2,6] b:f32[2,6] . let z0 z1 = fft[fft_type=IFFT axis=1 length=6] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 "
     "-0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 "
     "-0.6800119876861572", "0.5090906620025635 -0.36954939365386963 -0.4008316397666931 0.12501032650470734 0.29363298416137695 -0.15735295414924622 -0.5312768220901489 0.4729219973087311 -0.1014614999294281 -0.30446285009384155 -0.3626616895198822 -0.16483816504478455; 0.3400063216686249 -0.21192499995231628 "
     "-0.043863702565431595 0.24858000874519348 0.28131037950515747 0.0691319927573204 -0.1588098257780075 0.783600926399231 0.24724653363227844 0.032382842153310776 -0.10097219049930573 0.16267774999141693; 0.3400063216686249 -0.21192499995231628 -0.043863702565431595 0.24858000874519348 "
     "0.28131037950515747 0.0691319927573204 -0.1588098257780075 0.783600926399231 0.24724653363227844 0.032382842153310776 -0.10097219049930573 0.16267774999141693; 0.5090906620025635 -0.36954939365386963 -0.4008316397666931 0.12501032650470734 0.29363298416137695 -0.15735295414924622 "
     "-0.5312768220901489 0.4729219973087311 -0.1014614999294281 -0.30446285009384155 -0.3626616895198822 -0.16483816504478455"},
    {"fft", "vjp", "{ lambda a:f64[2,6] b:f64[2,6] . let z0 z1 = fft[fft_type=IFFT axis=1 length=6] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 "
     "-0.998814 -0.991197 -0.346593 0.987332; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012", "0.5090906666666666 -0.3695493822599712 -0.40083164163043483 0.12501033333333328 0.2936329749637682 -0.15735295107336206 -0.5312768333333333 0.4729219966195386 -0.10146148834102484 -0.30446283333333324 -0.36266167832564183 -0.1648381632862052; 0.3400063333333333 -0.21192499889642785 "
     "-0.04386369862288795 0.24857999999999997 0.2813103652895546 0.06913199889642788 -0.15880983333333332 0.783600924673584 0.24724652228267266 0.032382833333333395 -0.10097218894933929 0.16267774199308266; 0.3400063333333333 -0.21192499889642785 -0.04386369862288795 0.24857999999999997 "
     "0.2813103652895546 0.06913199889642788 -0.15880983333333332 0.783600924673584 0.24724652228267266 0.032382833333333395 -0.10097218894933929 0.16267774199308266; 0.5090906666666666 -0.3695493822599712 -0.40083164163043483 0.12501033333333328 0.2936329749637682 -0.15735295107336206 "
     "-0.5312768333333333 0.4729219966195386 -0.10146148834102484 -0.30446283333333324 -0.36266167832564183 -0.1648381632862052"},
    {"fft", "", "{ lambda a:f32[2,6] . let z0 z1 = fft[fft_type=RFFT axis=1 length=6] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572", "3.054543972015381 -1.5807069540023804 -0.3215959966182709 0.7500619292259216 -3.1876609325408936 0.9242514371871948 -1.3923695087432861 -1.8267769813537598; 0 0.8431710004806519 0.9755222201347351 0 0 -1.8627694845199585 -1.0446561574935913 0"},
    {"fft", "", "{ lambda a:f64[2,6] . let z0 z1 = fft[fft_type=RFFT axis=1 length=6] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012", "3.054544 -1.5807069999999999 -0.3215959999999999 0.750062 -3.1876610000000003 0.9242515 -1.3923695 -1.826777; 0 0.8431709933785674 0.9755221917373278 0 0 -1.862769548041504 -1.0446561336960356 0"},
    {"fft", "", "{ lambda a:f32[2,4] b:f32[2,4] . let z0 = fft[fft_type=IRFFT axis=1 length=6] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491", "0.3468223512172699 -0.5911768674850464 -0.13495895266532898 0.3127496540546417 0.1900286227464676 -0.12346482276916504 0.22107632458209991 0.24382123351097107 0.9013980031013489 -0.5779473781585693 -0.16670635342597961 0.2913030982017517"},
    {"fft", "", "{ lambda a:f64[2,4] b:f64[2,4] . let z0 = fft[fft_type=IRFFT axis=1 length=6] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713", "0.34682233333333334 -0.5911768485437259 -0.1349589565544138 0.3127496666666666 0.19002862322108052 -0.12346481812294081 0.22107633333333332 0.24382123492245458 0.9013980077602177 -0.5779473333333331 -0.16670634109355104 0.29130309841087854"},
    {"fft", "vjp", "{ lambda a:f32[2,6] . let z0 z1 = fft[fft_type=RFFT axis=1 length=6] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 "
     "0.6992400288581848 -0.9917790293693542 0.9985910058021545; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491", "3.054543972015381 -1.5807069540023804 -0.3215959966182709 0.7500619292259216 -3.1876609325408936 0.9242514371871948 -1.3923695087432861 -1.8267769813537598; 0 0.8431710004806519 0.9755222201347351 0 0 -1.8627694845199585 -1.0446561574935913 0; 1.4423589706420898 -2.175422430038452 "
     "-0.0029848527628928423 0.5363569855690002 0.9719778895378113 -0.7722864747047424 1.6189969778060913 0.6886407136917114 3.6599619388580322 -1.7766650915145874 0.45564889907836914 0.831086277961731"},
    {"fft", "vjp", "{ lambda a:f64[2,6] . let z0 z1 = fft[fft_type=RFFT axis=1 length=6] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713", "3.054544 -1.5807069999999999 -0.3215959999999999 0.750062 -3.1876610000000003 0.9242515 -1.3923695 -1.826777; 0 0.8431709933785674 0.9755221917373278 0 0 -1.862769548041504 -1.0446561336960356 0; 1.442359 -2.1754225456311778 -0.0029848696632414624 0.5363569999999999 0.9719778696632417 "
     "-0.7722864543688225 1.6189969999999998 0.6886407047673638 3.6599620232806527 -1.7766649999999993 0.45564897671934657 0.8310862952326357"},
    {"fft", "vjp", "{ lambda a:f32[2,4] b:f32[2,4] . let z0 = fft[fft_type=IRFFT axis=1 length=6] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071", "0.3468223512172699 -0.5911768674850464 -0.13495895266532898 0.3127496540546417 0.1900286227464676 -0.12346482276916504 0.22107632458209991 0.24382123351097107 0.9013980031013489 -0.5779473781585693 -0.16670635342597961 0.2913030982017517; 0.3400063216686249 -0.14279301464557648 0.23744666576385498 "
     "0.24858000874519348 -0.1588098257780075 0.9462786912918091 0.14627434313297272 0.032382842153310776; 0 -0.2121964395046234 -0.6944646239280701 0 0 0.6377601623535156 0.2612001895904541 0"},
    {"fft", "vjp", "{ lambda a:f64[2,4] b:f64[2,4] . let z0 = fft[fft_type=IRFFT axis=1 length=6] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332", "0.34682233333333334 -0.5911768485437259 -0.1349589565544138 0.3127496666666666 0.19002862322108052 -0.12346481812294081 0.22107633333333332 0.24382123492245458 0.9013980077602177 -0.5779473333333331 -0.16670634109355104 0.29130309841087854; 0.3400063333333333 -0.14279299999999998 0.2374466666666666 "
     "0.24858000000000002 -0.15880983333333332 0.9462786666666665 0.1462743333333334 0.03238283333333334; 0 -0.21219643118660914 -0.6944646165942029 0 0 0.6377601599057438 0.2612001899846169 0"},
    {"fft", "", "{ lambda a:f32[6,2] b:f32[6,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=6] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071", "-0.6049160361289978 0.4717990756034851 2.8964622020721436 -1.4912424087524414 -2.4734528064727783 0.1962977647781372 1.3877038955688477 -1.772926926612854 0.1030317097902298 1.275327205657959 -1.3088290691375732 -0.783952534198761; 1.386478066444397 -0.299299031496048 -3.3342843055725098 "
     "0.16750876605510712 1.3055777549743652 0.5105591416358948 -0.09979401528835297 -2.077868938446045 2.256042242050171 0.13909484446048737 2.5854201316833496 5.678993225097656"},
    {"fft", "", "{ lambda a:f64[6,2] b:f64[6,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=6] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332", "-0.604916 0.47179899999999997 2.896462094508737 -1.4912424377369908 -2.473452732993081 0.196297726001178 1.3877039999999998 -1.7729270000000004 0.103031732993081 1.275327273998822 -1.308829094508737 -0.783952562263009; 1.386478 -0.299299 -3.3342842616064385 0.16750880170990068 1.3055776936478858 "
     "0.5105591382226297 -0.09979399999999994 -2.0778690000000006 2.2560423063521147 0.1390948617773704 2.585420261606439 5.6789931982901"},
    {"fft", "vjp", "{ lambda a:f32[6,2] b:f32[6,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=6] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 "
     "-0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 "
     "-0.6800119876861572", "-0.6049160361289978 0.4717990756034851 2.8964622020721436 -1.4912424087524414 -2.4734528064727783 0.1962977647781372 1.3877038955688477 -1.772926926612854 0.1030317097902298 1.275327205657959 -1.3088290691375732 -0.783952534198761; 1.386478066444397 -0.299299031496048 -3.3342843055725098 "
     "0.16750876605510712 1.3055777549743652 0.5105591416358948 -0.09979401528835297 -2.077868938446045 2.256042242050171 0.13909484446048737 2.5854201316833496 5.678993225097656; 1.386478066444397 -0.299299031496048 -3.3342843055725098 0.16750876605510712 1.3055777549743652 0.5105591416358948 "
     "-0.09979401528835297 -2.077868938446045 2.256042242050171 0.13909484446048737 2.5854201316833496 5.678993225097656; -0.6049160361289978 0.4717990756034851 2.8964622020721436 -1.4912424087524414 -2.4734528064727783 0.1962977647781372 1.3877038955688477 -1.772926926612854 0.1030317097902298 "
     "1.275327205657959 -1.3088290691375732 -0.783952534198761"},
    {"fft", "vjp", "{ lambda a:f64[6,2] b:f64[6,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=6] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 "
     "-0.998814 -0.991197 -0.346593 0.987332; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012", "-0.604916 0.47179899999999997 2.896462094508737 -1.4912424377369908 -2.473452732993081 0.196297726001178 1.3877039999999998 -1.7729270000000004 0.103031732993081 1.275327273998822 -1.308829094508737 -0.783952562263009; 1.386478 -0.299299 -3.3342842616064385 0.16750880170990068 1.3055776936478858 "
     "0.5105591382226297 -0.09979399999999994 -2.0778690000000006 2.2560423063521147 0.1390948617773704 2.585420261606439 5.6789931982901; 1.386478 -0.299299 -3.3342842616064385 0.16750880170990068 1.3055776936478858 0.5105591382226297 -0.09979399999999994 -2.0778690000000006 2.2560423063521147 "
     "0.1390948617773704 2.585420261606439 5.6789931982901; -0.604916 0.47179899999999997 2.896462094508737 -1.4912424377369908 -2.473452732993081 0.196297726001178 1.3877039999999998 -1.7729270000000004 0.103031732993081 1.275327273998822 -1.308829094508737 -0.783952562263009"},
    {"fft", "", "{ lambda a:f32[6,2] b:f32[6,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=6] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071", "-0.10081934183835983 0.07863318175077438 -0.2181381732225418 -0.13065876066684723 0.01717195101082325 0.21255452930927277 0.2312839925289154 -0.29548782110214233 -0.4122421145439148 0.0327162928879261 0.48274368047714233 -0.24854040145874023; 0.23107966780662537 -0.049883171916007996 "
     "0.4309033751487732 0.9464988708496094 0.3760070502758026 0.023182474076747894 -0.016632335260510445 -0.3463115096092224 0.21759627759456635 0.085093192756176 -0.5557140707969666 0.027918128296732903"},
    {"fft", "", "{ lambda a:f64[6,2] b:f64[6,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=6] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332", "-0.10081933333333333 0.07863316666666666 -0.2181381824181228 -0.13065876037716817 0.01717195549884683 0.2125545456664703 0.23128399999999996 -0.2954878333333334 -0.4122421221655135 0.032716287666863 0.4827436824181228 -0.2485404062894984; 0.23107966666666668 -0.04988316666666666 0.4309033769344064 "
     "0.9464988663816831 0.37600705105868576 0.023182476962895066 -0.01663233333333336 -0.34631149999999994 0.2175962822746476 0.08509318970377161 -0.555714043601073 0.027918133618316777"},
    {"fft", "vjp", "{ lambda a:f32[6,2] b:f32[6,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=6] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 "
     "-0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 "
     "-0.6800119876861572", "-0.10081934183835983 0.07863318175077438 -0.2181381732225418 -0.13065876066684723 0.01717195101082325 0.21255452930927277 0.2312839925289154 -0.29548782110214233 -0.4122421145439148 0.0327162928879261 0.48274368047714233 -0.24854040145874023; 0.23107966780662537 -0.049883171916007996 "
     "0.4309033751487732 0.9464988708496094 0.3760070502758026 0.023182474076747894 -0.016632335260510445 -0.3463115096092224 0.21759627759456635 0.085093192756176 -0.5557140707969666 0.027918128296732903; 0.23107966780662537 -0.049883171916007996 0.4309033751487732 0.9464988708496094 0.3760070502758026 "
     "0.023182474076747894 -0.016632335260510445 -0.3463115096092224 0.21759627759456635 0.085093192756176 -0.5557140707969666 0.027918128296732903; -0.10081934183835983 0.07863318175077438 -0.2181381732225418 -0.13065876066684723 0.01717195101082325 0.21255452930927277 0.2312839925289154 "
     "-0.29548782110214233 -0.4122421145439148 0.0327162928879261 0.48274368047714233 -0.24854040145874023"},
    {"fft", "vjp", "{ lambda a:f64[6,2] b:f64[6,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=6] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 "
     "-0.998814 -0.991197 -0.346593 0.987332; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012", "-0.10081933333333333 0.07863316666666666 -0.2181381824181228 -0.13065876037716817 0.01717195549884683 0.2125545456664703 0.23128399999999996 -0.2954878333333334 -0.4122421221655135 0.032716287666863 0.4827436824181228 -0.2485404062894984; 0.23107966666666668 -0.04988316666666666 0.4309033769344064 "
     "0.9464988663816831 0.37600705105868576 0.023182476962895066 -0.01663233333333336 -0.34631149999999994 0.2175962822746476 0.08509318970377161 -0.555714043601073 0.027918133618316777; 0.23107966666666668 -0.04988316666666666 0.4309033769344064 0.9464988663816831 0.37600705105868576 "
     "0.023182476962895066 -0.01663233333333336 -0.34631149999999994 0.2175962822746476 0.08509318970377161 -0.555714043601073 0.027918133618316777; -0.10081933333333333 0.07863316666666666 -0.2181381824181228 -0.13065876037716817 0.01717195549884683 0.2125545456664703 0.23128399999999996 "
     "-0.2954878333333334 -0.4122421221655135 0.032716287666863 0.4827436824181228 -0.2485404062894984"},
    {"fft", "", "{ lambda a:f32[6,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=6] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572", "-0.6049160361289978 0.4717990756034851 0.7938165664672852 -1.1375974416732788 -1.1852104663848877 0.7358124852180481 1.3877038955688477 -1.7729270458221436; 0 0 -2.9598522186279297 -2.755742311477661 -0.4752323031425476 0.1857321560382843 0 0"},
    {"fft", "", "{ lambda a:f64[6,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=6] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012", "-0.604916 0.47179899999999986 0.7938164999999999 -1.1375974999999996 -1.1852105 0.7358124999999998 1.387704 -1.7729270000000001; 0 0 -2.9598522616064384 -2.7557421982900996 -0.47523230635211444 0.1857321382226298 0 0"},
    {"fft", "", "{ lambda a:f32[4,2] b:f32[4,2] . let z0 = fft[fft_type=IRFFT axis=0 length=6] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491", "0.4688044786453247 0.6089760065078735 -0.1344643086194992 -0.08847428858280182 -0.2412129044532776 -0.5338498950004578 0.1398254930973053 -0.25974366068840027 -0.7234811186790466 0.2487778663635254 0.4905283451080322 -0.3264690637588501"},
    {"fft", "", "{ lambda a:f64[4,2] b:f64[4,2] . let z0 = fft[fft_type=IRFFT axis=0 length=6] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713", "0.4688044999999999 0.608976 -0.13446431802644224 -0.08847429135912749 -0.2412129072962031 -0.5338498673751331 0.13982550000000005 -0.2597436666666667 -0.7234810927037968 0.24877786737513313 0.4905283180264422 -0.3264690419742058"},
    {"fft", "vjp", "{ lambda a:f32[6,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=6] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 "
     "0.6992400288581848 -0.9917790293693542 0.9985910058021545; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491", "-0.6049160361289978 0.4717990756034851 0.7938165664672852 -1.1375974416732788 -1.1852104663848877 0.7358124852180481 1.3877038955688477 -1.7729270458221436; 0 0 -2.9598522186279297 -2.755742311477661 -0.4752323031425476 0.1857321560382843 0 0; 0.9105239510536194 2.150832176208496 "
     "0.09249658137559891 -0.9401098489761353 -1.2195281982421875 -1.2776455879211426 0.915365993976593 -1.4539179801940918 -2.666332721710205 1.070237636566162 1.9674744606018066 -1.6540940999984741"},
    {"fft", "vjp", "{ lambda a:f64[6,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=6] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713", "-0.604916 0.47179899999999986 0.7938164999999999 -1.1375974999999996 -1.1852105 0.7358124999999998 1.387704 -1.7729270000000001; 0 0 -2.9598522616064384 -2.7557421982900996 -0.47523230635211444 0.1857321382226298 0 0; 0.9105239999999999 2.150832 0.09249654592067325 -0.9401098740773824 "
     "-1.2195282218886092 -1.2776456021253995 0.9153660000000001 -1.4539179999999998 -2.6663327781113906 1.0702376021253994 1.9674744540793268 -1.6540941259226174"},
    {"fft", "vjp", "{ lambda a:f32[4,2] b:f32[4,2] . let z0 = fft[fft_type=IRFFT axis=0 length=6] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071", "0.4688044786453247 0.6089760065078735 -0.1344643086194992 -0.08847428858280182 -0.2412129044532776 -0.5338498950004578 0.1398254930973053 -0.25974366068840027 -0.7234811186790466 0.2487778663635254 0.4905283451080322 -0.3264690637588501; 0.23107966780662537 -0.049883171916007996 "
     "-0.12481068074703217 0.974416971206665 0.5936033129692078 0.10827566683292389 -0.016632335260510445 -0.3463115096092224; 0 0 -0.700881838798523 0.1178816482424736 0.4294140636920929 0.17983824014663696 0 0"},
    {"fft", "vjp", "{ lambda a:f64[4,2] b:f64[4,2] . let z0 = fft[fft_type=IRFFT axis=0 length=6] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332", "0.4688044999999999 0.608976 -0.13446431802644224 -0.08847429135912749 -0.2412129072962031 -0.5338498673751331 0.13982550000000005 -0.2597436666666667 -0.7234810927037968 0.24877786737513313 0.4905283180264422 -0.3264690419742058; 0.23107966666666668 -0.04988316666666666 -0.12481066666666665 "
     "0.9744169999999999 0.5936033333333333 0.10827566666666673 -0.01663233333333336 -0.34631149999999994; 0 0 -0.7008818648362456 0.1178816459123302 0.42941407766436035 0.17983825799960731 0 0"},
    {"fft", "", "{ lambda a:f32[2,8] b:f32[2,8] . let z0 z1 = fft[fft_type=FFT axis=1 length=8] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 "
     "0.9380210041999817", "3.0613560676574707 -0.5134024024009705 0.816025972366333 2.3811018466949463 -1.2403080463409424 -2.9975335597991943 1.014706015586853 -2.5219457149505615 -1.708635926246643 -3.1549322605133057 -1.9951279163360596 -1.784485101699829 2.4918739795684814 -2.4110758304595947 2.8329620361328125 "
     "1.5570130348205566; 2.436450958251953 -1.0025229454040527 2.00634503364563 2.2116265296936035 3.0273189544677734 -3.5111031532287598 -0.9014909863471985 1.1992956399917603 0.08447399735450745 1.768467664718628 -1.078660011291504 0.002359676407650113 -2.7888479232788086 2.171804189682007 "
     "-4.1915059089660645 -3.958603620529175"},
    {"fft", "", "{ lambda a:f64[2,8] b:f64[2,8] . let z0 z1 = fft[fft_type=FFT axis=1 length=8] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021", "3.061356 -0.5134024119338945 0.8160260000000001 2.381101654024574 -1.2403079999999997 -2.997533588066106 1.0147059999999999 -2.5219456540245746 -1.7086360000000003 -3.1549322674091873 -1.9951279999999998 -1.7844850741604499 2.491874 -2.4110757325908128 2.8329619999999998 1.5570130741604498; "
     "2.436451 -1.0025229499007418 2.006345 2.2116264187496415 3.0273190000000003 -3.5111030500992584 -0.901491 1.1992955812503583 0.08447400000000016 1.7684677317920345 -1.0786599999999997 0.0023596433100310232 -2.7888479999999998 2.1718042682079655 -4.191506 -3.958603643310031"},
    {"fft", "", "{ lambda a:f32[2,8] b:f32[2,8] . let z0 z1 = fft[fft_type=IFFT axis=1 length=8] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 "
     "0.9380210041999817", "0.38266950845718384 -0.3152432143688202 0.12683825194835663 -0.3746916949748993 -0.1550385057926178 0.2976377308368683 0.10200324654579163 -0.06417530030012131 -0.21357949078083038 0.19462662935256958 0.35412025451660156 -0.30138447880744934 0.3114842474460602 -0.22306063771247864 "
     "-0.24939098954200745 -0.3943665325641632; 0.30455636978149414 0.14991195499897003 -0.11268637329339981 -0.43888789415359497 0.3784148693084717 0.27645331621170044 0.25079312920570374 -0.1253153681755066 0.01055924966931343 -0.49482545256614685 -0.5239382386207581 0.27147552371025085 "
     "-0.3486059904098511 0.00029495955095626414 -0.134832501411438 0.2210584580898285"},
    {"fft", "", "{ lambda a:f64[2,8] b:f64[2,8] . let z0 z1 = fft[fft_type=IFFT axis=1 length=8] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021", "0.3826695 -0.3152432067530718 0.12683824999999999 -0.3746916985082632 -0.15503849999999997 0.2976377067530718 0.10200325000000002 -0.06417530149173681 -0.21357950000000003 0.19462663427005622 0.35412024999999997 -0.3013844665738516 0.31148425 -0.22306063427005624 -0.24939099999999997 "
     "-0.3943665334261484; 0.304556375 0.1499119476562948 -0.112686375 -0.4388878812624073 0.37841487500000004 0.2764533023437052 0.250793125 -0.12531536873759272 0.01055925000000002 -0.4948254554137539 -0.52393825 0.2714755335259957 -0.34860599999999997 0.0002949554137538779 -0.13483249999999997 "
     "0.22105846647400432"},
    {"fft", "", "{ lambda a:f32[2,8] . let z0 z1 = fft[fft_type=RFFT axis=1 length=8] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624", "3.0613560676574707 -1.5176739692687988 0.915365993976593 -0.3082159161567688 -1.2403080463409424 -1.708635926246643 -0.7989596724510193 0.4189170002937317 -2.097780466079712 2.4918739795684814; 0 -1.1009093523025513 1.4539179801940918 2.8613648414611816 0 0 2.8635356426239014 1.5564229488372803 "
     "-1.0847222805023193 0"},
    {"fft", "", "{ lambda a:f64[2,8] . let z0 z1 = fft[fft_type=RFFT axis=1 length=8] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096", "3.061356 -1.5176740329792344 0.915366 -0.3082159670207657 -1.2403079999999997 -1.7086360000000003 -0.7989595966243687 0.418917 -2.0977804033756313 2.491874; 0 -1.1009092655755501 1.453918 2.8613647344244497 0 0 2.8635356875510327 1.5564230000000001 -1.0847223124489673 0"},
    {"fft", "", "{ lambda a:f32[2,5] b:f32[2,5] . let z0 = fft[fft_type=IRFFT axis=1 length=8] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 "
     "0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226", "0.47470787167549133 -0.553855836391449 -0.1869293749332428 -0.08385323733091354 0.24820736050605774 0.26381808519363403 -0.07951338589191437 -0.08258150517940521 -0.16615737974643707 0.27736398577690125 -0.7783553600311279 0.15875820815563202 0.5905076265335083 0.43205776810646057 0.204114630818367 "
     "-0.019049445167183876"},
    {"fft", "", "{ lambda a:f64[2,5] b:f64[2,5] . let z0 = fft[fft_type=IRFFT axis=1 length=8] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197", "0.474707875 -0.5538558182900863 -0.186929375 -0.08385324077298194 0.248207375 0.26381806829008636 -0.07951337499999996 -0.08258150922701805 -0.16615737499999997 0.2773639997399095 -0.778355375 0.15875820349180342 0.590507625 0.43205775026009047 0.204114625 -0.019049453491803425"},
    {"fft", "", "{ lambda a:f32[8,2] b:f32[8,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=8] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 "
     "0.9380210041999817", "1.3021429777145386 0.0505770742893219 5.589066028594971 -1.53725266456604 -4.5384721755981445 -0.1290360391139984 -3.911998748779297 -0.027790993452072144 1.3342829942703247 -3.010340929031372 -0.6384899616241455 0.06094863638281822 -0.18415801227092743 -2.3104159832000732 1.0476268529891968 "
     "4.097046852111816; 1.3796980381011963 1.1412270069122314 2.035963773727417 -0.6161102652549744 -0.2866770625114441 1.3595960140228271 1.3122655153274536 1.038009762763977 -2.082655906677246 -2.513385057449341 1.3558924198150635 0.9143841862678528 -0.27266091108322144 -1.2062339782714844 "
     "2.024094343185425 5.3744964599609375"},
    {"fft", "", "{ lambda a:f64[8,2] b:f64[8,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=8] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021", "1.302143 0.050577000000000094 5.589065944973678 -1.5372526663121362 -4.538472 -0.12903600000000015 -3.911998875019504 -0.027791055793584096 1.334283 -3.010341 -0.6384899449736778 0.06094866631213647 -0.18415800000000004 -2.310416 1.0476268750195046 4.097047055793585; 1.3796979999999999 "
     "1.1412270000000002 2.0359636302573305 -0.6161102220560488 -0.28667699999999996 1.3595960000000002 1.3122655798643443 1.0380097575475986 -2.082656 -2.513385 1.3558923697426692 0.914384222056049 -0.27266100000000015 -1.2062339999999998 2.024094420135656 5.374496242452401"},
    {"fft", "", "{ lambda a:f32[8,2] b:f32[8,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=8] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 "
     "0.9380210041999817", "0.16276787221431732 0.006322134286165237 0.1309533566236496 0.512130856513977 -0.02301975153386593 -0.28880199790000916 -0.07981124520301819 0.007618579547852278 0.1667853742837906 -0.3762926161289215 -0.4889998435974121 -0.003473874181509018 -0.5673090219497681 -0.0161295048892498 "
     "0.6986332535743713 -0.192156583070755; 0.17246225476264954 0.14265337586402893 0.2530117928981781 0.6718120574951172 -0.03408261388540268 -0.15077924728393555 0.16948655247688293 0.1142980232834816 -0.26033198833465576 -0.3141731321811676 0.1640331894159317 0.12975122034549713 -0.03583463281393051 "
     "0.1699495017528534 0.2544954717159271 -0.0770137831568718"},
    {"fft", "", "{ lambda a:f64[8,2] b:f64[8,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=8] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021", "0.162767875 0.006322125000000012 0.13095335937743807 0.5121308819741981 -0.023019750000000005 -0.288802 -0.07981124312170973 0.0076185832890170585 0.166785375 -0.376292625 -0.488999859377438 -0.003473881974198012 -0.567309 -0.01612950000000002 0.6986332431217097 -0.19215658328901702; "
     "0.17246224999999998 0.14265337500000003 0.253011802516957 0.6718120303065501 -0.03408262500000002 -0.15077924999999998 0.16948654621783366 0.11429802775700612 -0.260332 -0.314173125 0.16403319748304304 0.12975121969344983 -0.035834624999999995 0.16994950000000003 0.2544954537821663 "
     "-0.0770137777570061"},
    {"fft", "", "{ lambda a:f32[8,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=8] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624", "1.3021429777145386 0.0505770742893219 3.3183465003967285 1.2798972129821777 -2.3613150119781494 -1.2197260856628418 -2.2752444744110107 0.01657882332801819 1.3342829942703247 -3.010340929031372; 0 0 0.005934683606028557 -2.995303153991699 -0.007008075714111328 1.2829149961471558 "
     "-0.021813424304127693 0.06181276962161064 0 0"},
    {"fft", "", "{ lambda a:f64[8,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=8] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096", "1.302143 0.050577000000000094 3.318346409996591 1.279897194740724 -2.361315 -1.219726 -2.2752444099965907 0.01657880525927613 1.334283 -3.010341; 0 0 0.005934605060837095 -2.9953032322542246 -0.007007999999999903 1.282915 -0.02181339493916279 0.06181276774577493 0 0"},
    {"fft", "", "{ lambda a:f32[5,2] b:f32[5,2] . let z0 = fft[fft_type=IRFFT axis=0 length=8] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 "
     "0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226", "0.16243711113929749 0.45667827129364014 -0.01695496216416359 0.2848961055278778 -0.08279936015605927 -0.6038802862167358 -0.2379346787929535 -0.08817175030708313 0.1636476218700409 -0.44450923800468445 -0.3321152925491333 0.31910592317581177 -0.5040608644485474 -0.08319075405597687 "
     "0.8477804064750671 -0.19171126186847687"},
    {"fft", "", "{ lambda a:f64[5,2] b:f64[5,2] . let z0 = fft[fft_type=IRFFT axis=0 length=8] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197", "0.16243712500000002 0.45667825 -0.016954964599015576 0.28489608696309743 -0.08279937499999998 -0.60388025 -0.2379346681788021 -0.08817173767559869 0.16364762500000002 -0.44450925 -0.33211528540098445 0.3191059130369026 -0.504060875 -0.08319074999999998 0.847780418178802 -0.1917112623244013"},
    {"fft", "", "{ lambda a:f32[2,19] b:f32[2,19] . let z0 z1 = fft[fft_type=FFT axis=1 length=19] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 "
     "-0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 "
     "-0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658", "2.779858112335205 2.799346446990967 -1.982415795326233 0.36829495429992676 0.6543019413948059 -1.139406681060791 -1.0644217729568481 -1.4179164171218872 2.1564624309539795 -2.0397613048553467 -1.0487526655197144 8.36956787109375 -3.663480281829834 -4.704137802124023 5.519559383392334 "
     "-5.626640319824219 -0.708156168460846 -5.93752908706665 6.685227394104004 1.843775987625122 5.775583267211914 -5.103728294372559 0.7740030884742737 -5.459106922149658 6.135644912719727 -3.5163156986236572 -3.329040050506592 7.136577606201172 -1.1693626642227173 -3.131784439086914 1.2202333211898804 "
     "-3.0133373737335205 -3.7642054557800293 -2.383828639984131 -2.2363038063049316 -4.0658464431762695 -4.779697895050049 0.970987856388092; 3.1262319087982178 3.5916240215301514 -3.648632287979126 0.4604080617427826 4.155195236206055 3.7251076698303223 2.375091791152954 2.1463468074798584 "
     "-3.9749629497528076 1.3668776750564575 0.5587348937988281 -5.08114767074585 0.9917132258415222 1.0664565563201904 0.14382623136043549 -0.25171327590942383 -0.14184536039829254 -2.547011613845825 4.9192585945129395 0.8781890273094177 -1.8370561599731445 2.889270544052124 -1.9377881288528442 "
     "-7.436609745025635 -5.412393569946289 -1.3951189517974854 -1.3443044424057007 2.8991825580596924 -1.7942414283752441 -0.499803364276886 4.053213596343994 -0.5564375519752502 0.2945018708705902 -1.0067808628082275 -2.1106929779052734 -1.082335114479065 2.204967498779297 -2.7489101886749268"},
    {"fft", "", "{ lambda a:f64[2,19] b:f64[2,19] . let z0 z1 = fft[fft_type=FFT axis=1 length=19] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 "
     "0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818", "2.779857999999999 2.799346564878758 -1.9824158036357142 0.3682949276284393 0.6543019975673587 -1.139406602655813 -1.0644217715360162 -1.417916514201087 2.156462319225839 -2.039761214605588 -1.0487525695129383 8.36956761528974 -3.6634803725348517 -4.704137775412539 5.519559491364703 "
     "-5.626640275107089 -0.7081561559913327 -5.937529362320525 6.68522750155866 1.8437759999999996 5.775583267733112 -5.103728545442936 0.7740031761428094 -5.459107080828407 6.135644974624909 -3.5163155731384914 -3.3290399146712297 7.136577457918654 -1.1693625803810366 -3.1317843453759973 "
     "1.2202332575141037 -3.0133374033082716 -3.764205403228637 -2.383828658012045 -2.236303800453622 -4.065846599509353 -4.779698047840719 0.9709878182571554; 3.126231999999999 3.5916240060638964 -3.648632156675361 0.4604081135402563 4.155195498369711 3.7251077491984868 2.3750916524460264 "
     "2.1463468297425345 -3.9749627880146825 1.3668776915330865 0.5587347398431233 -5.081147682798358 0.9917132969463783 1.0664564921757238 0.14382618722052798 -0.25171330331612896 -0.14184530874458928 -2.547011720671529 4.9192587031409 0.8781890000000003 -1.837056171967075 2.8892705968851202 "
     "-1.9377881141114381 -7.436609699639395 -5.412393438677164 -1.395118875521983 -1.344304397543522 2.8991826182060754 -1.7942414768972847 -0.4998035088584779 4.053213469937087 -0.5564375483667876 0.2945018519284278 -1.0067808116080519 -2.1106928481542857 -1.082335075220491 2.2049676925418695 "
     "-2.7489102629326245"},
    {"fft", "vjp", "{ lambda a:f32[2,19] b:f32[2,19] . let z0 z1 = fft[fft_type=FFT axis=1 length=19] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 "
     "-0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 "
     "-0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 "
     "0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 -0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 "
     "-0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 "
     "-0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 "
     "0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562", "2.779858112335205 2.799346446990967 -1.982415795326233 0.36829495429992676 0.6543019413948059 -1.139406681060791 -1.0644217729568481 -1.4179164171218872 2.1564624309539795 -2.0397613048553467 -1.0487526655197144 8.36956787109375 -3.663480281829834 -4.704137802124023 5.519559383392334 "
     "-5.626640319824219 -0.708156168460846 -5.93752908706665 6.685227394104004 1.843775987625122 5.775583267211914 -5.103728294372559 0.7740030884742737 -5.459106922149658 6.135644912719727 -3.5163156986236572 -3.329040050506592 7.136577606201172 -1.1693626642227173 -3.131784439086914 1.2202333211898804 "
     "-3.0133373737335205 -3.7642054557800293 -2.383828639984131 -2.2363038063049316 -4.0658464431762695 -4.779697895050049 0.970987856388092; 3.1262319087982178 3.5916240215301514 -3.648632287979126 0.4604080617427826 4.155195236206055 3.7251076698303223 2.375091791152954 2.1463468074798584 "
     "-3.9749629497528076 1.3668776750564575 0.5587348937988281 -5.08114767074585 0.9917132258415222 1.0664565563201904 0.14382623136043549 -0.25171327590942383 -0.14184536039829254 -2.547011613845825 4.9192585945129395 0.8781890273094177 -1.8370561599731445 2.889270544052124 -1.9377881288528442 "
     "-7.436609745025635 -5.412393569946289 -1.3951189517974854 -1.3443044424057007 2.8991825580596924 -1.7942414283752441 -0.499803364276886 4.053213596343994 -0.5564375519752502 0.2945018708705902 -1.0067808628082275 -2.1106929779052734 -1.082335114479065 2.204967498779297 -2.7489101886749268; "
     "3.1262319087982178 3.5916240215301514 -3.648632287979126 0.4604080617427826 4.155195236206055 3.7251076698303223 2.375091791152954 2.1463468074798584 -3.9749629497528076 1.3668776750564575 0.5587348937988281 -5.08114767074585 0.9917132258415222 1.0664565563201904 0.14382623136043549 "
     "-0.25171327590942383 -0.14184536039829254 -2.547011613845825 4.9192585945129395 0.8781890273094177 -1.8370561599731445 2.889270544052124 -1.9377881288528442 -7.436609745025635 -5.412393569946289 -1.3951189517974854 -1.3443044424057007 2.8991825580596924 -1.7942414283752441 -0.499803364276886 "
     "4.053213596343994 -0.5564375519752502 0.2945018708705902 -1.0067808628082275 -2.1106929779052734 -1.082335114479065 2.204967498779297 -2.7489101886749268; 2.779858112335205 2.799346446990967 -1.982415795326233 0.36829495429992676 0.6543019413948059 -1.139406681060791 -1.0644217729568481 "
     "-1.4179164171218872 2.1564624309539795 -2.0397613048553467 -1.0487526655197144 8.36956787109375 -3.663480281829834 -4.704137802124023 5.519559383392334 -5.626640319824219 -0.708156168460846 -5.93752908706665 6.685227394104004 1.843775987625122 5.775583267211914 -5.103728294372559 0.7740030884742737 "
     "-5.459106922149658 6.135644912719727 -3.5163156986236572 -3.329040050506592 7.136577606201172 -1.1693626642227173 -3.131784439086914 1.2202333211898804 -3.0133373737335205 -3.7642054557800293 -2.383828639984131 -2.2363038063049316 -4.0658464431762695 -4.779697895050049 0.970987856388092"},
    {"fft", "vjp", "{ lambda a:f64[2,19] b:f64[2,19] . let z0 z1 = fft[fft_type=FFT axis=1 length=19] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 "
     "0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 "
     "-0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 "
     "-0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503", "2.779857999999999 2.799346564878758 -1.9824158036357142 0.3682949276284393 0.6543019975673587 -1.139406602655813 -1.0644217715360162 -1.417916514201087 2.156462319225839 -2.039761214605588 -1.0487525695129383 8.36956761528974 -3.6634803725348517 -4.704137775412539 5.519559491364703 "
     "-5.626640275107089 -0.7081561559913327 -5.937529362320525 6.68522750155866 1.8437759999999996 5.775583267733112 -5.103728545442936 0.7740031761428094 -5.459107080828407 6.135644974624909 -3.5163155731384914 -3.3290399146712297 7.136577457918654 -1.1693625803810366 -3.1317843453759973 "
     "1.2202332575141037 -3.0133374033082716 -3.764205403228637 -2.383828658012045 -2.236303800453622 -4.065846599509353 -4.779698047840719 0.9709878182571554; 3.126231999999999 3.5916240060638964 -3.648632156675361 0.4604081135402563 4.155195498369711 3.7251077491984868 2.3750916524460264 "
     "2.1463468297425345 -3.9749627880146825 1.3668776915330865 0.5587347398431233 -5.081147682798358 0.9917132969463783 1.0664564921757238 0.14382618722052798 -0.25171330331612896 -0.14184530874458928 -2.547011720671529 4.9192587031409 0.8781890000000003 -1.837056171967075 2.8892705968851202 "
     "-1.9377881141114381 -7.436609699639395 -5.412393438677164 -1.395118875521983 -1.344304397543522 2.8991826182060754 -1.7942414768972847 -0.4998035088584779 4.053213469937087 -0.5564375483667876 0.2945018519284278 -1.0067808116080519 -2.1106928481542857 -1.082335075220491 2.2049676925418695 "
     "-2.7489102629326245; 3.126231999999999 3.5916240060638964 -3.648632156675361 0.4604081135402563 4.155195498369711 3.7251077491984868 2.3750916524460264 2.1463468297425345 -3.9749627880146825 1.3668776915330865 0.5587347398431233 -5.081147682798358 0.9917132969463783 1.0664564921757238 "
     "0.14382618722052798 -0.25171330331612896 -0.14184530874458928 -2.547011720671529 4.9192587031409 0.8781890000000003 -1.837056171967075 2.8892705968851202 -1.9377881141114381 -7.436609699639395 -5.412393438677164 -1.395118875521983 -1.344304397543522 2.8991826182060754 -1.7942414768972847 "
     "-0.4998035088584779 4.053213469937087 -0.5564375483667876 0.2945018519284278 -1.0067808116080519 -2.1106928481542857 -1.082335075220491 2.2049676925418695 -2.7489102629326245; 2.779857999999999 2.799346564878758 -1.9824158036357142 0.3682949276284393 0.6543019975673587 -1.139406602655813 "
     "-1.0644217715360162 -1.417916514201087 2.156462319225839 -2.039761214605588 -1.0487525695129383 8.36956761528974 -3.6634803725348517 -4.704137775412539 5.519559491364703 -5.626640275107089 -0.7081561559913327 -5.937529362320525 6.68522750155866 1.8437759999999996 5.775583267733112 "
     "-5.103728545442936 0.7740031761428094 -5.459107080828407 6.135644974624909 -3.5163155731384914 -3.3290399146712297 7.136577457918654 -1.1693625803810366 -3.1317843453759973 1.2202332575141037 -3.0133374033082716 -3.764205403228637 -2.383828658012045 -2.236303800453622 -4.065846599509353 "
     "-4.779698047840719 0.9709878182571554"},
    {"fft", "", "{ lambda a:f32[2,19] b:f32[2,19] . let z0 z1 = fft[fft_type=IFFT axis=1 length=19] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 "
     "-0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 "
     "-0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658", "0.1463083177804947 0.3518540859222412 -0.31250154972076416 -0.03727137669920921 -0.2961389720439911 0.2905031442642212 -0.247586190700531 -0.19281475245952606 0.4405035674571991 -0.05519750714302063 -0.10735586285591125 0.1134980246424675 -0.07462718337774277 -0.056022197008132935 "
     "-0.059968769550323486 0.034436944872140884 0.01938394457101822 -0.104337677359581 0.147334024310112 0.09704083949327469 0.051104623824357986 -0.25156304240226746 -0.2139919251203537 -0.11770020425319672 -0.12546466290950775 -0.19811607897281647 -0.1585967093706131 0.0642228052020073 "
     "-0.1648307591676712 -0.06154540553689003 0.3756093382835388 -0.17521262168884277 -0.1850692480802536 0.32292866706848145 -0.28732141852378845 0.040737003087997437 -0.26861727237701416 0.3039780557155609; 0.16453853249549866 0.25890836119651794 -0.13405324518680573 -0.00746554508805275 "
     "-0.01324806734919548 0.007569801528006792 0.05612929165363312 0.052195433527231216 -0.26742881536483765 0.02940709888935089 0.07194092869758606 -0.20920857787132263 0.11296562850475311 0.1250048279762268 0.19605830311775208 0.21869449317455292 0.024232003837823868 -0.19203327596187592 "
     "0.18903283774852753 0.04622047394514084 -0.1446794867515564 0.11605092883110046 -0.05696500837802887 -0.11108909547328949 -0.05298846587538719 0.015500098466873169 -0.029286187142133713 0.21332702040672302 -0.026305438950657845 -0.09443376213312149 0.15258856117725372 -0.07075285911560059 "
     "-0.07342731952667236 -0.28486281633377075 -0.3914005160331726 -0.10198885202407837 0.15206687152385712 -0.09668716788291931"},
    {"fft", "", "{ lambda a:f64[2,19] b:f64[2,19] . let z0 z1 = fft[fft_type=IFFT axis=1 length=19] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 "
     "0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818", "0.14630831578947362 0.35185407902940313 -0.3125015453852908 -0.037271376631122774 -0.2961389618477415 0.290503131124458 -0.24758619870592308 -0.1928147564492027 0.44050355869945995 -0.055197503658575696 -0.10735585340029409 0.11349801680135994 -0.07462718495795194 -0.05602219850189559 "
     "-0.059968768560832254 0.0344369472403873 0.01938394355939154 -0.1043376738755639 0.14733402973046092 0.09704084210526313 0.051104622013534495 -0.2515630551495115 -0.21399192628996594 -0.11770020002387484 -0.12546466621116026 -0.1981160738541388 -0.15859670543727744 0.06422280302705809 "
     "-0.16483075501978933 -0.061545398967422976 0.3756093398904555 -0.17521262708795945 -0.18506924069149955 0.3229286828749952 -0.28732142530675825 0.04073700927067418 -0.2686172918654177 0.30397806672279537; 0.1645385263157894 0.25890835279688945 -0.13405324845639627 -0.007465542565504699 "
     "-0.013248068595585734 0.007569799327396209 0.056129289061880194 0.05219543668138833 -0.2674288254104399 0.029407091570690696 0.07194093113332034 -0.20920856779024644 0.11296562261802813 0.12500482381294875 0.19605830258939402 0.2186944999141953 0.02423200597580296 -0.19203327140396634 "
     "0.1890328424244156 0.04622047368421054 -0.1446794875227697 0.11605093118641419 -0.05696500395897321 -0.11108909727127819 -0.052988463768844835 0.015500097469917252 -0.029286186756146713 0.21332702473353088 -0.026305447834656732 -0.09443376194196235 0.15258855885295133 -0.07075286302860642 "
     "-0.0734273092379991 -0.28486281256195595 -0.39140051050733654 -0.10198884811112832 0.15206687352026949 -0.09668716694563552"},
    {"fft", "vjp", "{ lambda a:f32[2,19] b:f32[2,19] . let z0 z1 = fft[fft_type=IFFT axis=1 length=19] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 "
     "-0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 "
     "-0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 "
     "0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 -0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 "
     "-0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 "
     "-0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 "
     "0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562", "0.1463083177804947 0.3518540859222412 -0.31250154972076416 -0.03727137669920921 -0.2961389720439911 0.2905031442642212 -0.247586190700531 -0.19281475245952606 0.4405035674571991 -0.05519750714302063 -0.10735586285591125 0.1134980246424675 -0.07462718337774277 -0.056022197008132935 "
     "-0.059968769550323486 0.034436944872140884 0.01938394457101822 -0.104337677359581 0.147334024310112 0.09704083949327469 0.051104623824357986 -0.25156304240226746 -0.2139919251203537 -0.11770020425319672 -0.12546466290950775 -0.19811607897281647 -0.1585967093706131 0.0642228052020073 "
     "-0.1648307591676712 -0.06154540553689003 0.3756093382835388 -0.17521262168884277 -0.1850692480802536 0.32292866706848145 -0.28732141852378845 0.040737003087997437 -0.26861727237701416 0.3039780557155609; 0.16453853249549866 0.25890836119651794 -0.13405324518680573 -0.00746554508805275 "
     "-0.01324806734919548 0.007569801528006792 0.05612929165363312 0.052195433527231216 -0.26742881536483765 0.02940709888935089 0.07194092869758606 -0.20920857787132263 0.11296562850475311 0.1250048279762268 0.19605830311775208 0.21869449317455292 0.024232003837823868 -0.19203327596187592 "
     "0.18903283774852753 0.04622047394514084 -0.1446794867515564 0.11605092883110046 -0.05696500837802887 -0.11108909547328949 -0.05298846587538719 0.015500098466873169 -0.029286187142133713 0.21332702040672302 -0.026305438950657845 -0.09443376213312149 0.15258856117725372 -0.07075285911560059 "
     "-0.07342731952667236 -0.28486281633377075 -0.3914005160331726 -0.10198885202407837 0.15206687152385712 -0.09668716788291931; 0.16453853249549866 0.25890836119651794 -0.13405324518680573 -0.00746554508805275 -0.01324806734919548 0.007569801528006792 0.05612929165363312 0.052195433527231216 "
     "-0.26742881536483765 0.02940709888935089 0.07194092869758606 -0.20920857787132263 0.11296562850475311 0.1250048279762268 0.19605830311775208 0.21869449317455292 0.024232003837823868 -0.19203327596187592 0.18903283774852753 0.04622047394514084 -0.1446794867515564 0.11605092883110046 "
     "-0.05696500837802887 -0.11108909547328949 -0.05298846587538719 0.015500098466873169 -0.029286187142133713 0.21332702040672302 -0.026305438950657845 -0.09443376213312149 0.15258856117725372 -0.07075285911560059 -0.07342731952667236 -0.28486281633377075 -0.3914005160331726 -0.10198885202407837 "
     "0.15206687152385712 -0.09668716788291931; 0.1463083177804947 0.3518540859222412 -0.31250154972076416 -0.03727137669920921 -0.2961389720439911 0.2905031442642212 -0.247586190700531 -0.19281475245952606 0.4405035674571991 -0.05519750714302063 -0.10735586285591125 0.1134980246424675 "
     "-0.07462718337774277 -0.056022197008132935 -0.059968769550323486 0.034436944872140884 0.01938394457101822 -0.104337677359581 0.147334024310112 0.09704083949327469 0.051104623824357986 -0.25156304240226746 -0.2139919251203537 -0.11770020425319672 -0.12546466290950775 -0.19811607897281647 "
     "-0.1585967093706131 0.0642228052020073 -0.1648307591676712 -0.06154540553689003 0.3756093382835388 -0.17521262168884277 -0.1850692480802536 0.32292866706848145 -0.28732141852378845 0.040737003087997437 -0.26861727237701416 0.3039780557155609"},
    {"fft", "vjp", "{ lambda a:f64[2,19] b:f64[2,19] . let z0 z1 = fft[fft_type=IFFT axis=1 length=19] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 "
     "0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 "
     "-0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 "
     "-0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503", "0.14630831578947362 0.35185407902940313 -0.3125015453852908 -0.037271376631122774 -0.2961389618477415 0.290503131124458 -0.24758619870592308 -0.1928147564492027 0.44050355869945995 -0.055197503658575696 -0.10735585340029409 0.11349801680135994 -0.07462718495795194 -0.05602219850189559 "
     "-0.059968768560832254 0.0344369472403873 0.01938394355939154 -0.1043376738755639 0.14733402973046092 0.09704084210526313 0.051104622013534495 -0.2515630551495115 -0.21399192628996594 -0.11770020002387484 -0.12546466621116026 -0.1981160738541388 -0.15859670543727744 0.06422280302705809 "
     "-0.16483075501978933 -0.061545398967422976 0.3756093398904555 -0.17521262708795945 -0.18506924069149955 0.3229286828749952 -0.28732142530675825 0.04073700927067418 -0.2686172918654177 0.30397806672279537; 0.1645385263157894 0.25890835279688945 -0.13405324845639627 -0.007465542565504699 "
     "-0.013248068595585734 0.007569799327396209 0.056129289061880194 0.05219543668138833 -0.2674288254104399 0.029407091570690696 0.07194093113332034 -0.20920856779024644 0.11296562261802813 0.12500482381294875 0.19605830258939402 0.2186944999141953 0.02423200597580296 -0.19203327140396634 "
     "0.1890328424244156 0.04622047368421054 -0.1446794875227697 0.11605093118641419 -0.05696500395897321 -0.11108909727127819 -0.052988463768844835 0.015500097469917252 -0.029286186756146713 0.21332702473353088 -0.026305447834656732 -0.09443376194196235 0.15258855885295133 -0.07075286302860642 "
     "-0.0734273092379991 -0.28486281256195595 -0.39140051050733654 -0.10198884811112832 0.15206687352026949 -0.09668716694563552; 0.1645385263157894 0.25890835279688945 -0.13405324845639627 -0.007465542565504699 -0.013248068595585734 0.007569799327396209 0.056129289061880194 0.05219543668138833 "
     "-0.2674288254104399 0.029407091570690696 0.07194093113332034 -0.20920856779024644 0.11296562261802813 0.12500482381294875 0.19605830258939402 0.2186944999141953 0.02423200597580296 -0.19203327140396634 0.1890328424244156 0.04622047368421054 -0.1446794875227697 0.11605093118641419 "
     "-0.05696500395897321 -0.11108909727127819 -0.052988463768844835 0.015500097469917252 -0.029286186756146713 0.21332702473353088 -0.026305447834656732 -0.09443376194196235 0.15258855885295133 -0.07075286302860642 -0.0734273092379991 -0.28486281256195595 -0.39140051050733654 -0.10198884811112832 "
     "0.15206687352026949 -0.09668716694563552; 0.14630831578947362 0.35185407902940313 -0.3125015453852908 -0.037271376631122774 -0.2961389618477415 0.290503131124458 -0.24758619870592308 -0.1928147564492027 0.44050355869945995 -0.055197503658575696 -0.10735585340029409 0.11349801680135994 "
     "-0.07462718495795194 -0.05602219850189559 -0.059968768560832254 0.0344369472403873 0.01938394355939154 -0.1043376738755639 0.14733402973046092 0.09704084210526313 0.051104622013534495 -0.2515630551495115 -0.21399192628996594 -0.11770020002387484 -0.12546466621116026 -0.1981160738541388 "
     "-0.15859670543727744 0.06422280302705809 -0.16483075501978933 -0.061545398967422976 0.3756093398904555 -0.17521262708795945 -0.18506924069149955 0.3229286828749952 -0.28732142530675825 0.04073700927067418 -0.2686172918654177 0.30397806672279537"},
    {"fft", "", "{ lambda a:f32[2,19] . let z0 z1 = fft[fft_type=RFFT axis=1 length=19] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562", "2.779858112335205 4.7422871589660645 -3.959972620010376 -0.1699306219816208 -2.4861690998077393 2.1900763511657715 -2.884279727935791 -2.540698528289795 5.263015270233154 -1.5442569255828857 1.843775987625122 3.3732855319976807 -4.941713333129883 -1.6459218263626099 -3.847705364227295 "
     "1.8759081363677979 -3.6402604579925537 -3.1711885929107666 4.178405284881592 -2.150573492050171; 0 -0.6638173460960388 -0.5508103370666504 0.30112671852111816 2.2034542560577393 1.7906407117843628 0.6543175578117371 0.5773168206214905 0.5530924201011658 0.4040714204311371 0 0.4559270143508911 "
     "0.3421514928340912 -0.42772647738456726 -2.6629583835601807 -2.202806234359741 -0.844810426235199 -0.39393341541290283 -0.5770153999328613 -0.6472190022468567"},
    {"fft", "", "{ lambda a:f64[2,19] . let z0 z1 = fft[fft_type=RFFT axis=1 length=19] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503", "2.779857999999999 4.742287033218709 -3.9599725829781196 -0.16993061418144673 -2.4861691387698652 2.1900764443544447 -2.8842797734742787 -2.5406984433679694 5.26301496725779 -1.544256892059263 1.8437759999999996 3.3732855429951343 -4.941713296641828 -1.6459217116832716 -3.8477054406410143 "
     "1.8759081583064314 -3.6402604881835643 -3.1711886589897507 4.178405357716379 -2.1505734628785165; 0 -0.6638173485385018 -0.5508102180019159 0.3011267111424228 2.20345440084292 1.7906407809889795 0.6543175801351512 0.577316766398078 0.553092447391838 0.4040714758449816 0 0.45592704548277463 "
     "0.342151452171625 -0.4277265194454735 -2.6629584257425543 -2.2028063135345555 -0.8448103637252056 -0.3939334245883671 -0.5770154258655057 -0.6472189840194035"},
    {"fft", "", "{ lambda a:f32[2,10] b:f32[2,10] . let z0 = fft[fft_type=IRFFT axis=1 length=19] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537", "0.16218778491020203 0.17385801672935486 -0.5348008871078491 0.016505789011716843 -0.3686257004737854 0.3298521637916565 -0.27770498394966125 -0.3300279974937439 0.36576879024505615 0.22364316880702972 -0.2588879466056824 0.26561176776885986 0.13180474936962128 0.06112073361873627 "
     "-0.010593131184577942 -0.014924214221537113 -0.23905329406261444 0.010519475676119328 0.293745756149292 0.08248531073331833 -0.3379456102848053 -0.28792113065719604 0.29129758477211 -0.24037854373455048 -0.08664672821760178 -0.4803558588027954 -0.28779464960098267 -0.22439855337142944 "
     "0.4186086356639862 0.06557605415582657 0.3200479745864868 0.07021912187337875 -0.16496896743774414 0.2335774004459381 -0.11405004560947418 -0.21103158593177795 -0.20893904566764832 0.16872967779636383"},
    {"fft", "", "{ lambda a:f64[2,10] b:f64[2,10] . let z0 = fft[fft_type=IRFFT axis=1 length=19] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113", "0.1621877894736842 0.17385801579108828 -0.5348009158747954 0.0165057929864118 -0.3686257113463058 0.32985217639617914 -0.2777049962466089 -0.33002799460098503 0.36576876633326644 0.22364317385497054 -0.2588879350868163 0.2656117677406631 0.13180474482855292 0.061120736364276715 "
     "-0.010593123610219538 -0.014924211540681949 -0.23905330142677325 0.01051947623188725 0.2937457497322058 0.08248531578947368 -0.33794561867937173 -0.28792113092442084 0.29129757751690744 -0.24037853759213468 -0.08664672951500982 -0.4803558777058597 -0.2877946625520715 -0.22439854694739825 "
     "0.4186086488404838 0.0655760509592915 0.32004798357422076 0.07021911557041713 -0.16496897452272244 0.23357740762983312 -0.11405004229565452 -0.21103159088862536 -0.20893904903831667 0.16872966078095775"},
    {"fft", "vjp", "{ lambda a:f32[2,19] . let z0 z1 = fft[fft_type=RFFT axis=1 length=19] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 "
     "-0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 "
     "-0.8391129970550537", "2.779858112335205 4.7422871589660645 -3.959972620010376 -0.1699306219816208 -2.4861690998077393 2.1900763511657715 -2.884279727935791 -2.540698528289795 5.263015270233154 -1.5442569255828857 1.843775987625122 3.3732855319976807 -4.941713333129883 -1.6459218263626099 -3.847705364227295 "
     "1.8759081363677979 -3.6402604579925537 -3.1711885929107666 4.178405284881592 -2.150573492050171; 0 -0.6638173460960388 -0.5508103370666504 0.30112671852111816 2.2034542560577393 1.7906407117843628 0.6543175578117371 0.5773168206214905 0.5530924201011658 0.4040714204311371 0 0.4559270143508911 "
     "0.3421514928340912 -0.42772647738456726 -2.6629583835601807 -2.202806234359741 -0.844810426235199 -0.39393341541290283 -0.5770153999328613 -0.6472190022468567; 1.5407840013504028 1.65165114402771 -5.08060884475708 0.15680499374866486 -3.5019443035125732 3.1335957050323486 -2.638197422027588 "
     "-3.135266065597534 3.4748034477233887 2.124610185623169 -2.45943546295166 2.5233118534088135 1.2521451711654663 0.5806469321250916 -0.10063474625349045 -0.1417800337076187 -2.2710063457489014 0.09993501752614975 2.7905845642089844 0.28666597604751587 -3.707427740097046 -3.2321951389312744 "
     "2.2703824043273926 -2.780540704727173 -1.3200883865356445 -5.0603251457214355 -3.2309937477111816 -2.6287307739257812 3.479837656021118 0.12602804601192474 2.543511390686035 0.17013713717460632 -2.064149856567383 1.7220407724380493 -1.580419898033142 -2.501744508743286 -2.481865406036377 "
     "1.1059874296188354"},
    {"fft", "vjp", "{ lambda a:f64[2,19] . let z0 z1 = fft[fft_type=RFFT axis=1 length=19] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 "
     "-0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113", "2.779857999999999 4.742287033218709 -3.9599725829781196 -0.16993061418144673 -2.4861691387698652 2.1900764443544447 -2.8842797734742787 -2.5406984433679694 5.26301496725779 -1.544256892059263 1.8437759999999996 3.3732855429951343 -4.941713296641828 -1.6459217116832716 -3.8477054406410143 "
     "1.8759081583064314 -3.6402604881835643 -3.1711886589897507 4.178405357716379 -2.1505734628785165; 0 -0.6638173485385018 -0.5508102180019159 0.3011267111424228 2.20345440084292 1.7906407809889795 0.6543175801351512 0.577316766398078 0.553092447391838 0.4040714758449816 0 0.45592704548277463 "
     "0.342151452171625 -0.4277265194454735 -2.6629584257425543 -2.2028063135345555 -0.8448103637252056 -0.3939334245883671 -0.5770154258655057 -0.6472189840194035; 1.540784 1.6516511500153386 -5.080608700810556 0.15680503337091212 -3.501944257789905 3.133595675763702 -2.6381974643427846 "
     "-3.1352659487093577 3.4748032801660313 2.1246101516222202 -2.4594353833247546 2.5233117935362994 1.2521450758712527 0.5806469954606288 -0.10063467429708561 -0.14178000963647852 -2.271006363554346 0.09993502420292888 2.790584622455955 0.286666 -3.7074278774540312 -3.2321952437819985 "
     "2.270382486410621 -2.7805406071252787 -1.320088430392593 -5.060325338205667 -3.2309937942446787 -2.6287306960002836 3.479837663984597 0.12602798411326965 2.5435113439550974 0.1701370979189627 -2.064149757965863 1.7220408724834144 -1.5804199018087175 -2.501744613441941 -2.4818654658640087 "
     "1.1059872774190989"},
    {"fft", "vjp", "{ lambda a:f32[2,10] b:f32[2,10] . let z0 = fft[fft_type=IRFFT axis=1 length=19] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 "
     "0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 "
     "0.8242890238761902 0.43608298897743225 -0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 "
     "0.9637550115585327 -0.9968180060386658", "0.16218778491020203 0.17385801672935486 -0.5348008871078491 0.016505789011716843 -0.3686257004737854 0.3298521637916565 -0.27770498394966125 -0.3300279974937439 0.36576879024505615 0.22364316880702972 -0.2588879466056824 0.26561176776885986 0.13180474936962128 0.06112073361873627 "
     "-0.010593131184577942 -0.014924214221537113 -0.23905329406261444 0.010519475676119328 0.293745756149292 0.08248531073331833 -0.3379456102848053 -0.28792113065719604 0.29129758477211 -0.24037854373455048 -0.08664672821760178 -0.4803558588027954 -0.28779464960098267 -0.22439855337142944 "
     "0.4186086356639862 0.06557605415582657 0.3200479745864868 0.07021912187337875 -0.16496896743774414 0.2335774004459381 -0.11405004560947418 -0.21103158593177795 -0.20893904566764832 0.16872967779636383; 0.16453853249549866 0.4479411840438843 -0.32608652114868164 0.016766458749771118 "
     "0.20544642210006714 0.20362809300422668 0.18113411962985992 0.16516105830669403 -0.4766373932361603 0.10134802758693695 0.04622047394514084 -0.2413666546344757 0.2681177854537964 -0.15895386040210724 -0.5024896264076233 -0.33785128593444824 -0.057927217334508896 -0.1000390499830246 "
     "0.36591559648513794 -0.12073919922113419; 0 0.20452004671096802 -0.20816385746002197 -0.05665532127022743 -0.3305759131908417 0.3504719138145447 -0.19156399369239807 -0.11818757653236389 0.327005535364151 0.05215835198760033 0 -0.2528734505176544 0.017054229974746704 -0.25472894310951233 "
     "0.16962122917175293 -0.4483933448791504 -0.01304683554917574 0.01661592349410057 -0.3113865256309509 -0.10328534990549088"},
    {"fft", "vjp", "{ lambda a:f64[2,10] b:f64[2,10] . let z0 = fft[fft_type=IRFFT axis=1 length=19] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 "
     "0.428264 -0.730246 0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818", "0.1621877894736842 0.17385801579108828 -0.5348009158747954 0.0165057929864118 -0.3686257113463058 0.32985217639617914 -0.2777049962466089 -0.33002799460098503 0.36576876633326644 0.22364317385497054 -0.2588879350868163 0.2656117677406631 0.13180474482855292 0.061120736364276715 "
     "-0.010593123610219538 -0.014924211540681949 -0.23905330142677325 0.01051947623188725 0.2937457497322058 0.08248531578947368 -0.33794561867937173 -0.28792113092442084 0.29129757751690744 -0.24037853759213468 -0.08664672951500982 -0.4803558777058597 -0.2877946625520715 -0.22439854694739825 "
     "0.4186086488404838 0.0655760509592915 0.32004798357422076 0.07021911557041713 -0.16496897452272244 0.23357740762983312 -0.11405004229565452 -0.21103159088862536 -0.20893904903831667 0.16872966078095775; 0.1645385263157894 0.44794119522130504 -0.3260865198603626 0.016766463410298263 "
     "0.20544643131860957 0.20362810191679026 0.18113411287482895 0.16516105929941646 -0.4766373932006863 0.10134802270401104 0.04622047368421054 -0.24136665446840522 0.26811780470668367 -0.15895385207010151 -0.5024896077786148 -0.3378512763308008 -0.057927211768081854 -0.10003904978475316 "
     "0.3659155835864822 -0.12073920977661909; 0 0.2045200492989422 -0.20816387150972684 -0.05665532019051436 -0.33057590908812884 0.35047189968529024 -0.19156400020402756 -0.11818757149125073 0.32700554189810005 0.05215834974171839 0 -0.2528734447092609 0.01705423671590622 -0.2547289355606401 "
     "0.1696212252828834 -0.44839334908615547 -0.013046833162639215 0.016615921650681993 -0.31138653686339735 -0.10328535605236636"},
    {"fft", "", "{ lambda a:f32[19,2] b:f32[19,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=19] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 "
     "-0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 "
     "-0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658", "4.350412845611572 0.2732210159301758 -2.284249782562256 2.0153589248657227 8.173023223876953 1.027069330215454 8.241583824157715 -2.500091791152954 -6.32134485244751 -1.1965731382369995 -6.646729469299316 0.2559915781021118 0.25505053997039795 1.7572712898254395 -7.90770959854126 "
     "-0.8511000275611877 -2.669705390930176 4.171281814575195 2.7458109855651855 2.906559705734253 2.323301315307617 -1.8042488098144531 -0.34882795810699463 -6.073877811431885 -1.7924715280532837 2.708021879196167 0.6062247157096863 -4.003663063049316 -1.2023329734802246 1.9279730319976807 "
     "-0.2393311858177185 -7.664694309234619 0.5995590090751648 -6.205456256866455 2.7364602088928223 4.17537260055542 -0.618724524974823 2.4167068004608154; 4.96388578414917 -0.959464967250824 -0.8216238021850586 -0.5564270615577698 3.7469935417175293 -1.753971815109253 1.73365318775177 "
     "1.7870633602142334 -1.7248884439468384 0.2921866178512573 0.1150287389755249 -0.19476063549518585 0.042022526264190674 -0.08826060593128204 2.5362534523010254 0.9855237603187561 1.5622172355651855 -3.258807420730591 -3.8117854595184326 -0.632100522518158 -3.2762322425842285 2.5325934886932373 "
     "2.0003647804260254 6.213189125061035 2.7140133380889893 -1.856863260269165 0.04313916340470314 3.810987949371338 0.15949836373329163 -3.0430476665496826 -1.3251533508300781 7.21146821975708 1.950251817703247 6.79895544052124 3.6419131755828857 -2.9892730712890625 -1.2679924964904785 "
     "-1.2555294036865234"},
    {"fft", "", "{ lambda a:f64[19,2] b:f64[19,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=19] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 "
     "0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818", "4.350413 0.27322100000000005 -2.2842498682466426 2.0153587828026907 8.173023588997165 1.0270693982019217 8.241583846721655 -2.5000918659467213 -6.32134472122557 -1.196573195525719 -6.646729443132722 0.25599167038695736 0.25505062888192487 1.7572712527996994 -7.90770984764149 -0.8511001118017719 "
     "-2.6697053788034575 4.171281687892969 2.7458111083138728 2.906559740088597 2.3233013245100094 -1.8042488653001534 -0.34882783287449404 -6.073877781731706 -1.792471535051892 2.708021835917423 0.60622469618986 -4.0036629843502665 -1.2023329286724893 1.927973089642086 -0.23933129328755953 "
     "-7.664694051280261 0.5995588154457558 -6.205456190528842 2.7364602808234553 4.175372847838805 -0.6187244409473809 2.4167067408942917; 4.963886 -0.9594649999999996 -0.8216239537495387 -0.556426970235683 3.7469934608728868 -1.7539717666392542 1.7336533066975937 1.787063356299445 -1.7248883477634493 "
     "0.29218664720935106 0.11502871881309848 -0.1947607058213945 0.04202254795193563 -0.08826058146082238 2.536253501153107 0.9855237377666484 1.5622173139188809 -3.2588074633447666 -3.8117854324035014 -0.6321004695256864 -3.27623222090101 2.532593447725369 2.0003647740824104 6.2131893380160115 "
     "2.714013473737059 -1.8568632420048257 0.043139219622411275 3.81098794504853 0.15949829500728765 -3.0430475665070196 -1.3251533244965417 7.211468368152814 1.9502519988062048 6.798955462741121 3.6419131894642827 -2.98927316190309 -1.267992520813121 -1.255529375516748"},
    {"fft", "vjp", "{ lambda a:f32[19,2] b:f32[19,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=19] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 "
     "-0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 "
     "-0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 "
     "0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 -0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 "
     "-0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 "
     "-0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 "
     "0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562", "4.350412845611572 0.2732210159301758 -2.284249782562256 2.0153589248657227 8.173023223876953 1.027069330215454 8.241583824157715 -2.500091791152954 -6.32134485244751 -1.1965731382369995 -6.646729469299316 0.2559915781021118 0.25505053997039795 1.7572712898254395 -7.90770959854126 "
     "-0.8511000275611877 -2.669705390930176 4.171281814575195 2.7458109855651855 2.906559705734253 2.323301315307617 -1.8042488098144531 -0.34882795810699463 -6.073877811431885 -1.7924715280532837 2.708021879196167 0.6062247157096863 -4.003663063049316 -1.2023329734802246 1.9279730319976807 "
     "-0.2393311858177185 -7.664694309234619 0.5995590090751648 -6.205456256866455 2.7364602088928223 4.17537260055542 -0.618724524974823 2.4167068004608154; 4.96388578414917 -0.959464967250824 -0.8216238021850586 -0.5564270615577698 3.7469935417175293 -1.753971815109253 1.73365318775177 "
     "1.7870633602142334 -1.7248884439468384 0.2921866178512573 0.1150287389755249 -0.19476063549518585 0.042022526264190674 -0.08826060593128204 2.5362534523010254 0.9855237603187561 1.5622172355651855 -3.258807420730591 -3.8117854595184326 -0.632100522518158 -3.2762322425842285 2.5325934886932373 "
     "2.0003647804260254 6.213189125061035 2.7140133380889893 -1.856863260269165 0.04313916340470314 3.810987949371338 0.15949836373329163 -3.0430476665496826 -1.3251533508300781 7.21146821975708 1.950251817703247 6.79895544052124 3.6419131755828857 -2.9892730712890625 -1.2679924964904785 "
     "-1.2555294036865234; 4.96388578414917 -0.959464967250824 -0.8216238021850586 -0.5564270615577698 3.7469935417175293 -1.753971815109253 1.73365318775177 1.7870633602142334 -1.7248884439468384 0.2921866178512573 0.1150287389755249 -0.19476063549518585 0.042022526264190674 -0.08826060593128204 "
     "2.5362534523010254 0.9855237603187561 1.5622172355651855 -3.258807420730591 -3.8117854595184326 -0.632100522518158 -3.2762322425842285 2.5325934886932373 2.0003647804260254 6.213189125061035 2.7140133380889893 -1.856863260269165 0.04313916340470314 3.810987949371338 0.15949836373329163 "
     "-3.0430476665496826 -1.3251533508300781 7.21146821975708 1.950251817703247 6.79895544052124 3.6419131755828857 -2.9892730712890625 -1.2679924964904785 -1.2555294036865234; 4.350412845611572 0.2732210159301758 -2.284249782562256 2.0153589248657227 8.173023223876953 1.027069330215454 "
     "8.241583824157715 -2.500091791152954 -6.32134485244751 -1.1965731382369995 -6.646729469299316 0.2559915781021118 0.25505053997039795 1.7572712898254395 -7.90770959854126 -0.8511000275611877 -2.669705390930176 4.171281814575195 2.7458109855651855 2.906559705734253 2.323301315307617 "
     "-1.8042488098144531 -0.34882795810699463 -6.073877811431885 -1.7924715280532837 2.708021879196167 0.6062247157096863 -4.003663063049316 -1.2023329734802246 1.9279730319976807 -0.2393311858177185 -7.664694309234619 0.5995590090751648 -6.205456256866455 2.7364602088928223 4.17537260055542 "
     "-0.618724524974823 2.4167068004608154"},
    {"fft", "vjp", "{ lambda a:f64[19,2] b:f64[19,2] . let z0 z1 = fft[fft_type=FFT axis=0 length=19] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 "
     "0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 "
     "-0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 "
     "-0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503", "4.350413 0.27322100000000005 -2.2842498682466426 2.0153587828026907 8.173023588997165 1.0270693982019217 8.241583846721655 -2.5000918659467213 -6.32134472122557 -1.196573195525719 -6.646729443132722 0.25599167038695736 0.25505062888192487 1.7572712527996994 -7.90770984764149 -0.8511001118017719 "
     "-2.6697053788034575 4.171281687892969 2.7458111083138728 2.906559740088597 2.3233013245100094 -1.8042488653001534 -0.34882783287449404 -6.073877781731706 -1.792471535051892 2.708021835917423 0.60622469618986 -4.0036629843502665 -1.2023329286724893 1.927973089642086 -0.23933129328755953 "
     "-7.664694051280261 0.5995588154457558 -6.205456190528842 2.7364602808234553 4.175372847838805 -0.6187244409473809 2.4167067408942917; 4.963886 -0.9594649999999996 -0.8216239537495387 -0.556426970235683 3.7469934608728868 -1.7539717666392542 1.7336533066975937 1.787063356299445 -1.7248883477634493 "
     "0.29218664720935106 0.11502871881309848 -0.1947607058213945 0.04202254795193563 -0.08826058146082238 2.536253501153107 0.9855237377666484 1.5622173139188809 -3.2588074633447666 -3.8117854324035014 -0.6321004695256864 -3.27623222090101 2.532593447725369 2.0003647740824104 6.2131893380160115 "
     "2.714013473737059 -1.8568632420048257 0.043139219622411275 3.81098794504853 0.15949829500728765 -3.0430475665070196 -1.3251533244965417 7.211468368152814 1.9502519988062048 6.798955462741121 3.6419131894642827 -2.98927316190309 -1.267992520813121 -1.255529375516748; 4.963886 -0.9594649999999996 "
     "-0.8216239537495387 -0.556426970235683 3.7469934608728868 -1.7539717666392542 1.7336533066975937 1.787063356299445 -1.7248883477634493 0.29218664720935106 0.11502871881309848 -0.1947607058213945 0.04202254795193563 -0.08826058146082238 2.536253501153107 0.9855237377666484 1.5622173139188809 "
     "-3.2588074633447666 -3.8117854324035014 -0.6321004695256864 -3.27623222090101 2.532593447725369 2.0003647740824104 6.2131893380160115 2.714013473737059 -1.8568632420048257 0.043139219622411275 3.81098794504853 0.15949829500728765 -3.0430475665070196 -1.3251533244965417 7.211468368152814 "
     "1.9502519988062048 6.798955462741121 3.6419131894642827 -2.98927316190309 -1.267992520813121 -1.255529375516748; 4.350413 0.27322100000000005 -2.2842498682466426 2.0153587828026907 8.173023588997165 1.0270693982019217 8.241583846721655 -2.5000918659467213 -6.32134472122557 -1.196573195525719 "
     "-6.646729443132722 0.25599167038695736 0.25505062888192487 1.7572712527996994 -7.90770984764149 -0.8511001118017719 -2.6697053788034575 4.171281687892969 2.7458111083138728 2.906559740088597 2.3233013245100094 -1.8042488653001534 -0.34882783287449404 -6.073877781731706 -1.792471535051892 "
     "2.708021835917423 0.60622469618986 -4.0036629843502665 -1.2023329286724893 1.927973089642086 -0.23933129328755953 -7.664694051280261 0.5995588154457558 -6.205456190528842 2.7364602808234553 4.175372847838805 -0.6187244409473809 2.4167067408942917"},
    {"fft", "", "{ lambda a:f32[19,2] b:f32[19,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=19] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 "
     "-0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 "
     "-0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658", "0.22896909713745117 0.014380053617060184 -0.032564450055360794 0.1271951049566269 0.14402422308921814 0.21975646913051605 0.03155573457479477 -0.326602965593338 -0.012596378102898598 -0.40340495109558105 -0.06328067928552628 0.10147226601839066 0.03190656378865242 -0.21071910858154297 "
     "-0.09434060752391815 0.14252746105194092 -0.018359366804361343 -0.31967777013778687 0.12227901816368103 -0.09496046602725983 0.14451637864112854 0.15297682583332062 -0.14051081240177155 0.21954114735126495 -0.41619524359703064 -0.04479473829269409 0.01342371292412281 0.09248796105384827 "
     "-0.3498278558254242 0.013473240658640862 -0.3327023386955261 -0.06297753006219864 0.4337675869464874 -0.1315837800502777 0.4301591217517853 0.054056283086538315 -0.12022367864847183 0.10607152432203293; 0.2612571716308594 -0.05049815773963928 -0.06673644483089447 -0.0660804957151413 "
     "0.19167964160442352 -0.15733015537261963 0.10264483839273453 0.35783976316452026 -0.06974490731954575 0.379550963640213 0.008394650183618069 -0.1601603925228119 0.002270482247695327 0.20057831704616547 0.14284281432628632 -0.0977296456694603 0.10528235882520676 0.3270099461078644 "
     "-0.1724332720041275 0.13329438865184784 -0.20062027871608734 -0.03326844796538353 0.08222196251153946 -0.17151618003845215 0.1334870308637619 0.051869671791791916 0.002211711835116148 -0.004645294975489378 0.006054143887013197 -0.010250559076666832 -0.09078360348939896 0.01537824235856533 "
     "0.0912449061870575 0.09405596554279327 0.1972101777791977 -0.09231430292129517 -0.04324335977435112 -0.02928563579916954"},
    {"fft", "", "{ lambda a:f64[19,2] b:f64[19,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=19] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 "
     "0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818", "0.22896910526315786 0.01438005263157895 -0.032564444260388466 0.12719509162601533 0.14402422530649764 0.21975646567572657 0.03155572712872399 -0.32660295739625483 -0.012596383857239974 -0.40340495006738214 -0.0632806804564468 0.10147226787589925 0.03190656295736105 -0.2107191044394877 "
     "-0.09434060710799431 0.1425274650482854 -0.01835935962497337 -0.3196777779858792 0.12227901707947417 -0.09496046659474491 0.14451637412178278 0.15297682842571564 -0.1405108094107083 0.21954114146805098 -0.4161952551390258 -0.04479474272640904 0.013423717309574992 0.09248796067366838 "
     "-0.349827865428038 0.01347324580983986 -0.3327023537487142 -0.06297753660661679 0.43376757088008705 -0.13158378241824847 0.4301591362630086 0.05405628411589061 -0.12022367727613907 0.10607151488435214; 0.2612571578947368 -0.050498157894736814 -0.06673644846384848 -0.0660804934482499 "
     "0.1916796415507517 -0.1573301664159521 0.10264484204243182 0.3578397611969011 -0.06974491181560745 0.3795509667448849 0.008394647105646719 -0.16016039823721154 0.002270485243284804 0.20057831289729103 0.1428428144072136 -0.09772964431604345 0.10528235653065317 0.3270099651587374 "
     "-0.17243327478426368 0.13329439198554574 -0.20062028591597375 -0.03326844576450981 0.0822219638904674 -0.1715161822813035 0.1334870263764793 0.05186967040877096 0.002211713050101875 -0.004645293761095915 0.006054143095426235 -0.01025056346428392 -0.09078359725070785 0.015378244589965845 "
     "0.09124491087882071 0.0940559661210234 0.19721018215120456 -0.09231430350732917 -0.04324336598681782 -0.029285630012404366"},
    {"fft", "vjp", "{ lambda a:f32[19,2] b:f32[19,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=19] a b in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 "
     "-0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 "
     "-0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658; "
     "0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 "
     "0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 0.8242890238761902 0.43608298897743225 -0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 "
     "-0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 0.9637550115585327 -0.9968180060386658; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 "
     "-0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 "
     "0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562", "0.22896909713745117 0.014380053617060184 -0.032564450055360794 0.1271951049566269 0.14402422308921814 0.21975646913051605 0.03155573457479477 -0.326602965593338 -0.012596378102898598 -0.40340495109558105 -0.06328067928552628 0.10147226601839066 0.03190656378865242 -0.21071910858154297 "
     "-0.09434060752391815 0.14252746105194092 -0.018359366804361343 -0.31967777013778687 0.12227901816368103 -0.09496046602725983 0.14451637864112854 0.15297682583332062 -0.14051081240177155 0.21954114735126495 -0.41619524359703064 -0.04479473829269409 0.01342371292412281 0.09248796105384827 "
     "-0.3498278558254242 0.013473240658640862 -0.3327023386955261 -0.06297753006219864 0.4337675869464874 -0.1315837800502777 0.4301591217517853 0.054056283086538315 -0.12022367864847183 0.10607152432203293; 0.2612571716308594 -0.05049815773963928 -0.06673644483089447 -0.0660804957151413 "
     "0.19167964160442352 -0.15733015537261963 0.10264483839273453 0.35783976316452026 -0.06974490731954575 0.379550963640213 0.008394650183618069 -0.1601603925228119 0.002270482247695327 0.20057831704616547 0.14284281432628632 -0.0977296456694603 0.10528235882520676 0.3270099461078644 "
     "-0.1724332720041275 0.13329438865184784 -0.20062027871608734 -0.03326844796538353 0.08222196251153946 -0.17151618003845215 0.1334870308637619 0.051869671791791916 0.002211711835116148 -0.004645294975489378 0.006054143887013197 -0.010250559076666832 -0.09078360348939896 0.01537824235856533 "
     "0.0912449061870575 0.09405596554279327 0.1972101777791977 -0.09231430292129517 -0.04324335977435112 -0.02928563579916954; 0.2612571716308594 -0.05049815773963928 -0.06673644483089447 -0.0660804957151413 0.19167964160442352 -0.15733015537261963 0.10264483839273453 0.35783976316452026 "
     "-0.06974490731954575 0.379550963640213 0.008394650183618069 -0.1601603925228119 0.002270482247695327 0.20057831704616547 0.14284281432628632 -0.0977296456694603 0.10528235882520676 0.3270099461078644 -0.1724332720041275 0.13329438865184784 -0.20062027871608734 -0.03326844796538353 "
     "0.08222196251153946 -0.17151618003845215 0.1334870308637619 0.051869671791791916 0.002211711835116148 -0.004645294975489378 0.006054143887013197 -0.010250559076666832 -0.09078360348939896 0.01537824235856533 0.0912449061870575 0.09405596554279327 0.1972101777791977 -0.09231430292129517 "
     "-0.04324335977435112 -0.02928563579916954; 0.22896909713745117 0.014380053617060184 -0.032564450055360794 0.1271951049566269 0.14402422308921814 0.21975646913051605 0.03155573457479477 -0.326602965593338 -0.012596378102898598 -0.40340495109558105 -0.06328067928552628 0.10147226601839066 "
     "0.03190656378865242 -0.21071910858154297 -0.09434060752391815 0.14252746105194092 -0.018359366804361343 -0.31967777013778687 0.12227901816368103 -0.09496046602725983 0.14451637864112854 0.15297682583332062 -0.14051081240177155 0.21954114735126495 -0.41619524359703064 -0.04479473829269409 "
     "0.01342371292412281 0.09248796105384827 -0.3498278558254242 0.013473240658640862 -0.3327023386955261 -0.06297753006219864 0.4337675869464874 -0.1315837800502777 0.4301591217517853 0.054056283086538315 -0.12022367864847183 0.10607152432203293"},
    {"fft", "vjp", "{ lambda a:f64[19,2] b:f64[19,2] . let z0 z1 = fft[fft_type=IFFT axis=0 length=19] a b in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 "
     "0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 "
     "-0.839113 0.467665 0.824289 0.436083 -0.875496 0.428264 -0.730246 0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 "
     "-0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503", "0.22896910526315786 0.01438005263157895 -0.032564444260388466 0.12719509162601533 0.14402422530649764 0.21975646567572657 0.03155572712872399 -0.32660295739625483 -0.012596383857239974 -0.40340495006738214 -0.0632806804564468 0.10147226787589925 0.03190656295736105 -0.2107191044394877 "
     "-0.09434060710799431 0.1425274650482854 -0.01835935962497337 -0.3196777779858792 0.12227901707947417 -0.09496046659474491 0.14451637412178278 0.15297682842571564 -0.1405108094107083 0.21954114146805098 -0.4161952551390258 -0.04479474272640904 0.013423717309574992 0.09248796067366838 "
     "-0.349827865428038 0.01347324580983986 -0.3327023537487142 -0.06297753660661679 0.43376757088008705 -0.13158378241824847 0.4301591362630086 0.05405628411589061 -0.12022367727613907 0.10607151488435214; 0.2612571578947368 -0.050498157894736814 -0.06673644846384848 -0.0660804934482499 "
     "0.1916796415507517 -0.1573301664159521 0.10264484204243182 0.3578397611969011 -0.06974491181560745 0.3795509667448849 0.008394647105646719 -0.16016039823721154 0.002270485243284804 0.20057831289729103 0.1428428144072136 -0.09772964431604345 0.10528235653065317 0.3270099651587374 "
     "-0.17243327478426368 0.13329439198554574 -0.20062028591597375 -0.03326844576450981 0.0822219638904674 -0.1715161822813035 0.1334870263764793 0.05186967040877096 0.002211713050101875 -0.004645293761095915 0.006054143095426235 -0.01025056346428392 -0.09078359725070785 0.015378244589965845 "
     "0.09124491087882071 0.0940559661210234 0.19721018215120456 -0.09231430350732917 -0.04324336598681782 -0.029285630012404366; 0.2612571578947368 -0.050498157894736814 -0.06673644846384848 -0.0660804934482499 0.1916796415507517 -0.1573301664159521 0.10264484204243182 0.3578397611969011 "
     "-0.06974491181560745 0.3795509667448849 0.008394647105646719 -0.16016039823721154 0.002270485243284804 0.20057831289729103 0.1428428144072136 -0.09772964431604345 0.10528235653065317 0.3270099651587374 -0.17243327478426368 0.13329439198554574 -0.20062028591597375 -0.03326844576450981 "
     "0.0822219638904674 -0.1715161822813035 0.1334870263764793 0.05186967040877096 0.002211713050101875 -0.004645293761095915 0.006054143095426235 -0.01025056346428392 -0.09078359725070785 0.015378244589965845 0.09124491087882071 0.0940559661210234 0.19721018215120456 -0.09231430350732917 "
     "-0.04324336598681782 -0.029285630012404366; 0.22896910526315786 0.01438005263157895 -0.032564444260388466 0.12719509162601533 0.14402422530649764 0.21975646567572657 0.03155572712872399 -0.32660295739625483 -0.012596383857239974 -0.40340495006738214 -0.0632806804564468 0.10147226787589925 "
     "0.03190656295736105 -0.2107191044394877 -0.09434060710799431 0.1425274650482854 -0.01835935962497337 -0.3196777779858792 0.12227901707947417 -0.09496046659474491 0.14451637412178278 0.15297682842571564 -0.1405108094107083 0.21954114146805098 -0.4161952551390258 -0.04479474272640904 "
     "0.013423717309574992 0.09248796067366838 -0.349827865428038 0.01347324580983986 -0.3327023537487142 -0.06297753660661679 0.43376757088008705 -0.13158378241824847 0.4301591362630086 0.05405628411589061 -0.12022367727613907 0.10607151488435214"},
    {"fft", "", "{ lambda a:f32[19,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=19] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562", "4.350412845611572 0.2732210159301758 -1.4514871835708618 2.2160329818725586 5.454741954803467 2.6012210845947266 4.420571327209473 -4.352774143218994 -3.2803378105163574 -4.430633544921875 -3.9245312213897705 1.091982364654541 0.4306376278400421 -1.1231958866119385 -4.850090503692627 "
     "0.9284608960151672 -1.5092666149139404 -0.9512980580329895 2.5345561504364014 0.5511554479598999; 0 0 0.22318433225154877 0.34955117106437683 0.05254014953970909 0.6176506280899048 -0.10829931497573853 -2.505945920944214 -0.19986754655838013 -3.4596409797668457 -0.022234812378883362 "
     "1.4241434335708618 -0.0005583186284638941 -1.9496243000030518 -0.08887996524572372 1.4211934804916382 -0.21907377243041992 -4.735998153686523 -0.26777657866477966 -1.58234703540802"},
    {"fft", "", "{ lambda a:f64[19,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=19] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503", "4.350413 0.27322100000000005 -1.4514871545970118 2.216032761848491 5.4547419349103095 2.601221123020363 4.420571331083705 -4.352774028237782 -3.2803380072565647 -4.43063362340299 -3.9245311859026057 1.0919823800145214 0.4306376625358924 -1.1231958657752836 -4.850090691346691 0.9284608620578254 "
     "-1.5092666058389757 -0.9512980469193685 2.5345562164119406 0.551155437394222; 0 0 0.22318428353179126 0.3495512026405326 0.0525401357043021 0.6176506976319179 -0.1082993460543056 -2.505946053220838 -0.19986751163345384 -3.4596408604717315 -0.022234788097094588 1.4241434303428122 "
     "-0.0005583358352378477 -1.949624263254676 -0.08887998629197622 1.421193489885737 -0.21907373008176484 -4.735998400680389 -0.2677766057512457 -1.5823469586255279"},
    {"fft", "", "{ lambda a:f32[10,2] b:f32[10,2] . let z0 = fft[fft_type=IRFFT axis=0 length=19] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537", "0.21778452396392822 -0.0069591025821864605 -0.120092011988163 0.21460293233394623 0.2603774666786194 0.4208241403102875 -0.20032522082328796 0.12376783043146133 -0.03872466832399368 -0.7537073493003845 -0.08888163417577744 0.1091688871383667 0.08828113973140717 -0.24095584452152252 "
     "-0.08777026832103729 0.17944051325321198 -0.19314779341220856 -0.21797025203704834 -0.06581323593854904 -0.371345579624176 0.29622936248779297 -0.02648109756410122 0.03992859274148941 0.17698600888252258 -0.418449729681015 0.04552850499749184 -0.03642193228006363 0.014993525110185146 "
     "-0.33517715334892273 0.050967104732990265 -0.30573076009750366 -0.04836095869541168 0.6832824349403381 -0.15980587899684906 0.335548996925354 -0.04879806935787201 -0.030898114666342735 0.18732167780399323"},
    {"fft", "", "{ lambda a:f64[10,2] b:f64[10,2] . let z0 = fft[fft_type=IRFFT axis=0 length=19] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113", "0.21778452631578943 -0.0069591052631578585 -0.12009201073123668 0.21460292128012684 0.260377471447554 0.42082414409300184 -0.20032523277695932 0.12376782985827059 -0.03872467905463628 -0.7537073606780456 -0.08888162846898408 0.10916889340090334 0.08828113932266517 -0.24095583775011586 "
     "-0.08777027153294688 0.17944052632261473 -0.19314778408306965 -0.21797024739692075 -0.06581323680962214 -0.3713455712682701 0.29622935301427084 -0.026481098595625183 0.03992859284573292 0.17698600466995348 -0.41844971779823736 0.04552849963361356 -0.036421926561359494 0.01499352130948663 "
     "-0.3351771669921731 0.0509671098544428 -0.3057307536129607 -0.04836095646224556 0.6832824492030104 -0.15980587414770295 0.335548992085481 -0.048798061112453085 -0.030898115812318248 0.18732166225212304"},
    {"fft", "vjp", "{ lambda a:f32[19,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=19] a in (z0, z1) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562; 0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 "
     "-0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 "
     "0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 "
     "-0.8391129970550537", "4.350412845611572 0.2732210159301758 -1.4514871835708618 2.2160329818725586 5.454741954803467 2.6012210845947266 4.420571327209473 -4.352774143218994 -3.2803378105163574 -4.430633544921875 -3.9245312213897705 1.091982364654541 0.4306376278400421 -1.1231958866119385 -4.850090503692627 "
     "0.9284608960151672 -1.5092666149139404 -0.9512980580329895 2.5345561504364014 0.5511554479598999; 0 0 0.22318433225154877 0.34955117106437683 0.05254014953970909 0.6176506280899048 -0.10829931497573853 -2.505945920944214 -0.19986754655838013 -3.4596409797668457 -0.022234812378883362 "
     "1.4241434335708618 -0.0005583186284638941 -1.9496243000030518 -0.08887996524572372 1.4211934804916382 -0.21907377243041992 -4.735998153686523 -0.26777657866477966 -1.58234703540802; 2.068953037261963 -0.24150297045707703 -1.1408741474151611 1.8633363246917725 2.473585844039917 3.8224377632141113 "
     "-1.9030896425247192 1.0004029273986816 -0.3678843677043915 -7.335611343383789 -0.844375491142273 0.8617129325866699 0.8386707901954651 -2.4644720554351807 -0.8338175415992737 1.529293417930603 -1.8349040746688843 -2.2461087703704834 -0.6252257227897644 -3.703174352645874 2.814178943634033 "
     "-0.4269619286060333 0.3793216347694397 1.505975604057312 -3.9752721786499023 0.2571292817592621 -0.3460083305835724 -0.03295300155878067 -3.184183120727539 0.3087959885597229 -2.904442071914673 -0.6348205804824829 6.491183280944824 -1.693547248840332 3.187715530395508 -0.6389731168746948 "
     "-0.2935321033000946 1.6041643619537354"},
    {"fft", "vjp", "{ lambda a:f64[19,2] . let z0 z1 = fft[fft_type=RFFT axis=0 length=19] a in (z0, z1) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503; 0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 "
     "-0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113", "4.350413 0.27322100000000005 -1.4514871545970118 2.216032761848491 5.4547419349103095 2.601221123020363 4.420571331083705 -4.352774028237782 -3.2803380072565647 -4.43063362340299 -3.9245311859026057 1.0919823800145214 0.4306376625358924 -1.1231958657752836 -4.850090691346691 0.9284608620578254 "
     "-1.5092666058389757 -0.9512980469193685 2.5345562164119406 0.551155437394222; 0 0 0.22318428353179126 0.3495512026405326 0.0525401357043021 0.6176506976319179 -0.1082993460543056 -2.505946053220838 -0.19986751163345384 -3.4596408604717315 -0.022234788097094588 1.4241434303428122 "
     "-0.0005583358352378477 -1.949624263254676 -0.08887998629197622 1.421193489885737 -0.21907373008176484 -4.735998400680389 -0.2677766057512457 -1.5823469586255279; 2.0689529999999996 -0.24150299999999955 -1.1408741019467485 1.8633362521612054 2.473585978751763 3.8224378688835174 -1.9030897113811136 "
     "1.0004028836535706 -0.36788445101904466 -7.335611426441433 -0.8443754704553488 0.8617129873085817 0.8386708235653191 -2.464471958626101 -0.8338175795629953 1.5292935000648402 -1.8349039487891616 -2.246108850270747 -0.6252257496914104 -3.703174427048566 2.814178853635573 -0.42696193665843957 "
     "0.37932163203446273 1.5059755443645584 -3.975272319083255 0.2571292465193289 -0.3460083023329152 -0.032953047559876936 -3.1841830864256444 0.3087960436172067 -2.9044421593231267 -0.6348205863913328 6.491183267428599 -1.6935473044031781 3.1877154248120694 -0.6389730805683042 -0.29353210021702336 "
     "1.604164291395169"},
    {"fft", "vjp", "{ lambda a:f32[10,2] b:f32[10,2] . let z0 = fft[fft_type=IRFFT axis=0 length=19] a b in (z0,) }",
     "0 -0.35078299045562744 0.9893580079078674 0.8037840127944946 0.9129449725151062 0.6992400288581848 -0.9917790293693542 0.9985910058021545 -0.5215510129928589 -0.9990209937095642 -0.9938889741897583 -0.6800119876861572 0.9268190264701843 -0.8293179869651794 0.980239987373352 0.40809598565101624 "
     "0.07075200229883194 0.6603279709815979 0.6960579752922058 -0.9524080157279968; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 "
     "0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537; 0.6832399964332581 0.6864979863166809 0.12360300123691559 0.47166600823402405 0.9589160084724426 -0.8838850259780884 "
     "0.966126024723053 -0.5697129964828491 -0.9988139867782593 -0.9911969900131226 -0.3465929925441742 0.9873319864273071 -0.9948210120201111 0.5025050044059753 0.9880409836769104 0.9380210041999817 0.9017620086669922 -0.6265029907226562 0.33004799485206604 -0.8391129970550537 0.4676649868488312 "
     "0.8242890238761902 0.43608298897743225 -0.875495970249176 0.42826399207115173 -0.7302460074424744 0.8115509748458862 0.9900069832801819 0.9956759810447693 0.24085700511932373 -0.9128959774971008 0.8710809946060181 0.03551900014281273 -0.8484979867935181 -0.8732389807701111 -0.1102520003914833 "
     "0.9637550115585327 -0.9968180060386658", "0.21778452396392822 -0.0069591025821864605 -0.120092011988163 0.21460293233394623 0.2603774666786194 0.4208241403102875 -0.20032522082328796 0.12376783043146133 -0.03872466832399368 -0.7537073493003845 -0.08888163417577744 0.1091688871383667 0.08828113973140717 -0.24095584452152252 "
     "-0.08777026832103729 0.17944051325321198 -0.19314779341220856 -0.21797025203704834 -0.06581323593854904 -0.371345579624176 0.29622936248779297 -0.02648109756410122 0.03992859274148941 0.17698600888252258 -0.418449729681015 0.04552850499749184 -0.03642193228006363 0.014993525110185146 "
     "-0.33517715334892273 0.050967104732990265 -0.30573076009750366 -0.04836095869541168 0.6832824349403381 -0.15980587899684906 0.335548996925354 -0.04879806935787201 -0.030898114666342735 0.18732167780399323; 0.2612571716308594 -0.05049815773963928 -0.10997980087995529 -0.09536612778902054 "
     "0.3888898193836212 -0.249644473195076 0.19388973712921143 0.45189571380615234 -0.1605285108089447 0.3949292004108429 0.014448794536292553 -0.17041096091270447 0.0044821943156421185 0.1959330141544342 0.2763298451900482 -0.04585997387766838 0.18750432133674622 0.15549378097057343 "
     "-0.37305355072021484 0.10002594441175461; 0 0 0.08765922486782074 0.021123576909303665 -0.28613489866256714 0.16570018231868744 -0.40221184492111206 -0.1950191706418991 0.32010596990585327 -0.340427428483963 0.2865471839904785 0.08799902349710464 0.01848285086452961 -0.30320706963539124 "
     "0.3218546509742737 0.187322199344635 0.1221514418721199 -0.5392189025878906 -0.02223735861480236 -0.24793729186058044"},
    {"fft", "vjp", "{ lambda a:f64[10,2] b:f64[10,2] . let z0 = fft[fft_type=IRFFT axis=0 length=19] a b in (z0,) }",
     "0 -0.350783 0.989358 0.803784 0.912945 0.69924 -0.991779 0.998591 -0.521551 -0.999021 -0.993889 -0.680012 0.926819 -0.829318 0.98024 0.408096 0.070752 0.660328 0.696058 -0.952408; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 "
     "-0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113; 0.68324 0.686498 0.123603 0.471666 0.958916 -0.883885 0.966126 -0.569713 -0.998814 -0.991197 -0.346593 0.987332 -0.994821 0.502505 0.988041 0.938021 0.901762 -0.626503 0.330048 -0.839113 0.467665 0.824289 0.436083 -0.875496 "
     "0.428264 -0.730246 0.811551 0.990007 0.995676 0.240857 -0.912896 0.871081 0.035519 -0.848498 -0.873239 -0.110252 0.963755 -0.996818", "0.21778452631578943 -0.0069591052631578585 -0.12009201073123668 0.21460292128012684 0.260377471447554 0.42082414409300184 -0.20032523277695932 0.12376782985827059 -0.03872467905463628 -0.7537073606780456 -0.08888162846898408 0.10916889340090334 0.08828113932266517 -0.24095583775011586 "
     "-0.08777027153294688 0.17944052632261473 -0.19314778408306965 -0.21797024739692075 -0.06581323680962214 -0.3713455712682701 0.29622935301427084 -0.026481098595625183 0.03992859284573292 0.17698600466995348 -0.41844971779823736 0.04552849963361356 -0.036421926561359494 0.01499352130948663 "
     "-0.3351771669921731 0.0509671098544428 -0.3057307536129607 -0.04836095646224556 0.6832824492030104 -0.15980587414770295 0.335548992085481 -0.048798061112453085 -0.030898115812318248 0.18732166225212304; 0.2612571578947368 -0.050498157894736814 -0.10997981445066629 -0.09536612346065426 "
     "0.38888982370195624 -0.2496444699232812 0.19388975292125255 0.4518957273179245 -0.1605285090663153 0.3949292113348508 0.014448790201072953 -0.17041096170149544 0.0044821982933866905 0.19593301913619515 0.27632984078369294 -0.04585997390727248 0.18750432042112058 0.1554937828774339 "
     "-0.3730535607002374 0.10002594622103593; 0 0 0.08765923301575063 0.021123576741663225 -0.28613491095651095 0.16570018155983593 -0.40221184375136304 -0.1950191749780064 0.3201059698914743 -0.3404274134607653 0.28654718497159126 0.08799902206605942 0.018482845647786055 -0.3032070651131561 "
     "0.3218546480310314 0.18732220777469447 0.1221514497857349 -0.5392189194539302 -0.022237357042308583 -0.24793729502046055"},
    {"fft", "", "{ lambda a:f32[4,0] b:f32[4,0] . let z0 z1 = fft[fft_type=FFT axis=0 length=4] a b in (z0, z1) }",
     "; ", "; "},
    {"fft", "", "{ lambda a:f64[4,0] b:f64[4,0] . let z0 z1 = fft[fft_type=FFT axis=0 length=4] a b in (z0, z1) }",
     "; ", "; "},
    {"reduce_max", "grad", "{ lambda a:f32[4] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "2 1 2 2", "0.3333333432674408 0 0.3333333432674408 0.3333333432674408"},
    {"reduce_max", "grad", "{ lambda a:f64[4] . let z0 = reduce_max[axes=(0,)] a in (z0,) }",
     "2 1 2 2", "0.3333333333333333 0 0.3333333333333333 0.3333333333333333"},
    {"reduce_min", "grad", "{ lambda a:f32[4] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "2 5 2 3", "0.5 0 0.5 0"},
    {"reduce_min", "grad", "{ lambda a:f64[4] . let z0 = reduce_min[axes=(0,)] a in (z0,) }",
     "2 5 2 3", "0.5 0 0.5 0"},
    {"reduce_prod", "grad", "{ lambda a:f32[3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "0 2 3", "6 0 0"},
    {"reduce_prod", "grad", "{ lambda a:f64[3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "0 2 3", "6 0 0"},
    {"reduce_prod", "grad", "{ lambda a:f32[3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "0 2 0", "0 0 0"},
    {"reduce_prod", "grad", "{ lambda a:f64[3] . let z0 = reduce_prod[axes=(0,)] a in (z0,) }",
     "0 2 0", "0 0 0"},
    {"cumprod", "vjp", "{ lambda a:f32[3] . let z0 = cumprod[axis=0 reverse=False] a in (z0,) }",
     "0 2 3; 1 1 1", "0 0 0; 9 0 0"},
    {"cumprod", "vjp", "{ lambda a:f64[3] . let z0 = cumprod[axis=0 reverse=False] a in (z0,) }",
     "0 2 3; 1 1 1", "0 0 0; 9 0 0"},
    {NULL, NULL, NULL, NULL, NULL},
};
