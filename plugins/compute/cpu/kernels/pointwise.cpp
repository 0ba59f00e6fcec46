/// \file pointwise: an expression interpreted tile by tile; accumulate is the expression a + b.
#include <algorithm>
#include <bit>

#include "convert.hpp"
#include "global_index.hpp"
#include "kernels.hpp"
#include "pointwise.hpp"
#include "program.hpp"

namespace baleen::cpu {
namespace {

// How the common shape is cut: tiles are stretches of one row, or whole rows.
struct Tiling {
  std::int64_t tile = 0, tiles = 0;
  std::int64_t inner = 1, rows_per_tile = 1, tiles_per_row = 1;

  Tiling() = default;
  Tiling(const Walk& walk, std::int64_t wanted) : inner(walk.inner()) {
    if (walk.size() == 0) return;
    const std::int64_t rows = walk.size() / inner;
    if (2 * inner >= wanted) {
      tile = std::min(inner, wanted);
      tiles_per_row = (inner + tile - 1) / tile;
      tiles = rows * tiles_per_row;
    } else {
      rows_per_tile = std::min(rows, wanted / inner);
      tile = rows_per_tile * inner;
      tiles = (rows + rows_per_tile - 1) / rows_per_tile;
    }
  }
  std::int64_t begin(std::int64_t number) const {
    if (rows_per_tile > 1) return number * tile;
    return number / tiles_per_row * inner + number % tiles_per_row * tile;
  }
  std::int64_t length(std::int64_t number, std::int64_t size) const {
    if (rows_per_tile > 1) return std::min(tile, size - number * tile);
    return std::min(tile, inner - number % tiles_per_row * tile);
  }
};

bool row_major(const Walk& walk, std::size_t operand) {
  std::int64_t expected = 1;
  for (std::size_t d = walk.rank(); d-- > 0; expected *= walk.extent(d))
    if (walk.stride(operand, d) != expected) return false;
  return true;
}

template <class T>
class PointwiseKernel : public Kernel {
 public:
  PointwiseKernel(const Context& context, const PointwiseOperands& operands)
      : context_(context),
        inputs_(operands.inputs),
        outputs_(operands.outputs),
        index_(outputs_[0].tensor),
        walk_(operands.walk()) {
    aliases = operands.aliases();
  }

  Status build(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results) {
    const std::int64_t wanted = wanted_tile(code);
    // Tiles of whole rows need operands without gaps between rows to be reached directly.
    const bool rows = 2 * walk_.inner() < wanted;
    std::vector<Access> in, out;
    for (std::size_t i = 0; i < inputs_.size(); ++i) in.push_back(access(i, inputs_[i], rows));
    for (std::size_t i = 0; i < outputs_.size(); ++i) out.push_back(access(inputs_.size() + i, outputs_[i], rows));
    BALEEN_TRY_ASSIGN(program_, compile_expression(code, results, in, out, outputs_[0].rank()));
    functions_.clear();
    for (const Step& step : program_.steps)
      functions_.push_back(step.kind == Step::Kind::kFunction ? context_.of<T>().tile_op(step.opcode) : nullptr);
    tiling_ = Tiling(walk_, wanted);
    value_bytes_ = padded(code.size() * sizeof(T*));
    slot_elements_ =
        static_cast<std::int64_t>(padded(static_cast<std::uint64_t>(tiling_.tile) * sizeof(T)) / sizeof(T));
    thread_bytes_ = value_bytes_ + static_cast<std::uint64_t>(program_.slots * slot_elements_) * sizeof(T);
    scratch_bytes = thread_bytes_ * static_cast<std::uint64_t>(context_.threads.count());
    return {};
  }

  Status run(const baleen_launch_t& launch) override { return run_tasks(launch, nullptr); }
  Status run(const baleen_launch_t& launch, const baleen_block_watch_t& watch) override {
    return run_tasks(launch, &watch);
  }

  /// Tasks are blocks of what lies as the walk goes, where all operands are one row of it.
  Blocks blocks(std::uint32_t tensor) const override {
    if (!is_one_row() || kTask % tiling_.tile != 0) return {};
    bool found = false;
    for (std::size_t i = 0; i < walk_.operands(); ++i) {
      const Operand& x = i < inputs_.size() ? inputs_[i] : outputs_[i - inputs_.size()];
      if (x.number != tensor) continue;
      if (walk_.inner_stride(i) != 1) return {};
      found = true;
    }
    return found ? Blocks{kTask, walk_.size()} : Blocks{};
  }

 private:
  static constexpr std::int64_t kTask = 16384;

  bool is_one_row() const { return walk_.size() > 1 && walk_.size() == walk_.inner(); }

