#include "topologies/import/ib_network.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace topologies {
namespace {

constexpr int kMostPorts = 4096;

// Data of one lane in 10^6 bit/s. Source: InfiniBand Architecture Specification, volume 2: signalling rates
// less their coding (8b/10b to QDR, 64b/66b to EDR; later names give the rate of data).
constexpr std::pair<const char*, double> kSpeeds[] = {{"SDR", 2'000},    {"DDR", 4'000},   {"QDR", 8'000},
                                                      {"FDR10", 10'000}, {"FDR", 13'636},  {"EDR", 25'000},
                                                      {"HDR", 50'000},   {"NDR", 100'000}, {"XDR", 200'000}};

// Reads a line from its begin; each step says whether it found what it looks for.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  bool Word(std::string_view word) {
    Skip();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool Number(int* value) {
    Skip();
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *value);
    if (parsed.ec != std::errc() || *value < 0 || *value > kMostPorts) return false;
    rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
    return true;
  }
  bool Between(char open, char close, std::string* text) {
    Skip();
    const std::size_t end = rest_.find(close, 1);
    if (rest_.empty() || rest_[0] != open || end == std::string_view::npos) return false;
    *text = std::string(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool Port(int* port) { return Word("[") && Number(port) && Word("]"); }
  std::string_view rest() const { return rest_; }

 private:
  void Skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

// Of "4xNDR" as a comment's last word; zero = none.
double MegabitsOf(std::string_view comment) {
  while (!comment.empty() && (comment.back() == ' ' || comment.back() == '\t')) comment.remove_suffix(1);
  const std::string_view word = comment.substr(comment.find_last_of(" \t") + 1);
  int lanes = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), lanes);
  const std::string_view speed(parsed.ptr, static_cast<std::size_t>(word.data() + word.size() - parsed.ptr));
  if (parsed.ec != std::errc() || (lanes != 1 && lanes != 2 && lanes != 4 && lanes != 8 && lanes != 12))
    return 0;
  for (const auto& [name, megabits] : kSpeeds) {
    if (speed == std::string("x") + name) return lanes * megabits;
  }
  return 0;
}

class Reader {
 public:
  Reader(const FabricFile& file, proto::Diagnostics* diagnostics) : file_(file), diagnostics_(diagnostics) {}

  std::optional<IbNetwork> Read() {
    const std::vector<std::string_view> lines = LinesOf(file_.text);
    for (std::size_t i = 0; i < lines.size(); ++i) ReadLine(lines[i], i + 1);
    if (network_.empty())
      diagnostics_->Error(file_.file, "has no \"Switch\" or \"Ca\"; the output of ibnetdiscover is wanted");
    if (diagnostics_->ok()) CheckBothEnds();
    if (!diagnostics_->ok()) return std::nullopt;
    return std::move(network_);
  }

 private:
  void Error(std::size_t line, const std::string& what) { diagnostics_->Error(PlaceOf(file_, line), what); }

  void ReadLine(std::string_view line, std::size_t number) {
    if (line.find_first_not_of(" \t") == std::string_view::npos || line[0] == '#') return;
    if (line[0] == '[') return ReadPort(line, number);
    Cursor cursor(line);
    for (const auto& [word, is_switch] : {std::pair("Switch", true), std::pair("Ca", false)}) {
      int ports = 0;
      std::string id, description;
      if (!Cursor(line).Word(word)) continue;
      at_ = nullptr;  // ports of a broken element are not told of again
      skips_ = true;
      if (!cursor.Word(word) || !cursor.Number(&ports) || !cursor.Between('"', '"', &id) || id.empty()) {
        return Error(number, std::string(word) + ": a number of ports and an id in quotes are wanted");
      }
      if (cursor.Word("#")) cursor.Between('"', '"', &description);
      const auto [entry, is_new] = network_.try_emplace(id, IbElement{is_switch, description, number, {}});
      if (!is_new)
        return Error(number, Quoted(id) + " is at line " + std::to_string(entry->second.line) + " already");
      at_ = &entry->second;
      return;
    }
    if (Cursor(line).Word("Rt")) {
      skips_ = true;
      at_ = nullptr;
      return Error(number, "a router between subnets: one subnet is wanted");
    }
    if (line.find('=') == std::string_view::npos) {
      Error(number, Quoted(line) + " is neither an element, a port nor KEY=VALUE");
    }
  }

  void ReadPort(std::string_view line, std::size_t number) {
    Cursor cursor(line);
    int port = 0;
    IbPort cable{.peer = "", .line = number};
    std::string guid;
    if (at_ == nullptr) {
      if (!skips_) Error(number, "a port before any element");
      return;
    }
    bool good = cursor.Port(&port);
    cursor.Between('(', ')', &guid);
    good = good && cursor.Between('"', '"', &cable.peer) && cursor.Port(&cable.peer_port);
    if (!good)
      return Error(number, Quoted(line) + " is no port; [1] \"ID\"[2] # \"name\" lid 3 4xNDR is wanted");
    cable.megabits = MegabitsOf(cursor.rest());
    if (cable.megabits == 0) {
      return Error(number,
                   "ends in no width and speed, as 4xNDR: 1, 2, 4, 8 or 12 lanes of SDR, DDR, QDR, FDR10, "
                   "FDR, EDR, HDR, NDR or XDR");
    }
    if (!at_->ports.try_emplace(port, cable).second)
      Error(number, "port " + std::to_string(port) + " has a cable already");
  }

  void CheckBothEnds() {
    for (const auto& [id, element] : network_) {
      for (const auto& [port, cable] : element.ports) {
        const auto peer = network_.find(cable.peer);
        if (peer == network_.end()) {
          Error(cable.line, Quoted(cable.peer) + " is no element of this file");
          continue;
        }
        const auto back = peer->second.ports.find(cable.peer_port);
        const std::string end = Quoted(cable.peer) + " port " + std::to_string(cable.peer_port);
        if (back == peer->second.ports.end() || back->second.peer != id || back->second.peer_port != port) {
          Error(cable.line, "the other end, " + end + ", does not lead back here");
        } else if (back->second.megabits != cable.megabits) {
          Error(cable.line, "the other end, " + end + ", has another width or speed at line " +
                                std::to_string(back->second.line));
        } else if (cable.peer == id) {
          Error(cable.line, "a cable of an element to itself");
        }
      }
    }
  }

  const FabricFile& file_;
  proto::Diagnostics* diagnostics_;
  IbNetwork network_;
  IbElement* at_ = nullptr;
  bool skips_ = false;
};

}  // namespace

std::optional<IbNetwork> ReadIbNetwork(const FabricFile& file, proto::Diagnostics* diagnostics) {
  return Reader(file, diagnostics).Read();
}

}  // namespace topologies
