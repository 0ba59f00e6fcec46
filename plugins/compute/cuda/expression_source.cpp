/// \file Generating kernels: shapes, strides and runs stand in the text as numbers.
#include "expression_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "baleen/expression.hpp"
#include "expression_prelude.hpp"
#include "kernel_prelude.hpp"

namespace baleen::cuda {
namespace {

std::string number(std::int64_t n) { return std::to_string(n); }

const char* type_text(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F32: return "float";
    case BALEEN_F64: return "double";
    case BALEEN_I32: return "int";
    case BALEEN_I64: return "i64";
    case BALEEN_BF16: return "bf16";
    case BALEEN_F16: return "f16";
    case BALEEN_E4M3: return "e4m3";
    case BALEEN_E5M2: return "e5m2";
    default: return "unsigned char";
  }
}

/// A number that reads back with the same bits.
std::string constant_text(double x) {
  if (std::isnan(x)) return "(Real)(0.0 / 0.0)";
  if (std::isinf(x)) return x > 0 ? "(Real)(1.0 / 0.0)" : "(Real)(-1.0 / 0.0)";
  char text[64];
  std::snprintf(text, sizeof text, "(Real)%a", x);
  return text;
}

/// `x` rounded to a dtype of 16 or 8 bits, as it is stored.
std::string narrowed_text(baleen_dtype_t dtype, const std::string& x) {
  return std::string("to_") + type_text(dtype) + "(single(" + x + "))";
}

/// `x` rounded to the dtype, as a value that Real holds; of 16 or 8 bits, widened again.
std::string rounded_text(baleen_dtype_t dtype, const std::string& x) {
  switch (dtype) {
    case BALEEN_F32: return "(float)" + x;
    case BALEEN_F64: return "(double)" + x;
    case BALEEN_I32: return "to_whole<int>(" + x + ", -2147483648.0, 2147483647.0, -2147483647 - 1, 2147483647)";
    case BALEEN_I64:
      return "to_whole<i64>(" + x +
             ", -9223372036854775808.0, 9223372036854775808.0, -9223372036854775807ll - 1, 9223372036854775807ll)";
    case BALEEN_U8: return "to_whole<unsigned char>(" + x + ", 0.0, 255.0, 0, 255)";
    default: return "widen(" + narrowed_text(dtype, x) + ")";
  }
}

/// `x` rounded to the dtype, as it is stored.
std::string stored_text(baleen_dtype_t dtype, const std::string& x) {
  const bool narrows = is_floating(dtype) && dtype_size(dtype) <= 2;
  return narrows ? narrowed_text(dtype, x) : rounded_text(dtype, x);
}

/// One instruction with operands, as an expression over the values v<number>.
std::string operation(const baleen_instruction_t& i) {
  const std::string a = "v" + number(i.a), b = "v" + number(i.b), c = "v" + number(i.c);
  const auto call = [&](const char* function) { return std::string("F(") + function + ")(" + a + ")"; };
  const auto own = [&](const char* function) { return std::string(function) + "(" + a + ")"; };
  const auto test = [&](const char* sign) { return "(Real)(" + a + " " + sign + " " + b + ")"; };
  const auto infix = [&](const char* sign) { return a + " " + sign + " " + b; };
  switch (i.opcode) {
    case BALEEN_X_NEG: return "-" + a;
    case BALEEN_X_ABS: return call("fabs");
    case BALEEN_X_SIGN: return a + " > 0 ? (Real)1 : " + a + " < 0 ? (Real)-1 : " + a;
    case BALEEN_X_FLOOR: return call("floor");
    case BALEEN_X_SQRT: return call("sqrt");
    case BALEEN_X_RSQRT: return "(Real)1 / " + call("sqrt");
    case BALEEN_X_EXP: return call("exp");
    case BALEEN_X_LOG: return call("log");
    case BALEEN_X_SIN: return "(Real)sin((double)" + a + ")";
    case BALEEN_X_COS: return "(Real)cos((double)" + a + ")";
    case BALEEN_X_TANH: return call("tanh");
    case BALEEN_X_ERF: return call("erf");
    case BALEEN_X_SIGMOID: return own("sigmoid");
    case BALEEN_X_RELU: return a + " < 0 ? (Real)0 : " + a;
    case BALEEN_X_GELU: return own("gelu");
    case BALEEN_X_GELU_TANH: return own("gelu_tanh");
    case BALEEN_X_SILU: return a + " / ((Real)1 + F(exp)(-" + a + "))";
    case BALEEN_X_IS_FINITE: return "(Real)(" + a + " - " + a + " == 0)";
    case BALEEN_X_GELU_GRAD: return own("gelu_grad");
    case BALEEN_X_GELU_TANH_GRAD: return own("gelu_tanh_grad");
    case BALEEN_X_SILU_GRAD: return own("silu_grad");
    case BALEEN_X_ADD: return infix("+");
    case BALEEN_X_SUB: return infix("-");
    case BALEEN_X_MUL: return infix("*");
    case BALEEN_X_DIV: return infix("/");
    case BALEEN_X_MAX: return a + " < " + b + " || " + b + " != " + b + " ? " + b + " : " + a;
    case BALEEN_X_MIN: return a + " > " + b + " || " + b + " != " + b + " ? " + b + " : " + a;
    case BALEEN_X_POW: return "(Real)pow((double)" + a + ", (double)" + b + ")";
    case BALEEN_X_LT: return test("<");
    case BALEEN_X_LE: return test("<=");
    case BALEEN_X_EQ: return test("==");
    case BALEEN_X_NE: return test("!=");
    case BALEEN_X_SELECT: return a + " != 0 ? " + b + " : " + c;
    default: return "(Real)" + rounded_text(static_cast<baleen_dtype_t>(i.b), a);  // ROUND
  }
}

bool is_varying(const baleen_instruction_t& i) {
  return i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL || i.opcode == BALEEN_X_STEP;
}

bool asks_for_coordinates(const GeneratedKernel& kernel) {
  return std::any_of(kernel.code.begin(), kernel.code.end(), [](const baleen_instruction_t& i) {
    return i.opcode >= BALEEN_X_INDEX && i.opcode <= BALEEN_X_NORMAL;
  });
}

/// Whether `pack` neighbours along the last dimension lie together, and begin at a multiple of so many elements.
bool lies_in_packs(const std::vector<GeneratedDimension>& shape, const GeneratedOperand& operand, int pack) {
  if (operand.stride.back() != 1) return false;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d)
    if (shape[d].extent != 1 && operand.stride[d] % pack != 0) return false;
  return true;
}

