// The best tree by contraction of cycles (Chu and Liu 1965, Edmonds 1967), in O(N²), exactly.
//
// Follow the best edge into a node, the best edge into its head, and so on. Who reaches the root, or
// a node that hangs from it, is settled. Who comes back to the path has found a cycle: its nodes
// become one component, the score of an edge into it is what taking that edge gains over the edge of
// the cycle that it replaces, and the path goes on from there (Gabow, Galil, Spencer and Tarjan 1986;
// dense graphs: Tarjan 1977). Contracting m components merges m columns, so all contractions together
// take O(N²). At last every component is entered by one edge, from the outermost to the nodes, which
// takes that edge's place in the cycles around its dependent.
//
// One edge from the root. Let the edges of the root be worth less than all others, by more than any
// sum of scores: the best tree then has as few of them as a tree can have. Nothing but comparisons
// and differences of scores is used above, and pairs (rank, score) in lexicographic order have both.
// Ranks are not even stored: a component takes an edge of the root where it has no other, it is then
// settled, and if this happens twice no tree has one edge from the root only.
//
// Exactness. Columns hold doubles, and differences are rounded. Let the edge e have the perturbed
// weight w'(e) of which its stored scores are the *exact* differences: w' differs from w by the
// roundings that this edge's scores have met, at most depth · u · (|score| + reach), where reach bounds
// the sum of |scores| taken away. Two edges into one component stand for two ways to give each of its
// nodes a head, made of themselves and of edges chosen inside, and their stored scores differ by what
// these two differ in w'. So they differ in w by that, up to the perturbations of the edges concerned:
// `drift` sums those of all edges chosen inside. Closer than this bound, the two ways are compared in
// exact arithmetic, see entrances.hpp. (A bound through the scores alone would
// double with every level.)
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "entrances.hpp"

namespace spantree::SPANTREE_ISA {

typedef Node NodePack __attribute__((vector_size(sizeof(Node) * kLanes)));

enum class Found { kTree, kNoTree, kManyRoots, kHuge };

template <class Real>
class Contraction {
 public:
  // `root_last`: the edges of the root rank below all others.
  Contraction(const Graph<Real>& graph, Columns<Real>& columns, Arena& arena, bool root_last)
      : graph_(graph), columns_(columns), arena_(arena), root_last_(root_last),
        least_(columns.scale() == 1.0 ? 0.0 : 0x1p-1074), count_(static_cast<Node>(graph.length)),
        components_(arena.take<Component>(2 * graph.length + 1)),
        entered_(arena.take<Edge>(2 * graph.length + 1)),
        place_(arena.take<Place>(2 * graph.length + 1)), path_(arena.take<Node>(graph.length)),
        outermost_(arena.take<Node>(graph.length + 1)),
        next_node_(arena.take<Node>(graph.length + 1)),
        end_of_chain_(arena.take<Node>(graph.length + 1)),
        entrances_(graph, components_, end_of_chain_) {}

  // Starts from the best edges into the nodes; false if some node has none.
  bool start(const BestEdges& best) {
    for (Node j = 1; j <= count_; ++j) {
      const bool root = best.score[j] == kForbidden ||
                        (!root_last_ && best.from_root[j] >= best.score[j]);
      const double score = root ? best.from_root[j] : best.score[j];
      if (score == kForbidden) return false;
      const Node head = root ? 0 : static_cast<Node>(best.head[j]);
      roots_ += root;
      components_[j] = {};
      components_[j].in = {head, j};
      components_[j].score = score * columns_.scale();
      components_[j].first_node = components_[j].last_node = j;
      components_[j].chain = end_of_chain_[j] = j;
      components_[j].size = 1;
      place_[j] = Place::kElsewhere;
      outermost_[j] = j;
    }
    return true;
  }

