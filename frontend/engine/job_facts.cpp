/// \file Prints a job, and hashes what it reads.
#include "frontend/engine/job_facts.hpp"

#define XXH_STATIC_LINKING_ONLY  // the state's size
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "baleen/dtype.hpp"
#include "core/runtime/host_tensor.hpp"
#include "frontend/checkpoint/digests.hpp"
#include "frontend/engine/line_difference.hpp"
#include "frontend/engine/schedule_check.hpp"

namespace baleen::app {
namespace {

constexpr std::uint64_t kFiles = 256ull << 20;  ///< at most so many bytes of what is loaded
constexpr std::uint64_t kPiece = 64ull << 10;   ///< in pieces of so many, where it is longer
constexpr std::int64_t kSampledRows = 64;       ///< of each part of a data set without a digest of its own
constexpr std::int64_t kFirstRows = 16;         ///< of each part of one that has such a digest
constexpr std::size_t kLongestOption = 200;     ///< letters of an option's value; of a longer one the digest is told

class Digest {
 public:
  Digest() { XXH3_64bits_reset(&state_); }
  void add(const void* data, std::size_t bytes) { XXH3_64bits_update(&state_, data, bytes); }
  void add(std::uint64_t number) { add(&number, sizeof number); }
  void add(const std::string& text) {
    add(text.size());
    add(text.data(), text.size());
  }
  std::string text() const { return digest_text(XXH3_64bits_digest(&state_)); }

 private:
  XXH3_state_t state_;
};

/// A value as bits; of an error, which ends the run there if it comes so far, those of a NaN.
std::uint64_t bits_at(const Schedule& schedule, std::int64_t step) {
  try {
    return std::bit_cast<std::uint64_t>(schedule(step));
  } catch (const std::exception&) {
    return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::signaling_NaN());
  }
}

/// Of each of at most 16 stretches a digest of its values: of all, or of 1024 that lie evenly in it. What lies between
/// is compared when it has been used (CopyCheck).
void print_digests(std::ostream& out, const std::string& title, const Schedule& schedule, std::int64_t steps) {
  const auto share = [](std::int64_t whole, std::int64_t parts) { return (whole - 1) / parts + 1; };
  const std::int64_t stretch = share(steps, 16), each = share(stretch, 1024);
  for (std::int64_t begin = 0, end = 0; begin < steps; begin = end) {
    end = steps - begin <= stretch ? steps : begin + stretch;
    Digest digest;
    for (std::int64_t left = end - begin; left > 0; left -= each) {
      const auto value = std::bit_cast<double>(bits_at(schedule, end - left));
      digest.add(std::bit_cast<std::uint32_t>(static_cast<float>(value)));  // libraries differ in the last bits
    }
    out << title << " at steps " << begin << " to " << end - 1 << " has the digest " << digest.text() << '\n';
  }
}

/// A line each, behind `title`.
void print_schedules(std::ostream& out, const std::string& title, const std::map<std::string, Schedule>& schedules,
                     std::int64_t steps) {
  for (const auto& [name, schedule] : schedules) {
    const std::string own = title + ": `" + name + "`";
    const std::set<std::int64_t> shown = looked_at_steps(steps);
    for (const std::int64_t step : shown) {
      const auto value = std::bit_cast<double>(bits_at(schedule, step));
      out << own << " at step " << step << " is " << (std::isnan(value) ? "an error" : number_text(value)) << '\n';
    }
    if (std::ssize(shown) < steps) print_digests(out, own, schedule, steps);
  }
}

std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2) text.replace(at, 1, "\\n");
  return text;
}

void print_options(std::ostream& out, const UserValues& options) {
  for (const auto& [name, value] : options) out << ", " << name << " = " << value.text();
  out << '\n';
}

void print_member(std::ostream& out, const std::string& title, const MemberSpec& member, std::int64_t steps) {
  out << title << " is " << member.name;
  print_options(out, member.options);
  print_schedules(out, title, member.schedules, steps);
}

void print_groups(std::ostream& out, const std::string& title, const std::vector<ParameterGroup>& groups,
                  std::int64_t steps) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string name = title + " " + std::to_string(i + 1);
    out << name << " has the parameters";
    for (const std::string& pattern : groups[i].patterns) out << " `" << pattern << '`';
    out << (groups[i].frozen ? ", frozen" : "");
    print_options(out, groups[i].options);
    print_schedules(out, name, groups[i].schedules, steps);
  }
}

