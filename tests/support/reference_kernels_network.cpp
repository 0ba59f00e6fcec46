/// \file Definitions of softmax, norm, embedding and the losses, with their gradients by explicit Jacobians.
#include <algorithm>
#include <cmath>

#include "support/reference_kernels.hpp"

namespace baleen::test {
namespace {

/// Rows of the last dimension.
struct Rows {
  std::size_t count, width;
  explicit Rows(const Tensor& x) : count(0), width(static_cast<std::size_t>(x.shape.back())) {
    if (width) count = x.size() / width;
  }
};

void softmax(Call& call) {
  const Tensor& x = call.in(0);
  const Rows rows(x);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const double* row = x.data.data() + r * rows.width;
    const double largest = *std::max_element(row, row + rows.width);
    double sum = 0;
    for (std::size_t i = 0; i < rows.width; ++i) sum += std::exp(row[i] - largest);
    for (std::size_t i = 0; i < rows.width; ++i) call.out(0)[r * rows.width + i] = std::exp(row[i] - largest) / sum;
  }
}

/// dx_i = sum_j dy_j y_j ([i = j] - y_i).
void softmax_grad(Call& call) {
  const Tensor &y = call.in(0), &dy = call.in(1);
  const Rows rows(y);
  for (std::size_t r = 0; r < rows.count; ++r)
    for (std::size_t i = 0; i < rows.width; ++i)
      for (std::size_t j = 0; j < rows.width; ++j)
        call.out(0)[r * rows.width + i] +=
            dy[r * rows.width + j] * y[r * rows.width + j] * ((i == j) - y[r * rows.width + i]);
}

void norm(Call& call) {
  const Tensor& x = call.in(0);
  const Rows rows(x);
  const bool layer = call.op.attributes.text("kind") == "layer";
  const auto width = static_cast<double>(rows.width);
  for (std::size_t r = 0; r < rows.count; ++r) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; layer && i < rows.width; ++i) mean += x[r * rows.width + i] / width;
    for (std::size_t i = 0; i < rows.width; ++i) square += std::pow(x[r * rows.width + i] - mean, 2) / width;
    const double rstd = 1 / std::sqrt(square + call.op.attributes.number("epsilon"));
    for (std::size_t i = 0; i < rows.width; ++i)
      call.out(0)[r * rows.width + i] =
          (x[r * rows.width + i] - mean) * rstd * call.in(1)[i] + (call.inputs.size() > 2 ? call.in(2)[i] : 0);
    call.out(1)[r] = rstd;
    if (layer) call.out(2)[r] = mean;
  }
}

/// By the Jacobian of n = (x - mean) rstd: dn_j/dx_i = rstd ([i = j] - [layer]/D) - rstd^3 (x_i - mean)(x_j - mean)/D.
void norm_grad(Call& call) {
  const Tensor &x = call.in(0), &gamma = call.in(1), &dy = call.in(2), &rstd = call.in(3);
  const Rows rows(x);
  const bool layer = call.op.attributes.text("kind") == "layer";
  const auto width = static_cast<double>(rows.width);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const double mean = layer ? call.in(4)[r] : 0;
    for (std::size_t j = 0; j < rows.width; ++j) {
      const std::size_t at = r * rows.width + j;
      const double centred = x[at] - mean;
      for (std::size_t i = 0; i < rows.width; ++i) {
        const double other = x[r * rows.width + i] - mean;
        const double slope =
            rstd[r] * ((i == j) - (layer ? 1 / width : 0)) - std::pow(rstd[r], 3) * other * centred / width;
        call.out(0)[r * rows.width + i] += dy[at] * gamma[j] * slope;
      }
      call.out(1)[j] += dy[at] * centred * rstd[r];
      if (call.outputs.size() > 2) call.out(2)[j] += dy[at];
    }
  }
}

std::size_t checked(double id, std::size_t rows) {
  if (id < 0 || id >= static_cast<double>(rows))
    throw std::runtime_error("id " + std::to_string(static_cast<long>(id)) + " is outside [0, " + std::to_string(rows) +
                             ")");
  return static_cast<std::size_t>(id);
}

void embedding(Call& call) {
  const Tensor &table = call.in(0), &ids = call.in(1);
  const auto rows = static_cast<std::size_t>(table.shape[0]), width = table.size() / rows;
  for (std::size_t n = 0; n < ids.size(); ++n)
    for (std::size_t i = 0; i < width; ++i) call.out(0)[n * width + i] = table[checked(ids[n], rows) * width + i];
}

void embedding_grad(Call& call) {
  const Tensor &ids = call.in(0), &dy = call.in(1);
  const auto rows = static_cast<std::size_t>(call.op.attributes.integer("rows")), width = call.out(0).size() / rows;
  for (std::size_t n = 0; n < ids.size(); ++n)
    for (std::size_t i = 0; i < width; ++i) call.out(0)[checked(ids[n], rows) * width + i] += dy[n * width + i];
}

double log_sum_exp(const double* x, std::size_t width) {
  const double largest = *std::max_element(x, x + width);
  double sum = 0;
  for (std::size_t v = 0; v < width; ++v) sum += std::exp(x[v] - largest);
  return largest + std::log(sum);
}

