/// \file A run and its checkpoints: what is compared when it is resumed, and when it is saved.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <utility>

#include "baleen/dtype.hpp"
#include "baleen/launcher.h"
#include "frontend/checkpoint/digests.hpp"
#include "frontend/checkpoint/parameter_file.hpp"
#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/engine/assembly.hpp"
#include "frontend/engine/job_facts.hpp"
#include "frontend/exchange/model_folder.hpp"
#include "frontend/lua/script_error.hpp"

namespace baleen::app {
namespace {

/// What `boundary` is told of a program's run begins with it, and of a step does not.
constexpr std::string_view kProgramPrefix = "program ";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// "0, 0.001, 0.0008 at steps 0, 100, 1000", of those that the job has.
std::string text_of(const Schedule& schedule, std::int64_t steps) {
  std::string values, at;
  for (const std::int64_t step : {0, 100, 1000}) {
    if (step > 0 && step >= steps) continue;
    std::string value = "an error";  // which ends the run there
    try {
      value = number_text(schedule(step));
    } catch (const ScriptError&) {
    }
    values += (values.empty() ? "" : ", ") + value;
    at += (at.empty() ? "" : ", ") + std::to_string(step);
  }
  return values + " at steps " + at;
}

/// "adamw(lr = 0, 0.001, 0.0008 at steps 0, 100, 1000; weight_decay = 0.1)".
std::string text_of(const MemberSpec& member, std::int64_t steps) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : "; ") + name + " = " + value;
  };
  for (const auto& [name, value] : member.options) add(name, value.text());
  for (const auto& [name, schedule] : member.schedules) add(name, text_of(schedule, steps));
  return member.name + (text.empty() ? "" : "(" + text + ")");
}

}  // namespace

CheckpointFacts facts_of(const Job& job, std::int64_t steps) {
  CheckpointFacts facts{{"clip_grad_norm", number_text(job.clip_grad_norm)},
                        {"gradient_accumulation_steps", std::to_string(job.gradient_accumulation_steps)}};
  if (!job.optimizer.name.empty()) facts["optimizer"] = text_of(job.optimizer, steps);
  std::string& plan = facts["plan"] = {};
  for (const MemberSpec& strategy : job.strategies) plan += (plan.empty() ? "" : ", ") + text_of(strategy, steps);
  if (plan.empty()) plan = "none";
  return facts;
}

namespace {

/// What a run is, beside its tensors.
CheckpointFacts with_run(CheckpointFacts facts, const ScriptOptions& options, const Setup& setup,
                         const Session& session, const SessionOptions& job) {
  std::ifstream file(options.script, std::ios::binary);
  facts.merge(CheckpointFacts{{"version", BALEEN_VERSION},
                              {"script", options.script.filename().string()},
                              {"script_hash", digest_of(std::string(std::istreambuf_iterator<char>(file), {}))},
                              {"manifest_hash", digest_of(setup.manifest.text)},
                              {"arguments", joined(options.script_args)},
                              {"seed", std::to_string(job.seed)},
                              {"dtype", std::string(dtype_name(job.dtype))},
                              {"batch", std::to_string(job.batch)},
                              {"steps", std::to_string(session.steps())}});
  if (const auto& data = session.data()) {
    facts["data"] = data->info().summary;
    facts["rows"] = std::to_string(data->info().rows[BALEEN_TRAIN]);
  }
  return facts;
}

/// Of which tensors become which parameters, and how; sizes come from the model's config.
std::string digest_of_rules(const ModelMap& map) {
  std::string text = map.prefix + '\n';
  for (const TensorRule& rule : map.rules) {
    text += rule.ours + ' ' + rule.form + ' ' + rule.stack + ' ' + rule.padded;
    for (const auto& [letter, size] : rule.sizes) text += std::string(" ") + letter + std::to_string(size);
    for (const std::string& theirs : rule.theirs) text += ' ' + theirs;
    text += '\n';
  }
  return digest_of(text);
}

Result<std::optional<CheckpointSettings>> settings_of(const Setup& setup, const Script& script,
                                                      const std::string& job_where) {
  const Manifest& manifest = setup.manifest;
  if (!manifest.checkpoint && !script.checkpoint()) return std::optional<CheckpointSettings>();
  if (manifest.checkpoint && script.checkpoint() && (!setup.link || setup.link->place().rank == 0))
    setup.log.info("the manifest's [checkpoint] stands above the script's");
  BALEEN_TRY_ASSIGN(CheckpointSettings settings,
                    manifest.checkpoint ? read_checkpoint_settings(*manifest.checkpoint, manifest.checkpoint_where)
                                        : read_checkpoint_settings(*script.checkpoint(), job_where));
  return std::optional(std::move(settings));
}

/// So much of it that a name which is made of it is not too long.
std::string cut_stem(const std::filesystem::path& path) {
  constexpr std::size_t kMost = 120;
  std::string stem = path.stem().string();
  std::size_t size = std::min(stem.size(), kMost);
  while (size < stem.size() && size > 0 && (static_cast<unsigned char>(stem[size]) & 0xc0) == 0x80) --size;
  stem.resize(size);
  return stem;
}

}  // namespace

