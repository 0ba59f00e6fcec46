/// \file Reading a checkpoint into a session: what is compared, which bytes each rank reads, and the digests.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "baleen/dtype.hpp"
#include "baleen/pattern.hpp"
#include "core/input/nearest.hpp"
#include "frontend/checkpoint/checkpoints.hpp"
#include "frontend/checkpoint/digests.hpp"
#include "frontend/checkpoint/whole_tensors.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::string fact(const CheckpointFacts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

Result<std::int64_t> number_fact(const ShardFolder& folder, const std::string& name, const std::string& where) {
  const std::string text = fact(folder.facts(), name);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size() || value < 0)
    return invalid("says nothing usable of `" + name + "` (\"" + text.substr(0, 40) +
                       "\"), so it is no checkpoint of a run; parameters alone can be read with --load",
                   where);
  return value;
}

bool is_allowed(const std::string& name, const Names& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, name); });
}

/// Whether the two differ in the number of terms alone, of which the sum is taken over (PersistentSpec::has_terms).
bool has_other_terms(const PersistentSpec& spec, const ValueType& stored) {
  return spec.has_terms && spec.type.dtype == BALEEN_F32 && stored.dtype == BALEEN_F32 && stored.shape.size() > 1 &&
         spec.type.shape.size() > 1 && stored.shape != spec.type.shape &&
         std::equal(stored.shape.begin() + 1, stored.shape.end(), spec.type.shape.begin() + 1, spec.type.shape.end());
}

/// Tensors that this session goes on with: all that it has.
Result<std::vector<LoadedTensor>> matched(const Session& session, const ShardFolder& folder, const Names& allow_missing,
                                          const std::string& where) {
  std::vector<LoadedTensor> taken;
  Names missing, further, known, stored;
  const auto& buffers = session.persistent().buffers;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const PersistentSpec& spec = buffers[b].spec;
    known.push_back(spec.name);
    const auto found = folder.tensors().find(spec.name);
    if (found == folder.tensors().end()) {
      if (!is_allowed(spec.name, allow_missing)) missing.push_back(spec.name);
      continue;
    }
    const ValueType& there = found->second;
    if (!has_other_terms(spec, there) && (there.dtype != spec.type.dtype || there.shape != spec.type.shape))
      return invalid("`" + spec.name + "` is " + type_text(there.dtype, there.shape) + " in the checkpoint and " +
                         type_text(spec.type.dtype, spec.type.shape) + " in this job",
                     where);
    taken.push_back({b, spec.name});
  }
  for (const auto& [name, type] : folder.tensors()) {
    stored.push_back(name);
    if (!session.persistent().find(name) && !is_allowed(name, allow_missing)) further.push_back(name);
  }
  for (const std::string& pattern : allow_missing) {
    const auto fits = [&](const std::string& name) { return matches(pattern, name); };
    if (std::ranges::none_of(known, fits) && std::ranges::none_of(stored, fits))
      return invalid("--allow-missing " + pattern + " fits no tensor of the checkpoint or of this job", where);
  }
  const std::string remedy = "; where that is meant: --allow-missing PATTERN";
  if (!missing.empty()) {
    const auto near = nearest(missing.front(), stored);
    return invalid(
        "it has no " + listed_names(missing) + (near ? " (the nearest name is `" + *near + "`)" : "") + remedy, where);
  }
  if (!further.empty()) {
    const auto near = nearest(further.front(), known);
    return invalid("it has " + listed_names(further) + ", which this job does not have" +
                       (near ? " (the nearest name is `" + *near + "`)" : "") + remedy,
                   where);
  }
  return taken;
}

/// Parameters alone: those that the checkpoint says are some.
Result<std::vector<LoadedTensor>> matched_parameters(const Session& session, const ShardFolder& folder,
                                                     const LoadParts& parts, const std::string& where) {
  std::map<std::string, ValueType> stored;
  for (const std::string& name : parameter_names(folder)) stored[name] = folder.tensors().at(name);
  BALEEN_TRY_ASSIGN(auto taken, match_parts(session.persistent(), stored, parts, where));
  for (const LoadedTensor& one : taken) {
    const ValueType &there = stored.at(one.stored), &type = session.persistent().buffers[one.buffer].spec.type;
    if (there.dtype != type.dtype)
      return invalid("`" + one.stored + "` is " + type_text(there.dtype, there.shape) + " in the checkpoint and " +
                         type_text(type.dtype, type.shape) + " in this job; give --dtype " +
                         std::string(dtype_name(there.dtype)),
                     where);
  }
  return taken;
}

