/// \file Rows that come late, once, on one rank; and text that a script asks it to encode there.
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>
#include <utility>

#include "baleen/data.hpp"
#include "support/endless_rows.hpp"

BALEEN_DESCRIPTOR("data", "slow", "1.0.0", "Apache-2.0", "Rows that come late on one rank", -1, "",
                  BALEEN_OPTION("rank", BALEEN_OPTION_INT, 0, -1, 99, "0", "", "",
                                "that waits for its rows; -1: the only one"),
                  BALEEN_OPTION("row", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "", "from which on they come late"),
                  BALEEN_OPTION("seconds", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "0", "", "", "late"),
                  BALEEN_OPTION("mark", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "",
                                "a file that is made when the late rank begins to be late"),
                  BALEEN_OPTION("others", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "",
                                "a file: once it is there the rank gives each row as the one behind it"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Slow : public Dataset, public Tokens, public Digested {
 public:
  static Result<std::unique_ptr<Slow>> create(const Host&, const Settings& settings) {
    std::string name;
    std::getline(std::ifstream("/proc/self/comm"), name);
    const std::int64_t rank = settings.integer("rank");
    const bool is_late = rank < 0 || name == "baleen rank " + std::to_string(rank);
    auto made = std::make_unique<Slow>(is_late, settings.integer("row"), settings.number("seconds"),
                                       std::string(settings.text("mark")));
    if (is_late) made->others_ = settings.text("others");
    return made;
  }
  Slow(bool is_late, std::int64_t row, double seconds, std::string mark)
      : is_late_(is_late), row_(row), seconds_(is_late ? seconds : 0), mark_(std::move(mark)) {}

  Result<baleen_dataset_info_t> info() const override { return test::endless_rows(); }
  std::uint64_t digest() const override { return 1; }  // without it rows would be read before the training
  Status read(baleen_split_t, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    if (first >= row_ && seconds_ > 0) {
      tell();
      std::this_thread::sleep_for(std::chrono::duration<double>(std::exchange(seconds_, 0)));
    }
    if (!others_.empty() && std::ifstream(others_)) ++first;
    for (std::int64_t i = 0; i < count; ++i) {
      static_cast<float*>(buffers[0])[i] = static_cast<float>(std::sin(static_cast<double>(first + i)));
      static_cast<std::int32_t*>(buffers[1])[i] = static_cast<std::int32_t>((first + i) % 2);
    }
    return {};
  }

  /// 1 on the late rank, else 0; the text "sleep" takes for ever there.
  Result<std::vector<std::int32_t>> encode(std::string_view text) const override {
    if (is_late_) tell();
    if (is_late_ && text == "sleep") std::this_thread::sleep_for(std::chrono::hours(1));
    return std::vector<std::int32_t>{is_late_ ? 1 : 0};
  }
  Result<std::string> decode(std::span<const std::int32_t>) const override { return std::string(); }

 private:
  void tell() const {
    if (!mark_.empty()) std::ofstream(mark_, std::ios::app).flush();
  }

  const bool is_late_;
  const std::int64_t row_;
  mutable double seconds_;  ///< one thread reads
  const std::string mark_;
  std::string others_;
};

}  // namespace

BALEEN_DATA(Slow);
