// SPDX-License-Identifier: Apache-2.0
// The web configuration: every key, right and wrong; certificates, tokens and passwords.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "http/access.h"
#include "http/tls.h"

namespace xr::http::web_config_test {
namespace {

// bcrypt of "geheim", cost 4 and 5, by Python's crypt.
constexpr const char *kHash = "$2b$04$oPm9a8DRQ88jjOtadqgLHu6zJopW8ZDjRqnpHvOfCvtqhoB2cRMgy";
constexpr const char *kHash5 = "$2b$05$3.lLifbq7QhJtgSPZeR34Oip/gVfOf0Ixoa7U1aVfbo.pbR94zSti";

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::string text_of(BIO *bio) {
  char *data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

struct Pair {
  std::string certificate, key;
};

Pair make_pair() {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const Bio a(BIO_new(BIO_s_mem()), BIO_free), b(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(a.get(), certificate.get());
  PEM_write_bio_PrivateKey(b.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(a.get()), text_of(b.get())};
}

class WebConfigTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "xr-web-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const Pair pair = make_pair(), other = make_pair();
    write("cert.pem", pair.certificate);
    write("key.pem", pair.key);
    write("other.key", other.key);
    write("nothing", "");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string &name, const std::string &text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  Result<WebConfig> read(const std::string &text) const {
    write("web.yml", text);
    return read_web_config(folder_ + "/web.yml");
  }

  std::string folder_;
};

TEST_F(WebConfigTest, ReadsEveryKey) {
  const auto config = read(std::string(R"(tls_server_config:
  cert_file: cert.pem
  key_file: key.pem
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: cert.pem
  min_version: TLS13
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305]
  curve_preferences: [X25519, CurveP521]
  prefer_server_cipher_suites: false
http_server_config:
  http2: true
  headers: {X-Content-Type-Options: nosniff, X-XSS-Protection: ""}
basic_auth_users:
  alice: )") + kHash + "\n");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const WebConfig &got = config.get();
  ASSERT_TRUE(got.tls);
  EXPECT_NE(got.tls->certificate.text.find("BEGIN CERTIFICATE"), std::string::npos);
  EXPECT_NE(got.tls->key.text.find("PRIVATE KEY"), std::string::npos);
  EXPECT_EQ(got.tls->client_ca.text, got.tls->certificate.text);
  EXPECT_EQ(got.tls->client_auth, ClientAuth::RequireAndVerify);
  EXPECT_EQ(got.tls->min_version, TLS1_3_VERSION);
  EXPECT_EQ(got.tls->ciphers, (std::vector<std::string>{"ECDHE-RSA-AES128-GCM-SHA256",
                                                        "ECDHE-RSA-CHACHA20-POLY1305"}));
  EXPECT_EQ(got.tls->ciphersuites, std::vector<std::string>{"TLS_AES_256_GCM_SHA384"});
  EXPECT_EQ(got.tls->groups, (std::vector<std::string>{"X25519", "P-521"}));
  EXPECT_FALSE(got.tls->prefer_server_ciphers);
  EXPECT_EQ(got.headers, (std::vector<std::pair<std::string, std::string>>{
                             {"X-Content-Type-Options", "nosniff"}}));
  EXPECT_EQ(got.users, (std::map<std::string, std::string>{{"alice", kHash}}));
  EXPECT_EQ(got.notes.size(), 1U);
  EXPECT_FALSE(got.open());
  const auto access = Access::make(got);
  ASSERT_TRUE(access.ok()) << access.error().message;
  EXPECT_NE(access.get()->tls(), nullptr);
}

TEST_F(WebConfigTest, TakesTheCertificateItself) {
  const Pair pair = make_pair();
  std::string text = "tls_server_config:\n  cert: |\n";
  const auto indented = [&text](const std::string &pem) {
    std::istringstream lines(pem);
    for (std::string line; std::getline(lines, line);)
      text += "    " + line + "\n";
  };
  indented(pair.certificate);
  text += "  key: |\n";
  indented(pair.key);
  const auto config = read(text);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.get().tls->certificate.text, pair.certificate);
  EXPECT_TRUE(Access::make(config.get()).ok());
}

TEST_F(WebConfigTest, NothingIsOpen) {
  for (const char *text :
       {"", "---\n", "{}", "tls_server_config: {}\n", "tls_server_config:\n", "basic_auth_users:\n",
        "http_server_config:\n", "http_server_config: {http2: false, headers: }\n"}) {
    const auto config = read(text);
    ASSERT_TRUE(config.ok()) << text << config.error().message;
    EXPECT_TRUE(config.get().open()) << text;
    EXPECT_TRUE(config.get().notes.empty()) << text;
  }
}

TEST_F(WebConfigTest, RefusesWithLineAndHint) {
  const std::string pair = "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n";
  struct Case {
    std::string text;
    int line;
    const char *message, *hint;
  };
  const std::string hash = kHash;
  const std::vector<Case> cases = {
      {"- a\n", 1, "the web configuration is not a map", "KEY: VALUE"},
      {"a: [\n", 2, "", "must be YAML"},
      {"tls_sever_config: {}\n", 1, "has no key 'tls_sever_config'",
       "did you mean tls_server_config?"},
      {"basic_auth_users: {}\nbasic_auth_users: {}\n", 2, "is given twice", "remove"},
      {"rate_limit: {}\n", 1, "rate_limit is not supported", "remove"},
      {"tls_server_config: 7\n", 1, "tls_server_config is not a map", "KEY: VALUE"},
      {"tls_server_config:\n  cert_file: cert.pem\n", 2, "has no key", "key_file"},
      {"tls_server_config:\n  key_file: key.pem\n", 2, "has no certificate", "cert_file"},
      {"tls_server_config:\n  cert_file: none.pem\n", 2, "none.pem: No such file", "relative"},
      {"tls_server_config:\n  cert_file: [a]\n", 2, "cert_file is not a text", "cert_file: TEXT"},
      {pair + "  cert: x\n", 4, "cert and cert_file are both given", "remove"},
      {pair + "  keyfile: x\n", 4, "no key 'keyfile'", "did you mean key_file?"},
      {pair + "  min_version: TLS14\n", 4, "min_version cannot be 'TLS14'", "TLS12"},
      {pair + "  min_version: TLS11\n", 4, "not secure", "TLS12"},
      {pair + "  max_version: TLS10\n", 4, "not secure", "TLS12"},
      {pair + "  max_version: TLS12\n  min_version: TLS13\n", 2, "above max_version", "TLS12"},
      {pair + "  client_auth_type: RequireAndVerify\n", 4, "cannot be 'RequireAndVerify'", ""},
      {pair + "  client_auth_type: RequireAndVerifyClientCert\n", 2, "needs the authority",
       "client_ca_file"},
      {pair + "  client_ca_file: cert.pem\n", 2, "no effect without client_auth_type",
       "client_auth_type"},
      {pair + "  client_allowed_sans: [x]\n", 4, "client_allowed_sans is not supported", "remove"},
      {pair + "  cipher_suites: [TLS_NONE]\n", 4, "no cipher suite 'TLS_NONE'", "IANA"},
      {pair + "  cipher_suites: TLS_NONE\n", 4, "cipher_suites is not a list", "[NAME, NAME]"},
      {pair + "  curve_preferences: [P256]\n", 4, "no curve 'P256'", "CurveP256"},
      {pair + "  prefer_server_cipher_suites: 7\n", 4, "is true or false", "true"},
      {"http_server_config:\n  http2: maybe\n", 2, "http2 is true or false", "true"},
      {"http_server_config:\n  http3: true\n", 2, "no key 'http3'", "did you mean http2?"},
      {"http_server_config:\n  headers:\n    Server: x\n", 3, "no key 'Server'", "X-Frame-Options"},
      {"http_server_config:\n  headers:\n    X-Frame-Options: \"a\\r\\nb\"\n", 3, "line break", ""},
      {"basic_auth_users: [a]\n", 1, "basic_auth_users is not a map", "USER: BCRYPT_HASH"},
      {"basic_auth_users:\n  alice: geheim\n", 2, "of 'alice' is not a bcrypt hash", "htpasswd"},
      {"basic_auth_users:\n  alice: \n", 2, "not a bcrypt hash", "htpasswd"},
      {"basic_auth_users:\n  alice: " + hash + "x\n", 2, "not a bcrypt hash", "htpasswd"},
      {"basic_auth_users:\n  alice: $2y$17" + hash.substr(6) + "\n", 2, "is 17, not 4 to 16", ""},
      {"basic_auth_users:\n  alice: $2y$03" + hash.substr(6) + "\n", 2, "is 3, not 4 to 16", ""},
      {"basic_auth_users:\n  \"\": " + hash + "\n", 2, "'' cannot be a user's name", "colon"},
      {"basic_auth_users:\n  \"a:b\": " + hash + "\n", 2, "'a:b' cannot be a user's name", "colon"},
      {"basic_auth_users:\n  a: " + hash + "\n  a: " + hash + "\n", 3, "'a' is given twice", ""},
      {"{}\n---\n{}\n", 3, "a second document begins", ""},
  };
  for (const Case &one : cases) {
    const auto config = read(one.text);
    ASSERT_FALSE(config.ok()) << one.text;
    const std::string &message = config.error().message;
    EXPECT_TRUE(message.starts_with(folder_ + "/web.yml:" + std::to_string(one.line) + ": "))
        << one.text << message;
    EXPECT_NE(message.find(one.message), std::string::npos) << one.text << message;
    EXPECT_NE(config.error().hint.find(one.hint), std::string::npos)
        << one.text << config.error().hint;
    EXPECT_FALSE(config.error().hint.empty()) << one.text;
  }
  EXPECT_NE(read_web_config(folder_ + "/none.yml").error().message.find("No such file"),
            std::string::npos);
}

TEST_F(WebConfigTest, RefusesWhatIsNoCertificate) {
  const auto refused = [this](const std::string &certificate, const std::string &key,
                              const std::string &ca) {
    std::string text = "tls_server_config: {cert_file: " + certificate + ", key_file: " + key;
    text += ca.empty() ? "}\n"
                       : ", client_auth_type: RequireAnyClientCert, client_ca_file: " + ca + "}\n";
    const auto config = read(text);
    EXPECT_TRUE(config.ok()) << text;
    const auto access = Access::make(config.get());
    return access ? "" : access.error().message;
  };
  EXPECT_EQ(refused("cert.pem", "key.pem", ""), "");
  EXPECT_EQ(refused("cert.pem", "key.pem", "cert.pem"), "");
  EXPECT_EQ(refused("key.pem", "key.pem", ""), folder_ + "/key.pem is not a certificate");
  EXPECT_EQ(refused("nothing", "key.pem", ""), folder_ + "/nothing is not a certificate");
  EXPECT_EQ(refused("cert.pem", "cert.pem", ""),
            folder_ + "/cert.pem is not a key without a password");
  EXPECT_EQ(refused("cert.pem", "other.key", ""),
            folder_ + "/other.key is not the key of " + folder_ + "/cert.pem");
  EXPECT_EQ(refused("cert.pem", "key.pem", "nothing"), folder_ + "/nothing is not a certificate");
}

Access::Verdict verdict(const WebConfig &config, const std::string &authorization) {
  return Access::make(config).get()->check(authorization);
}

TEST(Access, ChecksTokens) {
  WebConfig config = web_config_of("", "", "geheim").get();
  EXPECT_FALSE(config.open());
  for (const char *right : {"Bearer geheim", "bearer geheim", "BEARER  geheim"})
    EXPECT_EQ(verdict(config, right), Access::Verdict::Allowed) << right;
  for (const char *wrong : {"", "Bearer", "Bearer ", "Bearer gehei", "Bearer geheimm", "geheim",
                            "Basic geheim", "Bearergeheim"})
    EXPECT_EQ(verdict(config, wrong), Access::Verdict::Denied) << wrong;
  EXPECT_EQ(verdict({}, ""), Access::Verdict::Allowed);
}

TEST(Access, ChecksPasswords) {
  WebConfig config;
  config.users = {{"alice", kHash}};
  EXPECT_EQ(verdict(config, "Basic YWxpY2U6Z2VoZWlt"), Access::Verdict::Allowed); // alice:geheim
  for (const char *wrong : {"", "Basic", "Basic YWxpY2U6Z2VoZWltbQ==", "Bearer YWxpY2U6Z2VoZWlt",
                            "Basic YWxpY2U=", "Basic Ym9iOmdlaGVpbQ==", "Basic YWxpY2U6",
                            "Basic YWxpY2U6Z2VoZWltAA==", "Basic YWxpY2U6Z2VoZWlt!"})
    EXPECT_EQ(verdict(config, wrong), Access::Verdict::Denied) << wrong;
}

TEST(Passwords, RecognisesARightOneFast) {
  using Clock = std::chrono::steady_clock;
  Passwords passwords({{"alice", kHash5}, {"bob", kHash}});
  // Each of these needs bcrypt's time; 2,000 times that of cost 5 is some three seconds.
  EXPECT_EQ(passwords.check("alice", "geheim"), Passwords::Outcome::Right);
  const auto start = Clock::now();
  for (int i = 0; i < 2000; i++)
    ASSERT_EQ(passwords.check("alice", "geheim"), Passwords::Outcome::Right);
  const auto fast = Clock::now() - start;
  const auto then = Clock::now();
  for (int i = 0; i < 20; i++) {
    ASSERT_EQ(passwords.check("alice", "falsch"), Passwords::Outcome::Wrong);
    ASSERT_EQ(passwords.check("carol", "geheim"), Passwords::Outcome::Wrong);
  }
  EXPECT_LT(fast, Clock::now() - then); // 2,000 against 40
  EXPECT_EQ(passwords.check("bob", "geheim"), Passwords::Outcome::Right);
  EXPECT_EQ(passwords.check("alice", ""), Passwords::Outcome::Wrong);
  EXPECT_EQ(passwords.check("", "geheim"), Passwords::Outcome::Wrong);
  EXPECT_EQ(passwords.check("alice", std::string("geheim\0x", 8)), Passwords::Outcome::Wrong);
}

TEST(Passwords, AnUnknownUserTakesAsLong) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](const char *user) {
    const std::map<std::string, std::string> users = {{"alice", kHash5}};
    Passwords passwords(users);
    const auto start = Clock::now();
    for (int i = 0; i < 20; i++)
      EXPECT_EQ(passwords.check(user, "falsch"), Passwords::Outcome::Wrong);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  // At least a fifth: without the comparison it would be a thousandth.
  EXPECT_GT(seconds("carol") * 5, seconds("alice"));
}

} // namespace
} // namespace xr::http::web_config_test
