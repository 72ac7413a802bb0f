// A small pool of threads of our own: a second OpenMP runtime beside torch's is asking for trouble.
#pragma once

#include <cstddef>
#include <functional>

namespace spantree {

// Calls body(i) for every i in 0..count-1, on at most `threads` threads, the calling one among them.
// Returns when all are done; rethrows one of the exceptions thrown. May be nested: whoever waits for
// work has taken its share of it first. Safe in a child process after fork.
void parallel_for(std::ptrdiff_t count, int threads,
                  const std::function<void(std::ptrdiff_t)>& body);

}  // namespace spantree
