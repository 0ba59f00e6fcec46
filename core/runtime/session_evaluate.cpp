/// \file Evaluation on the rows that are held out.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/runtime/session_impl.hpp"

namespace baleen {
namespace {

/// The data's rows for those of a batch that has `real` rows from `from` on, and behind them `filler` everywhere.
std::vector<Range> padded_rows(const std::vector<Range>& of_batch, std::int64_t from, std::int64_t real,
                               std::int64_t filler) {
  std::vector<Range> rows;
  for (const Range& range : of_batch) {
    if (range.begin < real) rows.push_back({from + range.begin, from + std::min(range.end, real)});
    for (std::int64_t i = std::max(range.begin, real); i < range.end; ++i) rows.push_back({filler, filler + 1});
  }
  return rows;
}

/// How far two sums over the same rows may be apart for their rounding, as a share of what was added up.
double tolerance(baleen_dtype_t coarsest) {
  if (coarsest == BALEEN_F64) return 1e-7;
  return coarsest == BALEEN_F32 ? 1e-3 : 0.05;
}

}  // namespace

/// A batch of the held-out rows `from` ... `from + real - 1` and behind them the row `filler` again and again, added
/// `factor` times.
Status Session::Impl::add_held_out(JobProgram& found, const HeldOutRows& read, HeldOutSums& to) {
  const BatchShare& share = shares.at(found.name);
  Program& program = found.program;
  BALEEN_TRY_ASSIGN(
      Batch batch,
      data->read(BALEEN_HELD_OUT, 0, padded_rows(share.rows(), read.from, read.real, read.filler), options.dtype));
  BALEEN_TRY(put_batch(program, share, std::move(batch)));
  BALEEN_TRY(run(program, static_cast<std::uint64_t>(steps_done)));
  BALEEN_TRY_ASSIGN(const Facts facts, means(program));
  for (const auto& [name, mean] : facts) {
    if (name.ends_with(".weight")) continue;
    const double weight = read.factor * facts.at(name + ".weight");
    to.sums[name] += mean * weight;
    to.weights[name] += weight;
    to.added[name] += std::abs(mean * weight);
  }
  return {};
}

/// A program's shapes are fixed: the last `rest` rows are filled up with the row `filler`, and a batch of that row
/// alone says what to take off again.
Result<HeldOutSums> Session::Impl::short_batch(JobProgram& found, std::int64_t from, std::int64_t rest,
                                               std::int64_t filler) {
  const double others = static_cast<double>(options.batch - rest) / static_cast<double>(options.batch);
  HeldOutSums sums;
  BALEEN_TRY(add_held_out(found, {from, rest, filler, 1}, sums));
  BALEEN_TRY(add_held_out(found, {0, 0, filler, -others}, sums));
  return sums;
}

/// Finds which of the results are no sums over rows: where they are, a batch comes to the same whatever it was filled
/// up with. A statistic over the batch (batch normalisation, a contrastive loss) makes it another one. All ranks find
/// the same.
Status Session::Impl::find_no_sums(JobProgram& found, std::int64_t from, std::int64_t rest, const HeldOutSums& sums) {
  BALEEN_TRY_ASSIGN(const HeldOutSums others, short_batch(found, from, rest, 0));
  no_sums.emplace();
  for (const auto& [name, sum] : sums.sums)
    if (std::abs(sum - others.sums.at(name)) > tolerance(coarsest) * sums.added.at(name)) no_sums->insert(name);
  return {};
}

/// The rows behind the last whole batch. For results that are no sums over rows they are left out, and where there is
/// no whole batch they count as they are, filled up.
Status Session::Impl::add_short_batch(Session& session, JobProgram& found, std::int64_t rows, HeldOutSums& to) {
  const std::int64_t size = options.batch, rest = rows % size, from = rows - rest;
  BALEEN_TRY_ASSIGN(const HeldOutSums sums, short_batch(found, from, rest, rows - 1));
  if (!no_sums) {
    BALEEN_TRY(find_no_sums(found, from, rest, sums));
    if (!no_sums->empty())
      session.note("`held_out_" + *no_sums->begin() +
                   "` of a row depends on the other rows of its batch (a statistic over the batch), and " +
                   std::to_string(rest) + " of " + std::to_string(rows) + " held-out rows fill no batch of " +
                   std::to_string(size) +
                   (from > 0 ? ": these are left out of it" : ": the last one counts for those that are missing") +
                   "; hold out a multiple of the batch");
  }
  HeldOutSums filled;
  if (from == 0 && !no_sums->empty()) BALEEN_TRY(add_held_out(found, {from, rest, rows - 1, 1}, filled));
  for (const auto& [name, sum] : sums.sums) {
    const bool is_sum = !no_sums->contains(name);
    if (!is_sum && from > 0) continue;
    to.sums[name] += is_sum ? sum : filled.sums.at(name);
    to.weights[name] += is_sum ? sums.weights.at(name) : filled.weights.at(name);
  }
  return {};
}

Result<Facts> Session::evaluate(std::int64_t batches) {
  Impl& impl = *impl_;
  JobProgram* const found = impl.find(GraphRole::evaluate);
  if (!found)
    return invalid(impl.train ? "the job has no evaluate graph"
                              : "this session has the job's programs alone: it cannot evaluate");
  const std::int64_t rows = impl.data->info().rows[BALEEN_HELD_OUT], size = impl.options.batch;
  if (rows == 0) return invalid("no row is held out, so nothing can be evaluated; hold out some");
  const std::int64_t whole = rows / size;
  const std::int64_t count = batches > 0 ? std::min(batches, whole) : whole;
  HeldOutSums sums;
  // Spread evenly over the part where only some batches are read.
  for (std::int64_t b = 0; b < count; ++b)
    BALEEN_TRY(impl.add_held_out(*found, {b * whole / count * size, size, rows - 1, 1}, sums));
  if (rows % size > 0 && (batches == 0 || batches > whole)) BALEEN_TRY(impl.add_short_batch(*this, *found, rows, sums));
  Facts result;
  std::vector<Fact> told;
  for (const auto& [name, sum] : sums.sums) {
    result["held_out_" + name] = sums.weights[name] == 0 ? 0 : sum / sums.weights[name];
    told.push_back({"held_out_" + name, result["held_out_" + name], {}});
  }
  impl.tell_spans();
  for (const auto& [name, number] : result) impl.last[name] = number;
  impl.monitors.record(BALEEN_RECORD_EVALUATE, impl.steps_done, impl.options.steps, std::move(told));
  return result;
}

}  // namespace baleen
