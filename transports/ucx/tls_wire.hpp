/// \file Sockets of our own under TLS as a wire, for networks that are not closed.
///
/// Frames follow each other on a connection: 16 bytes (`FrameHeader`), then a message, a note, or nothing. Rank r
/// connects to all below it; who listens stops once all above it are there.
#pragma once
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "baleen/file_handle.hpp"
#include "baleen/transport.hpp"
#include "options.hpp"
#include "tls_channel.hpp"
#include "tls_frame.hpp"
#include "wire.hpp"

namespace baleen::ucx {

struct Address;

class TlsWire final : public Wire {
 public:
  /// Learns the job's key from rank 0, and listens.
  static Result<std::unique_ptr<TlsWire>> create(const Host& host, const Options& options,
                                                 const Rendezvous& rendezvous);
  ~TlsWire() override;

  Result<std::string> address() const override { return address_; }
  Status open(std::int32_t rank, const std::string& address) override;
  bool is_open(std::int32_t rank) const override;
  void close(std::int32_t rank, bool at_once) override;
  bool tidy() override;
  void abandon() override;
  void look() override;

  bool progress() override;
  bool arm() override;
  int file() const override { return events_.get(); }
  void wake() override;

  void note(std::int32_t rank, NoteKind kind, std::string_view bytes) override;
  void send(std::int32_t rank, std::uint64_t tag, Run::Flight& flight) override;
  void receive(std::int32_t rank, std::uint64_t tag, Run::Flight& flight, bool adds) override;
  void cancel(Run::Flight& flight) override;
  std::optional<Unasked> first_unasked(std::int32_t rank, std::uint64_t tag, std::uint64_t mask) override;

  Result<Memory> allocate(std::uint64_t bytes) override;
  void free(const Memory& memory) override;
  std::string key_of(const Memory&) const override { return {}; }
  View view(std::int32_t, const std::string&, std::uint64_t) override { return {}; }
  void drop(const View&) override {}

 private:
  using Clock = std::chrono::steady_clock;
  using Kind = FrameKind;

  /// To be sent.
  struct Frame {
    FrameHeader header;
    Run::Flight* flight = nullptr;
    std::string note;
    Frame* next = nullptr;
  };
  /// A message that came before it was asked for.
  struct Early {
    std::uint64_t tag = 0, bytes = 0;
    std::unique_ptr<std::byte[]> data;
    std::uint64_t room = 0;  // of `data`
    bool complete = false;
    Run::Flight* claimed = nullptr;  ///< who waits for the rest of it
  };
  /// What is being read.
  struct Incoming {
    FrameHeader header;
    std::size_t header_bytes = 0;
    std::uint64_t at = 0;
    Run::Flight* flight = nullptr;
    Early* early = nullptr;
    std::string note;
  };
  enum class Stage : std::uint8_t { kNone, kConnecting, kShaking, kAwaited, kResting, kOpen, kClosing, kGone };
  struct Link {
    std::int32_t rank = 0;
    Stage stage = Stage::kNone;
    std::unique_ptr<TlsChannel> channel;
    FileHandle socket;  // while it connects
    std::vector<std::string> addresses;
    std::size_t next_address = 0;
    Clock::time_point deadline, until;  // of this try, of all
    std::string why;                    // the last try failed
    std::string broken;                 // why nothing can be sent any more; what has come is read yet
    Frame *first = nullptr, *last = nullptr;
    std::uint64_t written = 0;  // of the first frame
    bool wants_room = false, has_more = false, was_sent = false, has_ended = false;
    Incoming in;
    std::deque<std::unique_ptr<Early>> early;
  };
  /// Has not yet proven who it is.
  struct Stranger {
    std::unique_ptr<TlsChannel> channel;
    Clock::time_point deadline;
  };

  TlsWire(TlsJob job, const Rendezvous& rendezvous, double patience);

  // tls_meeting.cpp
  Status listen(const Options& options);
  bool listen(const Address& address);  ///< false: see errno
  void stop_listening();
  void accept(int listener);
  void hear_stranger(std::size_t number);
  void connect(Link& link);
  void connected(Link& link);
  void shake(Link& link);
  void opened(Link& link);
  void try_again(Link& link, const std::string& why);
  void hurry(Link& link, Clock::time_point now);

  // tls_wire.cpp
  Link& at(std::int32_t rank) { return links_[static_cast<std::size_t>(rank)]; }
  const Link& at(std::int32_t rank) const { return links_[static_cast<std::size_t>(rank)]; }
  void watch(int file, std::uint32_t events, std::uint64_t about);
  void watch(const Link& link);
  void watch_listener(std::size_t number);
  void watch_stranger(std::size_t number);
  void hear_event(std::uint64_t about, std::uint32_t events);
  void lose(Link& link, std::string why);
  void end_all(Link& link, Outcome outcome, const std::string& why);
  void shut(Link& link);

  static bool has_turn(const Link& link);

  // tls_frames.cpp
  Frame& new_frame(Kind kind, std::uint64_t tag, std::uint64_t bytes);
  void append(Link& link, Frame& frame);
  void read_the_rest(Link& link);
  bool push_out(Link& link);
  Step write_piece(Link& link, const Frame& frame);
  void finish_first(Link& link);
  bool pull_in(Link& link);
  Step read_piece(Link& link, std::size_t& got);
  bool begin_body(Link& link);  ///< false: there is no memory for it
  void end_body(Link& link);
  void deliver(Run::Flight& flight, std::unique_ptr<Early> early);
  void keep(std::unique_ptr<Early> early);
  /// Null where there is no memory.
  std::unique_ptr<Early> new_early(std::uint64_t tag, std::uint64_t bytes);
  Run::Flight** posted(std::int32_t rank, std::uint64_t tag);
  Run::Flight** posted(const Run::Flight& flight);
  Run::Flight*& bucket_of(std::int32_t rank, std::uint64_t tag);

  static constexpr std::size_t kBuckets = 1024;

  const TlsJob job_;
  const std::int32_t rank_;
  const std::vector<std::int32_t> host_of_;
  const double patience_;
  std::vector<Link> links_;
  FileHandle events_, woken_;
  std::vector<FileHandle> listeners_;
  std::vector<Stranger> strangers_;
  std::string address_;
  std::size_t busy_ = 0;     // links that have more to read
  std::size_t closing_ = 0;  // links that do
  std::size_t looks_ = 0;
  std::array<Run::Flight*, kBuckets> posted_{};
  std::vector<std::unique_ptr<Frame>> frames_;  // all there ever were
  Frame* free_ = nullptr;
  std::vector<std::unique_ptr<Early>> kept_;  // for the next early messages
  std::uint64_t kept_bytes_ = 0;
  std::vector<std::byte> piece_, staged_;
};

}  // namespace baleen::ucx