Checkpoints::Parts Run::checkpoint_parts() const {
  Checkpoints::Parts parts{*session_, setup_.registry, setup_.log};
  if (!ranks_) return parts;
  parts.link = setup_.link;
  parts.mesh = ranks_->communicator().mesh();
  parts.at = ranks_->communicator().at();
  return parts;
}

Status Run::load(const std::filesystem::path& path, const LoadParts& parts) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure))
    return load_parameters(*session_, setup_.registry, path.string(), parts);
  BALEEN_TRY_ASSIGN(const bool is_model, described_.script->is_model(path.string()));
  if (is_model) return load_exchange(path.string(), parts);
  BALEEN_TRY_ASSIGN(const ShardFormat format, ShardFormat::find(setup_.registry, "", "--load"));
  BALEEN_TRY_ASSIGN(const auto found, find_checkpoint(path.string(), path, format));
  return load_parameters_of(format, *found, checkpoint_parts(), parts);
}

Result<std::string> Run::loaded_lines(const std::filesystem::path& path) const {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) {
    BALEEN_TRY_ASSIGN(const std::string digest, digest_of_file(path));
    return "the digest of what is loaded is " + digest + '\n';
  }
  BALEEN_TRY_ASSIGN(const bool is_model, described_.script->is_model(path.string()));
  if (is_model) {
    MapRequest request;
    request.path = path.string();
    BALEEN_TRY_ASSIGN(const ModelMap map, described_.script->model_map(request));
    BALEEN_TRY_ASSIGN(const ModelFiles files, described_.script->model_files(path.string()));
    BALEEN_TRY_ASSIGN(const std::string lines, file_lines(path, {files.files.begin(), files.files.end()}));
    return "what is loaded is read by the map `" + map.name + "`, head `" + map.head + "`, rules of the digest " +
           digest_of_rules(map) + '\n' + lines;
  }
  BALEEN_TRY_ASSIGN(const ShardFormat format, ShardFormat::find(setup_.registry, "", "--load"));
  BALEEN_TRY_ASSIGN(const auto found, find_checkpoint(path.string(), path, format));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(*found, failure))
    if (entry.is_regular_file(failure) && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path());
  if (failure) return Error{BALEEN_IO, failure.message(), found->string()};
  return file_lines(*found, std::move(files));
}

Status Run::compare_learned(const std::filesystem::path& path) const {
  if (!described_.data || !speaks()) return {};
  BALEEN_TRY_ASSIGN(const auto record, read_learned(setup_.registry, path));
  if (!record || record->plugin != described_.data->plugin() || record->number != described_.data_number) return {};
  BALEEN_TRY_ASSIGN(const std::string now, described_.data->learned());
  if (const auto difference = unlike_names(record->facts, now))
    setup_.log.warning(path.string() + ": its data taught other names than this job's data does: " + *difference +
                       "; what is loaded takes the one for the other");
  return {};
}

