/// \file Opens cuBLASLt and checks that it has every function that the plugin uses.
#include "blas.hpp"

namespace baleen::cuda {

Result<std::unique_ptr<Blas>> Blas::open(const std::vector<std::string>& folders, const BlasOptions& options) {
  auto opened = Library::open(folders, "libcublasLt.so." + std::to_string(CUDA_VERSION / 1000));
  if (!opened) return Error{BALEEN_NOT_FOUND, "cuBLASLt is missing (" + opened.error().message + ")", {}};
  const Library& library = *opened;
  std::unique_ptr<Blas> blas(new Blas);
  BlasFunctions& table = blas->table_;
  std::string missing;
  BALEEN_BLAS_FUNCTIONS(BALEEN_FIND_SYMBOL)
  if (!missing.empty()) return unsupported(library.path() + " lacks " + missing);
  blas->options_ = options;
  if (const cublasStatus_t status = table.cublasLtCreate(&blas->handle_); status != CUBLAS_STATUS_SUCCESS)
    return internal(std::string("cuBLASLt does not start: ") + table.cublasLtGetStatusString(status));
  return blas;
}

std::unique_ptr<Blas> Blas::described(const BlasOptions& options) {
  std::unique_ptr<Blas> blas(new Blas);
  blas->options_ = options;
  return blas;
}

BlasOptions BlasOptions::of(const Settings& settings, int compute_capability) {
  const std::uint64_t mebibytes = compute_capability >= 90 ? 32 : 4;  // as cuBLASLt's documentation advises
  return {settings.boolean("tf32"), settings.boolean("deterministic"), mebibytes << 20, compute_capability >= 89};
}

Blas::~Blas() {
  if (handle_) table_.cublasLtDestroy(handle_);
}

std::string Blas::version() const {
  const std::size_t version = table_.cublasLtGetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100);
}

}  // namespace baleen::cuda
