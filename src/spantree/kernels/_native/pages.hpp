// Large pages under memory that is about to be filled.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace spantree {

// Many megabytes come fresh from the system, 4 kB at a time as they are first written, and that can
// take as long as to compute what is written. 2 MB at a time it takes a tenth. Only advice, and only
// where it pays (numpy gives it at the same size).
inline void prefer_large_pages(void* memory, std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kWorthwhile = std::size_t{1} << 22;
  constexpr std::uintptr_t kPage = std::uintptr_t{1} << 21;
  if (memory == nullptr || bytes < kWorthwhile) return;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (address + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = (address + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  (void)memory, (void)bytes;
#endif
}

}  // namespace spantree
