// The face that every instruction set's copy of the engine shows to dispatch.cpp.
#pragma once

#include <memory>

#include "decoding.hpp"
#include "job.hpp"
#include "sampling.hpp"

namespace spantree {

struct Engine {
  const char* name;
  int lanes;
  // Solves up to `lanes` items of one padded size side by side.
  void (*many)(const Job&, const std::ptrdiff_t* items, int count, std::ptrdiff_t nodes, Arena&);
  // Solves one item whose padded size is a multiple of 8, vectorised within.
  void (*one)(const Job&, std::ptrdiff_t item, std::ptrdiff_t nodes, Arena&);
  // Finds the best trees of one item.
  void (*decode)(const Decoding&, std::ptrdiff_t item, Arena&);
  // Prepares to draw trees of one item, in memory of the arena.
  std::unique_ptr<Sampler> (*sampler)(const SamplingJob&, std::ptrdiff_t item, Arena&);
  // The random bits of a stream, for tests: two draws a block.
  void (*random_bits)(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block,
                      std::ptrdiff_t count, std::uint64_t* out);
};

// The one in use.
const Engine& engine();

}  // namespace spantree
