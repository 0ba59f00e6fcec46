/// \file OpenSSL's TLS between two buffers in memory.
#include "tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <utility>

#include "hello.hpp"

namespace baleen::launchers {

/// Borrowed by OpenSSL's object, so it stays where it is.
struct TlsState {
  explicit TlsState(const JobKey& its_key) : key(its_key) {}

  JobKey key;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl{nullptr, SSL_free};
  std::string identity;     ///< what a client calls itself
  std::optional<int> host;  ///< what a client calls itself, as the server heard it
  std::string text;         ///< that arrived
  std::optional<Error> failure;
  bool is_open = false, has_ended = false;
};

namespace {

constexpr std::array<unsigned char, 2> kSuite = {0x13, 0x02};
constexpr const char* kSuiteName = "TLS_AES_256_GCM_SHA384";
constexpr const char* kGroups = "X25519:P-256";

TlsState& state_of(SSL* ssl) { return *static_cast<TlsState*>(SSL_get_app_data(ssl)); }

/// The key in the form in which OpenSSL takes it; null where there is no memory.
SSL_SESSION* session_of(SSL* ssl) {
  const auto key = state_of(ssl).key.bytes();
  std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> made(SSL_SESSION_new(), SSL_SESSION_free);
  const SSL_CIPHER* const suite = SSL_CIPHER_find(ssl, kSuite.data());
  if (!made || !suite || !SSL_SESSION_set1_master_key(made.get(), key.data(), key.size())) return nullptr;
  if (!SSL_SESSION_set_cipher(made.get(), suite)) return nullptr;
  return SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) ? made.release() : nullptr;
}

/// The server's: which key a client means. Without one there is no handshake, since there is no certificate either.
int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  TlsState& state = state_of(ssl);
  state.host = host_from({reinterpret_cast<const char*>(identity), size});
  *session = state.host ? session_of(ssl) : nullptr;
  return !state.host || *session;
}

/// The client's: its identity and key.
int use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size, SSL_SESSION** session) {
  const TlsState& state = state_of(ssl);
  *identity = reinterpret_cast<const unsigned char*>(state.identity.data());
  *size = state.identity.size();
  *session = session_of(ssl);
  return *session != nullptr;
}

/// The other end's reason for giving up: a TLS alert's number; 0 where it is this end that gives up.
int alert_of(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  return ERR_GET_LIB(error) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : 0;
}

Error why_no_handshake(const SSL* ssl, unsigned long error) {
  if (SSL_is_server(ssl)) return invalid("does not know the job's secret");
  const int alert = alert_of(error);
  // The first is the standard's for a proof that fails, the second what OpenSSL 3.0 says.
  if (alert == SSL_AD_DECRYPT_ERROR || alert == SSL_AD_ILLEGAL_PARAMETER || alert == SSL_AD_HANDSHAKE_FAILURE)
    return invalid("it knows another secret; give every host the same one");
  if (alert != 0)
    return invalid(std::string("it ended the handshake (") + SSL_alert_desc_string_long(alert) +
                   "); something between the hosts may change what they say");
  return invalid("what answers there does not know the job's secret, so it is not the first host");
}

Error why_no_text(unsigned long error) {
  const int alert = alert_of(error);
  if (alert == 0) return internal("a message was changed on its way, or comes from somebody else");
  return internal(std::string("it ended the connection (") + SSL_alert_desc_string_long(alert) +
                  "), so a message to it was changed on its way");
}

}  // namespace

void TlsSession::Free::operator()(TlsState* state) const { delete state; }

TlsSession::TlsSession(std::unique_ptr<TlsState> state) : state_(state.release()) {}

Status TlsSession::receive(std::string_view bytes) {
  if (state_->failure) return *state_->failure;
  if (bytes.empty() || state_->has_ended) return {};
  std::size_t taken = 0;
  if (!BIO_write_ex(SSL_get_rbio(state_->ssl.get()), bytes.data(), bytes.size(), &taken) || taken != bytes.size())
    return *(state_->failure = internal("no memory for what another host said"));
  if (!state_->is_open) BALEEN_TRY(shake());
  return state_->is_open ? read() : Status();
}

