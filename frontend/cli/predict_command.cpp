/// \file `baleen predict`: what a trained model says of the rows of a file, a line each.
#include <algorithm>
#include <utility>

#include "baleen/dtype.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/launch_run.hpp"
#include "frontend/cli/new_file.hpp"
#include "frontend/cli/predictions.hpp"
#include "frontend/engine/assembly.hpp"
#include "frontend/engine/written_files.hpp"

namespace baleen::app {
namespace {

constexpr const char* kProgram = "predict";

Result<PredictionFormat> format_of(const PredictOptions& options) {
  const std::string ending = options.out.extension().string();
  const std::string word = !options.format.empty() ? options.format : ending.empty() ? ending : ending.substr(1);
  if (word == "csv") return PredictionFormat::csv;
  if (word == "jsonl") return PredictionFormat::jsonl;
  return invalid("its ending is none of .csv and .jsonl; give it one, or --format csv or jsonl", options.out.string());
}

/// A batch of the program's inputs: `real` rows from `from` on, and the last one again where there are no more.
Result<HostTensors> read_batch(const Dataset& data, const ProgramInfo& program, std::int64_t from, std::int64_t real,
                               std::int64_t batch, baleen_dtype_t dtype) {
  std::vector<Range> rows{{from, from + real}};
  for (std::int64_t i = real; i < batch; ++i) rows.push_back({from + real - 1, from + real});
  BALEEN_TRY_ASSIGN(Batch read, data.read(BALEEN_HELD_OUT, 0, rows, dtype));
  HostTensors inputs;
  const baleen_dataset_info_t& info = data.info();
  for (const NamedType& input : program.inputs)
    for (std::uint32_t f = 0; f < info.field_count; ++f)
      if (input.name == info.fields[f].name)
        inputs[input.name] = {field_dtype(info.fields[f], dtype), input.type.shape, std::move(read[f])};
  return inputs;
}

ClassNames names_of(const Dataset& data, const ScriptData& words) {
  ClassNames names;
  names.label = [&data](std::int64_t number) { return data.label(number); };
  if (words.decode({})) names.text = [&words](const std::vector<std::int32_t>& ids) { return words.decode(ids); };
  return names;
}

/// Each output has a row of the batch in each of its first extents.
Status check_outputs(const ProgramInfo& program, std::int64_t batch, const std::string& where) {
  for (const auto& [name, type] : program.outputs)
    if (type.shape.empty() || type.shape[0] != batch)
      return invalid("output `" + name + "` of the model is " + to_string(type.shape) +
                         "; to predict row by row its first extent must be the batch, " + std::to_string(batch),
                     where);
  return {};
}

/// `from`: rows of the data before the batch.
Status check_finite(const HostTensors& outputs, std::int64_t from, std::int64_t real, const std::string& data) {
  for (std::int64_t row = 0; row < real; ++row)
    if (const std::string bad = Predictions::not_finite(outputs, row); !bad.empty())
      return Error{BALEEN_DAMAGED,
                   "row " + std::to_string(from + row + 1) + ": the model gives " + bad +
                       "; its parameters, or the row's numbers, are not what it was trained with. `on_nan = "
                       "\"continue\"` in the job writes such rows all the same",
                   data};
  return {};
}

Status predict(const PredictOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const PredictionFormat format, format_of(options));
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  RunFlags flags;
  flags.command = "predict";
  flags.only = GraphRole::infer;
  flags.predict = true;
  flags.data = {true, std::filesystem::absolute(options.data).string(), BALEEN_LEARNED_NO_TARGET};
  BALEEN_TRY_ASSIGN(Described described, describe(options, setup, prepared, flags));
  Job& job = described.script->job();
  std::erase_if(job.graphs,
                [](const auto& graph) { return graph.first != kProgram && graph.second.role == GraphRole::infer; });
  const std::string where = job.where;
  const std::int64_t batch = job.batch;
  const baleen_dtype_t dtype = job.dtype;
  const bool takes_all = job.goes_on_not_finite;
  BALEEN_TRY_ASSIGN(const auto run,
                    Run::create(options, setup, std::move(prepared), flags, false, std::move(described)));
  const ProgramInfo program = run->session().programs().at(0);
  BALEEN_TRY(check_outputs(program, batch, where));
  const Dataset& data = *run->session().data();
  Predictions predictions(format, names_of(data, *run->script().data()));
  const bool writes = !setup.link || setup.link->place().rank == 0;
  std::optional<NewFile> file;
  if (writes) {
    BALEEN_TRY_ASSIGN(NewFile opened, NewFile::create(options.out));
    file.emplace(std::move(opened));
  }
  const std::int64_t rows = data.info().rows[BALEEN_HELD_OUT];
  for (std::int64_t from = 0; from < rows; from += batch) {
    const std::int64_t real = std::min(batch, rows - from);
    BALEEN_TRY_ASSIGN(HostTensors inputs, read_batch(data, program, from, real, batch, dtype));
    BALEEN_TRY_ASSIGN(const HostTensors outputs, run->infer(kProgram, std::move(inputs)));
    if (!writes) continue;
    if (!takes_all) BALEEN_TRY(check_finite(outputs, from, real, options.data.string()));
    std::string text;
    if (from == 0) {
      BALEEN_TRY_ASSIGN(text, predictions.header(outputs));
    }
    BALEEN_TRY_ASSIGN(const std::string lines, predictions.rows(outputs, 0, real));
    BALEEN_TRY(file->write(text + lines));
  }
  return writes ? file->finish() : Status();
}

/// That the end of a long work cannot fail for what could be known before.
Status check_out(const PredictOptions& options, const Setup& setup) {
  BALEEN_TRY(format_of(options));
  BALEEN_TRY(check_written_files({{"--out", options.out}}, {{"--data", options.data},
                                                            {"--load", options.load},
                                                            {"the script", options.script},
                                                            {"the manifest", setup.manifest.file}}));
  std::error_code none;
  if (std::filesystem::is_fifo(options.out, none)) return {};  // who reads it would see an end
  BALEEN_TRY_ASSIGN(const NewFile possible, NewFile::create(options.out));
  return {};
}

}  // namespace

int predict_command(const PredictOptions& options, const Setup& setup) {
  if (!setup.link && options.host.index.value_or(0) == 0)
    if (const Status possible = check_out(options, setup); !possible) return report(setup.log, possible.error());
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, predict(options, setup), setup.link);
}

}  // namespace baleen::app