/// All ranks add up what their parts give; rank 0 compares with what was saved.
Status compare_digests(const ShardFormat& format, const fs::path& path, const ShardFolder& folder,
                       const Checkpoints::Parts& parts, const std::vector<LoadedTensor>& taken,
                       std::vector<std::uint64_t> sums, const std::string& purpose) {
  const std::string prefix = "checkpoint/" + purpose + "/";
  RankLink* const link = parts.link;
  const std::int64_t rank = link ? link->place().rank : 0;
  if (rank != 0) {
    BALEEN_TRY(link->put(prefix + std::to_string(rank), "." + digests_text(sums)));
    BALEEN_TRY_ASSIGN(const std::string said, link->get(prefix + "verdict"));
    return said == "1" ? Status() : Status(Error{BALEEN_IO, said, path.string()});
  }
  for (std::int64_t r = 1; link && r < link->place().ranks; ++r) {
    BALEEN_TRY_ASSIGN(const std::string said, link->get(prefix + std::to_string(r)));
    add_digests(said.substr(1), sums);
  }
  Status status;
  const auto saved = nlohmann::json::parse(fact(folder.facts(), "digests"), nullptr, false);
  for (const auto& [b, name] : taken) {
    // Who wrote shards without digests has checksums in them all the same.
    if (!saved.is_object() || saved.value(name, "") == digest_text(sums[b])) continue;
    status = format.verify(path.string());  // says which file is damaged
    if (status)
      status = Error{BALEEN_IO, "`" + name + "` is not what was saved: its digest differs; take another checkpoint",
                     path.string()};
    break;
  }
  if (link) BALEEN_TRY(link->put(prefix + "verdict", status ? "1" : status.error().text()));
  return status;
}

/// The sum of all saved terms where the piece has the first one; 0 for the others.
Status read_sum(const ShardFolder& folder, PersistentSpec spec, OwnedPart part, std::span<std::byte> bytes) {
  std::ranges::fill(bytes, std::byte{0});
  Ranges& terms = part.piece.dims[0];
  if (terms.empty() || terms[0].begin != 0) return {};
  spec.type.shape[0] = folder.tensors().at(spec.name).shape[0];
  const std::size_t count = bytes.size() / sizeof(float) / static_cast<std::size_t>(length(terms));
  std::vector<float> sum(count), term(count);
  for (std::int64_t number = 0; number < spec.type.shape[0]; ++number) {
    terms = {{number, number + 1}};
    part.elements = {0, part.piece.elements()};
    BALEEN_TRY(folder.read(ShardOf(spec, part, reinterpret_cast<std::byte*>(term.data())).get()));
    std::ranges::transform(sum, term, sum.begin(), std::plus());
  }
  std::memcpy(bytes.data(), sum.data(), count * sizeof(float));
  return {};
}

/// Reads this rank's pieces, and no other bytes.
Status read_pieces(const ShardFormat& format, const fs::path& path, const ShardFolder& folder,
                   const Checkpoints::Parts& parts, const std::vector<LoadedTensor>& taken,
                   const std::string& purpose) {
  const PersistentLayout& persistent = parts.session.persistent();
  std::vector<std::uint64_t> sums(persistent.buffers.size());
  std::vector<OwnedPart> owned(persistent.buffers.size());
  for (OwnedPart& part : owned_parts(persistent, parts.mesh, parts.at)) owned[part.buffer] = std::move(part);
  std::vector<std::byte> bytes;
  for (const auto& [b, stored] : taken) {
    const PersistentBuffer& buffer = persistent.buffers[b];
    PersistentSpec there = buffer.spec;
    there.name = stored;
    const std::size_t element = dtype_size(buffer.spec.type.dtype);
    OwnedPart whole{b, piece_of(buffer.spec.type.shape, buffer.spec.layout, parts.mesh, parts.at), {}};
    whole.elements = {0, whole.piece.held ? whole.piece.elements() : 0};
    if (whole.count() == 0) continue;
    bytes.resize(static_cast<std::size_t>(whole.count()) * element);
    if (has_other_terms(buffer.spec, folder.tensors().at(stored))) {
      BALEEN_TRY(read_sum(folder, there, whole, bytes));
      BALEEN_TRY(parts.session.write_own(buffer, bytes));
      continue;
    }
    BALEEN_TRY(folder.read(ShardOf(there, whole, bytes.data()).get()));
    BALEEN_TRY(parts.session.write_own(buffer, bytes));
    const OwnedPart& own = owned[b];
    if (own.count() > 0)
      sums[b] = digest_of(buffer.spec, own,
                          std::span(bytes).subspan(static_cast<std::size_t>(own.elements.begin) * element,
                                                   static_cast<std::size_t>(own.count()) * element));
  }
  std::vector<LoadedTensor> alike = taken;  // what was added up has other digests
  std::erase_if(alike, [&](const LoadedTensor& one) {
    return has_other_terms(persistent.buffers[one.buffer].spec, folder.tensors().at(one.stored));
  });
  return compare_digests(format, path, folder, parts, alike, std::move(sums), purpose);
}