  // Looks for the best edge into a component, or a node whose column was replaced; false if none.
  bool choose(Node c) {
    Component& x = components_[c];
    const double* column = x.column ? x.column : columns_[c];
    Pack top = load(column);
    if (root_last_) top[0] = kForbidden;
    for (Index p = 1; p < columns_.packs; ++p) top = maximum(top, load(column + p * kLanes));
    double score = top[0];
    for (int lane = 1; lane < kLanes; ++lane) score = std::max(score, top[lane]);
    Node head = -1;
    if (score > kForbidden) {
      const double least = score - (margin(x) + slope(x) * std::fabs(score));
      for (Index p = 0; p < columns_.packs; ++p) {
        if (!any(load(column + p * kLanes) >= least)) continue;
        for (Index i = p * kLanes; i < (p + 1) * kLanes; ++i)
          if (column[i] >= least && (i > 0 || !root_last_)) {
            const Node other = static_cast<Node>(i);
            if (head < 0 || entrances_.precedes(edge_into(c, other), edge_into(c, head))) head = other;
          }
      }
    } else if (column[0] > kForbidden) {
      head = 0;
    }
    if (head < 0) return false;
    x.in = edge_into(c, head);
    x.score = column[head];
    return true;
  }

  // Contracts until every node hangs from the root, by at most so many edges.
  Found run(Index most_roots) {
    // Whoever has no better head than the root will not be drawn into a cycle.
    if (roots_ > most_roots) return Found::kManyRoots;
    Index roots = 0;
    for (Node start = 1; start <= graph_.length; ++start) {
      Index depth = 0;
      for (Node c = outermost_[start]; place_[c] != Place::kSettled;) {
        path_[depth++] = c;
        place_[c] = Place::kOnPath;
        Node next = head_of(c);
        if (next == 0) {
          if (++roots > most_roots) return Found::kManyRoots;
          break;
        }
        if (place_[next] == Place::kOnPath) {
          const Index end = depth;
          while (path_[--depth] != next) {}
          next = contract(path_ + depth, end - depth);
          if (columns_.found_huge() && columns_.scale() == 1.0) return Found::kHuge;
          if (!choose(next)) return Found::kNoTree;
        }
        c = next;
      }
      while (depth > 0) place_[path_[--depth]] = Place::kSettled;
    }
    enter();
    return Found::kTree;
  }

  // After `run`: the edge by which the best tree enters a component.
  Edge entered(Node c) const { return entered_[c]; }
  const Component& component(Node c) const { return components_[c]; }
  Node count() const { return count_; }
  Node outermost(Node node) const { return outermost_[node]; }

  // Bounds what stored scores can be off, all perturbations of chosen edges together.
  double drift() const {
    double sum = 0;
    for (Node c = 1; c <= count_; ++c)
      if (components_[c].parent == 0) sum += components_[c].drift + perturbation(components_[c]);
    return sum;
  }
  double least() const { return least_; }

  // What changes in a tree that enters c by c's own best edge, if it enters by another.
  const std::vector<Difference>& exchange(Node c, Edge edge) { return entrances_.exchange(c, edge); }

 private:
  enum class Place : std::int8_t { kElsewhere, kOnPath, kSettled };

  // Twice the rounding of a double: the second half pays for what the bounds themselves round.
  static constexpr double kUnit = 0x1p-52;

  // The bound on the error of a difference of two scores a, b in a column is
  // margin + slope · min(|a|, |b|): where they are close one magnitude does for both.
  double margin(const Component& x) const {
    return 2 * (x.drift + kUnit * x.depth * x.reach + least_);
  }
  double slope(const Component& x) const { return 2 * kUnit * x.depth; }
  double perturbation(const Component& x) const {
    return kUnit * x.depth * (std::fabs(x.score) + x.reach) + least_;
  }

  Node head_of(Node c) const {
    const Node head = components_[c].in.head;
    return head ? outermost_[head] : 0;
  }
  Edge edge_into(Node c, Node head) const {
    const Component& x = components_[c];
    return {head, x.dependent ? x.dependent[head] : c};
  }

