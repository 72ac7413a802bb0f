// From a batch to packs, from packs to threads, on the best instruction set of this machine.
#pragma once

#include <string>
#include <vector>

#include "engine.hpp"

namespace spantree {

void run(Job job);

// The instruction sets this build holds and this machine can run, best first, and a way to choose
// another than the first (for tests and benchmarks).
std::vector<std::string> instruction_sets();
void use_instruction_set(const std::string& name);

}  // namespace spantree
