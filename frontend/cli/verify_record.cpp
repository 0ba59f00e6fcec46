/// \file Runs a script for `baleen verify`.
#include "frontend/cli/verify_record.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>

#include "baleen/dtype.hpp"
#include "compiler/plan/plan.hpp"
#include "frontend/engine/assembly.hpp"

namespace baleen::app {
namespace {

/// Keeps what a run that the script drives comes to.
class Recorder : public TrainingRun {
 public:
  Recorder(Run& run, Record& record) : run_(run), record_(record) {}

  Result<Facts> step() override {
    BALEEN_TRY_ASSIGN(Facts facts, run_.step());
    record_.losses.push_back(facts["loss"]);
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

 private:
  Run& run_;
  Record& record_;
};

template <class T>
Result<std::vector<double>> read_as(Session& session, const PersistentSpec& spec) {
  std::vector<T> numbers(static_cast<std::size_t>(element_count(spec.type.shape)));
  BALEEN_TRY(session.read_tensor(spec.name, numbers.data(), numbers.size() * sizeof(T)));
  return std::vector<double>(numbers.begin(), numbers.end());
}

Result<std::vector<double>> read_numbers(Session& session, const PersistentSpec& spec) {
  switch (spec.type.dtype) {
    case BALEEN_F64: return read_as<double>(session, spec);
    case BALEEN_F32: return read_as<float>(session, spec);
    default:
      return unsupported("verify compares numbers in fp64 and fp32, and `" + spec.name + "` is " +
                         std::string(dtype_name(spec.type.dtype)));
  }
}

/// The list that a persistent tensor belongs to; null for what strategies keep for themselves.
std::vector<Record::Tensor>* list_of(Record& record, const PersistentSpec& spec) {
  if (spec.role == Role::parameter) return &record.parameters;
  if (spec.role != Role::state) return nullptr;
  if (spec.name.starts_with(kFirstGradientPrefix)) return &record.first_gradients;
  return spec.category == "optimizer" || spec.name == kUpdatesState ? &record.states : nullptr;
}

/// What another rank has of parameters and states, as text: a line each.
std::string sketches_text(const Record& record) {
  std::ostringstream text;
  text << std::hexfloat;
  for (const auto* list : {&record.parameters, &record.states})
    for (const Record::Tensor& tensor : *list) {
      for (const double number : sketch_of(tensor.numbers)) text << number << ' ';
      text << '\n';
    }
  return text.str();
}

std::vector<Sketch> read_sketches(const std::string& text) {
  std::vector<Sketch> all;
  const char* at = text.c_str();
  for (std::size_t lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')); lines > 0; --lines) {
    Sketch& sketch = all.emplace_back();
    for (double& number : sketch) {
      char* end = nullptr;
      number = std::strtod(at, &end);
      at = end;
    }
  }
  return all;
}

/// Brings to rank 0 what the others have.
Status exchange(RankLink& link, Record& record) {
  const Place& place = link.place();
  if (place.rank != 0) return link.put("verify." + std::to_string(place.rank), sketches_text(record));
  for (int rank = 1; rank < place.ranks; ++rank) {
    BALEEN_TRY_ASSIGN(const std::string text, link.get("verify." + std::to_string(rank)));
    record.replicas.push_back(read_sketches(text));
  }
  return {};
}

}  // namespace

Sketch sketch_of(const std::vector<double>& numbers) {
  Sketch sketch{};
  std::mt19937 signs(1996);
  for (const double number : numbers) {
    auto bits = signs();
    for (double& sum : sketch) {
      sum += (bits & 1) != 0 ? number : -number;
      bits >>= 1;
    }
  }
  return sketch;
}

Result<Record> record(const VerifyOptions& options, const Setup& setup, bool alone) {
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  RunFlags flags{options.steps, false, false};
  flags.alone = alone;
  flags.check_kernels = !alone;  // first, before one that writes anywhere does harm
  flags.silent = true;
  flags.keep_first_gradients = options.dtype != "fp64";
  BALEEN_TRY_ASSIGN(const auto run, Run::create(options, setup, std::move(prepared), flags, false));
  Record result;
  Recorder recorder(*run, result);
  BALEEN_TRY(run->train(recorder));
  result.coarsest = run->session().coarsest_dtype();
  for (const PersistentBuffer& buffer : run->session().persistent().buffers) {
    std::vector<Record::Tensor>* const list = list_of(result, buffer.spec);
    if (!list) continue;
    BALEEN_TRY_ASSIGN(auto numbers, read_numbers(run->session(), buffer.spec));
    std::string name = buffer.spec.name;
    if (list == &result.first_gradients) name.erase(0, std::string_view(kFirstGradientPrefix).size());
    list->push_back({std::move(name), std::move(numbers)});
  }
  if (setup.link && !alone) BALEEN_TRY(exchange(*setup.link, result));
  return result;
}

}  // namespace baleen::app
