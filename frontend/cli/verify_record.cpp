/// \file Runs a script for `baleen verify`.
#include "frontend/cli/verify_record.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>

#include "baleen/dtype.hpp"
#include "compiler/plan/plan.hpp"
#include "core/runtime/shards.hpp"
#include "frontend/cli/verify_rounded.hpp"
#include "frontend/engine/assembly.hpp"

namespace baleen::app {
namespace {

template <class T>
std::vector<double> numbers_as(const std::vector<std::byte>& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return std::vector<double>(numbers.begin(), numbers.end());
}

Result<std::vector<double>> numbers_of(const std::vector<std::byte>& bytes, const PersistentSpec& spec) {
  switch (spec.type.dtype) {
    case BALEEN_F64: return numbers_as<double>(bytes);
    case BALEEN_F32: return numbers_as<float>(bytes);
    default:
      return unsupported("verify compares numbers in fp64 and fp32, and `" + spec.name + "` is " +
                         std::string(dtype_name(spec.type.dtype)));
  }
}

/// Of all ranks together.
Result<std::vector<double>> read_numbers(Session& session, const PersistentSpec& spec) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(spec.type.shape)) * dtype_size(spec.type.dtype));
  BALEEN_TRY(session.read_tensor(spec.name, bytes.data(), bytes.size()));
  return numbers_of(bytes, spec);
}

/// The list that a persistent tensor belongs to; kLists for what strategies keep for themselves, and for gradients that
/// a late update keeps, which are among the gradients.
Record::List list_of(const PersistentSpec& spec) {
  if (spec.role == Role::parameter) return Record::parameters;
  if (spec.role != Role::state || spec.is_of_strategy || spec.name.ends_with(kLateGradientSuffix))
    return Record::kLists;
  if (spec.name.starts_with(kGradientPrefix)) return Record::gradients;
  return spec.category == "optimizer" || spec.name == kUpdatesState ? Record::states : Record::kLists;
}

/// Keeps what a run that the script drives comes to.
class Recorder : public TrainingRun {
 public:
  Recorder(Run& run, Record& record, const RecordOptions& how) : run_(run), record_(record), how_(how) {
    for (const PersistentBuffer& buffer : run.session().persistent().buffers) {
      if (buffer.spec.name == kLateCountsState) late_counts_ = &buffer.spec;
      const Record::List list = list_of(buffer.spec);
      if (list == Record::kLists) continue;
      std::string name = buffer.spec.name;
      if (list == Record::gradients) name.erase(0, std::string_view(kGradientPrefix).size());
      record.names[list].push_back(std::move(name));
      specs_[list].push_back(&buffer.spec);
      runs_[list].push_back(runs_on(buffer.spec));
    }
    is_keeping_ = how.keeps;
  }

  /// Changes each parameter by a part of itself, up or down at random, and looks at what there is before step 1.
  Status begin() {
    for (const PersistentSpec* spec : specs_[Record::parameters]) {
      if (how_.shake == 0) break;
      BALEEN_TRY_ASSIGN(std::vector<double> numbers, read_numbers(run_.session(), *spec));
      shake(numbers);
      BALEEN_TRY(write(*spec, numbers));
    }
    Record::Step step;
    BALEEN_TRY(read(step));
    record_.first = std::move(step.tensors);
    return {};
  }

  Result<Facts> step() override {
    const std::size_t number = record_.steps.size();
    const bool takes_back = number < how_.skipped.size() && how_.skipped[number];
    if (takes_back) BALEEN_TRY(keep());
    const Record::Kept* const kept = followed(number);
    if (kept) BALEEN_TRY(give(*kept));
    BALEEN_TRY_ASSIGN(Facts facts, run_.step());
    Record::Step step;
    for (const auto& [name, value] : facts)
      if (name == "gradient_norm" || (name != "loss" && facts.contains(name + ".weight"))) step.facts[name] = value;
    step.loss = facts["loss"];
    if (takes_back) BALEEN_TRY(take_back());
    BALEEN_TRY(read(step));
    BALEEN_TRY(keep_step());
    if (kept) BALEEN_TRY(follow(*kept));
    record_.steps.push_back(std::move(step));
    return facts;
  }
  Result<Facts> evaluate(std::int64_t batches) override {
    BALEEN_TRY_ASSIGN(Facts facts, run_.evaluate(batches));
    record_.evaluations.push_back({run_.steps_done(), facts});
    return facts;
  }
  std::int64_t steps_done() const override { return run_.steps_done(); }
  std::vector<ProgramInfo> programs() const override { return run_.programs(); }
  Result<Outputs> run(const std::string& program, const Inputs& inputs) override { return run_.run(program, inputs); }
  Status save(const std::string&) override { return {}; }
  Status checkpoint() override { return {}; }