  Status run_tasks(const baleen_launch_t& launch, const baleen_block_watch_t* watch) {
    const std::int64_t tiles_each = std::max<std::int64_t>(1, kTask / std::max<std::int64_t>(1, tiling_.tile));
    context_.threads.pieces(tiling_.tiles, tiles_each, [&](std::int64_t begin, std::int64_t end, int thread) {
      const auto first = static_cast<std::uint64_t>(tiling_.begin(begin)),
                 last = static_cast<std::uint64_t>(tiling_.begin(end - 1) + tiling_.length(end - 1, walk_.size()));
      if (watch && watch->before(watch->self, first, last - first) != 0) return;
      char* memory = static_cast<char*>(launch.scratch) + static_cast<std::uint64_t>(thread) * thread_bytes_;
      T** values = reinterpret_cast<T**>(memory);
      prepare(launch, values, reinterpret_cast<T*>(memory + value_bytes_));
      for (std::int64_t tile = begin; tile < end; ++tile) {
        if (tile + 1 < end) prefetch(launch, tiling_.begin(tile + 1), tiling_.length(tile + 1, walk_.size()));
        compute(launch, values, tiling_.begin(tile), tiling_.length(tile, walk_.size()));
      }
      if (watch) watch->after(watch->self, first, last - first);
    });
    return {};
  }

  // So that all that is alive in a tile stays in the nearest cache: operands, constants and some intermediates.
  std::int64_t wanted_tile(std::span<const baleen_instruction_t> code) const {
    constexpr std::int64_t kCacheBytes = 16384, kIntermediates = 3, kLeast = 256, kMost = 1024;
    std::int64_t alive = kIntermediates + static_cast<std::int64_t>(outputs_.size());
    for (const baleen_instruction_t& i : code) alive += i.opcode == BALEEN_X_INPUT || i.opcode == BALEEN_X_CONSTANT;
    const std::int64_t fit = kCacheBytes / static_cast<std::int64_t>(sizeof(T)) / alive / 64 * 64;
    const std::int64_t wanted = std::clamp(fit, kLeast, kMost);
    // A task is then a whole number of tiles.
    return is_one_row() ? static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted))) : wanted;
  }

  Access access(std::size_t operand, const Operand& x, bool rows) const {
    const bool is_output = operand >= inputs_.size();
    bool uniform = !is_output;
    for (std::size_t d = 0; d < walk_.rank(); ++d) uniform = uniform && walk_.stride(operand, d) == 0;
    if (uniform) return Access::kUniform;
    if (x.tensor.dtype != kDtype<T> || walk_.inner_stride(operand) != 1) return Access::kGather;
    return !rows || row_major(walk_, operand) ? Access::kDirect : Access::kGather;
  }

  // What is the same for all tiles of a task.
  void prepare(const baleen_launch_t& launch, T** values, T* slots) const {
    for (std::size_t i = 0; i < program_.slot.size(); ++i)
      if (program_.slot[i] != Program::kNowhere) values[i] = slots + program_.slot[i] * slot_elements_;
    for (const Program::Constant& c : program_.constants)
      std::fill_n(values[c.value], tiling_.tile,
                  static_cast<T>(c.is_step ? static_cast<double>(launch.step) : c.number));
    for (const Program::InputValue& u : program_.uniform_inputs) {
      T value;
      load_row(context_.of<T>(), &value, launch.tensors[inputs_[u.input].number], inputs_[u.input].tensor.dtype, 1, 1);
      std::fill_n(values[u.value], tiling_.tile, value);
    }
  }

  // The next tile comes from memory while this one is computed; the first function to touch it would wait otherwise.
  void prefetch(const baleen_launch_t& launch, std::int64_t begin, std::int64_t count) const {
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    for (const Program::InputValue& d : program_.direct_inputs) {
      const T* from = inputs_[d.input].template at<const T>(launch) + walk_.offset(d.input, begin);
      for (std::int64_t i = 0; i < count; i += kLine) __builtin_prefetch(from + i, 0, 3);
    }
  }

  void compute(const baleen_launch_t& launch, T** values, std::int64_t begin, std::int64_t count) const {
    for (const Program::InputValue& d : program_.direct_inputs)
      values[d.value] = inputs_[d.input].template at<T>(launch) + walk_.offset(d.input, begin);
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      if (program_.outputs[k].direct)
        values[program_.outputs[k].value] =
            outputs_[k].template at<T>(launch) + walk_.offset(inputs_.size() + k, begin);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      if (functions_[i])
        functions_[i](values[step.value], values[step.a], operand(values, step.b), operand(values, step.c), count);
      else
        special(launch, values, step, begin, count);
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      if (!program_.outputs[k].direct) store(launch, k, values[program_.outputs[k].value], begin, count);
  }

  // Instructions leave the numbers that they do not use open.
  const T* operand(T** values, std::uint32_t value) const {
    return value < program_.slot.size() ? values[value] : nullptr;
  }

  void special(const baleen_launch_t& launch, T** values, const Step& step, std::int64_t begin,
               std::int64_t count) const {
    T* out = values[step.value];
    const RoutinesOf<T>& routines = context_.of<T>();
    const std::uint64_t key = launch.seed ^ step.site;
    switch (step.kind) {
      case Step::Kind::kGather: return gather(launch, step.a, out, begin, count);
      case Step::Kind::kRound:
        return round_row(context_.of<T>(), out, values[step.a], static_cast<baleen_dtype_t>(step.b), count);
      case Step::Kind::kIndex:
        return index_.each(begin, begin + count, launch.micro,
                           [&](std::int64_t at, std::int64_t n, const auto& coordinates, std::uint64_t) {
                             const bool runs_along = step.a + 1 == outputs_[0].rank();
                             for (std::int64_t i = 0; i < n; ++i)
                               out[at + i] = static_cast<T>(coordinates[step.a] + (runs_along ? i : 0));
                           });
      default:
        return index_.each(begin, begin + count, launch.micro,
                           [&](std::int64_t at, std::int64_t n, const auto&, std::uint64_t element) {
                             const auto draw = step.kind == Step::Kind::kUniform ? routines.uniform : routines.normal;
                             draw(out + at, element, n, key, launch.step);
                           });
    }
  }

  // Calls body(element offset, position in the tile, count) for each stretch of a row.
  template <class Body>
  void stretches(std::size_t operand, std::int64_t begin, std::int64_t count, const Body& body) const {
    const std::int64_t inner = tiling_.inner;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t left = std::min(count - done, inner - (begin + done) % inner);
      body(walk_.offset(operand, begin + done), done, left);
      done += left;
    }
  }

  void gather(const baleen_launch_t& launch, std::size_t input, T* out, std::int64_t begin, std::int64_t count) const {
    const Operand& x = inputs_[input];
    const auto bytes = static_cast<std::int64_t>(dtype_size(x.tensor.dtype));
    const std::int64_t stride = walk_.inner_stride(input);
    stretches(input, begin, count, [&](std::int64_t offset, std::int64_t at, std::int64_t n) {
      const char* from = x.template at<const char>(launch) + offset * bytes;
      load_row(context_.of<T>(), out + at, from, x.tensor.dtype, stride, n);
    });
  }

  void store(const baleen_launch_t& launch, std::size_t output, const T* in, std::int64_t begin,
             std::int64_t count) const {
    const Operand& y = outputs_[output];
    const std::size_t operand = inputs_.size() + output;
    const auto bytes = static_cast<std::int64_t>(dtype_size(y.tensor.dtype));
    stretches(operand, begin, count, [&](std::int64_t offset, std::int64_t at, std::int64_t n) {
      store_row(context_.of<T>(), y.template at<char>(launch) + offset * bytes, in + at, y.tensor.dtype,
                walk_.inner_stride(operand), n);
    });
  }

  const Context& context_;
  std::vector<Operand> inputs_, outputs_;
  GlobalIndex index_;
  Walk walk_;
  Tiling tiling_;
  Program program_;
  std::vector<TileOp<T>> functions_;
  std::uint64_t value_bytes_ = 0, thread_bytes_ = 0;
  std::int64_t slot_elements_ = 0;
};

