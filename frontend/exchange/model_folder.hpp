/// \file A model in another framework's files, as its map says: which parameters there are, and their values.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/session.hpp"
#include "frontend/checkpoint/load_parts.hpp"
#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/exchange/arrangement.hpp"
#include "frontend/exchange/overflows.hpp"

namespace baleen {

/// Opened against its map: every tensor that a rule names is there with its shape, and none is there that no rule
/// names. Bytes are read parameter by parameter.
class ModelFolder {
 public:
  /// `path` for messages. Errors name the file, the tensor, both shapes, and the nearest name. Of `parts`, which has no
  /// renames, rules are left out whose parameters are not taken; what is missing or further there may be so.
  static Result<ModelFolder> open(const Registry& plugins, const ModelFiles& files, ModelMap map, std::string path,
                                  const LoadParts& parts = {});

  const ModelMap& map() const { return map_; }
  const std::vector<TensorRule>& rules() const { return map_.rules; }
  const Arrangement& arrangement(std::size_t rule) const { return arrangements_[rule]; }
  /// Whether the files hold it; false of rules that are optional, and of those left out.
  bool holds(std::size_t rule) const { return !names_[rule].empty(); }
  /// What patterns may mean: the names in the files, and those of the rules' parameters.
  std::vector<std::string> names() const;
  /// The dtype that the files have it in.
  baleen_dtype_t dtype_of(std::size_t rule) const;
  /// A parameter that the files hold, padded with zeros to that extent; 0: not padded. `overflows`, where it is not
  /// null, counts what `dtype` does not hold.
  Result<HostTensor> read(std::size_t rule, baleen_dtype_t dtype, std::int64_t padded,
                          Overflows* overflows = nullptr) const;

 private:
  Status take_names(const ModelFiles& files);
  Status match(std::size_t rule, const LoadParts& parts);
  Status check_copies(std::size_t rule) const;
  Status refuse_unknown(const LoadParts& parts) const;
  std::string their(const std::string& name) const;

  ModelMap map_;
  std::string path_;
  std::shared_ptr<TensorSource> source_;
  std::vector<Arrangement> arrangements_;
  std::map<std::string, std::string> known_;     ///< names in the files by the names that rules use
  std::vector<std::vector<std::string>> names_;  ///< in the files, of each rule's tensors
  bool bare_ = false;                            ///< names in the files lack the prefix
};

/// Fills the parameters of a session that `parts` takes, each rank its own part. Parameters that no rule makes must
/// match one of its `allow_missing`, and keep their values; so do those whose rules make nothing.
Status load_model(Session& session, const ModelFolder& folder, const LoadParts& parts);

}  // namespace baleen