  std::array<std::vector<Layout>, Record::kLists> layouts() const {
    std::array<std::vector<Layout>, Record::kLists> all;
    for (std::size_t list = 0; list < Record::kLists; ++list)
      for (const PersistentSpec* spec : specs_[list]) all[list].push_back(spec->layout);
    return all;
  }

  /// Whole, what is there at the end.
  Status read_last() {
    for (const Record::List list : {Record::parameters, Record::states})
      for (const PersistentSpec* spec : specs_[list]) {
        BALEEN_TRY_ASSIGN(auto numbers, read_numbers(run_.session(), *spec));
        record_.last[list].push_back(std::move(numbers));
      }
    return {};
  }

 private:
  void shake(std::vector<double>& numbers) {
    if (how_.shake == 0) return;
    for (double& number : numbers) number *= 1 + ((signs_() & 1) != 0 ? how_.shake : -how_.shake);
  }

  /// Whole, until it is too much. All ranks take part, and rank 0 has it.
  Status keep_step() {
    if (!is_keeping_) return {};
    for (const Record::List list : {Record::gradients, Record::parameters})
      for (const PersistentSpec* spec : specs_[list])
        kept_bytes_ += static_cast<std::uint64_t>(element_count(spec->type.shape)) * sizeof(float);
    is_keeping_ = kept_bytes_ <= kKeptBytes;
    if (!is_keeping_) return {};
    Record::Kept kept;
    BALEEN_TRY(keep_list(Record::gradients, kept.gradients));
    BALEEN_TRY(keep_list(Record::parameters, kept.parameters));
    if (run_.rank() == 0) record_.kept.push_back(std::move(kept));
    return {};
  }
  Status keep_list(Record::List list, std::vector<std::vector<float>>& kept) {
    for (const PersistentSpec* spec : specs_[list]) {
      BALEEN_TRY_ASSIGN(const std::vector<double> numbers, read_numbers(run_.session(), *spec));
      kept.emplace_back(numbers.begin(), numbers.end());
    }
    return {};
  }

  const Record::Kept* followed(std::size_t step) const {
    return how_.followed && step < how_.followed->kept.size() ? &how_.followed->kept[step] : nullptr;
  }

  /// To the update of the next step, what the ranks had in that one.
  Status give(const Record::Kept& kept) {
    for (std::size_t t = 0; t < kept.gradients.size(); ++t)
      BALEEN_TRY(write_kept(kGivenGradientPrefix + how_.followed->names[Record::gradients][t], kept.gradients[t]));
    return {};
  }
  /// Behind a step, so that the next one begins as the ranks' does.
  Status follow(const Record::Kept& kept) {
    for (std::size_t t = 0; t < kept.parameters.size(); ++t)
      BALEEN_TRY(write_kept(how_.followed->names[Record::parameters][t], kept.parameters[t]));
    return {};
  }
  Status write_kept(const std::string& name, const std::vector<float>& kept) {
    std::vector<double> numbers(kept.begin(), kept.end());
    shake(numbers);
    return run_.session().write_tensor(name, numbers.data(), numbers.size() * sizeof(double));
  }

  /// Where the elements of this rank's piece stand in the whole.
  std::vector<PieceRun> runs_on(const PersistentSpec& spec) const {
    Mesh mesh = record_.mesh;
    Coordinates at = coordinates(mesh, run_.rank());
    return runs_of(spec.type.shape, piece_of(spec.type.shape, spec.layout, mesh, at));
  }

  /// This rank's part of each sketch: nothing is sent, so the run is what it is without.
  Status read(Record::Step& step) {
    for (std::size_t list = 0; list < Record::kLists; ++list)
      for (std::size_t t = 0; t < specs_[list].size(); ++t) {
        const PersistentSpec& spec = *specs_[list][t];
        BALEEN_TRY_ASSIGN(const std::vector<std::byte> bytes, run_.session().read_own(spec.name));
        BALEEN_TRY_ASSIGN(const std::vector<double> numbers, numbers_of(bytes, spec));
        Sketch& sketch = step.tensors[list].emplace_back();
        for (const PieceRun& run : runs_[list][t])
          for (std::int64_t i = 0; i < run.count; ++i)
            sketch.add(run.in_whole + i, numbers[static_cast<std::size_t>(run.in_piece + i)]);
        if (spec.name != kUpdatesState) continue;
        step.applied = numbers[0] > updates_;
        updates_ = numbers[0];
      }
    step.counts = step.applied;
    if (late_counts_) {
      BALEEN_TRY_ASSIGN(const std::vector<std::byte> bytes, run_.session().read_own(late_counts_->name));
      BALEEN_TRY_ASSIGN(const std::vector<double> numbers, numbers_of(bytes, *late_counts_));
      step.counts = numbers[0] != 0;
    }
    return {};
  }

