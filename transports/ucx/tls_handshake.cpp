/// \file TLS 1.3 handshakes with the job's key, and the secrets that come out of them.
#include "tls_handshake.hpp"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace baleen::ucx {
namespace {

constexpr std::array<unsigned char, 2> kSuite = {0x13, 0x01};
constexpr const char* kSuiteName = "TLS_AES_128_GCM_SHA256";
constexpr const char* kGroups = "X25519:P-256";
constexpr std::string_view kIdentity = "baleen rank ", kTo = " to ";
// OpenSSL's words for the application traffic secrets (SSL_CTX_set_keylog_callback), the connecting end's first.
constexpr std::array<std::string_view, 2> kSecretNames = {"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"};

std::optional<std::int32_t> number_from(std::string_view& text) {
  std::int32_t number = -1;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

/// False where the text is not exactly the secret's bytes in hexadecimal.
bool read_hex(std::string_view text, TlsRecords::Secret& to) {
  if (text.size() != 2 * to.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const char* const begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, to[i], 16).ptr != begin + 2) return false;
  }
  return true;
}

}  // namespace

/// Calls of OpenSSL's, which know a handshake by its connection.
struct TlsCalls {
  static TlsHandshake& of(const SSL* ssl) { return *static_cast<TlsHandshake*>(SSL_get_ex_data(ssl, 0)); }

  /// The key in the form in which OpenSSL takes it; null where there is no memory.
  static SSL_SESSION* session_of(SSL* ssl) {
    const std::string& key = of(ssl).key_;
    std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> made(SSL_SESSION_new(), SSL_SESSION_free);
    const SSL_CIPHER* const suite = SSL_CIPHER_find(ssl, kSuite.data());
    const auto* const bytes = reinterpret_cast<const unsigned char*>(key.data());
    if (!made || !suite || !SSL_SESSION_set1_master_key(made.get(), bytes, key.size())) return nullptr;
    if (!SSL_SESSION_set_cipher(made.get(), suite)) return nullptr;
    return SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) ? made.release() : nullptr;
  }

  static int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
    TlsHandshake& handshake = of(ssl);
    handshake.heard_ = TlsHandshake::peers_from({reinterpret_cast<const char*>(identity), size});
    *session = handshake.heard_ ? session_of(ssl) : nullptr;
    return !handshake.heard_ || *session;
  }

  static int use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
                         SSL_SESSION** session) {
    const TlsHandshake& handshake = of(ssl);
    *identity = reinterpret_cast<const unsigned char*>(handshake.identity_.data());
    *size = handshake.identity_.size();
    *session = session_of(ssl);
    return *session != nullptr;
  }

  /// "NAME RANDOM SECRET", the last two in hexadecimal.
  static void take_secret(const SSL* ssl, const char* line) {
    const std::string_view text(line);
    const std::string_view name = text.substr(0, text.find(' ')), secret = text.substr(text.rfind(' ') + 1);
    TlsHandshake& handshake = of(ssl);
    for (std::size_t end = 0; end < kSecretNames.size(); ++end)
      if (name == kSecretNames[end]) handshake.has_secret_[end] = read_hex(secret, handshake.secrets_[end]);
  }
};

std::string TlsHandshake::identity_of(const TlsChannel::Peers& peers) {
  return std::string(kIdentity) + std::to_string(peers.from) + std::string(kTo) + std::to_string(peers.to);
}

std::optional<TlsChannel::Peers> TlsHandshake::peers_from(std::string_view identity) {
  if (!identity.starts_with(kIdentity)) return std::nullopt;
  identity.remove_prefix(kIdentity.size());
  const auto from = number_from(identity);
  if (!from || !identity.starts_with(kTo)) return std::nullopt;
  identity.remove_prefix(kTo.size());
  const auto to = number_from(identity);
  if (!to || !identity.empty()) return std::nullopt;
  return TlsChannel::Peers{*from, *to};
}