bool all_lie_in_packs(const GeneratedKernel& kernel, int pack) {
  const auto good = [&](const GeneratedOperand& operand) { return lies_in_packs(kernel.shape, operand, pack); };
  return kernel.shape.back().extent % pack == 0 && std::all_of(kernel.outputs.begin(), kernel.outputs.end(), good) &&
         std::all_of(kernel.inputs.begin(), kernel.inputs.end(),
                     [&](const GeneratedOperand& operand) { return operand.stride.back() == 0 || good(operand); });
}

/// Writes the text of one kernel.
class Writer {
 public:
  explicit Writer(const GeneratedKernel& kernel)
      : kernel_(kernel),
        pack_(kernel.pack()),
        index_(kernel.elements() <= INT32_MAX ? "u32" : "i64"),
        coordinates_(asks_for_coordinates(kernel)) {}

  /// A thread computes elements a whole grid apart.
  std::string plain() {
    text_ = std::string("BALEEN_KERNEL(256, ") + kPointwiseName + ", Args) {\n";
    loop(kernel_.elements());
    text_ += "    const " + index_ + " e = p;\n";
    locate();
    for (std::size_t i = 0; i < kernel_.inputs.size(); ++i) load_line(i, element(i));
    body();
    for (std::size_t k = 0; k < kernel_.outputs.size(); ++k)
      text_ += "    ((" + std::string(type_text(kernel_.outputs[k].dtype)) + "*)args.operand[" +
               number(static_cast<std::int64_t>(kernel_.inputs.size() + k)) + "])[" + offset(kernel_.outputs[k]) +
               "] = " + result(k) + ";\n";
    return std::move(text_) + "  }\n}\n";
  }