Status Run::load_exchange(const std::string& folder, const LoadParts& parts) {
  if (!parts.renames.empty())
    return unsupported(
        "--load-rename is for files and checkpoints of Baleen; what this folder's tensors are called a map says, which "
        "can be yours (baleen.models.load { map = ... })",
        folder);
  MapRequest request;
  request.path = folder;
  BALEEN_TRY_ASSIGN(ModelMap map, described_.script->model_map(request));
  BALEEN_TRY_ASSIGN(const ModelFiles files, described_.script->model_files(folder));
  BALEEN_TRY_ASSIGN(const ModelFolder model, ModelFolder::open(setup_.registry, files, std::move(map), folder, parts));
  BALEEN_TRY(load_model(*session_, model, parts));
  if (speaks() && !alone_)
    setup_.log.info("parameters from " + folder + " by the map `" + model.map().name + "`, head `" + model.map().head +
                    "`");
  return {};
}

Status Run::resume(const RunFlags& flags, const CheckpointSettings& settings, Checkpoints::Parts& parts) {
  BALEEN_TRY_ASSIGN(const ShardFormat format, ShardFormat::find(setup_.registry, settings.plugin, settings.where));
  ResumeFrom from{{}, flags.allow_missing};
  if (!parts.link || parts.link->place().rank == 0) {
    BALEEN_TRY_ASSIGN(const auto found, find_checkpoint(flags.resume, settings.folder, format));
    if (found) from.path = *found;
  }
  if (parts.link) {  // all take the one that rank 0 has found
    if (parts.link->place().rank == 0) BALEEN_TRY(parts.link->put("checkpoint/from", from.path.string()));
    BALEEN_TRY_ASSIGN(from.path, parts.link->get("checkpoint/from"));
  }
  if (from.path.empty()) {
    if (speaks()) setup_.log.info("no checkpoint yet in " + settings.folder.string() + ": begins at step 0");
    return {};
  }
  BALEEN_TRY(baleen::resume(format, from, parts));
  parts.resumed_from = from.path;
  if (speaks())
    setup_.log.info("resumed from " + from.path.string() + " after step " + std::to_string(session_->steps_done()));
  if (speaks() && session_->trains() && session_->steps_done() >= session_->steps())
    setup_.log.warning("the job has " + std::to_string(session_->steps()) +
                       " steps, so nothing is left to train; --steps N goes on to step N");
  return {};
}

Status Run::open_checkpoints(const ScriptOptions& options, const RunFlags& flags, const SessionOptions& session,
                             const std::string& job_where, CheckpointFacts job) {
  if (!flags.saves || alone_) return {};
  BALEEN_TRY_ASSIGN(const auto settings, settings_of(setup_, *described_.script, job_where));
  if (!settings && flags.signals && !save_.empty()) {
    stop_.emplace(CheckpointSettings().grace_seconds);
    stops_.emplace(setup_.link, "stop", session_->updates());
  }
  if (!settings && flags.resume.empty()) return {};
  Checkpoints::Parts parts = checkpoint_parts();
  parts.signals = flags.signals;
  parts.intact = [this]() -> Status {
    BALEEN_TRY(compare_copies());
    BALEEN_TRY(finite());
    return intact();
  };
  parts.facts = with_run(std::move(job), options, setup_, *session_, session);
  BALEEN_TRY(add_learned(parts.facts));
  // No rows are read for it: a data set may be one that passes.
  if (described_.data && data_digest_.empty() && speaks() && has_digest(*described_.data)) {
    BALEEN_TRY_ASSIGN(data_digest_, digest_of_data(*described_.data));
  }
  if (!data_digest_.empty()) parts.facts["data_hash"] = data_digest_;
  if (!flags.resume.empty()) BALEEN_TRY(resume(flags, settings.value_or(CheckpointSettings()), parts));
  if (!settings) return {};
  BALEEN_TRY_ASSIGN(checkpoints_, Checkpoints::create(*settings, std::move(parts)));
  if (!speaks()) return {};
  if (const auto& data = session_->data(); settings->best && (!data || data->info().rows[BALEEN_HELD_OUT] == 0))
    setup_.log.warning(settings->where + ": checkpoint: `best` names none, since no row is held out to measure it by");
  std::uint64_t bytes = 0;  // of all ranks, once
  for (const PersistentBuffer& buffer : session_->persistent().buffers)
    bytes += static_cast<std::uint64_t>(element_count(buffer.spec.type.shape)) * dtype_size(buffer.spec.type.dtype);
  return check_room(settings->folder / "step-*", bytes, "parameters and states");
}

