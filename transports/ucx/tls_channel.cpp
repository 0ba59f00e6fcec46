/// \file OpenSSL over a socket that never blocks, with the records that it does not take kept here.
#include "tls_channel.hpp"

#include <linux/sockios.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace baleen::ucx {

struct TlsChannel::State {
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl{nullptr, SSL_free};
  FileHandle socket;
  std::string key;
  std::string identity;        ///< what a connecting end calls itself
  std::optional<Peers> heard;  ///< what it calls itself, as the other end heard it
  std::uint64_t renewal = 0;
  std::uint64_t encrypted = 0;  ///< bytes with the key of now
  bool is_open = false, is_waiting = false;
  int failure = 0;  ///< of the socket
  std::vector<char> unsent = std::vector<char>(kKept);
  std::size_t begin = 0, end = 0;

  /// What is kept at most, and from how much on the socket is asked to take it.
  static constexpr std::size_t kKept = 256 << 10, kSent = 64 << 10;
  bool send_some();
};

namespace {

constexpr std::array<unsigned char, 2> kSuite = {0x13, 0x01};
constexpr const char* kSuiteName = "TLS_AES_128_GCM_SHA256";
constexpr const char* kGroups = "X25519:P-256";
constexpr std::string_view kIdentity = "baleen rank ", kTo = " to ";

std::optional<std::int32_t> number_from(std::string_view& text) {
  std::int32_t number = -1;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

std::string identity_of(const TlsChannel::Peers& peers) {
  return std::string(kIdentity) + std::to_string(peers.from) + std::string(kTo) + std::to_string(peers.to);
}

/// Nothing where it is no identity of a rank.
std::optional<TlsChannel::Peers> peers_from(std::string_view identity) {
  if (!identity.starts_with(kIdentity)) return std::nullopt;
  identity.remove_prefix(kIdentity.size());
  const auto from = number_from(identity);
  if (!from || !identity.starts_with(kTo)) return std::nullopt;
  identity.remove_prefix(kTo.size());
  const auto to = number_from(identity);
  if (!to || !identity.empty()) return std::nullopt;
  return TlsChannel::Peers{*from, *to};
}

}  // namespace

/// Calls of OpenSSL's, which know a channel by its state.
struct TlsCalls {
  using State = TlsChannel::State;

  static State& state_of(SSL* ssl) { return *static_cast<State*>(SSL_get_app_data(ssl)); }

  /// The key in the form in which OpenSSL takes it; null where there is no memory.
  static SSL_SESSION* session_of(SSL* ssl) {
    const std::string& key = state_of(ssl).key;
    std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> made(SSL_SESSION_new(), SSL_SESSION_free);
    const SSL_CIPHER* const suite = SSL_CIPHER_find(ssl, kSuite.data());
    const auto* const bytes = reinterpret_cast<const unsigned char*>(key.data());
    if (!made || !suite || !SSL_SESSION_set1_master_key(made.get(), bytes, key.size())) return nullptr;
    if (!SSL_SESSION_set_cipher(made.get(), suite)) return nullptr;
    return SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) ? made.release() : nullptr;
  }

  static int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
    State& state = state_of(ssl);
    state.heard = peers_from({reinterpret_cast<const char*>(identity), size});
    *session = state.heard ? session_of(ssl) : nullptr;
    return !state.heard || *session;
  }

  static int use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
                         SSL_SESSION** session) {
    const State& state = state_of(ssl);
    *identity = reinterpret_cast<const unsigned char*>(state.identity.data());
    *size = state.identity.size();
    *session = session_of(ssl);
    return *session != nullptr;
  }

  /// Where OpenSSL writes records to.
  static int keep(BIO* bio, const char* data, std::size_t bytes, std::size_t* taken) {
    State& state = *static_cast<State*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (State::kKept - state.end < bytes && !state.send_some()) return 0;
    if (state.begin > 0) {
      std::memmove(state.unsent.data(), state.unsent.data() + state.begin, state.end - state.begin);
      state.end -= std::exchange(state.begin, 0);
    }
    *taken = std::min(bytes, State::kKept - state.end);
    if (*taken == 0) {
      BIO_set_retry_write(bio);
      return 0;
    }
    std::memcpy(state.unsent.data() + state.end, data, *taken);
    state.end += *taken;
    return state.end - state.begin < State::kSent || state.send_some();
  }

  static long control(BIO* bio, int command, long, void*) {
    if (command != BIO_CTRL_FLUSH) return 0;
    State& state = *static_cast<State*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (!state.send_some()) return 0;
    return 1;  // what is kept is sent by `flush`
  }

  static const BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* const fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "records to send");
      if (fresh) {
        BIO_meth_set_write_ex(fresh, keep);
        BIO_meth_set_ctrl(fresh, control);
      }
      return fresh;
    }();
    return made;
  }
};

