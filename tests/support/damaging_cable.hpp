/// \file A cable between two networks whose frames pass through this program, which may damage one.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "support/two_networks.hpp"

namespace baleen::test {

/// `DamagingCable cable; TwoNetworks networks(cable.lay());`, in this order.
class DamagingCable {
 public:
  ~DamagingCable() {
    leaving_ = true;
    if (thread_.joinable()) thread_.join();
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  DamagingCable() = default;
  DamagingCable(const DamagingCable&) = delete;

  /// For the networks that it is to join.
  TwoNetworks::Lay lay() {
    return [this](const TwoNetworks& networks) { return lay_between(networks); };
  }
  /// One bit of the next long TCP segment is turned over, and the segment's checksum with it, so that no system
  /// notices.
  void damage_next() { wanted_ = 1; }
  /// It is.
  bool has_damaged() const { return damaged_; }

 private:
  static constexpr std::size_t kEthernet = 14, kLongest = 65'600, kLong = 1'000;

  // A device that hands its frames to this program: nothing leaves their checksums to a card.
  static std::string open_end(const TwoNetworks& networks, int host, int& end) {
    if (!networks.enter(host)) return std::string("no entrance to a network namespace: ") + std::strerror(errno);
    end = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    ifreq wanted{};
    wanted.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strncpy(wanted.ifr_name, TwoNetworks::kDevice, IFNAMSIZ - 1);
    if (end >= 0 && ioctl(end, TUNSETIFF, &wanted) == 0) return {};
    return std::string("no devices whose frames go through a program (/dev/net/tun): ") + std::strerror(errno);
  }
  std::string lay_between(const TwoNetworks& networks) {
    std::string missing;
    std::thread([&] {  // to be on another host, for as long as it takes
      for (const int host : {0, 1})
        if (missing.empty()) missing = open_end(networks, host, ends_[static_cast<std::size_t>(host)]);
    })
        .join();
    if (missing.empty()) thread_ = std::thread([this] { carry(); });
    return missing;
  }
  void carry() {
    std::array<std::uint8_t, kLongest> frame;
    while (!leaving_) {
      std::array<pollfd, 2> ready = {{{ends_[0], POLLIN, 0}, {ends_[1], POLLIN, 0}}};
      poll(ready.data(), ready.size(), 50);
      for (const std::size_t host : {0u, 1u}) {
        if (!(ready[host].revents & POLLIN)) continue;
        const ssize_t bytes = read(ends_[host], frame.data(), frame.size());
        if (bytes <= 0) continue;
        if (wanted_ > 0) damage(frame.data(), static_cast<std::size_t>(bytes));
        [[maybe_unused]] const ssize_t sent = write(ends_[1 - host], frame.data(), static_cast<std::size_t>(bytes));
      }
    }
  }
  void damage(std::uint8_t* frame, std::size_t bytes) {
    constexpr std::size_t kProtocol = 9, kChecksum = 16, kTcp = 6;
    std::uint8_t* ip = frame + kEthernet;
    if (bytes < kEthernet + kLong || frame[12] != 0x08 || frame[13] != 0 || ip[kProtocol] != kTcp) return;
    std::uint8_t* tcp = ip + 4 * (ip[0] & 15u);
    // One word of 16 bits in the middle of its bytes; its place counts from where the sum begins.
    const std::size_t half = (bytes - static_cast<std::size_t>(tcp - frame)) / 2;
    std::uint8_t* word = tcp + (half & ~std::size_t{1});
    const std::uint16_t before = read_word(word);
    word[1] = static_cast<std::uint8_t>(word[1] ^ 0x10);
    // RFC 1624, equation 3.
    std::uint32_t sum = static_cast<std::uint16_t>(~read_word(tcp + kChecksum)) + static_cast<std::uint16_t>(~before);
    sum += read_word(word);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    const auto checksum = static_cast<std::uint16_t>(~sum);
    tcp[kChecksum] = static_cast<std::uint8_t>(checksum >> 8);
    tcp[kChecksum + 1] = static_cast<std::uint8_t>(checksum & 0xff);
    --wanted_;
    damaged_ = true;
  }
  static std::uint16_t read_word(const std::uint8_t* at) { return static_cast<std::uint16_t>(at[0] << 8 | at[1]); }

  std::array<int, 2> ends_{-1, -1};
  std::atomic<int> wanted_{0};
  std::atomic<bool> damaged_{false}, leaving_{false};
  std::thread thread_;
};

}  // namespace baleen::test
