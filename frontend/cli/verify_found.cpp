#include "frontend/cli/verify_found.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace baleen::app {

std::string short_text(double number, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

bool Found::see(double difference, double limit, const std::string& place) {
  const double of_limit = std::isnan(difference) ? INFINITY
                          : limit > 0            ? difference / limit
                          : difference > 0       ? INFINITY
                                                 : 0;
  const bool first = of_limit > 1 && !first_;
  if (first) first_ = place + " (" + short_text(difference) + ", " + short_text(limit) + " allowed)";
  if (of_limit <= share_) return first;
  share_ = of_limit;
  worst_ = difference;
  at_ = place;
  return first;
}

std::string Found::line() const {
  return "largest difference of " + what_ + ": " + short_text(worst_) + ", " +
         short_text(std::max(share_, 0.0), "%.2g") + " of what is allowed" + (at_.empty() ? "" : ", at " + at_) + "\n";
}

Away::Away(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    distance += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
    if (!(std::abs(a[i] - b[i]) <= std::abs(a[at] - b[at]))) at = i;
  }
  distance = std::sqrt(distance);
  norm = std::sqrt(norm);
}

std::string axes_of_size(const Mesh& mesh, double size) {
  std::vector<std::pair<std::string, double>> sizes;
  double all = 1;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size > 1) sizes.emplace_back("`" + axis.name + "`", static_cast<double>(axis.size));
    all *= static_cast<double>(axis.size);
  }
  if (sizes.size() > 1) sizes.emplace_back("all axes", all);
  std::string names;
  for (const auto& [axes, of_axes] : sizes)
    if (std::abs(size - of_axes) < 1e-3 * of_axes) names += (names.empty() ? "" : " or ") + axes;
  return names;
}

double largest_alike(std::vector<double> numbers) {
  constexpr double kOfMedian = 4;  // times the median are nearly always more than the largest of a few
  if (numbers.empty()) return 0;
  std::ranges::sort(numbers);
  const double bound = kOfMedian * numbers[(numbers.size() - 1) / 2];
  while (numbers.back() > bound) numbers.pop_back();
  return numbers.back();
}

std::string noted(const std::string& what, const std::set<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "`" : ", `") + name + "`";
  return all.empty() ? "" : what + all + "\n";
}

Sketch change(const Sketch& from, const Sketch& to) {
  Sketch change;
  for (std::size_t s = 0; s < to.sums.size(); ++s) change.sums[s] = to.sums[s] - from.sums[s];
  const double norm = distance(from, to);
  change.squares = norm * norm;
  return change;
}

double factor_of(const Sketch& many, const Sketch& one) {
  double product = 0, square = 0;
  for (std::size_t s = 0; s < one.sums.size(); ++s) {
    product += many.sums[s] * one.sums[s];
    square += one.sums[s] * one.sums[s];
  }
  return square > 0 ? product / square : 0;
}

bool near(const Sketch& many, const Sketch& one, double factor) {
  Sketch scaled = one;
  for (double& sum : scaled.sums) sum *= factor;
  return one.norm() > 0 && distance(many, scaled) <= 1e-3 * std::abs(factor) * one.norm();
}

}  // namespace baleen::app
