/// \file Runs a script for `baleen verify`.
#include "frontend/cli/verify_record.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>

#include "baleen/dtype.hpp"
#include "compiler/plan/plan.hpp"
#include "core/runtime/shards.hpp"
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

/// Where the prefix of a kept gradient begins: at first, or behind the name of a program and a `/`; npos: it is none.
std::size_t gradient_prefix_at(const std::string& name) {
  if (name.starts_with(kGradientPrefix)) return 0;
  const std::size_t slash = name.find(std::string("/") + kGradientPrefix);
  return slash == std::string::npos ? slash : slash + 1;
}

/// Whether it is the state that counts the updates of the training, or of a program.
bool counts_updates(const std::string& name) {
  return name == kUpdatesState || name.ends_with(std::string("/") + kUpdatesState);
}

/// The list that a persistent tensor belongs to; kLists for what strategies keep for themselves, and for gradients that
/// a late update keeps, which are among the gradients.
Record::List list_of(const PersistentSpec& spec) {
  if (spec.role == Role::parameter) return Record::parameters;
  if (spec.role != Role::state || spec.is_of_strategy || spec.name.ends_with(kLateGradientSuffix))
    return Record::kLists;
  if (gradient_prefix_at(spec.name) != std::string::npos) return Record::gradients;
  return spec.category == "optimizer" || counts_updates(spec.name) ? Record::states : Record::kLists;
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
      if (list == Record::gradients) {
        const std::size_t at = gradient_prefix_at(name);
        if (at > 0) record.programs.insert(name.substr(0, at - 1));
        name.erase(at, std::string_view(kGradientPrefix).size());
      }
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
    Facts facts;
    BALEEN_TRY(record_step("", [&](Record::Step& step) -> Status {
      BALEEN_TRY_ASSIGN(facts, run_.step());
      for (const auto& [name, value] : facts)
        if (name == "gradient_norm" || (name != "loss" && facts.contains(name + ".weight"))) step.facts[name] = value;
      step.loss = facts["loss"];
      return {};
    }));
    return facts;
  }
  Result<Facts> evaluate(std::int64_t batches) override {
    BALEEN_TRY_ASSIGN(Facts facts, run_.evaluate(batches));
    record_.evaluations.push_back({run_.steps_done(), facts});
    return facts;
  }
  std::int64_t steps_done() const override { return run_.steps_done(); }
  std::vector<ProgramInfo> programs() const override { return run_.programs(); }
  Result<Outputs> run(const std::string& program, const Inputs& inputs) override {
    if (!record_.programs.contains(program)) return run_.run(program, inputs);
    Outputs outputs;
    BALEEN_TRY(record_step(program, [&](Record::Step& step) -> Status {
      BALEEN_TRY_ASSIGN(outputs, run_.run(program, inputs));
      step.loss = outputs.at("loss").values.at(0) / outputs.at("weight").values.at(0);
      step.facts["gradient_norm"] = outputs.at("gradient_norm").values.at(0);
      return {};
    }));
    return outputs;
  }
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
  /// A step of the training (no program), or a run of a program that learns: `make` runs it and takes its numbers.
  template <class Make>
  Status record_step(const std::string& program, Make&& make) {
    const std::size_t number = record_.steps.size();
    const bool takes_back = number < how_.skipped.size() && how_.skipped[number];
    if (takes_back) BALEEN_TRY(keep());
    const Record::Kept* const kept = followed(number, program);
    if (kept) BALEEN_TRY(give(*kept, program));
    Record::Step step;
    step.program = program;
    BALEEN_TRY(make(step));
    if (takes_back) BALEEN_TRY(take_back());
    BALEEN_TRY(read(step));
    BALEEN_TRY(keep_step(program));
    if (kept) BALEEN_TRY(follow(*kept));
    record_.steps.push_back(std::move(step));
    return {};
  }

  void shake(std::vector<double>& numbers) {
    if (how_.shake == 0) return;
    for (double& number : numbers) number *= 1 + ((signs_() & 1) != 0 ? how_.shake : -how_.shake);
  }

  /// Whole, until it is too much. All ranks take part, and rank 0 has it.
  Status keep_step(const std::string& program) {
    if (!is_keeping_) return {};
    for (const Record::List list : {Record::gradients, Record::parameters})
      for (std::size_t t = 0; t < specs_[list].size(); ++t)
        if (is_kept(list, t, program))
          kept_bytes_ += static_cast<std::uint64_t>(element_count(specs_[list][t]->type.shape)) * sizeof(float);
    is_keeping_ = kept_bytes_ <= kKeptBytes;
    if (!is_keeping_) return {};
    Record::Kept kept;
    BALEEN_TRY(keep_list(Record::gradients, program, kept.gradients));
    BALEEN_TRY(keep_list(Record::parameters, program, kept.parameters));
    if (run_.rank() == 0) record_.kept.push_back(std::move(kept));
    return {};
  }
  /// Of a step or run of that program.
  bool is_kept(Record::List list, std::size_t t, const std::string& program) const {
    return list != Record::gradients || program_of(record_, record_.names[list][t]) == program;
  }
  Status keep_list(Record::List list, const std::string& program, std::vector<std::vector<float>>& kept) {
    for (std::size_t t = 0; t < specs_[list].size(); ++t) {
      kept.emplace_back();
      if (!is_kept(list, t, program)) continue;
      BALEEN_TRY_ASSIGN(const std::vector<double> numbers, read_numbers(run_.session(), *specs_[list][t]));
      kept.back().assign(numbers.begin(), numbers.end());
    }
    return {};
  }

  /// Null where the ranks ran something else, or nobody kept it.
  const Record::Kept* followed(std::size_t step, const std::string& program) const {
    if (!how_.followed || step >= how_.followed->kept.size()) return nullptr;
    return how_.followed->steps[step].program == program ? &how_.followed->kept[step] : nullptr;
  }

  /// To the update of the next step, what the ranks had in that one.
  Status give(const Record::Kept& kept, const std::string& program) {
    const std::string prefix = program.empty() ? "" : program + "/";
    for (std::size_t t = 0; t < kept.gradients.size(); ++t)
      if (const std::string& name = how_.followed->names[Record::gradients][t]; is_kept(Record::gradients, t, program))
        BALEEN_TRY(write_kept(prefix + kGivenGradientPrefix + name.substr(prefix.size()), kept.gradients[t]));
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
        if (!counts_updates(spec.name)) continue;
        if (program_of(record_, spec.name) == step.program) step.applied = numbers[0] > updates_[step.program];
        updates_[program_of(record_, spec.name)] = numbers[0];
      }
    step.counts = step.applied;
    if (late_counts_ && step.program.empty()) {
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
  std::map<std::string, double> updates_;        ///< by program
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

}  // namespace

