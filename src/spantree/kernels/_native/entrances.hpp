// Which of two ways to enter a component comes first, in the order of trees and in exact arithmetic.
//
// Order. Of two trees the one of greater score comes first, and of equal scores the one whose heads,
// read from node 1 on, are smaller at the first difference. This is again an order of sums: the
// score, then minus Σ_j head_j ε^j for an infinitesimal ε. In it no two trees are equal, so the result
// is a function of the graph, whatever the sequence of contractions.
//
// Ways into a component are compared as the trees are that take them and agree elsewhere: the nodes
// whose heads differ are listed, and the scores of their edges summed exactly.
#pragma once

#include <utility>
#include <vector>

#include "exact_sum.hpp"
#include "graph.hpp"

namespace spantree::SPANTREE_ISA {

struct Edge {
  Node head, dependent;
  bool operator==(const Edge&) const = default;
};

// A node, or a contracted cycle of components.
struct Component {
  Edge in;       // the best edge into it
  double score;  // and its score; stored scores differ from weights by what was taken away inside
  double drift, reach, depth;  // how far scores may be off: see contraction.hpp
  Node parent;                 // 0 if outermost
  Node first_member, next_member;
  Node largest;  // of its members
  Node chain;    // the node in the largest member of the largest member and so on
  Node size;     // how many nodes
  Node first_node, last_node;
  double* column;  // by head: the score of the best edge from there. Null for a node
  Node* dependent;  // by head: where that edge enters
};

// A node that has different heads in two trees, or in two ways to enter a component.
struct Difference {
  Node dependent, first, second;
};

// Compares entrances of the components of one contraction, which may grow meanwhile.
template <class Real>
class Entrances {
 public:
  // `components` by number, parents after their members. `end_of_chain` of a node: the outermost
  // component that has it for its chain.
  Entrances(const Graph<Real>& graph, const Component* components, const Node* end_of_chain)
      : graph_(graph), components_(components), end_of_chain_(end_of_chain) {}

  // What changes in a tree that enters c by c's own best edge, if it enters by another.
  const std::vector<Difference>& exchange(Node c, Edge edge) {
    detours_.assign(1, {c, edge, true});
    find_differences();
    return differences_;
  }

  // Whether entering a component by s comes before entering it by t, in the order of trees.
  bool precedes(Edge s, Edge t) {
    if (s.dependent == t.dependent) {
      const double a = graph_.weight(s.head, s.dependent), b = graph_.weight(t.head, t.dependent);
      return a != b ? a > b : s.head < t.head;
    }
    const auto [a, b] = members_apart(s.dependent, t.dependent);
    return precedes_across(a, s, b, t);
  }

  // The same where s leads into a member a of a cycle and t into another, b. Each way leaves the
  // other member to its own edge.
  bool precedes_across(Node a, Edge s, Node b, Edge t) {
    detours_.assign({{a, s, true}, {b, t, false}});
    find_differences();
    terms_.clear();
    const Difference* first = differences_.data();
    for (const Difference& d : differences_) {
      terms_.push_back(graph_.weight(d.first, d.dependent));
      terms_.push_back(-graph_.weight(d.second, d.dependent));
      if (d.dependent < first->dependent) first = &d;
    }
    const int sign = sign_of_sum(terms_.data(), static_cast<Index>(terms_.size()));
    return sign ? sign > 0 : first->first < first->second;
  }

 private:
  // A component that one of two ways, the first or the second, enters by `edge` and the other by the
  // component's own edge.
  struct Detour {
    Node component;
    Edge edge;
    bool of_first;
  };

  // Lists the nodes whose heads differ, following each detour on the way of its edge inwards; what
  // lies beside this way is a detour of the other.
  void find_differences() {
    differences_.clear();
    while (!detours_.empty()) {
      const auto [component, edge, of_first] = detours_.back();
      detours_.pop_back();
      for (Node c = component;;) {
        const Edge own = components_[c].in;
        if (own.dependent == edge.dependent) {
          const Node heads[] = {own.head, edge.head};
          if (own.head != edge.head)
            differences_.push_back({edge.dependent, heads[of_first], heads[!of_first]});
          break;
        }
        const auto [inside, beside] = members_apart(edge.dependent, own.dependent);
        detours_.push_back({beside, own, !of_first});
        c = inside;
      }
    }
  }

  // The two members of one component that hold one of these nodes each. The largest member of a
  // component continues its chain, so that log2(N) chains lead from a node to the outside.
  std::pair<Node, Node> members_apart(Node a, Node b) const {
    Node inside_a = 0, inside_b = 0;
    while (components_[a].chain != components_[b].chain) {
      const Node end_a = end_of_chain_[components_[a].chain];
      const Node end_b = end_of_chain_[components_[b].chain];
      const Node above_a = components_[end_a].parent, above_b = components_[end_b].parent;
      // Parents have greater numbers than their members: the lower one cannot be above the other.
      if (above_a && (!above_b || above_a < above_b)) a = above_a, inside_a = end_a;
      else b = above_b, inside_b = end_b;
    }
    if (a < b) inside_a = components_[b].largest;
    if (b < a) inside_b = components_[a].largest;
    return {inside_a, inside_b};
  }

  const Graph<Real>& graph_;
  const Component* const components_;
  const Node* const end_of_chain_;
  std::vector<double> terms_;
  std::vector<Detour> detours_;
  std::vector<Difference> differences_;
};

}  // namespace spantree::SPANTREE_ISA
