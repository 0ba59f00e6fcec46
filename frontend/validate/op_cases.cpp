/// \file What every kind of op must do: a gradient that is the slope, the same numbers on several ranks and in another
/// precision. Operands are found by asking the kind which types it takes (op_calls).
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "baleen/host.hpp"
#include "baleen/op_kind.h"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/op_calls.hpp"
#include "frontend/validate/trainings.hpp"

namespace baleen::validate {
namespace {

/// Of a call: the numbers' range, the sum over the results, and the slope along the direction, by differences of two
/// lengths and by the gradient.
struct Found {
  std::string range;
  double total = 0, slope = 0, longer = 0, gradient = 0;
};

/// How the job `op` is run.
struct OpRun {
  std::string dtype = "fp64", manifest = {}, range = {};
  bool gradient = true;  ///< whether it is asked for, where the kind has one
};

/// The job `op` with these calls.
Ended run_op(const Subject& subject, Mark& mark, std::string_view command, const baleen_op_kind_t& kind,
             const std::string& calls, const OpRun& run = {}) {
  std::vector<std::string> words = {"--dtype", run.dtype};
  if (command == "graph") words.insert(words.end(), {"--graph", "value1"});
  words.insert(words.end(), {"--", "--kind", std::string(view(kind.name)), "--calls", calls, "--gradient",
                             kind.gradient && run.gradient ? "true" : "false"});
  if (!run.range.empty()) words.insert(words.end(), {"--range", run.range});
  return run_program(subject, mark, command, "op", run.manifest, words);
}

double number_behind(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(" " + word + " ");
  if (at == std::string::npos) throw Failure("a run of it says no `" + word + "`: " + text.substr(0, 300));
  return std::strtod(text.c_str() + at + word.size() + 2, nullptr);
}

/// What a run says of its call `number`, counted from 1.
Found found_in(const std::string& out, std::size_t number, bool differentiable) {
  const std::string head = "call " + std::to_string(number) + " range ";
  const std::size_t at = out.find(head);
  if (at == std::string::npos) throw Failure("a run of it says nothing of a call: " + out.substr(0, 300));
  const std::string line = out.substr(at, out.find('\n', at) - at);
  Found found;
  found.range = line.substr(head.size(), line.find(' ', head.size()) - head.size());
  found.total = number_behind(line, "total");
  if (!std::isfinite(found.total)) return found;
  found.slope = number_behind(line, "slope");
  found.longer = number_behind(line, "longer");
  if (differentiable) found.gradient = number_behind(line, "gradient");
  return found;
}

/// The gradient is the slope, as exactly as differences of two lengths agree on it.
void check_slope(const Found& found, const std::string& of) {
  const double doubt = std::abs(found.slope - found.longer);
  if (!(std::abs(found.slope - found.gradient) <=
        1e-5 * (std::abs(found.slope) + std::abs(found.gradient)) + 1e-7 + doubt))
    throw Failure(of + "along a random direction its results have the slope " + digits_of(found.slope) +
                  ", and by its gradient " + digits_of(found.gradient));
}

/// Whether operands or attributes were refused, as a kind may. What dies, what is a bug, and a rule that does not fit
/// the others are the kind's own fault.
bool refuses(const Ended& ended) {
  const auto says = [&](const char* words) { return ended.err.find(words) != std::string::npos; };
  return ended.is_refusal() && !says(", rule infer: ") && !says(", rule iteration: ") &&
         !says(", rule expand: gave ") && !says(" has an op kind ");
}

/// The first call that the kind's rule and the program take.
OpCall base_of(const Subject& subject, Mark& mark, const baleen_op_kind_t& kind, const OpCalls& calls) {
  std::string fault;
  for (const OpCall& call : calls.taken()) {
    const Ended planned = run_op(subject, mark, "graph", kind, calls.text(call));
    if (planned.code == 0) return call;
    if (fault.empty() && !refuses(planned)) fault = calls.of(call) + "its graph " + planned.text();
  }
  if (!fault.empty()) throw Failure(fault);
  throw Skip("none of the operands that were tried are taken");
}

/// All calls that are tried of the kind, `base` before the others.
std::vector<OpCall> calls_from(const OpCall& base, const OpCalls& calls, const baleen_op_kind_t& kind) {
  std::vector<OpCall> all = {base};
  for (const OpCall& call : calls.taken())
    if (call.shapes != base.shapes) all.push_back(call);
  const auto add = [&](const std::vector<OpCall>& more) { all.insert(all.end(), more.begin(), more.end()); };
  // Of kinds that are not pure two calls may draw other numbers.
  if (kind.traits & BALEEN_KIND_PURE) add(calls.with_other_attributes(base));
  if (kind.gradient) add(calls.with_one_direction(base));
  return all;
}

/// Whether a call that cannot be run says nothing of the kind: what is no base may be refused as operands, or as a
/// gradient of another attribute, and an operand that changes nothing needs no gradient.
bool may_fail(const Subject& subject, Mark& mark, const baleen_op_kind_t& kind, const OpCalls& calls,
              const OpCall& call, const OpCall& base) {
  const std::string text = calls.text(call);
  const OpRun no_gradient{"fp64", {}, {}, false};
  if (const Ended planned = run_op(subject, mark, "graph", kind, text, no_gradient); planned.code != 0)
    return refuses(planned);
  if (call.attributes != base.attributes)
    if (const Ended planned = run_op(subject, mark, "graph", kind, text); planned.code != 0) return refuses(planned);
  if (call.along == 0) return false;
  const Ended values = run_op(subject, mark, "run", kind, text, no_gradient);
  return values.code == 0 && std::abs(found_in(values.out, 1, false).slope) <= 1e-7;
}

/// Checks the calls in one run, and where that fails each alone. What is found of the first one, the base.
Found check_calls(const Subject& subject, Mark& mark, const baleen_op_kind_t& kind, const OpCalls& calls,
                  const std::vector<OpCall>& all) {
  std::string together;
  for (const OpCall& call : all) together += (together.empty() ? "" : "|") + calls.text(call);
  const Ended whole = run_op(subject, mark, "run", kind, together);
  Found base;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string of = calls.of(all[i]);
    Ended ended = whole;
    if (whole.code != 0) ended = run_op(subject, mark, "run", kind, calls.text(all[i]));
    if (ended.code != 0) {
      if (i > 0 && may_fail(subject, mark, kind, calls, all[i], all[0])) continue;
      throw Failure(of + "a run " + ended.text());
    }
    const Found found = found_in(ended.out, whole.code == 0 ? i + 1 : 1, kind.gradient != nullptr);
    if (i == 0) base = found;
    if (kind.gradient && std::isfinite(found.total)) check_slope(found, of);
  }
  return base;
}

const baleen_op_kind_t* kind_at(const Opened& opened, std::uint64_t number) {
  return opened.call("`kind`", opened.table<baleen_ops_t>().kind, number);
}

void check_kind(const Subject& subject, Mark& mark, std::uint64_t number) {
  const Opened opened(subject, mark);
  const baleen_op_kind_t& kind = *kind_at(opened, number);
  const OpCalls calls(opened, kind, subject.descriptor);
  const OpCall base = base_of(subject, mark, kind, calls);
  const std::string of = calls.of(base);
  const Found alone = check_calls(subject, mark, kind, calls, calls_from(base, calls, kind));
  if (!std::isfinite(alone.total)) throw Skip(of + "its results are not finite on the numbers that were tried");
  const auto compare = [&](const OpRun& run, double tolerance, const std::string& where) {
    const Ended other = run_op(subject, mark, "run", kind, calls.text(base), run);
    if (other.is_refusal()) return;  // a layout or a precision that it does not take
    if (other.code != 0) throw Failure(of + "a run " + where + " " + other.text());
    const double found = found_in(other.out, 1, false).total;
    if (!(std::abs(found - alone.total) <= tolerance))
      throw Failure(of + "the sum over its results is " + digits_of(alone.total) + ", and " + where + " " +
                    digits_of(found));
  };
  const double size = 1 + std::abs(alone.total);
  const double slope = std::isfinite(alone.slope) ? std::abs(alone.slope) : 0;  // operands are rounded, too
  compare({"fp32", {}, alone.range}, 1e-4 * size + 1e-5 * slope, "in fp32");
  compare({"fp64", beside_on(subject, 2), alone.range}, 1e-9 * size, "on two ranks");
}

struct Kinds {
  std::vector<std::string> names;
  std::string fault;  ///< why there are no more; empty: these are all
};

/// Asked for in processes of their own, each for as many as a case can say.
Kinds kinds_of(const Subject& subject) {
  constexpr std::size_t kBytes = 2000, kMost = 10'000;
  const std::string more = "\n";  // behind the last one
  Kinds kinds;
  for (bool has_more = true; has_more && kinds.fault.empty();) {
    const std::size_t first = kinds.names.size();
    const Outcome told = run_apart(
        [&](Mark& mark) {
          const Opened opened(subject, mark);
          std::string names;
          for (std::uint64_t i = first; const baleen_op_kind_t* const kind = kind_at(opened, i); ++i) {
            names += std::string(view(kind->name)) + '\n';
            if (names.size() > kBytes) throw Skip(names + more);
          }
          throw Skip(names);
        },
        std::chrono::seconds(10));
    if (told.state != Outcome::State::skipped) return {kinds.names, told.reason};
    std::istringstream lines(told.reason);
    for (std::string name; std::getline(lines, name);)
      if (!name.empty()) kinds.names.push_back(name);
    has_more = told.reason.ends_with("\n" + more);
    if (kinds.names.size() > kMost) kinds.fault = "it has no last kind: " + std::to_string(kMost) + " were asked for";
  }
  if (kinds.fault.empty() && kinds.names.empty()) kinds.fault = "it has no kind";
  return kinds;
}

}  // namespace

std::vector<Case> op_cases(const Subject& subject) {
  const Kinds kinds = kinds_of(subject);
  std::vector<Case> all = {{"op.kinds", "its kinds can be asked for by number, and there are some",
                            [fault = kinds.fault](const Subject&, Mark&) {
                              if (!fault.empty()) throw Failure(fault);
                            }}};
  std::uint64_t number = 0;
  for (const std::string& name : kinds.names) {
    all.push_back({"op." + name, "the gradient is the slope; fp32, fp64 and two ranks give the same sum",
                   [number](const Subject& each, Mark& mark) { check_kind(each, mark, number); }});
    ++number;
  }
  return all;
}

}  // namespace baleen::validate
