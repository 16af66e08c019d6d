#include "proto/lexer.h"

#include <cstdint>

namespace proto {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Bytes of the UTF-8 character at the start of `text`; 0 when it is malformed.
// Source: RFC 3629, section 4.
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;   // no overlong forms
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;  // no surrogates
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;  // nothing above U+10FFFF
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

void AppendUtf8(std::uint32_t c, std::string* out) {
  const auto put = [&](std::uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 63));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 63));
    put(0x80 | (c & 63));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 63));
    put(0x80 | ((c >> 6) & 63));
    put(0x80 | (c & 63));
  }
}

// Reads up to `most` digits of `base` at `*at`; nothing when there are fewer than `least`.
std::optional<std::uint32_t> ReadDigits(std::string_view text, std::size_t* at, std::uint32_t base, int least,
                                        int most) {
  std::uint32_t value = 0;
  int read = 0;
  for (; read < most && *at < text.size(); ++read, ++*at) {
    const char c = text[*at];
    std::uint32_t digit = 99;
    if (IsDigit(c)) digit = static_cast<std::uint32_t>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<std::uint32_t>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<std::uint32_t>(c - 'A') + 10;
    if (digit >= base) break;
    value = value * base + digit;
  }
  if (read < least) return std::nullopt;
  return value;
}

// After "\u" or "\U": the character, with its second half when it is a surrogate.
bool ReadUnicode(std::string_view body, std::size_t* at, int digits, std::string* out) {
  auto c = ReadDigits(body, at, 16, digits, digits);
  if (!c) return false;
  if (*c >= 0xD800 && *c < 0xDC00) {
    if (body.substr(*at, 2) != "\\u") return false;
    *at += 2;
    const auto low = ReadDigits(body, at, 16, 4, 4);
    if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
    c = 0x10000 + ((*c - 0xD800) << 10) + (*low - 0xDC00);
  }
  if (*c > 0x10FFFF || (*c >= 0xD800 && *c <= 0xDFFF)) return false;
  AppendUtf8(*c, out);
  return true;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Lexer::Lexer(std::string_view text, Notation notation) : text_(text), notation_(notation) {
  if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;  // a byte order mark
  Next();
}

void Lexer::Advance() {
  const auto byte = static_cast<unsigned char>(text_[at_++]);
  if (byte == '\n') {
    ++position_.line;
    position_.column = 1;
  } else if (byte < 0x80 || byte >= 0xC0) {  // the first byte of a character
    ++position_.column;
  }
}

void Lexer::SkipBlanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      Advance();
    } else if (c == '#' && notation_ == Notation::kTextproto) {
      while (at_ < text_.size() && text_[at_] != '\n') Advance();
    } else {
      return;
    }
  }
}

void Lexer::Next() {
  SkipBlanks();
  current_ = Token();
  current_.at = position_;
  current_.first_of_line = position_.line != line_of_last_;
  line_of_last_ = position_.line;
  if (at_ == text_.size()) return;
  const std::size_t start = at_;
  const char c = text_[at_];
  if (c == '"' || (c == '\'' && notation_ == Notation::kTextproto)) {
    ReadString();
  } else if (IsWordStart(c)) {
    current_.kind = Token::Kind::kWord;
    while (at_ < text_.size() && (IsWordStart(text_[at_]) || IsDigit(text_[at_]))) Advance();
  } else if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
    ReadNumber();
  } else {
    current_.kind = Token::Kind::kSymbol;
    const std::size_t length = CharacterLength(text_.substr(at_));
    for (std::size_t i = 0; i < (length == 0 ? 1 : length); ++i) Advance();
  }
  current_.text = text_.substr(start, at_ - start);
}

void Lexer::ReadString() {
  const char quote = text_[at_];
  Advance();
  while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
    if (text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') Advance();
    Advance();
  }
  const bool closed = at_ < text_.size() && text_[at_] == quote;
  if (closed) Advance();
  current_.kind = closed ? Token::Kind::kString : Token::Kind::kUnclosedString;
}

// Everything that sticks together, so that "400Gbps" is one wrong number.
void Lexer::ReadNumber() {
  current_.kind = Token::Kind::kNumber;
  char last = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool exponent_sign = (c == '+' || c == '-') && (last == 'e' || last == 'E');
    if (!IsDigit(c) && !IsWordStart(c) && c != '.' && !exponent_sign) return;
    last = c;
    Advance();
  }
}

std::optional<std::string> Unescape(const Token& token, Notation notation) {
  const std::string_view body = token.text.substr(1, token.text.size() - 2);
  const bool json = notation == Notation::kJson;
  std::string out;
  for (std::size_t at = 0; at < body.size();) {
    const char c = body[at++];
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    const char escape = body[at++];  // a closed string does not end in a backslash
    constexpr std::string_view kNames = "ntrbf\\\"av'?";
    constexpr std::string_view kMeans = "\n\t\r\b\f\\\"\a\v'?";
    const std::size_t known = kNames.substr(0, json ? 7 : kNames.size()).find(escape);
    if (known != std::string_view::npos) {
      out.push_back(kMeans[known]);
    } else if (json && escape == '/') {
      out.push_back('/');
    } else if (escape == 'u' || (escape == 'U' && !json)) {
      if (!ReadUnicode(body, &at, escape == 'u' ? 4 : 8, &out)) return std::nullopt;
    } else if (!json && (escape == 'x' || IsDigit(escape))) {
      if (escape != 'x') --at;
      const auto byte = escape == 'x' ? ReadDigits(body, &at, 16, 1, 2) : ReadDigits(body, &at, 8, 1, 3);
      if (!byte || *byte > 255) return std::nullopt;
      out.push_back(static_cast<char>(*byte));
    } else {
      return std::nullopt;
    }
  }
  if (!IsUtf8(out)) return std::nullopt;
  return out;
}

}  // namespace proto