  Status keep() {
    kept_.clear();
    for (const Record::List list : {Record::parameters, Record::states})
      for (const PersistentSpec* spec : specs_[list]) {
        BALEEN_TRY_ASSIGN(auto numbers, read_numbers(run_.session(), *spec));
        kept_.push_back(std::move(numbers));
      }
    return {};
  }

  Status take_back() {
    auto numbers = kept_.begin();
    for (const Record::List list : {Record::parameters, Record::states})
      for (const PersistentSpec* spec : specs_[list]) BALEEN_TRY(write(*spec, *numbers++));
    return {};
  }

  /// References are in fp64.
  Status write(const PersistentSpec& spec, const std::vector<double>& numbers) {
    return run_.session().write_tensor(spec.name, numbers.data(), numbers.size() * sizeof(double));
  }

  Run& run_;
  Record& record_;
  const RecordOptions& how_;
  std::array<std::vector<const PersistentSpec*>, Record::kLists> specs_;
  std::array<std::vector<std::vector<PieceRun>>, Record::kLists> runs_;
  std::vector<std::vector<double>> kept_;
  std::mt19937 signs_{2013};
  const PersistentSpec* late_counts_ = nullptr;  ///< where updates are late: whether the step's gradients count
  double updates_ = 0;
  bool is_keeping_ = false;
  std::uint64_t kept_bytes_ = 0;
};

/// What every rank is to have alike, by Record::Number.
std::vector<double> numbers_of(const Record::Step& step) {
  const auto norm = step.facts.find("gradient_norm");
  std::vector<double> numbers{step.loss, norm == step.facts.end() ? 0 : norm->second};
  for (auto fact = step.facts.begin(); fact != step.facts.end(); ++fact)
    if (fact != norm) numbers.push_back(fact->second);
  return numbers;
}

std::vector<double> numbers_of(const Record::Evaluation& evaluation) {
  std::vector<double> numbers;
  for (const auto& [name, number] : evaluation.facts) numbers.push_back(number);
  return numbers;
}

struct RankRecord {
  std::vector<Record::Sketches> steps;
  std::vector<std::vector<double>> numbers, evaluated;  ///< by step, by evaluation
};

RankRecord of_rank(const Record& record) {
  RankRecord own;
  for (const Record::Step& step : record.steps) {
    own.steps.push_back(step.tensors);
    own.numbers.push_back(numbers_of(step));
  }
  for (const Record::Evaluation& evaluation : record.evaluations) own.evaluated.push_back(numbers_of(evaluation));
  return own;
}

/// What a rank has of each tensor and number, as text: a line each.
std::string sketches_text(const RankRecord& record) {
  std::ostringstream text;
  text << std::hexfloat;
  for (const Record::Sketches& step : record.steps)
    for (const auto& list : step)
      for (const Sketch& sketch : list) {
        for (const double number : sketch.sums) text << number << ' ';
        text << sketch.squares << '\n';
      }
  for (const auto* all : {&record.numbers, &record.evaluated})
    for (const std::vector<double>& numbers : *all)
      for (const double number : numbers) text << number << '\n';
  return text.str();
}

/// In place of what there is, as many of each.
void read_sketches(const std::string& text, RankRecord& record) {
  const char* at = text.c_str();
  const auto next = [&] {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    at = end;
    return number;
  };
  for (Record::Sketches& step : record.steps)
    for (auto& list : step)
      for (Sketch& sketch : list) {
        for (double& number : sketch.sums) number = next();
        sketch.squares = next();
      }
  for (auto* all : {&record.numbers, &record.evaluated})
    for (std::vector<double>& numbers : *all)
      for (double& number : numbers) number = next();
}

/// The first rank that holds the same piece.
std::int64_t original(const Mesh& mesh, const Layout& layout, std::int64_t rank) {
  Coordinates at = coordinates(mesh, rank);
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (layout.empty() || layout[axis].is_replicate()) at[axis] = 0;
  return rank_of(mesh, at);
}

/// Numbers of a rank that are not as rank 0's.
void compare_numbers(Record& record, const RankRecord& first, const RankRecord& own, std::int64_t rank) {
  const auto compare = [&](Record::List list, const auto& of_first, const auto& of_own) {
    for (std::size_t place = 0; place < of_own.size(); ++place)
      for (std::size_t n = 0; n < of_own[place].size(); ++n) {
        const double a = of_own[place][n], b = of_first[place][n], away = std::abs(a - b);
        if (!(away == 0) && !(std::isnan(a) && std::isnan(b))) record.copies.push_back({place, list, n, rank, 0, away});
      }
  };
  compare(Record::numbers, first.numbers, own.numbers);
  compare(Record::evaluated, first.evaluated, own.evaluated);
}

