/// \file `baleen checkpoint export`, `import` and `convert`: models between our files and those of other frameworks.
#include "frontend/cli/exchange_command.hpp"

#include "baleen/dtype.hpp"
#include "core/log/printed.hpp"
#include "frontend/checkpoint/checkpoints.hpp"
#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/checkpoint/whole_tensors.hpp"
#include "frontend/engine/learned.hpp"
#include "frontend/engine/model_maps.hpp"
#include "frontend/exchange/model_export.hpp"

namespace baleen::app {
namespace {

namespace fs = std::filesystem;

/// The parameters of a checkpoint, or all of its tensors.
class CheckpointSource : public TensorSource {
 public:
  CheckpointSource(std::unique_ptr<ShardFolder> folder, std::string path, bool all)
      : folder_(std::move(folder)), path_(std::move(path)) {
    if (all) {
      types_ = folder_->tensors();
    } else {
      for (const std::string& name : parameter_names(*folder_)) types_[name] = folder_->tensors().at(name);
    }
  }
  const std::map<std::string, ValueType>& tensors() const override { return types_; }
  Result<HostTensor> read(const std::string& name) const override { return read_whole(*folder_, name); }
  std::string file_of(const std::string&) const override { return path_; }
  const std::map<std::string, std::string>& facts() const override { return folder_->facts(); }

