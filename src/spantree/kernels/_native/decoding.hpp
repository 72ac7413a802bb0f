// What the decoder is asked to do, and the way from a batch to threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "job.hpp"

namespace spantree {

// A batch of graphs as in Job. The results are the best `trees` trees of each: rank by rank, `count`
// rows of n heads, and their scores, rounded once from the exact sum. -1 and -inf stand where a
// graph has no further tree; -1 for the root and for padding.
struct Decoding {
  const void* log_weights = nullptr;
  const std::int64_t* lengths = nullptr;  // null: all of length n - 1
  std::int64_t* heads = nullptr;
  double* scores = nullptr;  // null: not wanted
  std::int8_t* status = nullptr;
  std::ptrdiff_t count = 0, n = 0, trees = 1;
  int real_bytes = 8, threads = 1;
  bool single_root = true;
  std::ptrdiff_t length(std::ptrdiff_t item) const { return lengths ? lengths[item] : n - 1; }
};

void decode(const Decoding& decoding);

// The same for labelled trees, out of the best trees without labels.
struct Labeling {
  const void* log_weights = nullptr;      // items x n x n x labels
  const std::int64_t* lengths = nullptr;  // null: all of length n - 1
  const std::int64_t* trees = nullptr;    // ranks x items x n: the best trees by their best labels
  std::int64_t* out_heads = nullptr;      // ranks x items x n
  std::int64_t* out_labels = nullptr;     // ranks x items x n
  double* scores = nullptr;               // ranks x items
  std::ptrdiff_t ranks = 1, items = 0, n = 0, labels = 1;
  int real_bytes = 8, threads = 1;
  std::ptrdiff_t length(std::ptrdiff_t item) const { return lengths ? lengths[item] : n - 1; }
};

void label(const Labeling& labeling);

}  // namespace spantree
