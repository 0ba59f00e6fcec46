/// \file Definitions of matmul, pointwise, reduce, the shape ops, top_k, hash_bucket and to_integer.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "baleen/dtype.hpp"
#include "support/reference_expression.hpp"
#include "support/reference_kernels.hpp"

namespace baleen::test {
namespace {

std::size_t dim_of(const Call& call) { return static_cast<std::size_t>(call.op.attributes.integer("dim")); }

/// Sums over all letters at once: the extents of every letter span one big loop.
void matmul(Call& call) {
  const std::string& spec = call.op.attributes.text("spec");
  const auto comma = spec.find(','), arrow = spec.find("->");
  const std::string parts[] = {spec.substr(0, comma), spec.substr(comma + 1, arrow - comma - 1),
                               spec.substr(arrow + 2)};
  std::string letters;
  Shape extents;
  for (int p = 0; p < 2; ++p)
    for (std::size_t d = 0; d < parts[p].size(); ++d)
      if (letters.find(parts[p][d]) == std::string::npos) {
        letters += parts[p][d];
        extents.push_back(call.in(static_cast<std::size_t>(p)).shape[d]);
      }
  std::vector<std::size_t> places[3];
  for (int p = 0; p < 3; ++p)
    for (const char letter : parts[p]) places[p].push_back(letters.find(letter));
  const auto pick = [&](const Coordinate& at, int part) {
    Coordinate c;
    for (const std::size_t place : places[part]) c.push_back(at[place]);
    return c;
  };
  Tensor& y = call.out(0);
  if (call.inputs.size() > 2) y = call.in(2);
  for_each(extents,
           [&](const Coordinate& at) { y.at(pick(at, 2)) += call.in(0).at(pick(at, 0)) * call.in(1).at(pick(at, 1)); });
}

void pointwise(Call& call) {
  const Expression& expression = call.op.attributes.expression("expression");
  const auto& results = call.op.attributes.integers("results");
  std::uint64_t number = 0;
  std::vector<double> inputs;
  for_each(call.out(0).shape, [&](const Coordinate& at) {
    inputs.clear();
    for (const Tensor* input : call.inputs) {
      Coordinate c;
      for (std::size_t d = 0; d < input->shape.size(); ++d) c.push_back(input->shape[d] == 1 ? 0 : at[d]);
      inputs.push_back(input->at(c));
    }
    const auto values = evaluate(expression, inputs, {at, number++, call.seed, call.step});
    for (std::size_t r = 0; r < results.size(); ++r) {
      const double value = values.at(static_cast<std::size_t>(results[r]));
      call.out(r).at(at) = is_floating(call.dtypes[r]) ? value : rounded(value, call.dtypes[r]);
    }
  });
}

void reduce(Call& call) {
  const Tensor& x = call.in(0);
  const bool sum = call.op.attributes.text("kind") == "sum", keep = call.op.attributes.integer_or("keep", 0) != 0;
  const auto& dims = call.op.attributes.integers("dims");
  Tensor& y = call.out(0);
  if (!sum) std::fill(y.data.begin(), y.data.end(), -INFINITY);
  for_each(x.shape, [&](const Coordinate& at) {
    Coordinate c;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const bool gone = std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(d)) != dims.end();
      if (gone && keep) c.push_back(0);
      if (!gone) c.push_back(at[d]);
    }
    y.at(c) = sum ? y.at(c) + x.at(at) : std::max(y.at(c), x.at(at));
  });
}

/// Of the one rank there is; `pick` takes what coordinate 0 does.
void axis_index(Call& call) { call.out(0)[0] = 0; }

void same_elements(Call& call) { call.out(0).data = call.in(0).data; }

void transpose(Call& call) {
  const auto& permutation = call.op.attributes.integers("permutation");
  for_each(call.out(0).shape, [&](const Coordinate& at) {
    Coordinate c(at.size());
    for (std::size_t d = 0; d < at.size(); ++d) c[static_cast<std::size_t>(permutation[d])] = at[d];
    call.out(0).at(at) = call.in(0).at(c);
  });
}

void slice(Call& call) {
  for_each(call.out(0).shape, [&](const Coordinate& at) {
    Coordinate c = at;
    c[dim_of(call)] += call.op.attributes.integer("start");
    call.out(0).at(at) = call.in(0).at(c);
  });
}

