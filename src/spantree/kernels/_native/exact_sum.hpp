// Sums of doubles without rounding.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spantree {

// A fixed-point number with room for every finite double, in digits of 32 bits from 2^-1074 upwards.
// Each digit has 31 bits to spare, so carries wait until the sum is read: up to 2^29 terms.
class ExactSum {
 public:
  void add(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const std::uint64_t significand = exponent ? fraction | std::uint64_t{1} << 52 : fraction;
    const int position = exponent ? exponent - 1 : 0, shift = position % kBits;
    const std::uint64_t low = (significand & kMask) << shift;
    const std::uint64_t high = (significand >> kBits) << shift;
    std::int64_t* digit = digits_ + position / kBits;
    const std::int64_t sign = bits >> 63 ? -1 : 1;
    digit[0] += sign * static_cast<std::int64_t>(low & kMask);
    digit[1] += sign * static_cast<std::int64_t>((low >> kBits) + (high & kMask));
    digit[2] += sign * static_cast<std::int64_t>(high >> kBits);
  }

  // -1, 0 or 1.
  int sign() {
    carry();
    if (digits_[kDigits - 1] < 0) return -1;
    for (const std::int64_t digit : digits_)
      if (digit) return 1;
    return 0;
  }

  // The nearest double; ties go to the even one, as everywhere.
  double rounded() {
    const int s = sign();
    if (s == 0) return 0.0;
    if (s < 0) {
      for (std::int64_t& digit : digits_) digit = -digit;
      carry();
    }
    int top = kDigits - 1;
    while (digits_[top] == 0) --top;
    // The leading 64 bits, or all there are; what is lost below them can only break a tie.
    std::uint64_t leading = 0;
    int place = top + 1, room = 64;
    while (place > 0 && room >= kBits) {
      leading = leading << kBits | static_cast<std::uint64_t>(digits_[--place]);
      room = leading ? __builtin_clzll(leading) : 64;
    }
    int exponent = place * kBits;
    if (place > 0 && room > 0) {
      --place;
      const std::uint64_t next = static_cast<std::uint64_t>(digits_[place]);
      leading = leading << room | next >> (kBits - room);
      exponent -= room;
      if (next & ((std::uint64_t{1} << (kBits - room)) - 1)) leading |= 1;
    }
    while (place > 0 && !(leading & 1))
      if (digits_[--place]) leading |= 1;
    return s * std::ldexp(static_cast<double>(leading), exponent - 1074);
  }

 private:
  static constexpr int kBits = 32;
  static constexpr int kDigits = 68;  // 2098 bits for one double, the rest for carries
  static constexpr std::uint64_t kMask = 0xffffffff;

  // Brings all digits but the last into 0..2^32-1; that one has the sign.
  void carry() {
    for (int i = 0; i + 1 < kDigits; ++i) {
      digits_[i + 1] += digits_[i] >> kBits;
      digits_[i] &= static_cast<std::int64_t>(kMask);
    }
  }

  std::int64_t digits_[kDigits] = {};
};

// The sum of finite doubles, rounded once.
inline double rounded_sum(const double* terms, std::ptrdiff_t count) {
  double sum = 0, lost = 0, magnitude = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const double next = sum + terms[i], taken = next - sum;
    const double error = (sum - (next - taken)) + (terms[i] - taken);
    lost += error;
    magnitude += std::fabs(error);
    sum = next;
  }
  // If both ends of the interval that holds the exact sum are rounded to one number, this is it.
  const double bound = (static_cast<double>(count) + 2) * 0x1p-51 * magnitude;
  const double least = sum + (lost - bound), most = sum + (lost + bound);
  if (least == most && std::isfinite(sum)) return least;
  ExactSum exact;
  for (std::ptrdiff_t i = 0; i < count; ++i) exact.add(terms[i]);
  return exact.rounded();
}

// The sign of a sum of finite doubles; exact, and quick where it is easy.
inline int sign_of_sum(const double* terms, std::ptrdiff_t count) {
  double sum = 0, magnitude = 0, rounded = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const double term = terms[i], next = sum + term, taken = next - sum;
    rounded += std::fabs((sum - (next - taken)) + (term - taken));
    magnitude += std::fabs(term);
    sum = next;
  }
  // After an overflow none of these holds, and the slow way decides.
  if (rounded == 0) return (sum > 0) - (sum < 0);
  if (std::fabs(sum) > magnitude * (static_cast<double>(count) * 0x1p-52)) return sum > 0 ? 1 : -1;
  ExactSum exact;
  for (std::ptrdiff_t i = 0; i < count; ++i) exact.add(terms[i]);
  return exact.sign();
}

}  // namespace spantree