/// One row's loss; `slope` receives d(loss)/d(logit).
struct RowLoss {
  double loss = 0;
  std::vector<double> slope;
};

RowLoss row_loss(const Attributes& attributes, const double* x, std::size_t width, double target, double lse) {
  RowLoss result;
  result.slope.assign(width, 0);
  const double smoothing = attributes.has("smoothing") ? attributes.number("smoothing") : 0;
  if (attributes.has("ignore_index") && target == static_cast<double>(attributes.integer("ignore_index")))
    return result;
  const std::size_t hit = checked(target, width);
  for (std::size_t v = 0; v < width; ++v) {
    const double weight = (v == hit ? 1 - smoothing : 0) + smoothing / static_cast<double>(width);
    result.loss -= weight * (x[v] - lse);
    result.slope[v] = std::exp(x[v] - lse) - weight;
  }
  return result;
}

void cross_entropy(Call& call) {
  const Rows rows(call.in(0));
  for (std::size_t r = 0; r < rows.count; ++r) {
    const double* x = call.in(0).data.data() + r * rows.width;
    call.out(1)[r] = log_sum_exp(x, rows.width);
    call.out(0)[r] = row_loss(call.op.attributes, x, rows.width, call.in(1)[r], call.out(1)[r]).loss;
  }
}

void cross_entropy_grad(Call& call) {
  const Rows rows(call.in(0));
  for (std::size_t r = 0; r < rows.count; ++r) {
    const double* x = call.in(0).data.data() + r * rows.width;
    const RowLoss row = row_loss(call.op.attributes, x, rows.width, call.in(1)[r], call.in(2)[r]);
    for (std::size_t v = 0; v < rows.width; ++v) call.out(0)[r * rows.width + v] = call.in(3)[r] * row.slope[v];
  }
}

/// The weight w[d, v], which `transposed` stores as [v, d].
struct Projection {
  const Tensor& w;
  bool transposed;
  std::size_t depth, width;

  explicit Projection(const Call& call)
      : w(call.in(1)),
        transposed(call.op.attributes.integer_or("transposed", 0) != 0),
        depth(static_cast<std::size_t>(w.shape[transposed ? 1 : 0])),
        width(static_cast<std::size_t>(w.shape[transposed ? 0 : 1])) {}

  std::size_t at(std::size_t d, std::size_t v) const { return transposed ? v * depth + d : d * width + v; }

  std::vector<double> logits(const double* x) const {
    std::vector<double> result(width, 0);
    for (std::size_t v = 0; v < width; ++v)
      for (std::size_t d = 0; d < depth; ++d) result[v] += x[d] * w[at(d, v)];
    return result;
  }
};

void linear_cross_entropy(Call& call) {
  const Rows rows(call.in(0));
  const Projection projection(call);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const auto logits = projection.logits(call.in(0).data.data() + r * rows.width);
    call.out(1)[r] = log_sum_exp(logits.data(), logits.size());
    call.out(0)[r] = row_loss(call.op.attributes, logits.data(), logits.size(), call.in(2)[r], call.out(1)[r]).loss;
  }
}

void linear_cross_entropy_grad(Call& call) {
  const Rows rows(call.in(0));
  const Projection p(call);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const double* x = call.in(0).data.data() + r * rows.width;
    const auto logits = p.logits(x);
    const RowLoss row = row_loss(call.op.attributes, logits.data(), logits.size(), call.in(2)[r], call.in(3)[r]);
    for (std::size_t v = 0; v < p.width; ++v)
      for (std::size_t d = 0; d < p.depth; ++d) {
        const double slope = call.in(4)[r] * row.slope[v];
        call.out(0)[r * rows.width + d] += slope * p.w[p.at(d, v)];
        call.out(1)[p.at(d, v)] += slope * x[d];
      }
  }
}

void linear_cross_entropy_and_grad(Call& call) {
  const Rows rows(call.in(0));
  const Projection p(call);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const double* x = call.in(0).data.data() + r * rows.width;
    const auto logits = p.logits(x);
    call.out(1)[r] = log_sum_exp(logits.data(), logits.size());
    const RowLoss row = row_loss(call.op.attributes, logits.data(), logits.size(), call.in(2)[r], call.out(1)[r]);
    call.out(0)[r] = row.loss;
    for (std::size_t v = 0; v < p.width; ++v)
      for (std::size_t d = 0; d < p.depth; ++d) {
        const double slope = call.in(3)[r] * row.slope[v];
        call.out(2)[r * rows.width + d] += slope * p.w[p.at(d, v)];
        call.out(3)[p.at(d, v)] += slope * x[d];
      }
  }
}

}  // namespace

void add_network_kernels(std::map<std::string, Kernel>& kernels) {
  kernels.insert({{"softmax", softmax},
                  {"softmax_grad", softmax_grad},
                  {"norm", norm},
                  {"norm_grad", norm_grad},
                  {"embedding", embedding},
                  {"embedding_grad", embedding_grad},
                  {"cross_entropy", cross_entropy},
                  {"cross_entropy_grad", cross_entropy_grad},
                  {"linear_cross_entropy", linear_cross_entropy},
                  {"linear_cross_entropy_grad", linear_cross_entropy_grad},
                  {"linear_cross_entropy_and_grad", linear_cross_entropy_and_grad}});
}

}  // namespace baleen::test
