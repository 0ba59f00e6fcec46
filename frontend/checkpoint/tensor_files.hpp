/// \file Tensors by name, wherever they lie: in a file or several, each by the plugin that its ending chooses.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/plugin/registry.hpp"
#include "core/runtime/host_tensor.hpp"

namespace baleen {

/// Whole tensors that can be read one after the other. [one thread]
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual const std::map<std::string, ValueType>& tensors() const = 0;
  /// Of a tensor that is there.
  virtual Result<HostTensor> read(const std::string& name) const = 0;
  /// The file of a tensor that is there, for messages.
  virtual std::string file_of(const std::string& name) const = 0;
  /// What it says about itself, by name.
  virtual const std::map<std::string, std::string>& facts() const = 0;
};

/// Opens files, and validates all of their headers before anything is read. INVALID where two hold one name.
Result<std::unique_ptr<TensorSource>> open_tensor_files(const Registry& plugins, const std::vector<std::string>& paths);

/// That a plugin knows the file's ending.
Status check_tensor_file(const Registry& plugins, const std::string& path);

/// All tensors of a file.
Result<HostTensors> read_tensor_file(const Registry& plugins, const std::string& path);

/// Whether a file can be saved there later on: a plugin knows its ending, and a file can be made beside it. To be asked
/// before a long training, where it costs nothing.
Status check_saving(const Registry& plugins, const std::string& path);

/// Whether the disk has so many bytes left for it, as far as the system tells. `what` they are of, for the message.
Status check_room(const std::string& path, std::uint64_t bytes, const std::string& what = "parameters");

/// Writes a file, all or nothing; where its folder alone cannot be synced the file is there in spite of the error.
/// `facts` become its metadata.
Status write_tensor_file(const Registry& plugins, const std::string& path, const HostTensors& tensors,
                         const std::map<std::string, std::string>& facts = {});

}  // namespace baleen