// False where the socket failed.
bool TlsChannel::State::send_some() {
  while (begin < end) {
    const ssize_t sent = ::send(socket.get(), unsent.data() + begin, end - begin, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      begin += static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    failure = errno;
    return false;
  }
  begin = end = 0;
  return true;
}

TlsChannel::TlsChannel(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsChannel::~TlsChannel() = default;

int TlsChannel::socket() const { return state_->socket.get(); }
bool TlsChannel::has_unsent() const { return state_->begin < state_->end; }
std::optional<TlsChannel::Peers> TlsChannel::heard() const { return state_->is_open ? state_->heard : std::nullopt; }

// What a call of OpenSSL's that was not done means.
Step TlsChannel::after(int result) {
  const int why = SSL_get_error(state_->ssl.get(), result);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return Step::kLater;
  const int system = state_->failure != 0 ? state_->failure : errno;
  const unsigned long error = ERR_peek_error();
  if (why == SSL_ERROR_ZERO_RETURN)
    why_ = "the other end closed it";
  else if (why == SSL_ERROR_SYSCALL || state_->failure != 0)
    why_ = system != 0 ? std::strerror(system) : "the other end is gone";
  else if (ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
    why_ = "the other end is gone";
  else if (!state_->is_open)
    why_ = "the other end does not know the job's key";
  else
    why_ = std::string("what came is not what was sent (TLS: ") +
           (error != 0 ? ERR_reason_error_string(error) : "no reason") + "); something on the way changes it";
  return Step::kEnded;
}

Step TlsChannel::shake() {
  SSL* const ssl = state_->ssl.get();
  ERR_clear_error();
  errno = 0;
  const int done = SSL_do_handshake(ssl);
  if (!state_->send_some()) return after(0);
  if (done != 1) return after(done);
  // OpenSSL calls a session resumed where a key that was there before opened it.
  state_->is_open = SSL_session_reused(ssl) == 1;
  if (state_->is_open) return Step::kDone;
  why_ = "the other end does not know the job's key";
  return Step::kEnded;
}

Step TlsChannel::read(void* to, std::size_t most, std::size_t& got) {
  ERR_clear_error();
  errno = 0;
  const int done = SSL_read_ex(state_->ssl.get(), to, most, &got);
  return done ? Step::kDone : after(done);
}

Step TlsChannel::write(const void* from, std::size_t bytes, std::size_t& taken) {
  SSL* const ssl = state_->ssl.get();
  ERR_clear_error();
  errno = 0;
  if (state_->encrypted >= state_->renewal && !state_->is_waiting &&
      SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
    state_->encrypted = 0;
  const int done = SSL_write_ex(ssl, from, std::min(bytes, kRecord), &taken);
  const Step step = done ? Step::kDone : after(done);
  state_->is_waiting = step == Step::kLater;
  if (done) state_->encrypted += taken;
  return step;
}

Step TlsChannel::flush() {
  if (!state_->send_some()) {
    why_ = std::strerror(state_->failure);
    return Step::kEnded;
  }
  return has_unsent() ? Step::kLater : Step::kDone;
}

void TlsChannel::end() {
  ERR_clear_error();
  if (state_->is_open) SSL_shutdown(state_->ssl.get());
}

bool TlsChannel::is_delivered() const {
  int waiting = 0;
  return !has_unsent() && (ioctl(socket(), SIOCOUTQ, &waiting) != 0 || waiting == 0);
}

Result<std::string> TlsJob::new_key() {
  std::array<unsigned char, kKeyBytes> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return internal("ucx: this OpenSSL gives no random numbers for the job's key");
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<TlsJob> TlsJob::make(const std::string& key, std::uint64_t renewal) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  SSL_CTX* const raw = context.get();
  // Said here one by one, since the system's configuration of OpenSSL comes before.
  const bool fits = raw && key.size() == kKeyBytes && SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) &&
                    SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) && SSL_CTX_set_ciphersuites(raw, kSuiteName) &&
                    SSL_CTX_set1_groups_list(raw, kGroups) && SSL_CTX_set_num_tickets(raw, 0) &&
                    SSL_CTX_set_max_early_data(raw, 0) && TlsCalls::method();
  if (!fits) return internal("ucx: this OpenSSL has no TLS 1.3 with " + std::string(kSuiteName) + " and " + kGroups);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_clear_options(raw, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Many records with one call of the system.
  SSL_CTX_set_read_ahead(raw, 1);
  SSL_CTX_set_default_read_buffer_len(raw, 16 * (TlsChannel::kRecord + 256));
  SSL_CTX_set_psk_find_session_callback(raw, &TlsCalls::find_session);
  SSL_CTX_set_psk_use_session_callback(raw, &TlsCalls::use_session);
  return TlsJob(context, key, renewal);
}

Result<std::unique_ptr<TlsChannel>> TlsJob::channel(FileHandle socket, std::string identity) const {
  auto state = std::make_unique<TlsChannel::State>();
  state->ssl.reset(SSL_new(context_.get()));
  SSL* const ssl = state->ssl.get();
  BIO *const in = BIO_new_socket(socket.get(), BIO_NOCLOSE), *const out = BIO_new(TlsCalls::method());
  if (!ssl || !in || !out) {
    BIO_free(in);
    BIO_free(out);
    return internal("ucx: no memory for a connection between ranks");
  }
  BIO_set_data(out, state.get());
  BIO_set_init(out, 1);
  SSL_set_bio(ssl, in, out);
  SSL_set_app_data(ssl, state.get());
  state->socket = std::move(socket);
  state->key = key_;
  state->renewal = renewal_;
  state->identity = std::move(identity);
  if (state->identity.empty()) {
    SSL_set_accept_state(ssl);
  } else {
    SSL_set_connect_state(ssl);
    // Who answers without the key could come with a certificate instead; none is trusted.
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  }
  return std::unique_ptr<TlsChannel>(new TlsChannel(std::move(state)));
}

Result<std::unique_ptr<TlsChannel>> TlsJob::connecting(FileHandle socket, TlsChannel::Peers peers) const {
  return channel(std::move(socket), identity_of(peers));
}

Result<std::unique_ptr<TlsChannel>> TlsJob::accepted(FileHandle socket) const { return channel(std::move(socket), {}); }

}  // namespace baleen::ucx
