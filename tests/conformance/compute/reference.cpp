/// \file The plain implementations.
#include "conformance/compute/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace baleen::conformance::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Shape without_last(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

}  // namespace

Tensor matmul(const std::string& spec, const Tensor& a, const Tensor& b) {
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  const std::string in_a = spec.substr(0, comma), in_b = spec.substr(comma + 1, arrow - comma - 1),
                    in_y = spec.substr(arrow + 2);
  std::map<char, std::int64_t> extent;
  for (std::size_t i = 0; i < in_a.size(); ++i) extent[in_a[i]] = a.shape[i];
  for (std::size_t i = 0; i < in_b.size(); ++i) extent[in_b[i]] = b.shape[i];
  std::string letters;
  Shape all, out;
  for (const auto& [letter, n] : extent) {
    letters += letter;
    all.push_back(n);
  }
  for (const char letter : in_y) out.push_back(extent[letter]);
  Tensor y = zeros(out);
  each_index(all, [&](const Shape& index) {
    const auto pick = [&](const std::string& wanted) {
      Shape picked;
      for (const char letter : wanted) picked.push_back(index[letters.find(letter)]);
      return picked;
    };
    y[y.at(pick(in_y))] += a[a.at(pick(in_a))] * b[b.at(pick(in_b))];
  });
  return y;
}

Tensor reduce(const Tensor& x, const std::vector<std::int64_t>& dims, bool keep, bool is_max) {
  Shape out;
  std::vector<bool> gone(x.shape.size());
  for (const std::int64_t d : dims) gone[static_cast<std::size_t>(d)] = true;
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (!gone[d] || keep) out.push_back(gone[d] ? 1 : x.shape[d]);
  Tensor y = zeros(out);
  if (is_max) std::fill(y.values.begin(), y.values.end(), -kInfinity);
  each_index(x.shape, [&](const Shape& index) {
    Shape to;
    for (std::size_t d = 0; d < index.size(); ++d)
      if (!gone[d] || keep) to.push_back(gone[d] ? 0 : index[d]);
    double& sum = y[y.at(to)];
    const double value = x[x.at(index)];
    sum = is_max ? std::max(sum, value) : sum + value;
  });
  return y;
}

Tensor softmax(const Tensor& x) {
  Tensor y = x;
  const std::int64_t n = x.shape.back();
  for (std::int64_t row = 0; row < x.size(); row += n) {
    double peak = -kInfinity, sum = 0;
    for (std::int64_t i = 0; i < n; ++i) peak = std::max(peak, x[row + i]);
    for (std::int64_t i = 0; i < n; ++i) sum += y[row + i] = std::exp(x[row + i] - peak);
    for (std::int64_t i = 0; i < n; ++i) y[row + i] /= sum;
  }
  return y;
}

std::vector<Tensor> norm(const Tensor& x, const Tensor& gamma, const Tensor* beta, bool layer, double epsilon) {
  const std::int64_t n = x.shape.back();
  Tensor y = x, rstd = zeros(without_last(x.shape)), mean = rstd;
  for (std::int64_t row = 0; row < x.size() / n; ++row) {
    double m = 0, squares = 0;
    for (std::int64_t i = 0; layer && i < n; ++i) m += x[row * n + i] / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) squares += std::pow(x[row * n + i] - m, 2) / static_cast<double>(n);
    rstd[row] = 1 / std::sqrt(squares + epsilon);
    mean[row] = m;
    for (std::int64_t i = 0; i < n; ++i)
      y[row * n + i] = (x[row * n + i] - m) * rstd[row] * gamma[i] + (beta ? (*beta)[i] : 0);
  }
  if (!layer) return {y, rstd};
  return {y, rstd, mean};
}

namespace {

// Rows of one head in [batch, sequence, heads, width].
const double* row(const Tensor& t, std::int64_t b, std::int64_t s, std::int64_t h) {
  return t.values.data() + ((b * t.shape[1] + s) * t.shape[2] + h) * t.shape[3];
}
double* row(Tensor& t, std::int64_t b, std::int64_t s, std::int64_t h) {
  return t.values.data() + ((b * t.shape[1] + s) * t.shape[2] + h) * t.shape[3];
}

// Row s of the scores of head h; -inf where hidden.
std::vector<double> scores(const Tensor& q, const Tensor& k, const AttentionMask& mask, double scale, std::int64_t b,
                           std::int64_t h, std::int64_t s) {
  const std::int64_t queries = q.shape[1], keys = k.shape[1], g = h / (q.shape[2] / k.shape[2]);
  std::vector<double> out(static_cast<std::size_t>(keys), -kInfinity);
  for (std::int64_t t = 0; t < keys; ++t) {
    if (mask.causal && t > s + keys - queries) continue;
    if (mask.ids_q) {
      const double id = (*mask.ids_q)[b * queries + s];
      if (id < 0 || id != (*mask.ids_k)[b * keys + t]) continue;
    }
    double dot = 0;
    for (std::int64_t e = 0; e < q.shape[3]; ++e) dot += row(q, b, s, h)[e] * row(k, b, t, g)[e];
    out[static_cast<std::size_t>(t)] = scale * dot;
  }
  return out;
}

}  // namespace