std::string program_of(const Record& record, const std::string& name) {
  const std::string first = name.substr(0, name.find('/'));
  return first.size() < name.size() && record.programs.contains(first) ? first : "";
}

std::string label_of(const Record& record, std::size_t i) {
  const std::string& program = record.steps[i].program;
  std::size_t number = 0;
  for (std::size_t before = 0; before <= i; ++before) number += record.steps[before].program == program ? 1 : 0;
  return program.empty() ? "step " + std::to_string(number) : "run " + std::to_string(number) + " of `" + program + "`";
}

std::int64_t training_steps(const Record& record, std::size_t count) {
  const auto end = record.steps.begin() + static_cast<std::ptrdiff_t>(std::min(count, record.steps.size()));
  return std::count_if(record.steps.begin(), end, [](const Record::Step& step) { return step.program.empty(); });
}

double largest_share(const Approximated& approximated, std::size_t steps) {
  double largest = 0;
  for (const auto& [from, share] : approximated.shares)
    if (from < static_cast<std::int64_t>(steps)) largest = std::max(largest, share);
  return largest;
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
  if (how.rounded) flags.rewrite = [&](Job& job) { return round_values(job, *how.rounded); };
  if (how.keeps) flags.watch = [&](const std::string& phase, const Graph& graph) { result.dtypes.note(phase, graph); };
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
  BALEEN_TRY(recorder.read_last());
  if (setup.link && !how.reference) BALEEN_TRY(exchange(*setup.link, result, recorder.layouts()));
  return result;
}

}  // namespace baleen::app