Result<std::unique_ptr<Kernel>> make(const Context& context, const Source& source,
                                     std::span<const baleen_instruction_t> code,
                                     std::span<const std::int64_t> results) {
  PointwiseOperands operands;
  bool any_float = false, wide = false;
  for (std::size_t i = 0; i < source.inputs(); ++i) {
    operands.inputs.push_back(source.in(i));
    any_float = any_float || is_floating(operands.inputs.back().tensor.dtype);
    wide = wide || operands.inputs.back().tensor.dtype == BALEEN_F64;
  }
  for (std::size_t i = 0; i < source.outputs(); ++i) operands.outputs.push_back(source.out(i));
  if (!any_float) wide = operands.outputs[0].tensor.dtype == BALEEN_F64;
  return with_float(wide ? BALEEN_F64 : BALEEN_F32, [&]<class T>() -> Result<std::unique_ptr<Kernel>> {
    auto kernel = std::make_unique<PointwiseKernel<T>>(context, operands);
    if (Status built = kernel->build(code, results); !built)
      return Error{built.error().code, built.error().message, std::string(source.op().name())};
    if (auto fused = make_fused_pointwise<T>(context, operands, code, results)) return fused;
    return std::unique_ptr<Kernel>(std::move(kernel));
  });
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_pointwise(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  return make(context, source, source.op().expression("expression"), source.op().integers("results"));
}

Result<std::unique_ptr<Kernel>> make_accumulate(const Context& context, const baleen_region_t& region) {
  const baleen_instruction_t code[] = {
      {BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_INPUT, 1, 0, 0, 0}, {BALEEN_X_ADD, 0, 1, 0, 0}};
  const std::int64_t results[] = {2};
  return make(context, Source(region), code, results);
}

}  // namespace baleen::cpu
