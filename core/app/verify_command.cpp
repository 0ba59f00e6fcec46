/// \file `baleen verify`: the same script on the manifest's ranks and on one, compared.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "baleen/dtype.hpp"
#include "core/app/assembly.hpp"
#include "core/app/commands.hpp"
#include "core/app/exit_code.hpp"
#include "core/app/launch_run.hpp"

namespace baleen::app {
namespace {

struct Tensor {
  std::string name;
  std::vector<double> numbers;
};

/// What a run came to.
struct Record {
  std::vector<double> losses;
  std::vector<Tensor> parameters;
  baleen_dtype_t coarsest = BALEEN_F32;
};

/// Keeps the losses of a run that the script drives.
class Recorder : public TrainingRun {
 public:
  Recorder(Run& run, Record& record) : run_(run), record_(record) {}

  Result<Facts> step() override {
    BALEEN_TRY_ASSIGN(Facts facts, run_.step());
    record_.losses.push_back(facts["loss"]);
    return facts;
  }
  Result<Facts> evaluate(std::int64_t batches) override { return run_.evaluate(batches); }
  std::int64_t steps_done() const override { return run_.steps_done(); }
  Result<std::vector<double>> logits(const std::vector<std::int32_t>& tokens) override { return run_.logits(tokens); }
  Status save(const std::string&) override { return {}; }

 private:
  Run& run_;
  Record& record_;
};

Result<std::vector<double>> read_numbers(Session& session, const PersistentBuffer& buffer) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(buffer.spec.type.shape)));
  if (buffer.spec.type.dtype == BALEEN_F64) {
    BALEEN_TRY(session.read_tensor(buffer.spec.name, numbers.data(), numbers.size() * sizeof(double)));
    return numbers;
  }
  std::vector<float> narrow(numbers.size());
  BALEEN_TRY(session.read_tensor(buffer.spec.name, narrow.data(), narrow.size() * sizeof(float)));
  std::copy(narrow.begin(), narrow.end(), numbers.begin());
  return numbers;
}

Result<Record> record(const VerifyOptions& options, const Setup& setup, bool alone) {
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  Wishes wishes{options.steps, false, false};
  wishes.alone = alone;
  wishes.silent = true;
  BALEEN_TRY_ASSIGN(const auto run, Run::create(options, setup, std::move(prepared), wishes, false));
  Record result;
  Recorder recorder(*run, result);
  BALEEN_TRY(run->train(recorder));
  result.coarsest = run->session().coarsest_dtype();
  for (const PersistentBuffer& buffer : run->session().persistent().buffers) {
    if (buffer.spec.role != Role::parameter) continue;
    BALEEN_TRY_ASSIGN(auto numbers, read_numbers(run->session(), buffer));
    result.parameters.push_back({buffer.spec.name, std::move(numbers)});
  }
  return result;
}

/// The largest difference found, relative to its limit.
struct Worst {
  double difference = 0, share = -1;  ///< share: of the limit; above 1 is too much
  std::string where;

  void see(double found, double limit, const std::string& place) {
    const double of_limit = std::isnan(found) ? INFINITY : limit > 0 ? found / limit : found > 0 ? INFINITY : 0;
    if (of_limit <= share) return;
    share = of_limit;
    difference = found;
    where = place;
  }
};

/// Losses: 1e-10 relative in fp64; in fp32 1e-6 at the first step, 1e-4 at the twentieth and after; in 16 bits more, as
/// roundings of fewer digits add up at random: 256 times that with bf16, 90 times with fp16.
Worst compare_losses(const std::vector<double>& many, const std::vector<double>& one, baleen_dtype_t coarsest) {
  Worst worst;
  const bool exact = coarsest == BALEEN_F64;
  const double looser = std::exp2(0.5 * (dtype_digits(BALEEN_F32) - dtype_digits(coarsest)));
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double progress = std::min(1.0, static_cast<double>(i) / 19);
    const double limit = exact ? 1e-10 : looser * std::pow(10, -6 + 2 * progress);
    const double scale = std::max(std::abs(one[i]), 1e-300);
    worst.see(std::abs(many[i] - one[i]) / scale, limit, "step " + std::to_string(i + 1));
  }
  return worst;
}

/// |a - b| / |b| of the parameter for which |a - b| is the largest part of 1e-8 |b| + 1e-12 sqrt(n).
Worst compare_parameters(const std::vector<Tensor>& many, const std::vector<Tensor>& one) {
  Worst worst;
  for (std::size_t p = 0; p < one.size(); ++p) {
    const std::vector<double>&a = many[p].numbers, &b = one[p].numbers;
    double difference = 0, norm = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      difference += (a[i] - b[i]) * (a[i] - b[i]);
      norm += b[i] * b[i];
      if (std::abs(a[i] - b[i]) > std::abs(a[at] - b[at])) at = i;
    }
    norm = std::sqrt(norm);
    const double limit = 1e-8 * norm + 1e-12 * std::sqrt(static_cast<double>(b.size()));
    worst.see(std::sqrt(difference), limit, "`" + one[p].name + "`, most at element " + std::to_string(at));
  }
  return worst;
}

void say(const char* what, const Worst& worst) {
  std::printf("largest difference of %s: %.3g, %.2g of what is allowed%s%s\n", what, worst.difference,
              std::max(worst.share, 0.0), worst.where.empty() ? "" : ", at ", worst.where.c_str());
}

Status judge(const Record& many, const Record& one, const Setup& setup) {
  const bool exact = one.coarsest == BALEEN_F64;
  if (many.losses.size() != one.losses.size())
    return invalid(std::to_string(setup.manifest.ranks()) + " ranks ran " + std::to_string(many.losses.size()) +
                   " steps and one rank ran " + std::to_string(one.losses.size()));
  const Worst losses = compare_losses(many.losses, one.losses, one.coarsest);
  const Worst parameters = compare_parameters(many.parameters, one.parameters);
  std::printf("%lld ranks and one rank, %zu steps in %s\n", static_cast<long long>(setup.manifest.ranks()),
              one.losses.size(), std::string(dtype_name(one.coarsest)).c_str());
  say("losses", losses);
  say("parameters (norms)", parameters);
  // In fp32 and less parameters are not judged: an optimizer may divide rounding noise by itself.
  const bool too_much = losses.share > 1 || (exact && parameters.share > 1);
  std::printf("%s\n", too_much ? "DIFFERENT" : "EQUAL within the tolerance");
  std::fflush(stdout);
  if (!too_much) return {};
  const Worst& worst = losses.share > 1 ? losses : parameters;
  return invalid("the ranks do not compute what one rank computes: see " + worst.where);
}

Status verify(const VerifyOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const Record many, record(options, setup, false));
  if (setup.link && setup.link->place().rank != 0) return {};
  BALEEN_TRY_ASSIGN(const Record one, record(options, setup, true));
  return judge(many, one, setup);
}

}  // namespace

int verify_command(const VerifyOptions& options, const Setup& setup) {
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, verify(options, setup), setup.link);
}

}  // namespace baleen::app