  // Makes one component of a cycle; its best edge is still to be chosen.
  Node contract(const Node* members, Index count) {
    const Node c = ++count_;
    Component& x = components_[c];
    x = {};
    place_[c] = Place::kElsewhere;
    Index largest = 0;
    for (Index m = 0; m < count; ++m) {
      Component& member = components_[members[m]];
      member.parent = c;
      member.next_member = std::exchange(x.first_member, members[m]);
      if (m == 0) x.first_node = member.first_node;
      else next_node_[x.last_node] = member.first_node;
      x.last_node = member.last_node;
      x.drift += member.drift + perturbation(member);
      x.reach = std::max(x.reach, member.reach + std::fabs(member.score));
      x.depth = std::max(x.depth, member.depth + 1);
      x.size += member.size;
      if (member.size > components_[members[largest]].size) largest = m;
    }
    x.largest = members[largest];
    x.chain = components_[x.largest].chain;
    end_of_chain_[x.chain] = c;
    // In place of the column of a component, or in a new one where all are nodes.
    const Component& base = components_[x.largest];
    const Index size = columns_.packs * kLanes;
    x.column = base.column ? base.column : arena_.take<double>(size);
    x.dependent = base.dependent ? base.dependent : arena_.take<Node>(size);
    const double* from = base.column ? base.column : columns_[x.largest];
    if (!base.dependent) std::fill_n(x.dependent, size, x.largest);
    double taken = base.score;
    for (Index m = 0; m < count; ++m)
      if (m != largest) {
        merge(x, from, taken, members[m]);
        from = x.column, taken = 0;
      }
    for (Node j = x.first_node;; j = next_node_[j]) {
      x.column[j] = kForbidden;
      outermost_[j] = c;
      if (j == x.last_node) break;
    }
    return c;
  }

  // Keeps, for every head, the better of its edges into x so far, less `taken`, and into `member`.
  void merge(Component& x, const double* scores, double taken, Node member) {
    const Component& other = components_[member];
    const double* others = other.column ? other.column : columns_[member];
    const double margin = this->margin(x), slope = this->slope(x);
    for (Index at = 0; at < columns_.packs * kLanes; at += kLanes) {
      const Pack a = load(scores + at) - taken, b = load(others + at) - other.score;
      const Pack difference = b - a;  // NaN if neither edge exists
      Mask better = difference > 0.0;
      const Mask close = absolute(difference) <= margin + slope * minimum(absolute(a), absolute(b));
      if (any(close)) [[unlikely]]
        for (Index i = at; i < at + kLanes; ++i)
          if (close[i - at]) {
            const Node head = static_cast<Node>(i);
            const Edge rival{head, x.dependent[i]};
            better[i - at] = -entrances_.precedes_across(member, edge_into(member, head),
                                              outermost_[rival.dependent], rival);
          }
      NodePack here, there = NodePack{} + member;
      std::memcpy(&here, x.dependent + at, sizeof here);
      if (other.dependent) std::memcpy(&there, other.dependent + at, sizeof there);
      const NodePack chosen = __builtin_convertvector(better, NodePack) ? there : here;
      std::memcpy(x.dependent + at, &chosen, sizeof chosen);
      store(x.column + at, select(better, b, a));
    }
  }
  SPANTREE_INLINE static Pack minimum(Pack a, Pack b) { return a < b ? a : b; }

  // Enters every component: from the outermost inwards an edge goes the whole way to its dependent.
  void enter() {
    std::fill_n(entered_, count_ + 1, Edge{-1, -1});
    for (Node c = count_; c > 0; --c) {
      if (entered_[c].head >= 0) continue;
      const Edge edge = entered_[c] = components_[c].in;
      for (Node x = edge.dependent; x != c; x = components_[x].parent) entered_[x] = edge;
    }
  }

  const Graph<Real>& graph_;
  Columns<Real>& columns_;
  Arena& arena_;
  const bool root_last_;
  const double least_;  // what scaling may have rounded away
  Node count_;          // of components so far
  Index roots_ = 0;     // nodes that start below the root
  Component* const components_;
  Edge* const entered_;
  Place* const place_;
  Node* const path_;
  Node* const outermost_;  // of every node, the component around it
  Node* const next_node_;  // of the same component
  Node* const end_of_chain_;  // the outermost component that has it for its chain
  Entrances<Real> entrances_;
};

}  // namespace spantree::SPANTREE_ISA
