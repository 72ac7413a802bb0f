// The face that every instruction set's copy of the decoder shows to engine.cpp.
#pragma once

#include "decoding.hpp"

namespace spantree::SPANTREE_ISA {

// Finds the best trees of one graph.
void decode(const Decoding& job, std::ptrdiff_t item, Arena& arena);

}  // namespace spantree::SPANTREE_ISA