void print_parameter(std::ostream& out, const ParameterSpec& parameter) {
  constexpr const char* kKinds[] = {"constant", "normal", "uniform"};
  out << "parameter `" << parameter.name << "` is " << type_text(parameter.type.dtype, parameter.type.shape) << ", "
      << kKinds[static_cast<int>(parameter.initializer.kind)] << ' ' << parameter.initializer.a << ' '
      << parameter.initializer.b << '\n';
}

void print_annotation(std::ostream& out, const Annotation& annotation) {
  constexpr const char* kKinds[] = {"split", "replicate", "layout"};
  out << "annotation at " << line_of_place(annotation.where) << ": " << kKinds[static_cast<int>(annotation.kind)]
      << " along `" << annotation.axis << "`, dimension `" << annotation.dim << "` " << annotation.number << ", of `"
      << annotation.pattern << "`\n";
}

Result<std::string> sampled_digest(const Dataset& data) {
  Digest digest;
  for (const baleen_split_t part : {BALEEN_TRAIN, BALEEN_HELD_OUT}) {
    const std::int64_t rows = data.info().rows[part], count = std::min(rows, kSampledRows);
    for (std::int64_t i = 0; i < count; ++i) {
      BALEEN_TRY_ASSIGN(const Batch row, data.read(part, i * (rows / count), 1, BALEEN_F32));
      for (const std::vector<std::byte>& field : row) digest.add(field.data(), field.size());
    }
  }
  return digest.text();
}

/// Of an fp32 its sign, exponent and first digits: hosts' libraries differ in the last bits. What is close to 0 is 0.
std::uint32_t first_bits(const std::byte* number) {
  float value = 0;
  std::memcpy(&value, number, sizeof value);
  return std::abs(value) < 0x1p-20F ? 0 : std::bit_cast<std::uint32_t>(value) & 0xfff00000;
}

/// Of the first rows of both parts, in the order in which they are read. None behind them: rows may be there once.
std::string digest_of_order(const Dataset& data) {
  const baleen_dataset_info_t& info = data.info();
  Digest digest;
  const auto add = [&](const Batch& rows) {
    for (std::uint32_t f = 0; f < info.field_count; ++f)
      if (info.fields[f].dtype != BALEEN_F32)
        digest.add(rows[f].data(), rows[f].size());
      else
        for (std::size_t at = 0; at < rows[f].size(); at += sizeof(float)) digest.add(first_bits(rows[f].data() + at));
  };
  for (const baleen_split_t part : {BALEEN_TRAIN, BALEEN_HELD_OUT}) {
    const std::int64_t count = std::min(info.rows[part], kFirstRows);
    if (count == 0) continue;
    if (const auto read = data.read(part, 0, count, BALEEN_F32))
      add(*read);
    else
      digest.add(std::string("cannot be read"));  // which ends the run where it comes to them
  }
  return digest.text();
}

Status add_file(const std::filesystem::path& path, std::uint64_t most, Digest& digest) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff end = file.tellg();
  if (!file || end < 0) return Error{BALEEN_IO, "cannot be read", path.string()};
  const auto size = static_cast<std::uint64_t>(end);
  const std::uint64_t stride = size <= most ? kPiece : size / (most / kPiece);
  std::vector<char> piece(kPiece);
  digest.add(size);
  for (std::uint64_t at = 0; at < size; at += stride) {
    const std::uint64_t bytes = std::min(kPiece, size - at);
    file.seekg(static_cast<std::streamoff>(at));
    if (!file.read(piece.data(), static_cast<std::streamsize>(bytes)))
      return Error{BALEEN_IO, "ends before byte " + std::to_string(at + bytes), path.string()};
    digest.add(piece.data(), bytes);
  }
  return {};
}

}  // namespace

std::vector<std::pair<std::string, const JobGraph*>> graphs_of(const Job& job) {
  std::vector<std::pair<std::string, const JobGraph*>> graphs;
  for (const GraphRole role : {GraphRole::train, GraphRole::learn, GraphRole::evaluate, GraphRole::infer})
    for (const auto& [name, given] : job.graphs)
      if (given.role == role) graphs.emplace_back(name, &given);
  return graphs;
}