/// Sketches of pieces become those of wholes, and copies that are not like their originals are kept.
void put_together(Record& record, const std::vector<RankRecord>& ranks,
                  const std::array<std::vector<Layout>, Record::kLists>& layouts) {
  for (std::size_t r = 1; r < ranks.size(); ++r)
    compare_numbers(record, ranks[0], ranks[r], static_cast<std::int64_t>(r));
  for (std::size_t step = 0; step < record.steps.size(); ++step) {
    for (const Record::List list : {Record::gradients, Record::parameters, Record::states})
      for (std::size_t t = 0; t < record.names[list].size(); ++t) {
        Sketch whole;
        for (std::size_t r = 0; r < ranks.size(); ++r) {
          const auto rank = static_cast<std::int64_t>(r), of = original(record.mesh, layouts[list][t], rank);
          const Sketch& own = ranks[r].steps[step][list][t];
          const double away = distance(own, ranks[static_cast<std::size_t>(of)].steps[step][list][t]);
          if (!(away == 0)) record.copies.push_back({step, list, t, rank, of, away});
          if (of != rank) continue;
          for (std::size_t i = 0; i < own.sums.size(); ++i) whole.sums[i] += own.sums[i];
          whole.squares += own.squares;
        }
        record.steps[step].tensors[list][t] = whole;
      }
  }
}

/// Brings to rank 0 what the others have.
Status exchange(RankLink& link, Record& record, const std::array<std::vector<Layout>, Record::kLists>& layouts) {
  const Place& place = link.place();
  if (place.rank != 0) return link.put("verify." + std::to_string(place.rank), sketches_text(of_rank(record)));
  std::vector<RankRecord> ranks{of_rank(record)};
  for (int rank = 1; rank < place.ranks; ++rank) {
    BALEEN_TRY_ASSIGN(const std::string text, link.get("verify." + std::to_string(rank)));
    read_sketches(text, ranks.emplace_back(ranks[0]));
  }
  put_together(record, ranks, layouts);
  return {};
}

/// Random bits of a number, the same on every machine: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t bits_of(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

}  // namespace

bool Sketch::is_finite() const {
  return std::isfinite(squares) && std::all_of(sums.begin(), sums.end(), [](double sum) { return std::isfinite(sum); });
}

void Sketch::add(std::int64_t index, double number) {
  std::uint64_t bits = bits_of(static_cast<std::uint64_t>(index));
  for (double& sum : sums) {
    // A branch on a random bit is guessed wrong half of the time: the sign is set instead.
    sum += std::bit_cast<double>(std::bit_cast<std::uint64_t>(number) ^ ((~bits & 1) << 63));
    bits >>= 1;
  }
  squares += number * number;
}

double largest_share(const Approximated& approximated, std::size_t steps) {
  double largest = 0;
  for (const auto& [from, share] : approximated.shares)
    if (from < static_cast<std::int64_t>(steps)) largest = std::max(largest, share);
  return largest;
}

Sketch sketch_of(const std::vector<double>& numbers) {
  Sketch sketch;
  for (std::size_t i = 0; i < numbers.size(); ++i) sketch.add(static_cast<std::int64_t>(i), numbers[i]);
  return sketch;
}

double distance(const Sketch& a, const Sketch& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.sums.size(); ++i)
    squares += (a.sums[i] - b.sums[i]) * (a.sums[i] - b.sums[i]) / static_cast<double>(a.sums.size());
  return std::sqrt(squares);
}

Result<Record> record(const VerifyOptions& options, const Setup& setup, const RecordOptions& how) {
  VerifyOptions own = options;
  if (how.reference) own.dtype = "fp64";
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(own, setup));
  Record result;
  RunFlags flags;
  flags.steps = own.steps;
  flags.command = "verify";
  flags.alone = how.reference;
  if (how.rounded) flags.rewrite = [dtype = *how.rounded](Job& job) { return round_values(job, dtype); };
  flags.check_kernels = !how.reference;  // first, before one that writes anywhere does harm
  flags.silent = true;
  flags.keep_gradients = true;
  flags.takes_gradients = how.followed != nullptr;
  flags.is_late = how.is_late;
  flags.wrong_layouts = &result.wrong_layouts;
  BALEEN_TRY_ASSIGN(const auto run, Run::create(own, setup, std::move(prepared), flags, false));
  result.mesh = run->mesh();
  Recorder recorder(*run, result, how);
  BALEEN_TRY(recorder.begin());
  BALEEN_TRY(run->train(recorder));
  result.coarsest = run->session().coarsest_dtype();
  result.approximated = run->session().approximated();
  result.is_late = run->session().is_late();
  result.learned_beside = run->session().learned_beside();
  BALEEN_TRY(recorder.read_last());
  if (setup.link && !how.reference) BALEEN_TRY(exchange(*setup.link, result, recorder.layouts()));
  return result;
}

}  // namespace baleen::app
