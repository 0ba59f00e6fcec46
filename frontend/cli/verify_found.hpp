/// \file Numbers and tensors of two runs against their limits, for the judgement of `baleen verify`.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/cli/verify_record.hpp"

namespace baleen::app {

/// By so much of itself a tensor of fp64 may differ.
inline constexpr double kExact = 1e-8;
/// What roundings of all steps may add up to, of the difference that one more at the beginning makes.
inline constexpr double kRoundings = 32;
/// How many times as far from the reference that rounds as the farthest of those that round what goes back at random.
inline constexpr double kDraws = 2;
/// How a tensor of each list is called.
inline constexpr std::array<const char*, Record::kLists> kWhat{"the gradient of", "parameter", "state"};

/// The same in a list of the largest differences.
inline constexpr std::array<const char*, Record::kLists> kTitles{
    "gradients (of their norms)", "parameters (of their norms)", "optimizer states (of their norms)"};

/// How far two numbers are apart, as a share of `b`.
inline double relative(double a, double b) { return a == b ? 0 : std::abs(a - b) / std::max(std::abs(b), 1e-300); }

std::string short_text(double number, const char* format = "%.3g");

/// Of numbers drawn alike, without those that are far beyond most (a choice is made otherwise there); 0: of none.
double largest_alike(std::vector<double> numbers);

/// `what`, the names in backquotes and a line's end; nothing without names.
std::string noted(const std::string& what, const std::set<std::string>& names);

/// What was found of one kind of number, against its limits.
class Found {
 public:
  explicit Found(std::string what) : what_(std::move(what)) {}

  /// `place`: "the loss of step 3". What is no number is too much. True for the first that is too large.
  bool see(double difference, double limit, const std::string& place);
  const std::optional<std::string>& first() const { return first_; }
  std::string line() const;

 private:
  std::string what_, at_;
  double worst_ = 0, share_ = -1;  ///< share: of the limit
  std::optional<std::string> first_;
};

/// How far numbers are from others, as many.
struct Away {
  Away(const std::vector<double>& a, const std::vector<double>& b);
  /// `what` is what they are of.
  std::string place(const std::string& what) const {
    return what + " at the end, most at element " + std::to_string(at);
  }

  double distance = 0, norm = 0;  ///< norm: of `b`
  std::size_t at = 0;             ///< where they are farthest apart
};

/// Axes of the mesh of that size, or all together: "`data` or `tensor`"; empty: none is.
std::string axes_of_size(const Mesh& mesh, double size);

/// What leads from the one to the other.
Sketch change(const Sketch& from, const Sketch& to);
/// The number by which the one is most nearly the other.
double factor_of(const Sketch& many, const Sketch& one);
/// Whether the one is `factor` times the other.
bool near(const Sketch& many, const Sketch& one, double factor);

}  // namespace baleen::app
