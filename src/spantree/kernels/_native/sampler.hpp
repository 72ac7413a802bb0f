// The doors to sampling on one instruction set.
#pragma once

#include <memory>

#include "sampling.hpp"

namespace spantree::SPANTREE_ISA {

std::unique_ptr<Sampler> make_sampler(const SamplingJob& job, std::ptrdiff_t item, Arena& arena);
void random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block,
                 std::ptrdiff_t count, std::uint64_t* out);

}  // namespace spantree::SPANTREE_ISA