/// What decides which numbers come next must be as it was; of the rest the user is told.
Status compare_jobs(const ShardFolder& folder, const Checkpoints::Parts& parts, const std::string& where) {
  const CheckpointFacts &then = folder.facts(), &now = parts.facts;
  const auto refuse = [&](const std::string& name, const std::string& remedy) -> Status {
    if (fact(then, name) == fact(now, name)) return {};
    return invalid(
        "was saved with " + name + " " + fact(then, name) + ", and this job has " + fact(now, name) + "; " + remedy,
        where);
  };
  BALEEN_TRY(refuse("dtype", "give --dtype " + fact(then, "dtype")));
  BALEEN_TRY(refuse("seed", "random numbers and the order of the data follow from it: give --seed " +
                                fact(then, "seed") + ", or begin anew from the parameters with --load"));
  BALEEN_TRY(refuse("rows",
                    "the place in the data would be another one: bring the data back, or begin anew from the "
                    "parameters with --load"));
  if (then.contains(kLearnedFact) && now.contains(kLearnedFact) && fact(then, kLearnedFact) != fact(now, kLearnedFact))
    return invalid(
        "was saved with other data: what that taught (a vocabulary, classes, means) is not what this job's data "
        "teaches; "
        "bring the data back, or begin anew from the parameters with --load",
        where);
  if (parts.link && parts.link->place().rank != 0) return {};
  for (const auto& [name, value] : now)
    if (then.contains(name) && fact(then, name) != value && !name.ends_with("_hash") && !name.ends_with("_learned"))
      parts.log.info(name + " has changed since the checkpoint was saved: " + fact(then, name) + " -> " + value);
  for (const std::string name : {"script", "manifest"})
    if (fact(then, name + "_hash") != fact(now, name + "_hash"))
      parts.log.info("the " + name + " has changed since the checkpoint was saved");
  if (then.contains("data_hash") && now.contains("data_hash") && fact(then, "data_hash") != fact(now, "data_hash"))
    parts.log.warning(
        "the data's content has changed since the checkpoint was saved: the run goes on at the same place among other "
        "rows");
  return {};
}

}  // namespace

Result<std::optional<fs::path>> find_checkpoint(const std::string& said, const fs::path& root,
                                                const ShardFormat& format) {
  if (said == "latest" || said == "auto") {
    BALEEN_TRY_ASSIGN(auto latest, CheckpointRoot(root).latest());
    if (latest || said == "auto") return latest;
    return Error{
        BALEEN_NOT_FOUND,
        "holds no checkpoint to resume from; begin without --resume, or with --resume auto, which resumes where "
        "there is one",
        root.string()};
  }
  if (said == "best") {
    if (const auto best = CheckpointRoot(root).best()) return std::optional(root / best->name);
    return Error{BALEEN_NOT_FOUND, "has no best checkpoint; they are named where `checkpoint` has `best = true`",
                 root.string()};
  }
  std::error_code failure;
  if (fs::is_regular_file(said, failure))
    return invalid("is a file; a run is resumed from the folder of a checkpoint, and parameters are read with --load",
                   said);
  if (!fs::is_directory(said, failure)) return Error{BALEEN_NOT_FOUND, "no such folder to resume from", said};
  if (format.open(said)) return std::optional<fs::path>(said);
  BALEEN_TRY_ASSIGN(auto latest, CheckpointRoot(said).latest());
  if (latest) return latest;
  return format.open(said).error();  // neither a checkpoint nor a folder of some
}

Status resume(const ShardFormat& format, const ResumeFrom& from, const Checkpoints::Parts& parts) {
  const std::string where = from.path.string();
  BALEEN_TRY_ASSIGN(const auto folder, format.open(where));
  BALEEN_TRY_ASSIGN(const std::int64_t step, number_fact(*folder, "step", where));
  BALEEN_TRY_ASSIGN(const std::int64_t position, number_fact(*folder, "data_position", where));
  BALEEN_TRY(compare_jobs(*folder, parts, where));
  BALEEN_TRY_ASSIGN(const auto taken, matched(parts.session, *folder, from.allow_missing, where));
  BALEEN_TRY(read_pieces(format, from.path, *folder, parts, taken, "resumed"));
  std::map<std::string, std::int64_t> runs;
  const auto saved = nlohmann::json::parse(fact(folder->facts(), "program_runs"), nullptr, false);
  for (const auto& [name, now] : parts.session.runs())
    if (saved.is_object() && saved.contains(name) && saved[name].is_number_unsigned())
      runs[name] = saved[name].get<std::int64_t>();
  return parts.session.resume(step, position, runs);
}

Status load_parameters_of(const ShardFormat& format, const fs::path& checkpoint, const Checkpoints::Parts& parts,
                          const LoadParts& load) {
  BALEEN_TRY_ASSIGN(const auto folder, format.open(checkpoint.string()));
  BALEEN_TRY_ASSIGN(const auto taken, matched_parameters(parts.session, *folder, load, checkpoint.string()));
  return read_pieces(format, checkpoint, *folder, parts, taken, "loaded");
}

}  // namespace baleen
