/// \file Reckons the choices of a stretch of the forward pass.
#include "segment.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "blocks.hpp"

namespace baleen::recompute {
namespace {

/// Units of which all sets are choices.
constexpr std::size_t kUnits = 12;
/// Units that are groups of smaller ops, where ops are more.
constexpr std::size_t kGroups = 3;

bool is_as_good(const Choice& a, const Choice& b) { return a.kept <= b.kept && a.peak <= b.peak && a.flops <= b.flops; }

/// Those that none is as good as.
std::vector<Choice> best_of(std::vector<Choice> all) {
  std::ranges::stable_sort(all, [](const Choice& a, const Choice& b) {
    return a.flops != b.flops ? a.flops < b.flops : a.kept != b.kept ? a.kept < b.kept : a.peak < b.peak;
  });
  std::vector<Choice> best;
  for (Choice& one : all)
    if (std::ranges::none_of(best, [&](const Choice& other) { return is_as_good(other, one); }))
      best.push_back(std::move(one));
  return best;
}

}  // namespace

std::vector<std::vector<char>> kept_results(const ForwardPass& pass) {
  std::vector<std::vector<char>> kept(pass.size());
  for (std::size_t i = 0; i < pass.size(); ++i)
    for (const Made& made : pass[i].results) kept[i].push_back(made.read_backward);
  for (std::size_t i = pass.size(); i-- > 0;)
    if (pass[i].view && kept[i][0])
      for (const Read& read : pass[i].reads) kept[read.op][read.result] = 1;
  return kept;
}

Segment::Segment(const ForwardPass& pass, const std::vector<std::vector<char>>& shown, std::size_t begin,
                 std::size_t end)
    : pass_(pass), shown_(shown), begin_(begin), end_(end) {
  for (std::size_t i = begin; i < end; ++i)
    if (pass[i].eligible && !pass[i].view && pass.bytes(i) > 0 && !is_read_from(pass, i, end))
      inner_.push_back(i - begin);
}

std::string Segment::signature() const {
  std::ostringstream text;
  for (std::size_t i = begin_; i < end_; ++i) {
    const ForwardOp& op = pass_[i];
    text << op.flops << (op.eligible ? 'e' : '-') << (op.view ? 'v' : '-')
         << (is_read_from(pass_, i, end_) ? 'o' : '-');
    for (std::size_t r = 0; r < op.results.size(); ++r)
      text << ' ' << op.results[r].bytes << (shown_[i][r] ? 'k' : '-');
    for (const Read& read : op.reads)
      if (inside(read.op))
        text << " r" << i - read.op << '.' << read.result;
      else
        text << " x" << pass_[read.op].results[read.result].bytes << (shown_[read.op][read.result] ? 'k' : '-');
    text << ';';
  }
  return text.str();
}

std::vector<Segment::Unit> Segment::units() const {
  std::vector<std::size_t> ops = inner_;
  const auto bytes = [&](std::size_t i) { return pass_.bytes(begin_ + i); };
  std::ranges::stable_sort(ops, [&](std::size_t a, std::size_t b) { return bytes(a) > bytes(b); });
  std::vector<Unit> units;
  const std::size_t alone = ops.size() <= kUnits ? ops.size() : kUnits - kGroups;
  for (std::size_t k = 0; k < alone; ++k) units.push_back({{ops[k]}});
  std::vector<std::size_t> rest(ops.begin() + static_cast<std::ptrdiff_t>(alone), ops.end());
  std::ranges::stable_sort(rest, {},
                           [&](std::size_t i) { return pass_[begin_ + i].flops / static_cast<double>(bytes(i)); });
  for (std::size_t g = 0; !rest.empty() && g < kGroups; ++g) {
    const std::size_t from = g * rest.size() / kGroups, to = (g + 1) * rest.size() / kGroups;
    if (from < to)
      units.push_back(
          {{rest.begin() + static_cast<std::ptrdiff_t>(from), rest.begin() + static_cast<std::ptrdiff_t>(to)}});
  }
  return units;
}

std::vector<Choice> Segment::choices() const {
  const std::vector<Unit> all = units();
  std::vector<Choice> choices;
  std::set<std::vector<char>> seen;
  for (std::size_t mask = 0; mask < std::size_t{1} << all.size(); ++mask) {
    std::vector<char> wanted(size(), 0);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (mask >> k & 1)
        for (const std::size_t i : all[k].ops) wanted[i] = 1;
    wanted = needed(std::move(wanted));
    if (seen.insert(wanted).second) choices.push_back(choice(std::move(wanted)));
  }
  choices = best_of(std::move(choices));
  choices.push_back(inputs_only());
  return choices;
}

Choice Segment::inputs_only() const {
  std::vector<char> wanted(size(), 0);
  for (std::size_t i = 0; i < size(); ++i)
    wanted[i] = pass_[begin_ + i].eligible && !is_read_from(pass_, begin_ + i, end_);
  return choice(needed(std::move(wanted)));
}

std::vector<char> Segment::needed(std::vector<char> wanted) const {
  for (std::size_t i = 0; i < size(); ++i) {
    const ForwardOp& op = pass_[begin_ + i];
    if (op.view) wanted[i] = !op.reads.empty() && inside(op.reads[0].op) && wanted[op.reads[0].op - begin_];
  }
  for (std::size_t i = size(); i-- > 0;) {
    if (!wanted[i]) continue;
    const ForwardOp& op = pass_[begin_ + i];
    wanted[i] = std::ranges::any_of(op.results, &Made::read_backward) ||
                std::ranges::any_of(op.readers, [&](std::size_t r) { return inside(r) && wanted[r - begin_]; });
  }
  return wanted;
}

/// What copies read of earlier segments that nobody keeps otherwise.
std::int64_t Segment::kept_before(const std::vector<char>& needed) const {
  std::set<std::pair<std::size_t, std::size_t>> more;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!needed[i]) continue;
    for (Read read : pass_[begin_ + i].reads) {
      while (pass_[read.op].view && !pass_[read.op].reads.empty()) read = pass_[read.op].reads[0];
      if (read.op < begin_ && !shown_[read.op][read.result]) more.emplace(read.op, read.result);
    }
  }
  std::int64_t bytes = 0;
  for (const auto& [op, result] : more) bytes += static_cast<std::int64_t>(pass_[op].results[result].bytes);
  return bytes;
}