Result<TrainingRun::Facts> Run::evaluate(std::int64_t batches) {
  // What a training has come to is saved before anything that comes after it can fail.
  if (session_->steps_done() >= session_->steps()) {
    if (checkpoints_) BALEEN_TRY(checkpoints_->save_last());
    BALEEN_TRY(save_end());
    BALEEN_TRY(seed_random());
  }
  tell_launcher("evaluating");
  BALEEN_TRY_ASSIGN(Facts facts, session_->evaluate(batches));
  const auto loss = facts.find("held_out_loss");
  if (loss != facts.end() && !std::isfinite(loss->second) && !std::exchange(told_not_finite_, true) && speaks())
    setup_.log.warning("the held-out loss after step " + std::to_string(session_->steps_done()) + " is " +
                       (std::isnan(loss->second) ? "NaN" : "infinite") +
                       "; a lower learning rate, a longer warm-up or clipping may help");
  if (checkpoints_ && loss != facts.end()) BALEEN_TRY(checkpoints_->evaluated(loss->second));
  return facts;
}

Status Run::intact() const {
  BALEEN_TRY(memory_.compare_all());
  return rows_ ? rows_->compare() : Status();
}

Status Run::finite() {
  const std::int64_t updates = session_->updates();
  if (finite_ == updates || described_.script->job().goes_on_not_finite) return {};
  BALEEN_TRY_ASSIGN(const std::string parameter, session_->damaged_parameter());
  if (!parameter.empty())
    return Error{BALEEN_DAMAGED,
                 "the update of step " + std::to_string(session_->progress()) + " has made numbers of `" + parameter +
                     "` NaN or infinite, so nothing is saved; a lower learning rate, a longer warm-up or clipping may "
                     "help; `on_nan = \"continue\"` in the job saves them all the same",
                 {}};
  finite_ = updates;
  return {};
}

Result<std::map<std::string, std::string>> Run::facts_to_save(const char* phase) {
  tell_launcher(phase);
  BALEEN_TRY(intact());
  std::map<std::string, std::string> facts{{"steps", std::to_string(session_->steps_done())},
                                           {"data_position", std::to_string(session_->position())}};
  BALEEN_TRY(add_learned(facts));
  return facts;
}

Result<SavedFile> Run::write(const std::string& path, const std::map<std::string, std::string>& facts, bool waits) {
  BALEEN_TRY_ASSIGN(SavedFile saved, save_parameters(*session_, setup_.registry, path, facts, speaks()));
  if (!setup_.link || (!waits && !gathers_parameters(*session_))) return saved;
  const std::string key = "saved/" + std::to_string(++writes_);
  if (speaks()) {
    BALEEN_TRY(setup_.link->put(key, saved.is_there ? "there" : "not"));
    return saved;
  }
  BALEEN_TRY_ASSIGN(const std::string there, setup_.link->get(key));
  saved.is_there = there == "there";
  return saved;
}

Status Run::save(const std::string& path) {
  BALEEN_TRY(check_tensor_file(setup_.registry, path));
  BALEEN_TRY(compare_copies());
  BALEEN_TRY(finite());
  BALEEN_TRY_ASSIGN(const auto facts, facts_to_save());
  BALEEN_TRY_ASSIGN(const SavedFile saved, write(path, facts, false));
  return saved.status;
}