  /// A thread computes a pack of neighbours of one row: all are loaded, then all stored.
  std::string pack() {
    text_ = std::string("BALEEN_KERNEL(256, ") + kPointwisePackName + ", Args) {\n";
    loop(kernel_.elements() / pack_);
    const std::string n = number(pack_);
    text_ += "    const " + index_ + " e = p * " + n + ";\n";
    locate();
    const std::size_t inputs = kernel_.inputs.size();
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::string name = number(static_cast<std::int64_t>(i)) + " = ";
      text_ += kernel_.inputs[i].stride.back() == 0 ? "    const Real u" + name + "(Real)widen(" + element(i) + ");\n"
                                                    : "    const auto p" + name + packed(i, kernel_.inputs[i]) + ";\n";
    }
    for (std::size_t k = 0; k < kernel_.outputs.size(); ++k)
      text_ += "    " + pack_type(kernel_.outputs[k]) + " p" + number(static_cast<std::int64_t>(inputs + k)) + ";\n";
    text_ += "#pragma unroll\n    for (int j = 0; j < " + n + "; ++j) {\n";
    if (coordinates_) {
      text_ += "    const " + index_ + " e = p * " + n + " + j;\n";
      locate();
    }
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::string name = number(static_cast<std::int64_t>(i));
      load_line(i, kernel_.inputs[i].stride.back() == 0 ? "u" + name : "p" + name + ".at[j]");
    }
    body();
    for (std::size_t k = 0; k < kernel_.outputs.size(); ++k)
      text_ += "    p" + number(static_cast<std::int64_t>(inputs + k)) + ".at[j] = " + result(k) + ";\n";
    text_ += "    }\n";
    for (std::size_t k = 0; k < kernel_.outputs.size(); ++k)
      text_ += "    " + packed(inputs + k, kernel_.outputs[k]) + " = p" +
               number(static_cast<std::int64_t>(inputs + k)) + ";\n";
    return std::move(text_) + "  }\n}\n";
  }

 private:
  void loop(std::int64_t count) {
    text_ += "  for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < " + number(count) +
             "ll; at += (i64)gridDim.x * blockDim.x) {\n    const " + index_ + " p = (" + index_ + ")at;\n";
  }

  // Local coordinates i<d> and, where they are asked for, global ones g<d> and the global element.
  void locate() {
    const auto& shape = kernel_.shape;
    text_ += "    " + index_ + " rest = e;\n";
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::string n = number(static_cast<std::int64_t>(d)),
                        extent = number(std::max<std::int64_t>(1, shape[d].extent));
      text_ += d == 0 ? "    const " + index_ + " i0 = rest;\n"
                      : "    const " + index_ + " i" + n + " = rest % " + extent + "; rest /= " + extent + ";\n";
    }
    if (!coordinates_) return;
    for (std::size_t d = 0; d < shape.size(); ++d)
      text_ += "    const i64 g" + number(static_cast<std::int64_t>(d)) + " = " + global(d) + ";\n";
    std::string all = "(u64)0";
    for (std::size_t d = 0; d < shape.size(); ++d)
      all = "(" + all + " * " + number(shape[d].global_extent) + "ull + (u64)g" + number(static_cast<std::int64_t>(d)) +
            ")";
    text_ += "    const u64 global = " + all + ";\n";
  }

  std::string global(std::size_t d) const {
    const std::string local = "(i64)i" + number(static_cast<std::int64_t>(d));
    const GeneratedDimension& dim = kernel_.shape[d];
    std::string text = local;
    for (std::size_t r = dim.runs.size(); r-- > 0;) {
      const std::string there = local + " + " + number(dim.runs[r].global - dim.runs[r].local) + "ll";
      text = r + 1 == dim.runs.size() ? "(" + there + ")"
                                      : "(" + local + " < " + number(dim.runs[r].local + dim.runs[r].length) + "ll ? " +
                                            there + " : " + text + ")";
    }
    if (dim.micro_step != 0) text += " + (i64)args.micro * " + number(dim.micro_step) + "ll";
    return text;
  }

  std::string offset(const GeneratedOperand& operand) const {
    std::string text;
    for (std::size_t d = 0; d < operand.stride.size(); ++d) {
      if (operand.stride[d] == 0 || kernel_.shape[d].extent == 1) continue;
      text += (text.empty() ? "" : " + ") + std::string("(i64)i") + number(static_cast<std::int64_t>(d)) + " * " +
              number(operand.stride[d]) + "ll";
    }
    return text.empty() ? "0" : text;
  }
  std::string pack_type(const GeneratedOperand& operand) const {
    return "Pack<" + std::string(type_text(operand.dtype)) + ", " + number(pack_) + ">";
  }
  /// The pack of operand `number_of` that begins at the coordinates.
  std::string packed(std::size_t number_of, const GeneratedOperand& operand) const {
    return "*(" + pack_type(operand) + "*)((" + std::string(type_text(operand.dtype)) + "*)args.operand[" +
           number(static_cast<std::int64_t>(number_of)) + "] + (" + offset(operand) + "))";
  }
  std::string element(std::size_t input) const {
    return "((const " + std::string(type_text(kernel_.inputs[input].dtype)) + "*)args.operand[" +
           number(static_cast<std::int64_t>(input)) + "])[" + offset(kernel_.inputs[input]) + "]";
  }
  void load_line(std::size_t input, const std::string& from) {
    text_ += "    const Real x" + number(static_cast<std::int64_t>(input)) + " = (Real)widen(" + from + ");\n";
  }

  void body() {
    for (std::size_t i = 0; i < kernel_.code.size(); ++i)
      text_ += "    const Real v" + number(static_cast<std::int64_t>(i)) + " = " + value(kernel_.code[i]) + ";\n";
  }
  static std::string value(const baleen_instruction_t& i) {
    const std::uint64_t site = i.a | static_cast<std::uint64_t>(i.b) << 32;
    const std::string key = "args.seed ^ " + std::to_string(site) + "ull)";
    switch (i.opcode) {
      case BALEEN_X_INPUT: return "x" + number(i.a);
      case BALEEN_X_CONSTANT: return constant_text(i.constant);
      case BALEEN_X_INDEX: return "(Real)g" + number(i.a);
      case BALEEN_X_UNIFORM: return "uniform(global, args.step, " + key;
      case BALEEN_X_NORMAL: return "normal(global, args.step, " + key;
      case BALEEN_X_STEP: return "(Real)(double)args.step";
      default: return operation(i);
    }
  }
  std::string result(std::size_t k) const {
    return stored_text(kernel_.outputs[k].dtype, "v" + number(kernel_.results[k]));
  }

  const GeneratedKernel& kernel_;
  int pack_;
  std::string index_, text_;
  bool coordinates_;
};

}  // namespace

