// What the engine is asked to do, in terms that do not depend on the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "pages.hpp"

namespace spantree {

inline constexpr int kMaxOrder = 3;

enum Status : std::int8_t { kFine = 0, kNoTree = 1, kNotANumber = 2 };

// A batch of graphs as they lie in memory: `count` matrices of n x n, [head, dependent], node 0 the
// root. `real_bytes` is 4 or 8. The results are those of jet `order`: the edge marginals (0), or the
// derivative of order `order` of them in directions[0..order-1]; each of these, and `jet`, holds
// `copies` batches. Order -1 asks for log Z alone.
struct Job {
  const void* log_weights = nullptr;
  const std::int64_t* lengths = nullptr;  // null: all of length n - 1
  const void* directions[kMaxOrder] = {};
  void* log_partition = nullptr;  // may be null if order > 0
  void* jet = nullptr;
  std::int8_t* status = nullptr;
  // What sampling asks for, both null or both n numbers an item: the probability that a node hangs on
  // the root, and the expected steps of Wilson's walks (expected_steps.hpp). With order 0 only.
  double* at_root = nullptr;
  double* steps = nullptr;
  std::ptrdiff_t count = 0, n = 0, copies = 1;
  int real_bytes = 8, order = 0, threads = 1;
  bool single_root = true;
  bool always_wide = false;  // for tests: skip the arithmetic in doubles
  int threads_within = 1;  // for one large graph; set by run()
  std::ptrdiff_t length(std::ptrdiff_t item) const { return lengths ? lengths[item] : n - 1; }
};

// Scratch memory: a stack of blocks that is kept between calls, up to a limit.
class Arena {
 public:
  struct Mark {
    std::size_t block, used;
  };
  Mark mark() const { return {block_, used_}; }
  void release(Mark m) { block_ = m.block, used_ = m.used; }

  template <class T>
  T* take(std::ptrdiff_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  // Called between problems: gives back what an unusually large one has left.
  void trim() {
    if (total_ > kKeep) blocks_.clear(), total_ = 0;
    release({0, 0});
  }

 private:
  static constexpr std::size_t kAlign = 64, kFirst = std::size_t{1} << 18, kKeep = std::size_t{1} << 25;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  struct Block {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t size;
  };
  void* take_bytes(std::size_t bytes) {
    bytes = (bytes + kAlign - 1) / kAlign * kAlign;
    while (block_ < blocks_.size() && used_ + bytes > blocks_[block_].size) ++block_, used_ = 0;
    if (block_ == blocks_.size()) {
      const std::size_t size = bytes > kFirst ? bytes : kFirst;
      auto* p = static_cast<std::byte*>(std::aligned_alloc(kAlign, size));
      if (!p) throw std::bad_alloc();
      prefer_large_pages(p, size);
      blocks_.push_back({std::unique_ptr<std::byte, Free>(p), size});
      total_ += size;
    }
    void* p = blocks_[block_].memory.get() + used_;
    used_ += bytes;
    return p;
  }
  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0, total_ = 0;
};

// The scratch memory of this thread.
inline Arena& local_arena() {
  thread_local Arena arena;
  return arena;
}

}  // namespace spantree
