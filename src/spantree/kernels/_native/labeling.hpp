// The best labelled trees of one graph, out of its best trees.
//
// The best labels of every edge make a plain graph, whose trees are ranked already. A labelled tree
// among the best k has one of the best k trees under it: each tree before it comes, with its best
// labels, before it too. So the lists of labelled trees of these trees are merged, each begun when
// the one before has given its first.
//
// The labellings of one tree in order: let the nodes be sorted by what their second best label
// loses. From a labelling whose last changed node is the p-th come those where this node takes its
// next label, where node p+1 takes its second, and, if p has its second, where p takes its first
// again and p+1 its second. Each labelling comes from one other, which is before it.
//
// The order is by score, then by heads, then by labels, at the first difference from node 1 on. As in
// contraction.hpp it is an order of sums in which no two are equal, and all sums are exact.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "decoding.hpp"
#include "exact_sum.hpp"

namespace spantree {

template <class Real>
class LabeledRanking {
 public:
  LabeledRanking(const Labeling& job, std::ptrdiff_t item)
      : job_(job), item_(item), size_(job.length(item) + 1),
        weights_(static_cast<const Real*>(job.log_weights) +
                 item * job.n * job.n * job.labels) {}

  void run() {
    begin_tree(0);
    for (Index rank = 0; rank < job_.ranks; ++rank) {
      if (table_.empty()) {
        write(rank, nullptr, nullptr, -std::numeric_limits<double>::infinity());
        continue;
      }
      std::pop_heap(table_.begin(), table_.end(), Worse{*this});
      const State best = table_.back();
      table_.pop_back();
      write(rank, heads(best.tree), labels(best.labeling), best.score);
      if (best.position < 0) begin_tree(best.tree + 1);
      expand(best);
    }
  }

 private:
  using Index = std::ptrdiff_t;
  using Label = std::int32_t;

  struct State {
    Index tree, labeling;
    Index position;  // of the last changed node in the order of its tree; -1: none
    double score;    // rounded once
  };
  struct Worse {
    LabeledRanking& ranking;
    bool operator()(const State& a, const State& b) const { return ranking.precedes(b, a); }
  };

  const std::int64_t* heads(Index tree) const {
    return job_.trees + (tree * job_.items + item_) * job_.n;
  }
  Label* labels(Index labeling) { return labels_.data() + labeling * size_; }
  const Real* row(Index tree, Index node) const {
    return weights_ + (heads(tree)[node] * job_.n + node) * job_.labels;
  }
  double weight(const State& s, Index node) {
    return static_cast<double>(row(s.tree, node)[labels(s.labeling)[node]]);
  }

  // The label that comes after `label` on an edge, -1 if none; after -1 comes the best.
  Label next_label(Index tree, Index node, Label label) const {
    const Real* w = row(tree, node);
    Label found = -1;
    for (Label y = 0; y < job_.labels; ++y) {
      if (!(w[y] > -std::numeric_limits<Real>::infinity())) continue;
      if (label >= 0 && !(w[y] < w[label] || (w[y] == w[label] && y > label))) continue;
      if (found < 0 || w[y] > w[found]) found = y;
    }
    return found;
  }

  Index new_labeling() {
    labels_.resize(labels_.size() + size_, -1);
    return static_cast<Index>(labels_.size()) / size_ - 1;
  }

  void push(State state) {
    terms_.clear();
    for (Index j = 1; j < size_; ++j) terms_.push_back(weight(state, j));
    state.score = rounded_sum(terms_.data(), size_ - 1);
    table_.push_back(state);
    std::push_heap(table_.begin(), table_.end(), Worse{*this});
  }

  void begin_tree(Index tree) {
    if (tree == job_.ranks || heads(tree)[1] < 0) return;
    const Index labeling = new_labeling();
    for (Index j = 1; j < size_; ++j) labels(labeling)[j] = next_label(tree, j, -1);
    orders_.emplace_back();
    push({tree, labeling, -1, 0});
  }