std::string job_lines(const Job& job, std::int64_t steps) {
  std::ostringstream out;
  out.precision(17);
  out << "graphs =";
  for (const auto& [name, given] : graphs_of(job)) out << ' ' << name << (given->replicated ? " (replicated)" : "");
  out << "\nsteps = " << steps << "\nbatch = " << job.batch
      << "\ngradient_accumulation_steps = " << job.gradient_accumulation_steps << "\nseed = " << job.seed
      << "\ndtype = " << dtype_name(job.dtype) << "\nclip_grad_norm = " << job.clip_grad_norm
      << "\ncheck.every = " << job.check_every << "\ncheck.memory = " << (job.check_memory ? "true" : "false")
      << "\non_nan = " << (job.goes_on_not_finite ? "continue" : "stop") << '\n';
  print_member(out, "the optimizer", job.optimizer, steps);
  print_groups(out, "group", job.groups, steps);
  for (const MemberSpec& strategy : job.strategies) print_member(out, "strategy " + strategy.name, strategy, steps);
  for (const auto& [name, given] : job.graphs) {
    if (given.role != GraphRole::learn) continue;
    const Learning& learning = given.learning;
    out << "program `" << name << "` learns with clip_grad_norm " << learning.clip_grad_norm << " the parameters";
    for (const std::string& pattern : learning.parameters) out << " `" << pattern << '`';
    out << '\n';
    print_member(out, "the optimizer of `" + name + "`", learning.optimizer, steps);
    print_groups(out, "`" + name + "`'s group", learning.groups, steps);
  }
  for (const ParameterSpec& parameter : job.parameters) print_parameter(out, parameter);
  for (const Annotation& annotation : job.annotations) print_annotation(out, annotation);
  return out.str();
}

std::string data_lines(const Dataset& data, const std::string& digest) {
  const baleen_dataset_info_t& info = data.info();
  std::ostringstream out;
  out << "the data has " << info.rows[BALEEN_TRAIN] << " rows to train on and " << info.rows[BALEEN_HELD_OUT]
      << " held out, " << info.classes << " classes\n";
  for (std::uint32_t f = 0; f < info.field_count; ++f) {
    const baleen_field_t& field = info.fields[f];
    out << "field `" << field.name << "` is " << type_text(field.dtype, Shape(field.shape, field.shape + field.rank))
        << '\n';
  }
  out << "the digest of the data's content is " << digest << '\n';
  if (has_digest(data)) out << "the digest of its first rows, as they are read, is " << digest_of_order(data) << '\n';
  return out.str();
}

bool has_digest(const Dataset& data) {
  const auto own = data.extension<baleen_data_digest_t>(BALEEN_DATA_DIGEST);
  return own && own->digest;
}

Result<std::string> digest_of_data(const Dataset& data) {
  if (!has_digest(data)) return sampled_digest(data);
  const auto own = data.extension<baleen_data_digest_t>(BALEEN_DATA_DIGEST);
  std::uint64_t number = 0;
  if (own->digest(data.handle(), &number) != BALEEN_OK) return data.failure();
  return digest_text(number);
}

std::string option_line(const MemberSpec& data, const Descriptor& descriptor) {
  std::string line = "the data is `" + descriptor.name + "`";
  for (const auto& [name, value] : data.options) {
    const Option* const option = descriptor.find(name);
    if (option && (option->path() || option->per_host() || option->threads())) continue;
    const std::string text = value.text();
    line += ", " + name + " = " + (text.size() > kLongestOption ? "of the digest " + digest_of(text) : one_line(text));
  }
  return line + '\n';
}

Result<std::string> digest_of_file(const std::filesystem::path& path) {
  Digest digest;
  BALEEN_TRY(add_file(path, kFiles, digest));
  return digest.text();
}

Result<std::string> file_lines(const std::filesystem::path& folder, std::vector<std::filesystem::path> files) {
  std::ranges::sort(files);
  std::vector<std::uint64_t> sizes;
  std::uint64_t all = 0;
  std::error_code failure;
  for (const auto& file : files) {
    sizes.push_back(std::filesystem::file_size(file, failure));
    if (failure) return Error{BALEEN_IO, failure.message(), file.string()};
    all += sizes.back();
  }
  const double share =
      std::min(1.0, static_cast<double>(kFiles) / static_cast<double>(std::max<std::uint64_t>(all, 1)));
  std::string lines;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto most = all <= kFiles ? sizes[i] : static_cast<std::uint64_t>(static_cast<double>(sizes[i]) * share);
    Digest digest;
    BALEEN_TRY(add_file(files[i], std::max(most, kPiece), digest));
    lines += "of what is loaded, `" + files[i].lexically_relative(folder).string() + "` has the digest " +
             digest.text() + '\n';
  }
  return lines;
}

}  // namespace baleen::app
