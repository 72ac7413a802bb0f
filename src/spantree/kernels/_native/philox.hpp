// Random bits by counting: Philox 4x32-10 of Salmon et al. (2011), "Parallel random numbers: as easy
// as 1, 2, 3". The bits are a function of (seed, stream, position) alone, so whoever draws them, in
// whatever order and on however many threads, draws the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spantree::SPANTREE_ISA {

class Philox {
 public:
  Philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block = 0)
      : seed_(seed), stream_(stream), block_(first_block) {}

  std::uint64_t bits() {
    if (at_ == kAtOnce * 2) refill();
    return buffer_[at_++];
  }

  // Uniform on the multiples of 2^-53 in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  static constexpr int kAtOnce = 8;  // blocks of two draws, side by side in the lanes

  void refill() {
    constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
    std::uint32_t x0[kAtOnce], x1[kAtOnce], x2[kAtOnce], x3[kAtOnce];
    for (int b = 0; b < kAtOnce; ++b) {
      x0[b] = static_cast<std::uint32_t>(block_ + b);
      x1[b] = static_cast<std::uint32_t>((block_ + b) >> 32);
      x2[b] = static_cast<std::uint32_t>(stream_);
      x3[b] = static_cast<std::uint32_t>(stream_ >> 32);
    }
    auto key0 = static_cast<std::uint32_t>(seed_), key1 = static_cast<std::uint32_t>(seed_ >> 32);
    for (int round = 0; round < 10; ++round, key0 += kWeyl0, key1 += kWeyl1)
      for (int b = 0; b < kAtOnce; ++b) {
        const std::uint64_t product0 = kMultiplier0 * x0[b], product1 = kMultiplier1 * x2[b];
        x0[b] = static_cast<std::uint32_t>(product1 >> 32) ^ x1[b] ^ key0;
        x1[b] = static_cast<std::uint32_t>(product1);
        x2[b] = static_cast<std::uint32_t>(product0 >> 32) ^ x3[b] ^ key1;
        x3[b] = static_cast<std::uint32_t>(product0);
      }
    for (int b = 0; b < kAtOnce; ++b) {
      buffer_[2 * b] = x0[b] | std::uint64_t{x1[b]} << 32;
      buffer_[2 * b + 1] = x2[b] | std::uint64_t{x3[b]} << 32;
    }
    block_ += kAtOnce;
    at_ = 0;
  }

  std::uint64_t seed_, stream_, block_;
  std::uint64_t buffer_[2 * kAtOnce];
  int at_ = 2 * kAtOnce;
};

}  // namespace spantree::SPANTREE_ISA