void concat(Call& call) {
  std::int64_t start = 0;
  for (const Tensor* input : call.inputs) {
    for_each(input->shape, [&](const Coordinate& at) {
      Coordinate c = at;
      c[dim_of(call)] += start;
      call.out(0).at(c) = input->at(at);
    });
    start += input->shape[dim_of(call)];
  }
}

void pad(Call& call) {
  for_each(call.in(0).shape, [&](const Coordinate& at) {
    Coordinate c = at;
    c[dim_of(call)] += call.op.attributes.integer("before");
    call.out(0).at(c) = call.in(0).at(at);
  });
}

void accumulate(Call& call) {
  for (std::size_t i = 0; i < call.out(0).size(); ++i) call.out(0)[i] = call.in(0)[i] + call.in(1)[i];
}

/// Each element adds up by itself what stands before it, or behind it.
void cumsum(Call& call) {
  const std::size_t dim = dim_of(call);
  const bool reverse = call.op.attributes.integer("reverse") != 0;
  const auto& x = call.in(0);
  for_each(x.shape, [&](const Coordinate& at) {
    double sum = 0;
    Coordinate c = at;
    for (c[dim] = reverse ? x.shape[dim] - 1 : 0; reverse ? c[dim] >= at[dim] : c[dim] <= at[dim];
         c[dim] += reverse ? -1 : 1)
      sum += x.at(c);
    call.out(0).at(at) = sum;
  });
}

void top_k(Call& call) {
  const Tensor& x = call.in(0);
  const auto width = static_cast<std::size_t>(x.shape.back()),
             k = static_cast<std::size_t>(call.op.attributes.integer("k"));
  for (std::size_t row = 0; row < x.size() / width; ++row) {
    std::vector<std::size_t> order(width);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return x[row * width + a] > x[row * width + b]; });
    for (std::size_t i = 0; i < k; ++i) {
      call.out(0)[row * k + i] = x[row * width + order[i]];
      call.out(1)[row * k + i] = static_cast<double>(order[i]);
    }
  }
}

/// SplitMix64's state after seed + 1 steps from the id, mixed; its upper half as a share of the buckets.
void hash_bucket(Call& call) {
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  const auto seed = static_cast<std::uint64_t>(call.op.attributes.integer("seed"));
  const auto buckets = static_cast<double>(call.op.attributes.integer("buckets"));
  for (std::size_t i = 0; i < call.in(0).size(); ++i) {
    std::uint64_t z = static_cast<std::uint64_t>(static_cast<std::int64_t>(call.in(0)[i])) + seed * kStep + kStep;
    z = (z ^ z / (std::uint64_t{1} << 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z / (std::uint64_t{1} << 27)) * 0x94D049BB133111EBu;
    z ^= z / (std::uint64_t{1} << 31);
    const std::uint64_t upper = z / (std::uint64_t{1} << 32);
    call.out(0)[i] = std::floor(std::ldexp(static_cast<double>(upper) * buckets, -32));
  }
}

/// Without a fraction; the ends of the range where a number lies beyond (those of int64 as doubles hold them).
void to_integer(Call& call) {
  const double bits = call.op.attributes.text("dtype") == "int64" ? 63 : 31;
  for (std::size_t i = 0; i < call.in(0).size(); ++i)
    call.out(0)[i] = std::fmin(std::fmax(std::trunc(call.in(0)[i]), -std::exp2(bits)),
                               bits == 31 ? std::exp2(bits) - 1 : std::exp2(bits));
}

}  // namespace

void round_halves(Call& call) {
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    if (is_floating(call.dtypes[i]) && dtype_size(call.dtypes[i]) <= 2)
      for (double& x : call.outputs[i].data) x = rounded(x, call.dtypes[i]);
}

void add_basic_kernels(std::map<std::string, Kernel>& kernels) {
  kernels.insert({{"matmul", matmul},
                  {"pointwise", pointwise},
                  {"reduce", reduce},
                  {"reshape", same_elements},
                  {"copy", same_elements},
                  {"after", same_elements},
                  {"axis_index", axis_index},
                  {"pick", same_elements},
                  {"accumulate_micro", same_elements},
                  {"transpose", transpose},
                  {"slice", slice},
                  {"concat", concat},
                  {"cumsum", cumsum},
                  {"hash_bucket", hash_bucket},
                  {"to_integer", to_integer},
                  {"pad", pad},
                  {"accumulate", accumulate},
                  {"top_k", top_k}});
}

}  // namespace baleen::test
