/// \file Opens cuDNN and makes its descriptors.
#include "dnn.hpp"

#include <utility>

#include "dnn_graph.hpp"

namespace baleen::cuda {

Status DnnFunctions::check(cudnnStatus_t status, const char* doing) const {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  char words[1024] = {};
  cudnnGetLastErrorString(words, sizeof words);
  const bool unsupported = CUDNN_STATUS_CATEGORY(static_cast<int>(status)) == CUDNN_STATUS_NOT_SUPPORTED;
  return Error{unsupported ? BALEEN_UNSUPPORTED : BALEEN_INTERNAL,
               std::string("cuDNN: ") + doing + " failed with " + cudnnGetErrorString(status) +
                   (words[0] ? std::string(": ") + words : ""),
               {}};
}

Result<DnnDescriptor> DnnDescriptor::make(const DnnFunctions& f, cudnnBackendDescriptorType_t type) {
  DnnDescriptor descriptor;
  descriptor.f_ = &f;
  BALEEN_TRY(f.check(f.cudnnBackendCreateDescriptor(type, &descriptor.handle_), "making a descriptor"));
  return descriptor;
}

DnnDescriptor::~DnnDescriptor() {
  if (handle_) f_->cudnnBackendDestroyDescriptor(handle_);
}
DnnDescriptor::DnnDescriptor(DnnDescriptor&& other) noexcept
    : f_(other.f_), handle_(std::exchange(other.handle_, nullptr)) {}
DnnDescriptor& DnnDescriptor::operator=(DnnDescriptor&& other) noexcept {
  std::swap(f_, other.f_);
  std::swap(handle_, other.handle_);
  return *this;
}

Status DnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* data) {
  return f_->check(f_->cudnnBackendSetAttribute(handle_, name, type, count, data), "setting an attribute");
}
Status DnnDescriptor::finalize(const char* doing) { return f_->check(f_->cudnnBackendFinalize(handle_), doing); }

Result<std::unique_ptr<Dnn>> Dnn::load(const std::vector<std::string>& folders) {
  auto opened = Library::open(folders, "libcudnn.so." + std::to_string(CUDNN_MAJOR));
  if (!opened) return Error{BALEEN_NOT_FOUND, "cuDNN is missing (" + opened.error().message + ")", {}};
  const Library& library = *opened;
  std::unique_ptr<Dnn> dnn(new Dnn);
  DnnFunctions& table = dnn->table_;
  std::string missing;
  BALEEN_DNN_FUNCTIONS(BALEEN_FIND_SYMBOL)
  if (!missing.empty()) return Error{BALEEN_NOT_FOUND, library.path() + " lacks " + missing, {}};
  constexpr std::size_t kLeast = 90600;  // from there on it clears the sums of the queries' gradient itself
  if (table.cudnnGetVersion() < kLeast)
    return Error{BALEEN_NOT_FOUND, library.path() + " is " + dnn->version() + "; attention needs 9.6 or later", {}};
  return dnn;
}

Result<std::unique_ptr<Dnn>> Dnn::open(const std::vector<std::string>& folders) {
  BALEEN_TRY_ASSIGN(auto dnn, load(folders));
  const DnnFunctions& f = dnn->functions();
  if (Status made = f.check(f.cudnnCreate(&dnn->handle_), "starting"); !made)
    return Error{BALEEN_NOT_FOUND, made.error().message, {}};
  return dnn;
}

Result<std::unique_ptr<Dnn>> Dnn::open_described(const std::vector<std::string>& folders, const std::string& device) {
  BALEEN_TRY_ASSIGN(auto dnn, load(folders));
  DnnDescriptor& to = dnn->description_;
  BALEEN_TRY_ASSIGN(to, DnnDescriptor::make(dnn->functions(), CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
  BALEEN_TRY(to.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                    static_cast<std::int64_t>(device.size()), device.data()));
  BALEEN_TRY(to.finalize("taking the description of a device"));
  return dnn;
}

Dnn::~Dnn() {
  plans_.clear();
  description_ = {};
  if (handle_) table_.cudnnDestroy(handle_);
}

Dnn* DnnOpener::get() {
  if (tried_) return dnn_.get();
  tried_ = true;
  auto opened = Dnn::open(folders_);
  if (opened)
    dnn_ = *std::move(opened);
  else
    say_(opened.error().text() + "; attention of 16 bits is computed by a slower kernel of the plugin's own");
  return dnn_.get();
}

void DnnOpener::refused(const std::string& what, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!said_.insert(what + why).second) return;
  }
  say_(what + " is computed by a slower kernel of the plugin's own: " + why);
}

std::string Dnn::version() const {
  const std::size_t version = table_.cudnnGetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100);
}

}  // namespace baleen::cuda
