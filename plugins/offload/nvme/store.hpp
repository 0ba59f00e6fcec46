/// \file Slots in swap files; one thread keeps the disks busy.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "baleen/offload.hpp"
#include "mover.hpp"
#include "options.hpp"

namespace baleen::nvme {

class NvmeStore final : public sdk::OffloadStore {
 public:
  /// Makes what reads and writes; tests put faults there.
  using MakeIo = std::function<Result<std::unique_ptr<BlockIo>>(const Host&, const Options&, const BounceBuffers&)>;

  static Result<std::unique_ptr<OffloadStore>> create(const Host& host, const Settings& settings,
                                                      sdk::OffloadSpec spec);
  static Result<std::unique_ptr<OffloadStore>> make(const Host& host, const Options& options, sdk::OffloadSpec spec,
                                                    const MakeIo& make_io);
  NvmeStore(const Options& options, sdk::OffloadSpec spec, sdk::OffloadTraits traits, SwapFiles files);
  ~NvmeStore() override;

 protected:
  Status extend(std::uint64_t begin, std::uint64_t end) override;
  void give_back(std::uint64_t begin) override;
  baleen_offload_flags_t flags() const override { return BALEEN_OFFLOAD_CHECKED; }
  std::uint64_t overhead() const override;
  void spoil(const baleen_offload_transfer_t& transfer) override;

 private:
  Status open(const Host& host, const MakeIo& make_io);
  void loop();
  void begin_some(bool* gated, bool closing);

  const Options options_;
  SwapFiles files_;
  offload_common::BlockSums checksums_;
  BounceBuffers buffers_;
  std::unique_ptr<BlockIo> io_;
  std::unique_ptr<Mover> mover_;
  std::atomic<bool> closing_{false};
  std::thread thread_;
};

/// As the options say: io_uring, or threads where it is forbidden, which is a line in the log then.
Result<std::unique_ptr<BlockIo>> make_io(const Host& host, const Options& options, const BounceBuffers& buffers);

}  // namespace baleen::nvme
