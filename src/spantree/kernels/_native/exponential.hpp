// exp of a difference of log-weights, in lanes, good to the last digit.
#pragma once

#include "simd.hpp"

namespace spantree::SPANTREE_ISA {

// x - y, and what the rounding of it lost (Knuth's two-sum): the weight of an edge is the
// exponential of such a difference, and an error of half an ulp at 300 is one of 3e-14 in it.
struct Difference {
  Pack value, lost;
};

SPANTREE_INLINE Difference exact_difference(Pack x, Pack y) {
  const Pack d = x - y;
  const Pack back = d + y;
  return {d, (x - back) - (y - (back - d))};
}

// exp(d) as significand * 2^exponent, significand in about [0.7, 1.42), for finite d.
//
// d = n ln 2 + r with |r| <= ln(2)/2; Cody and Waite's two-part ln 2, then Taylor to degree 13,
// whose remainder is below 2^-56 there. The lost part enters as exp(r + e) = exp(r) (1 + e).
struct ScaledExp {
  Pack significand, exponent;
};

SPANTREE_INLINE ScaledExp scaled_exp(Difference d) {
  constexpr double kLog2e = 1.4426950408889634074;
  constexpr double kLn2High = 6.93147180369123816490e-01;  // 32 bits, so n * high is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const Pack n = nearest_integer(d.value * kLog2e);
  const Pack high = fma(n, broadcast(-kLn2High), d.value);
  const Pack r = fma(n, broadcast(-kLn2Low), high);
  const Pack low = fma(n, broadcast(-kLn2Low), high - r) + d.lost;
  // Estrin's scheme on the coefficients 1/k!; the last steps keep the leading 1 + r exact.
  const Pack r2 = r * r, r4 = r2 * r2;
  const Pack c2 = fma(r, broadcast(1.0 / 6), broadcast(1.0 / 2));
  const Pack c4 = fma(r, broadcast(1.0 / 120), broadcast(1.0 / 24));
  const Pack c6 = fma(r, broadcast(1.0 / 5040), broadcast(1.0 / 720));
  const Pack c8 = fma(r, broadcast(1.0 / 362880), broadcast(1.0 / 40320));
  const Pack c10 = fma(r, broadcast(1.0 / 39916800), broadcast(1.0 / 3628800));
  const Pack c12 = fma(r, broadcast(1.0 / 6227020800), broadcast(1.0 / 479001600));
  const Pack top = fma(fma(c12, r2, c10), r4, fma(c8, r2, c6));
  const Pack tail = fma(top, r4, fma(c4, r2, c2));
  const Pack p = fma(tail, r2, r) + 1.0;
  return {fma(p, low, p), n};
}

// Weights this far below their column's heaviest edge are outside the range of doubles.
inline constexpr double kSmallestLogWeight = -700.0;

// exp(d) where `representable` (d in -700..0), 0 elsewhere, even where d is not a number.
SPANTREE_INLINE Pack exp_or_zero(Difference d, Mask representable) {
  const ScaledExp x = scaled_exp({select(representable, d.value, Pack{}),
                                  select(representable, d.lost, Pack{})});
  return select(representable, x.significand * power_of_two(x.exponent), Pack{});
}

}  // namespace spantree::SPANTREE_ISA