  // The nodes with a choice of labels, those first where the second label costs least.
  const std::vector<Index>& order_of(Index tree, Index first_labeling) {
    std::vector<Index>& order = orders_[tree];
    second_.assign(size_, -1);
    for (Index j = 1; j < size_; ++j) {
      second_[j] = next_label(tree, j, labels(first_labeling)[j]);
      if (second_[j] >= 0) order.push_back(j);
    }
    const Label* first = labels(first_labeling);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      if (a == b) return false;
      const double terms[] = {static_cast<double>(row(tree, b)[first[b]]),
                              -static_cast<double>(row(tree, b)[second_[b]]),
                              -static_cast<double>(row(tree, a)[first[a]]),
                              static_cast<double>(row(tree, a)[second_[a]])};
      const int sign = sign_of_sum(terms, 4);
      if (sign) return sign > 0;
      return a < b ? second_[a] < first[a] : second_[b] > first[b];
    });
    return order;
  }

  void expand(const State& s) {
    if (s.position < 0) order_of(s.tree, s.labeling);
    const std::vector<Index>& order = orders_[s.tree];
    const auto change = [&](Index position, bool restore) {
      const Index labeling = new_labeling();
      std::copy_n(labels(s.labeling), size_, labels(labeling));
      Label& label = labels(labeling)[order[position]];
      label = next_label(s.tree, order[position], label);
      if (label < 0) return labels_.resize(labels_.size() - size_);
      if (restore) {
        const Index before = order[position - 1];
        labels(labeling)[before] = next_label(s.tree, before, -1);
      }
      push({s.tree, labeling, position, 0});
    };
    const Index next = s.position + 1;
    if (s.position >= 0) change(s.position, false);
    if (next == static_cast<Index>(order.size())) return;
    change(next, false);
    if (s.position < 0) return;
    const Index node = order[s.position];
    const Label best = next_label(s.tree, node, -1);
    if (labels(s.labeling)[node] == next_label(s.tree, node, best)) change(next, true);
  }

  bool precedes(const State& a, const State& b) {
    if (a.score != b.score) return a.score > b.score;
    terms_.clear();
    Index head_difference = 0, label_difference = 0;
    for (Index j = size_ - 1; j > 0; --j) {
      const bool heads_differ = heads(a.tree)[j] != heads(b.tree)[j];
      const bool labels_differ = labels(a.labeling)[j] != labels(b.labeling)[j];
      if (heads_differ) head_difference = j;
      if (labels_differ) label_difference = j;
      if (heads_differ || labels_differ)
        terms_.push_back(weight(a, j)), terms_.push_back(-weight(b, j));
    }
    const int sign = sign_of_sum(terms_.data(), static_cast<Index>(terms_.size()));
    if (sign) return sign > 0;
    if (head_difference)
      return heads(a.tree)[head_difference] < heads(b.tree)[head_difference];
    return labels(a.labeling)[label_difference] < labels(b.labeling)[label_difference];
  }

  void write(Index rank, const std::int64_t* heads, const Label* labels, double score) {
    const Index place = rank * job_.items + item_;
    std::int64_t* to_heads = job_.out_heads + place * job_.n;
    std::int64_t* to_labels = job_.out_labels + place * job_.n;
    std::fill_n(to_heads, job_.n, -1);
    std::fill_n(to_labels, job_.n, -1);
    if (heads) std::copy_n(heads + 1, size_ - 1, to_heads + 1);
    if (labels) std::copy_n(labels + 1, size_ - 1, to_labels + 1);
    job_.scores[place] = score;
  }

  const Labeling& job_;
  const Index item_, size_;
  const Real* const weights_;
  std::vector<Label> labels_;               // of all labellings on the table, size_ each
  std::vector<State> table_;
  std::vector<std::vector<Index>> orders_;  // of every tree begun
  std::vector<Label> second_;
  std::vector<double> terms_;
};

}  // namespace spantree