std::vector<Tensor> attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionMask& mask,
                              double scale) {
  const std::int64_t batch = q.shape[0], queries = q.shape[1], heads = q.shape[2], width = q.shape[3];
  Tensor o = zeros(q.shape), lse = zeros({batch, heads, queries});
  each_index({batch, heads, queries}, [&](const Shape& at) {
    const std::int64_t b = at[0], h = at[1], s = at[2], g = h / (heads / k.shape[2]);
    std::vector<double> p = scores(q, k, mask, scale, b, h, s);
    double peak = -kInfinity, sum = 0;
    for (const double x : p) peak = std::max(peak, x);
    for (double& x : p) sum += x = peak == -kInfinity ? 0 : std::exp(x - peak);
    lse[lse.at(at)] = sum == 0 ? -kInfinity : peak + std::log(sum);
    for (std::size_t t = 0; sum > 0 && t < p.size(); ++t)
      for (std::int64_t e = 0; e < width; ++e)
        row(o, b, s, h)[e] += p[t] / sum * row(v, b, static_cast<std::int64_t>(t), g)[e];
  });
  return {o, lse};
}

std::vector<Tensor> attention_grad(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionMask& mask,
                                   double scale, const Tensor& d_o) {
  Tensor dq = zeros(q.shape), dk = zeros(k.shape), dv = zeros(v.shape);
  const Tensor lse = attention(q, k, v, mask, scale)[1];
  each_index(lse.shape, [&](const Shape& at) {
    const std::int64_t b = at[0], h = at[1], s = at[2], g = h / (q.shape[2] / k.shape[2]), width = q.shape[3];
    if (lse[lse.at(at)] == -kInfinity) return;
    std::vector<double> p = scores(q, k, mask, scale, b, h, s), dp(p.size(), 0.0);
    double mean = 0;
    for (std::size_t t = 0; t < p.size(); ++t) {
      p[t] = std::exp(p[t] - lse[lse.at(at)]);
      for (std::int64_t e = 0; e < width; ++e)
        dp[t] += row(d_o, b, s, h)[e] * row(v, b, static_cast<std::int64_t>(t), g)[e];
      mean += p[t] * dp[t];
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      const auto t = static_cast<std::int64_t>(i);
      const double ds = p[i] * (dp[i] - mean) * scale;
      for (std::int64_t e = 0; e < width; ++e) {
        row(dq, b, s, h)[e] += ds * row(k, b, t, g)[e];
        row(dk, b, t, g)[e] += ds * row(q, b, s, h)[e];
        row(dv, b, t, g)[e] += p[i] * row(d_o, b, s, h)[e];
      }
    }
  });
  return {dq, dk, dv};
}

Tensor embedding(const Tensor& table, const Tensor& ids) {
  const std::int64_t width = table.size() / table.shape[0];
  Shape shape = ids.shape;
  shape.insert(shape.end(), table.shape.begin() + 1, table.shape.end());
  Tensor y = zeros(shape);
  for (std::int64_t i = 0; i < ids.size(); ++i)
    for (std::int64_t e = 0; e < width; ++e) y[i * width + e] = table[static_cast<std::int64_t>(ids[i]) * width + e];
  return y;
}

std::vector<Tensor> cross_entropy(const Tensor& x, const Tensor& target, double ignore, double smoothing) {
  const std::int64_t n = x.shape.back();
  Tensor loss = zeros(target.shape), lse = loss;
  for (std::int64_t row = 0; row < target.size(); ++row) {
    double peak = -kInfinity, sum = 0, mean = 0;
    for (std::int64_t i = 0; i < n; ++i) peak = std::max(peak, x[row * n + i]);
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[row * n + i] - peak);
    lse[row] = peak + std::log(sum);
    if (target[row] == ignore) continue;
    for (std::int64_t i = 0; i < n; ++i) mean += (lse[row] - x[row * n + i]) / static_cast<double>(n);
    const double nll = lse[row] - x[row * n + static_cast<std::int64_t>(target[row])];
    loss[row] = (1 - smoothing) * nll + smoothing * mean;
  }
  return {loss, lse};
}

Tensor logits(const Tensor& x, const Tensor& w, bool transposed) {
  const std::int64_t width = x.shape.back(), classes = w.shape[transposed ? 0 : 1];
  Shape shape = x.shape;
  shape.back() = classes;
  Tensor y = zeros(shape);
  for (std::int64_t row = 0; row < x.size() / width; ++row)
    for (std::int64_t c = 0; c < classes; ++c)
      for (std::int64_t d = 0; d < width; ++d)
        y[row * classes + c] += x[row * width + d] * (transposed ? w[c * width + d] : w[d * classes + c]);
  return y;
}

Tensor gradient(const std::function<double(const std::vector<Tensor>&)>& loss, std::vector<Tensor> inputs,
                std::size_t which) {
  constexpr double kStep = 1e-3;
  Tensor out = zeros(inputs[which].shape);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const double x = inputs[which][i];
    const auto at = [&](double step) {
      inputs[which][i] = x + step;
      return loss(inputs);
    };
    out[i] = (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
    inputs[which][i] = x;
  }
  return out;
}

double inner(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Philox philox(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key) {
  std::uint32_t c[4] = {static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
                        static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  std::uint32_t k[2] = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53} * c[0], right = std::uint64_t{0xCD9E8D57} * c[2];
    const std::uint32_t next[4] = {
        static_cast<std::uint32_t>(right >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(right),
        static_cast<std::uint32_t>(left >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(left)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

}  // namespace baleen::conformance::reference