Choice Segment::choice(std::vector<char> needed) const {
  std::vector<std::vector<char>> read(size());
  for (std::size_t i = 0; i < size(); ++i) read[i] = shown_[begin_ + i];
  std::vector<std::int64_t> kept(size(), 0);
  Choice made;
  for (std::size_t i = size(); i-- > 0;) {
    const ForwardOp& op = pass_[begin_ + i];
    if (needed[i] || (op.view && read[i][0]))
      for (const Read& from : op.reads)
        if (inside(from.op)) read[from.op - begin_][from.result] = 1;
    if (needed[i]) {
      made.ops.push_back(i);
      made.flops += op.flops;
      continue;
    }
    for (std::size_t r = 0; r < read[i].size(); ++r)
      if (read[i][r]) kept[i] += static_cast<std::int64_t>(op.results[r].bytes);
  }
  const std::int64_t before = kept_before(needed);
  for (const std::int64_t bytes : kept) made.kept += bytes;
  made.kept += before;
  made.peak = before + backward_peak(needed, kept);
  return made;
}

/// The op in whose backward step a copy is read first.
std::vector<std::size_t> Segment::last_use(const std::vector<char>& needed) const {
  std::vector<std::size_t> last(size(), 0);
  for (std::size_t i = size(); i-- > 0;) {
    last[i] = i;
    for (const std::size_t reader : pass_[begin_ + i].readers) {
      const std::size_t at = std::min(reader, end_ - 1) - begin_;
      const bool copied = inside(reader) && needed[at];
      last[i] = std::max({last[i], at, copied || pass_[begin_ + at].view ? last[at] : 0});
    }
  }
  return last;
}

/// Backward steps run from the last op to the first. At each there is what the ops up to it kept, copies from the step
/// that reads them first on, and cotangents of the op's result and operand.
std::int64_t Segment::backward_peak(const std::vector<char>& needed, const std::vector<std::int64_t>& kept) const {
  const std::vector<std::size_t> last = last_use(needed);
  std::vector<std::int64_t> change(size() + 1, 0);
  for (std::size_t i = 0; i < size(); ++i) {
    const auto bytes = static_cast<std::int64_t>(pass_.bytes(begin_ + i));
    if (needed[i]) change[i] += bytes, change[last[i] + 1] -= bytes;
  }
  std::int64_t copies = 0, sum = 0, most = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    copies += change[i];
    sum += kept[i];
    most = std::max(most, sum + copies + 2 * static_cast<std::int64_t>(pass_.bytes(begin_ + i)));
  }
  return most;
}

}  // namespace baleen::recompute