bool GeneratedKernel::varies() const { return std::any_of(code.begin(), code.end(), is_varying); }

std::int64_t GeneratedKernel::elements() const {
  std::int64_t count = 1;
  for (const GeneratedDimension& dim : shape) count *= dim.extent;
  return count;
}

int GeneratedKernel::pack() const {
  if (elements() == 0 || shape.empty()) return 0;
  const auto half = [](const GeneratedOperand& operand) { return dtype_size(operand.dtype) == 2; };
  const bool any_half =
      std::any_of(inputs.begin(), inputs.end(), half) || std::any_of(outputs.begin(), outputs.end(), half);
  if (any_half && all_lie_in_packs(*this, 8)) return 8;
  return all_lie_in_packs(*this, 4) ? 4 : 0;
}

GeneratedKernel simplified(GeneratedKernel kernel) {
  if (asks_for_coordinates(kernel)) return kernel;
  const GeneratedKernel from = kernel;
  kernel.shape.clear();
  std::vector<GeneratedOperand*> to;
  std::vector<const GeneratedOperand*> all;
  for (std::size_t i = 0; i < from.inputs.size(); ++i) to.push_back(&kernel.inputs[i]), all.push_back(&from.inputs[i]);
  for (std::size_t i = 0; i < from.outputs.size(); ++i)
    to.push_back(&kernel.outputs[i]), all.push_back(&from.outputs[i]);
  for (GeneratedOperand* operand : to) operand->stride.clear();
  for (std::size_t d = 0; d < from.shape.size(); ++d) {
    const std::int64_t extent = from.shape[d].extent;
    if (extent == 1) continue;
    bool merges = !kernel.shape.empty();
    for (std::size_t i = 0; merges && i < all.size(); ++i) merges = to[i]->stride.back() == all[i]->stride[d] * extent;
    if (merges)
      kernel.shape.back().extent *= extent;
    else
      kernel.shape.push_back({extent, extent, {}, 0});
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (merges) to[i]->stride.pop_back();
      to[i]->stride.push_back(all[i]->stride[d]);
    }
  }
  return kernel;
}

std::string generate(const GeneratedKernel& kernel) {
  std::string text = kKernelPrelude;
  text +=
      kernel.wide ? "typedef double Real;\n#define F(name) name\n" : "typedef float Real;\n#define F(name) name##f\n";
  text += kPointwisePrelude;
  text += Writer(kernel).plain();
  if (kernel.pack() > 0) text += Writer(kernel).pack();
  return text;
}

}  // namespace baleen::cuda
