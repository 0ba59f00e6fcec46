/// \file AES-128-GCM by OpenSSL, and by libipsec-mb, whose code uses a processor's widest AES instructions (VAES).
#include "gcm.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <new>
#include <utility>

#ifdef BALEEN_HAS_IPSEC_MB
#define NO_COMPAT_IMB_API_053  // old names, which are OpenSSL's too
#include <intel-ipsec-mb.h>
#endif

namespace baleen::ucx {
namespace {

class OpensslGcm final : public Gcm {
 public:
  static std::unique_ptr<Gcm> make(const Key& key) {
    auto made = std::unique_ptr<OpensslGcm>(new (std::nothrow) OpensslGcm);
    const bool fits = made && made->out_ && made->in_ &&
                      EVP_EncryptInit_ex(made->out_.get(), EVP_aes_128_gcm(), nullptr, key.data(), nullptr) == 1 &&
                      EVP_DecryptInit_ex(made->in_.get(), EVP_aes_128_gcm(), nullptr, key.data(), nullptr) == 1;
    return fits ? std::move(made) : nullptr;
  }

  const char* library() const override { return "OpenSSL"; }

  // With a key and a nonce that are set, none of these calls can fail.
  void seal(const Nonce& nonce, Bytes header, Bytes content, std::uint8_t kind, std::uint8_t* to) override {
    int done = 0;
    EVP_EncryptInit_ex(out_.get(), nullptr, nullptr, nullptr, nonce.data());
    EVP_EncryptUpdate(out_.get(), nullptr, &done, header.data(), static_cast<int>(header.size()));
    EVP_EncryptUpdate(out_.get(), to, &done, content.data(), static_cast<int>(content.size()));
    EVP_EncryptUpdate(out_.get(), to + content.size(), &done, &kind, 1);
    EVP_EncryptFinal_ex(out_.get(), to + content.size() + 1, &done);
    EVP_CIPHER_CTX_ctrl(out_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, to + content.size() + 1);
  }

  std::optional<std::uint8_t> open(const Nonce& nonce, Bytes header, Bytes sealed, std::uint8_t* to) override {
    const std::size_t content = sealed.size() - 1 - kTagBytes;
    int done = 0;
    std::uint8_t kind = 0, none = 0;
    auto* const tag = const_cast<std::uint8_t*>(sealed.data()) + content + 1;  // read, not written
    EVP_DecryptInit_ex(in_.get(), nullptr, nullptr, nullptr, nonce.data());
    EVP_DecryptUpdate(in_.get(), nullptr, &done, header.data(), static_cast<int>(header.size()));
    EVP_DecryptUpdate(in_.get(), to, &done, sealed.data(), static_cast<int>(content));
    EVP_DecryptUpdate(in_.get(), &kind, &done, sealed.data() + content, 1);
    EVP_CIPHER_CTX_ctrl(in_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag);
    if (EVP_DecryptFinal_ex(in_.get(), &none, &done) != 1) return std::nullopt;
    return kind;
  }

 private:
  using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
  Context out_{EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free}, in_{EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free};
};

#ifdef BALEEN_HAS_IPSEC_MB
/// The library's functions for this processor; null where it has no AES instructions.
const IMB_MGR* functions() {
  static const std::unique_ptr<IMB_MGR, decltype(&free_mb_mgr)> made = [] {
    std::unique_ptr<IMB_MGR, decltype(&free_mb_mgr)> fresh(alloc_mb_mgr(0), free_mb_mgr);
    constexpr std::uint64_t kNeeded = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
    if (fresh && (fresh->features & kNeeded) == kNeeded)
      init_mb_mgr_auto(fresh.get(), nullptr);
    else
      fresh.reset();
    return fresh;
  }();
  return made.get();
}

class IpsecGcm final : public Gcm {
 public:
  static std::unique_ptr<Gcm> make(const Key& key) {
    const IMB_MGR* const calls = functions();
    return calls ? std::unique_ptr<Gcm>(new (std::nothrow) IpsecGcm(*calls, key)) : nullptr;
  }
  ~IpsecGcm() override {
    OPENSSL_cleanse(&key_, sizeof key_);
    OPENSSL_cleanse(&context_, sizeof context_);
  }

  const char* library() const override { return "ipsec-mb"; }

  void seal(const Nonce& nonce, Bytes header, Bytes content, std::uint8_t kind, std::uint8_t* to) override {
    calls_.gcm128_init(&key_, &context_, nonce.data(), header.data(), header.size());
    if (!content.empty()) calls_.gcm128_enc_update(&key_, &context_, to, content.data(), content.size());
    calls_.gcm128_enc_update(&key_, &context_, to + content.size(), &kind, 1);
    calls_.gcm128_enc_finalize(&key_, &context_, to + content.size() + 1, kTagBytes);
  }

  std::optional<std::uint8_t> open(const Nonce& nonce, Bytes header, Bytes sealed, std::uint8_t* to) override {
    const std::size_t content = sealed.size() - 1 - kTagBytes;
    std::uint8_t kind = 0;
    std::array<std::uint8_t, kTagBytes> tag;
    calls_.gcm128_init(&key_, &context_, nonce.data(), header.data(), header.size());
    if (content > 0) calls_.gcm128_dec_update(&key_, &context_, to, sealed.data(), content);
    calls_.gcm128_dec_update(&key_, &context_, &kind, sealed.data() + content, 1);
    calls_.gcm128_dec_finalize(&key_, &context_, tag.data(), tag.size());
    if (CRYPTO_memcmp(tag.data(), sealed.data() + content + 1, tag.size()) != 0) return std::nullopt;
    return kind;
  }

 private:
  IpsecGcm(const IMB_MGR& calls, const Key& key) : calls_(calls) { calls_.gcm128_pre(key.data(), &key_); }

  const IMB_MGR& calls_;
  alignas(64) gcm_key_data key_{};
  gcm_context_data context_{};
};
#endif

}  // namespace

std::vector<std::unique_ptr<Gcm>> all_gcms(const Gcm::Key& key) {
  std::vector<std::unique_ptr<Gcm>> all;
#ifdef BALEEN_HAS_IPSEC_MB
  if (auto made = IpsecGcm::make(key)) all.push_back(std::move(made));
#endif
  if (auto made = OpensslGcm::make(key)) all.push_back(std::move(made));
  return all;
}

std::unique_ptr<Gcm> make_gcm(const Gcm::Key& key) {
#ifdef BALEEN_HAS_IPSEC_MB
  if (auto made = IpsecGcm::make(key)) return made;
#endif
  return OpensslGcm::make(key);
}

}  // namespace baleen::ucx
