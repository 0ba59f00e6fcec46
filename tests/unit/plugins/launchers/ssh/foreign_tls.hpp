/// \file Ends of TLS connections that know no key of a job: straight from OpenSSL.
#pragma once
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace baleen::launchers {

/// Believes everybody.
class ForeignTls {
 public:
  static constexpr int kVersion12 = TLS1_2_VERSION, kVersion13 = TLS1_3_VERSION;
  using Ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;

  /// One with a certificate that it signed itself.
  static Ssl server_with_certificate() {
    const Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86'400);
    X509_set_pubkey(certificate.get(), key.get());
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    SSL_CTX_use_certificate(context.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
    Ssl ssl(SSL_new(context.get()), SSL_free);
    SSL_set_accept_state(ssl.get());
    return ssl;
  }
  static Ssl client_without_key(int version) {
    const Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    SSL_CTX_set_min_proto_version(context.get(), version);
    SSL_CTX_set_max_proto_version(context.get(), version);
    Ssl ssl(SSL_new(context.get()), SSL_free);
    SSL_set_connect_state(ssl.get());
    return ssl;
  }

  explicit ForeignTls(Ssl ssl) : ssl_(std::move(ssl)) {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  }
  /// What it says to these bytes.
  std::string answer(const std::string& bytes) {
    if (!bytes.empty()) BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    SSL_do_handshake(ssl_.get());
    std::string said(BIO_ctrl_pending(SSL_get_wbio(ssl_.get())), '\0');
    if (!said.empty()) BIO_read(SSL_get_wbio(ssl_.get()), said.data(), static_cast<int>(said.size()));
    return said;
  }

 private:
  using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
  Ssl ssl_;
};

}  // namespace baleen::launchers