Status Run::save_end() {
  if (save_.empty() || saved_ == session_->updates()) return {};
  BALEEN_TRY(compare_copies());
  BALEEN_TRY(finite());
  BALEEN_TRY_ASSIGN(const auto facts, facts_to_save());
  BALEEN_TRY_ASSIGN(SavedFile saved, write(save_, facts, false));
  if (saved.is_there)
    saved_ = session_->updates();
  else
    static_cast<void>(rescue(facts, false));  // the first error is told
  heed_signals_again();
  return saved.status;
}

bool Run::begins_loop(const std::string& next) {
  if (!session_->trains()) return true;  // each run of a program counts as a step
  const bool is_step = !next.starts_with(kProgramPrefix);
  // Other programs change nothing that is saved.
  if (!is_step && !session_->runs().contains(next.substr(kProgramPrefix.size()))) return false;
  if (loop_begins_.empty()) loop_begins_ = next;
  const std::int64_t step = session_->steps_done();
  if (step == 0 || loop_step_ == step || (!is_step && next != loop_begins_)) return false;
  loop_step_ = step;
  return true;
}

Status Run::seed_random() {
  const std::int64_t updates = session_->updates();
  return std::exchange(seeded_, updates) == updates ? Status() : script().seed_random(updates);
}

Status Run::boundary(const std::string& next) {
  const bool is_whole = begins_loop(next);
  if (is_whole || session_->steps_done() >= session_->steps()) BALEEN_TRY(seed_random());
  if (checkpoints_) {
    tell_place(session_->steps_done(), "saving a checkpoint");
    BALEEN_TRY(checkpoints_->boundary(is_whole));
  }
  return end_if_asked();
}

Status Run::end_if_asked() {
  if (!stops_) return {};
  const std::int64_t step = session_->progress();
  BALEEN_TRY_ASSIGN(const AgreedPoints::Wish wish, stops_->at(session_->updates(), [] {
    return AgreedPoints::Wish{StopRequest::signal() != 0, false};
  }));
  if (!wish.stops) return {};
  if (step > 0) BALEEN_TRY(compare_copies());
  if (step > 0) BALEEN_TRY(rescue(true));
  return Error{BALEEN_INTERRUPTED,
               "ended by a signal after step " + std::to_string(step) +
                   "; with `checkpoint` in the job, or [checkpoint] in the manifest, it could go on from there",
               {}};
}

void Run::heed_signals_again() {
  if (!stop_) return;
  const int signal = StopRequest::signal();
  stop_.reset();
  stops_.reset();
  if (signal != 0) std::raise(signal);
}

Status Run::rescue(bool all_do) {
  if (save_.empty() || rescued_ == session_->updates() || saved_ == session_->updates()) return {};
  const bool writes = speaks();
  const auto facts = facts_to_save(writes ? BALEEN_PHASE_RESCUING : "saving");
  Status possible = facts ? rescue(*facts, all_do) : Status(facts.error());
  will_rescue_ = false;
  if (writes) tell_launcher("ending");
  return possible;
}

Status Run::rescue(const std::map<std::string, std::string>& facts, bool waits) {
  rescued_ = session_->updates();
  const std::int64_t step = session_->progress();
  if (speaks()) tell_place(step, BALEEN_PHASE_RESCUING);
  const std::filesystem::path wanted = save_;
  const std::string name = cut_stem(wanted) + ".after-step-" + std::to_string(step) + wanted.extension().string();
  std::error_code none;
  for (const auto& folder :
       {wanted.parent_path(), std::filesystem::current_path(none), std::filesystem::temp_directory_path(none)}) {
    const std::string beside = folder / name;
    BALEEN_TRY_ASSIGN(const SavedFile saved, write(beside, facts, waits));
    if (!saved.is_there) continue;
    if (speaks()) setup_.log.warning("the parameters after step " + std::to_string(step) + " are saved in " + beside);
    break;
  }
  return {};
}

Status Run::checkpoint() {
  if (checkpoints_) return checkpoints_->save_now();
  return invalid("this run saves no checkpoints; give the job `checkpoint = { ... }`, or the manifest [checkpoint]");
}

}  // namespace baleen::app