 private:
  std::unique_ptr<ShardFolder> folder_;
  std::string path_;
  std::map<std::string, ValueType> types_;
};

std::optional<baleen_dtype_t> dtype_of(const std::string& name) {
  for (const baleen_dtype_t dtype : {BALEEN_F64, BALEEN_F32, BALEEN_F16, BALEEN_BF16})
    if (name == dtype_name(dtype)) return dtype;
  return {};
}

/// A path that a checkpoint plugin writes as one file.
bool is_file_name(const Setup& setup, const fs::path& path) {
  const std::string ending = path.extension().string();
  return !ending.empty() && setup.registry.by_extension("checkpoint", ending.substr(1));
}

Result<std::unique_ptr<TensorSource>> open_source(const CheckpointOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(auto foreign, open_foreign(options.path, setup));
  if (foreign) return foreign;
  BALEEN_TRY_ASSIGN(const ShardFormat format, ShardFormat::find(setup.registry, "", ""));
  BALEEN_TRY_ASSIGN(const auto path, find_checkpoint(options.path.string(), options.path, format));
  BALEEN_TRY_ASSIGN(auto folder, format.open(path->string()));
  return std::unique_ptr<TensorSource>(
      std::make_unique<CheckpointSource>(std::move(folder), path->string(), options.all));
}

MapRequest request_of(const CheckpointOptions& options) {
  MapRequest request;
  request.path = options.path.string();
  request.config = options.config.string();
  request.map = options.map;
  request.head = options.head;
  request.multiple = options.vocab_multiple;
  return request;
}

PlanFiles plan_of(const CheckpointOptions& options, Script& library) {
  MapRequest request = request_of(options);
  if (request.config.empty()) request.config = request.path;
  return [=, &library](const std::vector<std::pair<std::string, std::int64_t>>& tensors) {
    constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;
    const auto most = options.max_file > 0 ? static_cast<std::int64_t>(options.max_file) : kMostBytes;
    return library.plan_export(request, tensors, most, options.dtype);
  };
}

/// All tensors of a source to one file.
Status write_file(const CheckpointOptions& options, const Setup& setup, const TensorSource& source,
                  Overflows& overflows) {
  BALEEN_TRY(check_saving(setup.registry, options.output.string()));
  HostTensors tensors;
  for (const auto& [name, type] : source.tensors()) {
    BALEEN_TRY_ASSIGN(HostTensor tensor, source.read(name));
    const auto dtype = dtype_of(options.dtype);
    if (dtype && is_floating(tensor.dtype)) {
      BALEEN_TRY_ASSIGN(tensor, overflows.convert(name, std::move(tensor), *dtype));
    }
    tensors[name] = std::move(tensor);
  }
  std::map<std::string, std::string> facts;
  if (const auto learned = source.facts().find(kLearnedFact); learned != source.facts().end()) facts.insert(*learned);
  BALEEN_TRY(write_tensor_file(setup.registry, options.output.string(), tensors, facts));
  print_out("%zu tensors in %s\n", tensors.size(), options.output.string().c_str());
  return {};
}

/// Of a file nothing is said but its tensors: what folders alone have must not be taken without a word.
Status check_words_of_a_file(const CheckpointOptions& options) {
  const char* idle = !options.config.empty() ? "--config"
                     : !options.map.empty()  ? "--map"
                     : !options.head.empty() ? "--head"
                     : options.max_file > 0  ? "--max-file"
                                             : nullptr;
  if (!idle) return {};
  return invalid(std::string(idle) + " is for a folder, and this is a file; name a new folder, or leave it out",
                 options.output.string());
}

Status export_to_folder(const CheckpointOptions& options, const Setup& setup, const TensorSource& source,
                        Script& library, Overflows& overflows) {
  if (options.config.empty())
    return invalid(
        "an export to a folder needs --config: a config.json that says what the model is, or the folder that "
        "it came from",
        options.output.string());
  MapRequest request = request_of(options);
  BALEEN_TRY_ASSIGN(const ModelMap map, library.model_map(request));
  BALEEN_TRY(export_model(setup.registry, source, map, plan_of(options, library),
                          {options.output, dtype_of(options.dtype), overflows}));
  print_out("%s: by the map `%s`, head `%s`\n", options.output.string().c_str(), map.name.c_str(), map.head.c_str());
  return {};
}

Status import_folder(const CheckpointOptions& options, const Setup& setup, Script& library, Overflows& overflows) {
  BALEEN_TRY(check_saving(setup.registry, options.output.string()));
  BALEEN_TRY_ASSIGN(ModelMap map, library.model_map(request_of(options)));
  BALEEN_TRY_ASSIGN(const ModelFiles files, library.model_files(options.path.string()));
  BALEEN_TRY_ASSIGN(const ModelFolder folder,
                    ModelFolder::open(setup.registry, files, std::move(map), options.path.string()));
  BALEEN_TRY_ASSIGN(const HostTensors tensors, import_model(folder, dtype_of(options.dtype), overflows));
  BALEEN_TRY(write_tensor_file(setup.registry, options.output.string(), tensors));
  print_out("%zu tensors in %s, by the map `%s`, head `%s`\n", tensors.size(), options.output.string().c_str(),
            folder.map().name.c_str(), folder.map().head.c_str());
  return {};
}

Status exchange(const CheckpointOptions& options, const Setup& setup, Overflows& overflows) {
  using Verb = CheckpointOptions::Verb;
  BALEEN_TRY_ASSIGN(const ModelMaps maps, open_model_maps(setup));
  if (options.verb == Verb::import_model) return import_folder(options, setup, *maps.library, overflows);
  BALEEN_TRY_ASSIGN(const auto source, open_source(options, setup));
  if (is_file_name(setup, options.output)) {
    BALEEN_TRY(check_words_of_a_file(options));
    return write_file(options, setup, *source, overflows);
  }
  if (options.verb == Verb::export_model) return export_to_folder(options, setup, *source, *maps.library, overflows);
  if (std::error_code none; options.config.empty() && !fs::is_directory(options.path, none))
    return invalid(
        "a folder needs a config.json, and a file has none beside its tensors; name one with --config, or give "
        "the output a file's ending",
        options.path.string());
  BALEEN_TRY(copy_model(setup.registry, *source, plan_of(options, *maps.library),
                        {options.output, dtype_of(options.dtype), overflows}));
  print_out("%zu tensors in %s\n", source->tensors().size(), options.output.string().c_str());
  return {};
}

}  // namespace

Result<std::unique_ptr<TensorSource>> open_foreign(const fs::path& path, const Setup& setup) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return open_tensor_files(setup.registry, {path.string()});
  BALEEN_TRY_ASSIGN(const ModelMaps maps, open_model_maps(setup));
  BALEEN_TRY_ASSIGN(const bool is_model, maps.library->is_model(path.string()));
  if (!is_model) return std::unique_ptr<TensorSource>();
  BALEEN_TRY_ASSIGN(const ModelFiles files, maps.library->model_files(path.string()));
  return open_tensor_files(setup.registry, files.files);
}

Status exchange(const CheckpointOptions& options, const Setup& setup) {
  Overflows overflows;
  BALEEN_TRY(exchange(options, setup, overflows));
  if (const std::string text = overflows.text(); !text.empty())
    setup.log.warning(options.output.string() + ": " + text);
  return {};
}

}  // namespace baleen::app
