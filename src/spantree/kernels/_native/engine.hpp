// The face that every instruction set's copy of the engine shows to dispatch.cpp.
#pragma once

#include "decoding.hpp"

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
};

}  // namespace spantree