std::shared_ptr<SSL_CTX> TlsHandshake::new_context() {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  SSL_CTX* const raw = context.get();
  // Said here one by one, since the system's configuration of OpenSSL comes before.
  const bool fits = raw && SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) &&
                    SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) && SSL_CTX_set_ciphersuites(raw, kSuiteName) &&
                    SSL_CTX_set1_groups_list(raw, kGroups) && SSL_CTX_set_num_tickets(raw, 0) &&
                    SSL_CTX_set_max_early_data(raw, 0);
  if (!fits) return nullptr;
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_clear_options(raw, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
  SSL_CTX_set_read_ahead(raw, 0);  // what comes behind the handshake is not OpenSSL's
  SSL_CTX_set_psk_find_session_callback(raw, &TlsCalls::find_session);
  SSL_CTX_set_psk_use_session_callback(raw, &TlsCalls::use_session);
  SSL_CTX_set_keylog_callback(raw, &TlsCalls::take_secret);
  return context;
}

Result<std::unique_ptr<TlsHandshake>> TlsHandshake::make(SSL_CTX& context, int socket, std::string key,
                                                         std::string identity) {
  std::unique_ptr<TlsHandshake> made(new TlsHandshake);
  SSL* const ssl = made->ssl_ = SSL_new(&context);
  BIO *const in = BIO_new_socket(socket, BIO_NOCLOSE), *const out = BIO_new(BIO_s_mem());
  if (!ssl || !in || !out || !SSL_set_ex_data(ssl, 0, made.get())) {
    BIO_free(in);
    BIO_free(out);
    return internal("ucx: no memory for a connection between ranks");
  }
  SSL_set_bio(ssl, in, out);
  made->key_ = std::move(key);
  made->identity_ = std::move(identity);
  if (made->is_connecting()) {
    SSL_set_connect_state(ssl);
    // Who answers without the key could come with a certificate instead; none is trusted.
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  } else {
    SSL_set_accept_state(ssl);
  }
  return made;
}

TlsHandshake::~TlsHandshake() {
  SSL_free(ssl_);
  OPENSSL_cleanse(secrets_.data(), sizeof secrets_);
  OPENSSL_cleanse(key_.data(), key_.size());
}

// What a call of OpenSSL's that was not done means.
Step TlsHandshake::after(int result) {
  const int why = SSL_get_error(ssl_, result);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return Step::kLater;
  if (why == SSL_ERROR_SYSCALL)
    why_ = errno != 0 ? std::strerror(errno) : "the other end is gone";
  else if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
    why_ = "the other end is gone";
  else
    why_ = "the other end does not know the job's key";
  return Step::kEnded;
}

Step TlsHandshake::go(std::string& to_send) {
  ERR_clear_error();
  errno = 0;
  const int done = SSL_do_handshake(ssl_);
  const Step step = done == 1 ? Step::kDone : after(done);
  BIO* const out = SSL_get_wbio(ssl_);
  const std::size_t before = to_send.size(), bytes = BIO_ctrl_pending(out);
  to_send.resize(before + bytes);
  BIO_read(out, to_send.data() + before, static_cast<int>(bytes));
  if (step != Step::kDone) return step;
  // OpenSSL calls a session resumed where a key that was there before opened it.
  if (SSL_session_reused(ssl_) == 1 && has_secret_[0] && has_secret_[1] && !SSL_has_pending(ssl_)) return Step::kDone;
  why_ = "the other end does not know the job's key";
  return Step::kEnded;
}

Result<std::string> TlsJob::new_key() {
  std::array<unsigned char, kKeyBytes> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return internal("ucx: this OpenSSL gives no random numbers for the job's key");
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<TlsJob> TlsJob::make(const std::string& key, std::uint64_t renewal) {
  const std::shared_ptr<SSL_CTX> context = TlsHandshake::new_context();
  if (!context || key.size() != kKeyBytes)
    return internal("ucx: this OpenSSL has no TLS 1.3 with " + std::string(kSuiteName) + " and " + kGroups);
  return TlsJob(context, key, renewal);
}

}  // namespace baleen::ucx
