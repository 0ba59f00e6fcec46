/// \file cuDNN's graph interface as a table of functions, opened at run time; descriptors; and the device for which
/// plans are made.
#pragma once
#include <cudnn_graph.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "library.hpp"

namespace baleen::cuda {

// By hand: clang-format would make stairs of the list.
// clang-format off
#define BALEEN_DNN_FUNCTIONS(X) \
  X(cudnnGetVersion) X(cudnnGetErrorString) X(cudnnGetLastErrorString) X(cudnnCreate) X(cudnnDestroy) \
  X(cudnnSetStream) X(cudnnBackendCreateDescriptor) X(cudnnBackendDestroyDescriptor) X(cudnnBackendSetAttribute) \
  X(cudnnBackendGetAttribute) X(cudnnBackendFinalize) X(cudnnBackendExecute)
// clang-format on

/// The functions in use.
struct DnnFunctions {
  BALEEN_DNN_FUNCTIONS(BALEEN_DECLARE_SYMBOL)

  /// OK, or an error that says what was being done, and the library's own words. UNSUPPORTED where it takes no such
  /// graph.
  Status check(cudnnStatus_t status, const char* doing) const;
};

/// One descriptor of the library's, owned. Movable.
class DnnDescriptor {
 public:
  DnnDescriptor() = default;
  static Result<DnnDescriptor> make(const DnnFunctions& f, cudnnBackendDescriptorType_t type);
  ~DnnDescriptor();
  DnnDescriptor(DnnDescriptor&& other) noexcept;
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept;

  Status set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* data);
  Status set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  Status set(cudnnBackendAttributeName_t name, const DnnDescriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.handle_);
  }
  Status finalize(const char* doing);
  cudnnBackendDescriptor_t handle() const { return handle_; }

 private:
  const DnnFunctions* f_ = nullptr;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

class DnnPlan;

/// The library, for one device.
class Dnn {
 public:
  /// For the calling thread's device. NOT_FOUND where there is no cuDNN, or none that starts.
  static Result<std::unique_ptr<Dnn>> open(const std::vector<std::string>& folders);
  /// For a device that is described and need not be there: plans can be made, not run. `device` is the library's own
  /// JSON of device properties.
  static Result<std::unique_ptr<Dnn>> open_described(const std::vector<std::string>& folders,
                                                     const std::string& device);
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  const DnnFunctions& functions() const { return table_; }
  /// Null for a described device.
  cudnnHandle_t handle() const { return handle_; }
  /// Null for the device itself.
  const DnnDescriptor* description() const { return description_.handle() ? &description_ : nullptr; }
  std::string version() const;
  /// By shape; a plan takes the library seconds.
  std::map<std::string, std::shared_ptr<DnnPlan>>& plans() { return plans_; }

 private:
  Dnn() = default;
  static Result<std::unique_ptr<Dnn>> load(const std::vector<std::string>& folders);

  DnnFunctions table_;
  cudnnHandle_t handle_ = nullptr;
  DnnDescriptor description_;
  std::map<std::string, std::shared_ptr<DnnPlan>> plans_;
};

/// Opens the library when attention first asks for it: it takes memory and time. Says once what is missing, and once
/// per shape why a plan is not to be had.
class DnnOpener {
 public:
  using Say = std::function<void(const std::string&)>;
  DnnOpener(std::vector<std::string> folders, bool deterministic, Say say)
      : folders_(std::move(folders)), deterministic_(deterministic), say_(std::move(say)) {}

  /// Null where there is none.
  Dnn* get();
  bool deterministic() const { return deterministic_; }
  /// [any thread] Says once why an op is not cuDNN's.
  void refused(const std::string& what, const std::string& why);

 private:
  std::vector<std::string> folders_;
  bool deterministic_, tried_ = false;
  Say say_;
  std::unique_ptr<Dnn> dnn_;
  std::mutex mutex_;  // of the set
  std::set<std::string> said_;
};

}  // namespace baleen::cuda
