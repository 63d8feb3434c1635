// SPDX-License-Identifier: Apache-2.0
#include "http/tls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace xr::http {

namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio bytes_of(const Pem &pem) {
  return {BIO_new_mem_buf(pem.text.data(), static_cast<int>(pem.text.size())), BIO_free};
}

// Otherwise OpenSSL asks for the password of a key at the terminal.
int no_password(char *, int, int, void *) { return 0; }

Certificate next_certificate(BIO *bio) {
  return {PEM_read_bio_X509(bio, nullptr, no_password, nullptr), X509_free};
}

Error not_pem(const Pem &pem, const char *what) {
  return {fmt::format("{} is not {}", pem.name, what),
          fmt::format("a PEM file; `openssl {} -in {} -noout -text` shows one",
                      what == std::string_view("a certificate") ? "x509" : "pkey", pem.name)};
}

Status use_certificate(SSL_CTX *context, const TlsConfig &config) {
  const Bio certificates = bytes_of(config.certificate), keys = bytes_of(config.key);
  const Certificate first = next_certificate(certificates.get());
  if (!first || SSL_CTX_use_certificate(context, first.get()) != 1)
    return not_pem(config.certificate, "a certificate");
  // The others of the file lead to the authority.
  while (Certificate next = next_certificate(certificates.get()))
    if (SSL_CTX_add0_chain_cert(context, next.get()) == 1)
      (void)next.release(); // the context owns it
  const PrivateKey key{PEM_read_bio_PrivateKey(keys.get(), nullptr, no_password, nullptr),
                       EVP_PKEY_free};
  if (!key)
    return not_pem(config.key, "a key without a password");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return Error{
        fmt::format("{} is not the key of {}", config.key.name, config.certificate.name),
        "the outputs of `openssl x509 -in CERT -noout -pubkey` and `openssl pkey -in KEY -pubout` "
        "must be equal"};
  return {};
}

int accept_any(int, X509_STORE_CTX *) { return 1; }

Status use_client_auth(SSL_CTX *context, const TlsConfig &config) {
  if (config.client_auth == ClientAuth::None)
    return {};
  const bool needed = config.client_auth == ClientAuth::RequireAny ||
                      config.client_auth == ClientAuth::RequireAndVerify;
  const bool checked = config.client_auth == ClientAuth::VerifyIfGiven ||
                       config.client_auth == ClientAuth::RequireAndVerify;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (needed ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     checked ? nullptr : accept_any);
  if (config.client_ca.name.empty())
    return {};
  const Bio bio = bytes_of(config.client_ca);
  size_t read = 0;
  while (const Certificate ca = next_certificate(bio.get())) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get());
    SSL_CTX_add_client_CA(context, ca.get());
    read++;
  }
  return read > 0 ? Status() : not_pem(config.client_ca, "a certificate");
}

Status use_algorithms(SSL_CTX *context, const TlsConfig &config) {
  SSL_CTX_set_min_proto_version(context, config.min_version);
  SSL_CTX_set_max_proto_version(context, config.max_version);
  if (config.prefer_server_ciphers)
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  const std::string ciphers = fmt::format("{}", fmt::join(config.ciphers, ":")),
                    suites = fmt::format("{}", fmt::join(config.ciphersuites, ":")),
                    groups = fmt::format("{}", fmt::join(config.groups, ":"));
  const bool taken = (ciphers.empty() || SSL_CTX_set_cipher_list(context, ciphers.c_str()) == 1) &&
                     (suites.empty() || SSL_CTX_set_ciphersuites(context, suites.c_str()) == 1) &&
                     (groups.empty() || SSL_CTX_set1_groups_list(context, groups.c_str()) == 1);
  return taken ? Status()
               : Error{"this OpenSSL does not take cipher_suites or curve_preferences",
                       "remove both: OpenSSL's defaults are good"};
}

} // namespace

Result<std::shared_ptr<ssl_ctx_st>> make_tls(const TlsConfig &config) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context)
    return Error{"OpenSSL cannot be used", "`openssl version` shows whether it works"};
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  // A client must not make the server spend its time on new handshakes of one connection.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Sessions would outlive the certificates that a new configuration asks for.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  Status status = use_certificate(context.get(), config);
  if (status)
    status = use_client_auth(context.get(), config);
  if (status)
    status = use_algorithms(context.get(), config);
  ERR_clear_error();
  if (!status)
    return status.error();
  return context;
}

} // namespace xr::http
