// A pack of doubles, one per SIMD lane, and the few operations the engine needs of it.
//
// This file is compiled once per instruction set (see CMakeLists.txt); SPANTREE_ISA names the set
// and is also the namespace, so that the copies can live in one module. Everything but the fused
// multiply-add is written with the compiler's vector extensions and is the same on every machine.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define SPANTREE_INLINE [[gnu::always_inline]] inline

namespace spantree::SPANTREE_ISA {

#if defined(__AVX512F__)
inline constexpr int kLanes = 8;
inline constexpr bool kManyRegisters = true;
#elif defined(__AVX2__)
inline constexpr int kLanes = 4;
inline constexpr bool kManyRegisters = false;
#elif defined(__aarch64__)
inline constexpr int kLanes = 2;
inline constexpr bool kManyRegisters = true;
#else
inline constexpr int kLanes = 2;
inline constexpr bool kManyRegisters = false;
#endif

typedef double Pack __attribute__((vector_size(8 * kLanes)));
typedef std::int64_t Mask __attribute__((vector_size(8 * kLanes)));  // all ones or all zeros a lane

SPANTREE_INLINE Pack broadcast(double x) { return Pack{} + x; }

SPANTREE_INLINE Pack load(const double* p) {
  Pack x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

SPANTREE_INLINE void store(double* p, Pack x) { std::memcpy(p, &x, sizeof x); }

// a * b + c. Rounded once where the machine can; always the same way on one machine, so that a
// result does not depend on which copy of a loop produced it (contraction is off everywhere else).
SPANTREE_INLINE Pack fma(Pack a, Pack b, Pack c) {
#if defined(__AVX512F__)
  return (Pack)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
  return (Pack)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
  return (Pack)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

SPANTREE_INLINE Pack select(Mask m, Pack yes, Pack no) { return m ? yes : no; }
SPANTREE_INLINE Pack maximum(Pack a, Pack b) { return a > b ? a : b; }
SPANTREE_INLINE Pack absolute(Pack a) { return (Pack)((Mask)a & INT64_MAX); }

SPANTREE_INLINE bool any(Mask m) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)m, (__m512i)m) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)m) != 0;
#else
  std::int64_t found = 0;
  for (int lane = 0; lane < kLanes; ++lane) found |= m[lane];
  return found != 0;
#endif
}

// Whether anything since the last call left the range of doubles, in any lane: underflow, overflow,
// division by zero, or no number at all. The processor keeps the account; here it is read and cleared.
inline bool left_range() {
#if defined(__x86_64__)
  constexpr unsigned kFlags = _MM_EXCEPT_UNDERFLOW | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_INVALID |
                              _MM_EXCEPT_DIV_ZERO;
  const unsigned state = _mm_getcsr();
  if ((state & kFlags) == 0) return false;
  _mm_setcsr(state & ~kFlags);
  return true;
#else
  constexpr int kFlags = FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO;
  if (!std::fetestexcept(kFlags)) return false;
  std::feclearexcept(kFlags);
  return true;
#endif
}

// Integers of magnitude below 2^51 as doubles and back, by the trick that needs no conversion
// instruction: adding 1.5 * 2^52 leaves the integer in the low bits of the sum.
inline constexpr double kShifter = 6755399441055744.0;

SPANTREE_INLINE Pack nearest_integer(Pack x) { return (x + kShifter) - kShifter; }
SPANTREE_INLINE Mask to_integer(Pack x) {
  return (Mask)(x + kShifter) - (Mask)broadcast(kShifter);
}
SPANTREE_INLINE Pack to_double(Mask n) {
  return (Pack)(n + (Mask)broadcast(kShifter)) - kShifter;
}

// 2^n for integers n in -1022..1023.
SPANTREE_INLINE Pack power_of_two(Pack n) {
  return (Pack)((Mask)(n + (kShifter + 1023.0)) << 52);  // the shift drops all of the shifter
}

// Lanes of a (0..kLanes-1) and b (kLanes..2 kLanes-1), chosen by constants.
SPANTREE_INLINE Pack shuffle(Pack a, Pack b, Mask which) {
#if defined(__clang__)
  Pack result;
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = which[lane] < kLanes ? a[which[lane]] : b[which[lane] - kLanes];
  return result;
#else
  return __builtin_shuffle(a, b, which);
#endif
}

// Row i, lane j of the result is row j, lane i of the argument: log2(kLanes) rounds of exchanging
// blocks off the diagonal.
template <int Step>
SPANTREE_INLINE void exchange_blocks(Pack (&rows)[kLanes]) {
  if constexpr (Step < kLanes) {
    for (int i = 0; i < kLanes; ++i)
      if (!(i & Step)) {
        Mask first, second;
        for (int lane = 0; lane < kLanes; ++lane) {
          first[lane] = lane & Step ? kLanes + (lane ^ Step) : lane;
          second[lane] = lane & Step ? kLanes + lane : lane ^ Step;
        }
        const Pack a = rows[i], b = rows[i | Step];
        rows[i] = shuffle(a, b, first);
        rows[i | Step] = shuffle(a, b, second);
      }
    exchange_blocks<2 * Step>(rows);
  }
}
SPANTREE_INLINE void transpose(Pack (&rows)[kLanes]) { exchange_blocks<1>(rows); }

// Floats in memory are doubles in a Pack.
typedef float FloatPack __attribute__((vector_size(4 * kLanes)));
SPANTREE_INLINE Pack load(const float* p) {
  FloatPack x;
  std::memcpy(&x, p, sizeof x);
  return __builtin_convertvector(x, Pack);
}
SPANTREE_INLINE void store(float* p, Pack x) {
  const FloatPack y = __builtin_convertvector(x, FloatPack);
  std::memcpy(p, &y, sizeof y);
}

}  // namespace spantree::SPANTREE_ISA
