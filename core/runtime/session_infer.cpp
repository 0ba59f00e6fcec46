/// \file Runs named programs: whole tensors of the host in and out.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "baleen/dtype.hpp"
#include "core/input/nearest.hpp"
#include "core/runtime/session_impl.hpp"

namespace baleen {
namespace {

std::string of_program(const std::string& name) { return " of program `" + name + "`"; }

/// Every input is there, of its dtype and shape, and nothing else is.
Status check_inputs(const JobProgram& program, const HostTensors& inputs) {
  std::vector<std::string> known;
  for (const NamedType& input : program.inputs) known.push_back(input.name);
  for (const auto& [name, tensor] : inputs)
    if (std::ranges::find(known, name) == known.end())
      return invalid("program `" + program.name + "`: " + unknown_word("input", name, known));
  for (const auto& [name, type] : program.inputs) {
    const auto given = inputs.find(name);
    if (given == inputs.end())
      return invalid("input `" + name + "`" + of_program(program.name) + " is missing; it is " +
                     type_text(type.dtype, type.shape));
    const HostTensor& tensor = given->second;
    if (tensor.dtype != type.dtype || tensor.shape != type.shape)
      return invalid("input `" + name + "`" + of_program(program.name) + " is " + type_text(type.dtype, type.shape) +
                     ", not " + type_text(tensor.dtype, tensor.shape));
    const std::size_t bytes = static_cast<std::size_t>(element_count(type.shape)) * dtype_size(type.dtype);
    if (tensor.bytes.size() != bytes)
      return invalid("input `" + name + "`" + of_program(program.name) + " has " + std::to_string(bytes) +
                     " bytes, not " + std::to_string(tensor.bytes.size()));
  }
  return {};
}

/// What a rank holds of a tensor, of which it tells rows and what lies within them.
Piece piece_at(const Port& port) {
  Piece piece;
  if (port.type.shape.empty()) return piece;
  Ranges& rows = piece.dims.emplace_back();
  for (const Range& run : port.rows)
    if (run.length() > 0) rows.push_back(run);
  piece.dims.insert(piece.dims.end(), port.within.begin(), port.within.end());
  return piece;
}

}  // namespace

Status Session::Impl::put_piece(const Program& program, const NamedType& input, const HostTensor& tensor) {
  const Port* port = find_port(program.inputs(), input.name);
  if (!port || port->bytes == 0) return {};  // the program does not read it here
  if (port->bytes == tensor.bytes.size()) return put(program, input.name, tensor.bytes.data(), tensor.bytes.size());
  std::vector<std::byte> own(port->bytes);
  cut_out(tensor.shape, piece_at(*port), dtype_size(tensor.dtype), tensor.bytes.data(), own.data());
  BALEEN_TRY(put(program, input.name, own.data(), own.size()));
  return device.check(device.table().synchronize(device.handle(), device.stream()));  // `own` ends here
}

std::vector<ProgramInfo> Session::programs() const {
  std::vector<ProgramInfo> list;
  for (const JobProgram& one : impl_->programs)
    if (is_program(one.role)) list.push_back({one.name, one.inputs, one.outputs});
  return list;
}

std::map<std::string, std::int64_t> Session::runs() const {
  std::map<std::string, std::int64_t> counts;
  for (const JobProgram& one : impl_->programs)
    if (one.role == GraphRole::learn) counts[one.name] = one.runs;
  return counts;
}

Status Session::resume(std::int64_t steps_done, std::int64_t position,
                       const std::map<std::string, std::int64_t>& runs) {
  if (impl_->reader) return internal("a session that has begun is resumed");
  impl_->steps_done = steps_done;
  impl_->position = position;
  for (JobProgram& one : impl_->programs)
    if (const auto found = runs.find(one.name); found != runs.end()) one.runs = found->second;
  return {};
}

Result<HostTensors> Session::run(const std::string& name, const HostTensors& inputs) {
  Impl& impl = *impl_;
  std::vector<std::string> known;
  for (const ProgramInfo& info : programs()) known.push_back(info.name);
  if (std::ranges::find(known, name) == known.end()) {
    if (known.empty()) return invalid("the job has no program `" + name + "`, and no other to run by name");
    return invalid(unknown_word("program", name, known));
  }
  JobProgram& chosen = *std::ranges::find(impl.programs, name, &JobProgram::name);
  BALEEN_TRY(check_inputs(chosen, inputs));
  std::uint64_t& digest = impl.input_digests[name];
  for (const auto& [input, tensor] : inputs)
    digest = XXH3_64bits_withSeed(tensor.bytes.data(), tensor.bytes.size(), digest);
  const bool learns = chosen.role == GraphRole::learn;
  const std::int64_t step = learns ? chosen.runs : impl.steps_done;
  if (learns) chosen.runs.add(1);
  const auto put = [&]() -> Status {
    for (const NamedType& input : chosen.inputs)
      BALEEN_TRY(impl.put_piece(chosen.program, input, inputs.at(input.name)));
    const auto scalars = impl.put_scalars(chosen, step);
    return scalars ? Status() : scalars.error();
  };
  const std::function<Status()> gate = learns ? impl.gate_of(chosen.program) : nullptr;
  impl.was_undone = false;
  if (Status given = put(); !given) {
    // The inputs are the caller's, and the stream may not have come to them.
    BALEEN_TRY(impl.device.check(impl.device.table().synchronize(impl.device.handle(), impl.device.stream())));
    return std::move(given).error();
  }
  BALEEN_TRY(impl.run(chosen.program, static_cast<std::uint64_t>(step), impl.options.watch, gate));
  impl.spans.clear();
  HostTensors outputs;
  for (const NamedType& output : chosen.outputs) {
    BALEEN_TRY_ASSIGN(outputs[output.name], impl.get(chosen.program, output.name));
  }
  const std::string run = "program `" + name + "`, run " + std::to_string(chosen.runs);
  if (chosen.role == GraphRole::learn) {
    BALEEN_TRY_ASSIGN(const double loss, impl.get_number(chosen.program, "loss"));
    BALEEN_TRY_ASSIGN(const double norm, impl.get_number(chosen.program, "gradient_norm"));
    std::string where;
    if (gate && !(std::isfinite(loss) && std::isfinite(norm))) {
      const bool was_whole = std::exchange(impl.is_whole, false);  // until it is taken back
      BALEEN_TRY_ASSIGN(where, impl.find_not_finite(chosen.program, static_cast<std::uint64_t>(step), put));
      impl.is_whole = was_whole && impl.was_undone;
      if (impl.was_undone) chosen.runs.add(-1);
    }
    BALEEN_TRY(impl.check_finite(chosen.program, loss, norm, "in " + run, *this, where));
  }
  BALEEN_TRY(impl.check_stops(chosen, run));
  return outputs;
}

}  // namespace baleen