Status TlsSession::shake() {
  SSL* const ssl = state_->ssl.get();
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl);
  if (done != 1 && SSL_get_error(ssl, done) == SSL_ERROR_WANT_READ) return {};
  // OpenSSL calls a session resumed where a key that was there before opened it.
  state_->is_open = done == 1 && SSL_session_reused(ssl) == 1;
  if (!state_->is_open) return *(state_->failure = why_no_handshake(ssl, ERR_peek_error()));
  return {};
}

Status TlsSession::read() {
  SSL* const ssl = state_->ssl.get();
  std::array<char, 16384> piece;  // the most that a record holds
  for (;;) {
    std::size_t got = 0;
    ERR_clear_error();
    const int done = SSL_read_ex(ssl, piece.data(), piece.size(), &got);
    const int why = done ? SSL_ERROR_NONE : SSL_get_error(ssl, done);
    if (done) {
      state_->text.append(piece.data(), got);
    } else if (why == SSL_ERROR_WANT_READ) {
      return {};
    } else if (why == SSL_ERROR_ZERO_RETURN) {
      state_->has_ended = true;
      return {};
    } else {
      return *(state_->failure = why_no_text(ERR_peek_error()));
    }
  }
}

std::string TlsSession::take_bytes() {
  BIO* const out = SSL_get_wbio(state_->ssl.get());
  std::string bytes(BIO_ctrl_pending(out), '\0');
  std::size_t got = 0;
  if (!bytes.empty()) BIO_read_ex(out, bytes.data(), bytes.size(), &got);
  bytes.resize(got);
  return bytes;
}

bool TlsSession::is_open() const { return state_->is_open; }

std::optional<int> TlsSession::host() const { return state_->host; }

void TlsSession::write(std::string_view text) {
  if (!state_->is_open || state_->failure || text.empty()) return;
  std::size_t written = 0;
  ERR_clear_error();
  SSL_write_ex(state_->ssl.get(), text.data(), text.size(), &written);
}

std::string TlsSession::take_text() { return std::exchange(state_->text, {}); }

void TlsSession::end() {
  ERR_clear_error();
  if (state_->is_open && !state_->failure) SSL_shutdown(state_->ssl.get());
}

bool TlsSession::has_part() const {
  const SSL* const ssl = state_->ssl.get();
  return !state_->has_ended && (SSL_has_pending(ssl) || BIO_ctrl_pending(SSL_get_rbio(ssl)) > 0);
}

Result<TlsContext> TlsContext::make(const JobKey& key) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  SSL_CTX* const raw = context.get();
  // Said here one by one, since the system's configuration of OpenSSL comes before.
  const bool fits = raw && SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) &&
                    SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) && SSL_CTX_set_ciphersuites(raw, kSuiteName) &&
                    SSL_CTX_set1_groups_list(raw, kGroups) && SSL_CTX_set_num_tickets(raw, 0) &&
                    SSL_CTX_set_max_early_data(raw, 0);
  if (!fits) return internal("this OpenSSL has no TLS 1.3 with " + std::string(kSuiteName) + " and " + kGroups);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_clear_options(raw, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_psk_find_session_callback(raw, find_session);
  SSL_CTX_set_psk_use_session_callback(raw, use_session);
  return TlsContext(context, key);
}

Result<TlsSession> TlsContext::session(const std::string& identity) const {
  auto state = std::make_unique<TlsState>(key_);
  state->ssl.reset(SSL_new(context_.get()));
  SSL* const ssl = state->ssl.get();
  BIO *const in = BIO_new(BIO_s_mem()), *const out = BIO_new(BIO_s_mem());
  if (!ssl || !in || !out) {
    BIO_free(in);
    BIO_free(out);
    return internal("no memory for a connection between hosts");
  }
  SSL_set_bio(ssl, in, out);
  SSL_set_app_data(ssl, state.get());
  state->identity = identity;
  if (identity.empty()) {
    SSL_set_accept_state(ssl);
    return TlsSession(std::move(state));
  }
  SSL_set_connect_state(ssl);
  // A server without the key could come with a certificate instead; none is trusted.
  SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  TlsSession session(std::move(state));
  BALEEN_TRY(session.shake());
  return session;
}

Result<TlsSession> TlsContext::server() const { return session({}); }

Result<TlsSession> TlsContext::client(int host) const { return session(identity_of(host)); }

}  // namespace baleen::launchers
