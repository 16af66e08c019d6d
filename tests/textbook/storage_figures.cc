// 17.7: data, saves, logs, and feeding the devices.

#include "scenarios/budget/data_storage.h"
#include "scenarios/budget/save_storage.h"
#include "scenarios/checkpoint_forms.h"
#include "tests/textbook/figures.h"

namespace textbook {
namespace {

using namespace scenarios;

using sim::Number;

constexpr double kGib = 1073741824.0;

std::vector<Figure> Data() {
  // Its "TB" are thousands of GiB.
  const auto tib = [](double tokens) { return DatasetBytes(tokens, kTextBytesPerToken, 1) / kGib / 1000; };
  return {
      {"T17-74", "1,000 GiB of 1e12 tokens", "3.7", tib(1e12)},
      {"T17-74", "1,000 GiB of 2e12 tokens", "7.5", tib(2e12)},
      {"T17-74", "1,000 GiB of 1.4e12 tokens", "5.2", tib(1.4e12)},
      {"T17-74", "1,000 GiB of 15e12 tokens", "56", tib(15e12)},
      {"T17-74", "1,000 GiB of 14.8e12 tokens", "55", tib(14.8e12)},
      {"T17-74", "GiB of 1.4e11 tokens", "520", tib(1.4e11) * 1000, "522", "rounded"},
      {"T17-75", "GB an hour at 8 Mbit/s", "3.6", StreamBytes(1, 8e6) * 1e-9},
      {"T17-75", "GB an hour at 50 Mbit/s", "22.5", StreamBytes(1, 50e6) * 1e-9},
      {"T17-75", "GB an hour at 25 Mbit/s", "11.3", StreamBytes(1, 25e6) * 1e-9},
      {"T17-76", "MB of an hour of sound", "115", AudioBytes(1, 16000, 16) * 1e-6},
      {"T17-76", "TB of 1e5 hours of video", "360", StreamBytes(1e5, 8e6) * 1e-12},
      {"T17-76", "TB of 1e4 hours of sound", "1.2", AudioBytes(1e4, 16000, 16) * 1e-12},
      {"17.7.1 Ex1", "TB of 2e12 tokens, with 1.5 of it", "12", DatasetBytes(2e12, 4, 1.5) * 1e-12},
      {"17.7.1 Ex2", "TB of 15e12 tokens, with 1.5 of it", "90", DatasetBytes(15e12, 4, 1.5) * 1e-12},
      {"17.7.1 Ex3", "TB of 1e8 images of 1 MB, with a tenth", "110", DatasetBytes(1e8, 1e6, 1.1) * 1e-12},
      {"17.7.1", "bytes of a token's number, 128,256", "2", Number(TokenIdWidth(128256)), "4",
       "A18: two bytes name 65,536"},
  };
}

std::vector<Figure> Loading() {
  const double rate405 = ReadRate(16e6, 4, 3);
  return {
      {"17.7.2 Ex1", "MB/s, 7B", "16", ReadRate(4e6, 4, 1) * 1e-6},
      {"T17-77", "MB/s, 13B", "8", ReadRate(4e6, 4, 2) * 1e-6},
      {"T17-77", "MB/s, 70B", "2", ReadRate(4e6, 4, 8) * 1e-6},
      {"T17-77", "MB/s, 405B", "21", rate405 * 1e-6},
      {"T17-77", "MB/s, 405B in token numbers", "11", ReadRate(16e6, 2, 3) * 1e-6},
      {"17.7.2", "kB/s of a data rank of 1,024", "10.4e3", ReadRate(16e6, 2, 3) / 1024 * 1e-3, "10.4",
       "A17: kilobytes"},
      {"17.7.2", "reads a second", "6.8e2", ReadsPerSecond(1024, 2, 3)},
      {"17.7.2", "servers for 12.8 GB/s, three copies", "6", Number(StorageServers(12.8e9, 7e9, 3))},
      {"17.7.2 Ex2", "MB/s, 405B", "85", rate405 * 1e-6, "21", "A17: four bytes counted twice"},
      {"17.7.2 Ex3", "MB/s in token numbers, 7B", "8", ReadRate(4e6, 2, 1) * 1e-6},
      {"17.7.7", "cores for 3.2e9 tokens/s", "12,800", Number(TokenizerCores(3.2e9, 4, 1e6))},
      {"17.7.7 Ex1", "cores, 7B", "16", Number(TokenizerCores(4e6, 4, 1e6))},
      {"17.7.7 Ex1", "MB ready", "250", PrefetchBytes(8, 4, 4e6 * 2) * 1e-6, "256", "rounded"},
      {"17.7.7 Ex2", "cores, 405B", "341,333", Number(TokenizerCores(16e6 / 3, 4, 1e6)), "22",
       "A17: the global batch times all devices"},
      {"17.7.7", "GB of a shuffle buffer", "4.1", ShuffleBytes(1e6, 4096) * 1e-9},
      {"T17-92", "cores that augment 512 samples/s at 5 ms", "3", Number(AugmentationCores(512, 0.005))},
  };
}

// E19: gradients are not saved.
std::vector<Figure> Saves() {
  const auto gib = [](std::int64_t parameters) {
    return Number(SaveBytes(models::AdamWStateOf(parameters)).count()) / kGib;
  };
  const auto terabytes = [](std::int64_t parameters) {
    return Number(SaveBytes(models::AdamWStateOf(parameters)).count()) * 1e-12;
  };
  const char* contents = "E19: 14 bytes a parameter, gradients are not saved";
  return {
      {"T17-79", "GiB, 7B", "100", gib(6'740'000'000), "88", contents},
      {"T17-79", "GiB, 13B", "194", gib(13'000'000'000), "170", contents},
      {"T17-80", "GiB of Mixtral 8x7B", "750", gib(46'702'792'704), "609", contents},
      {"17.7.3 Ex1", "GB, 7B", "107.8", terabytes(6'740'000'000) * 1e3, "94.4", contents},
      {"17.7.3 Ex2", "TB, 70B", "1.1", terabytes(70'000'000'000), "1.0", contents},
      {"17.7.3 Ex3", "TB, 405B", "6.5", terabytes(405'000'000'000), "5.7", contents},
      {"17.7.3 Ex4", "TB, 671B", "10.7", terabytes(671'000'000'000), "9.4", contents},
      {"17.7.3 Ex5", "TB of DeepSeek-V3, no master copy, moments in 8 bits", "2.68",
       Number(SaveBytes(TrainingStateOf(ModelOf("deepseek_v3"), models::OptimizerKind::kAdamW8bit, {2, 2, 0}))
                  .count()) *
           1e-12},
      {"17.7.4 Ex3", "GB staged a node of 2,048, 405B", "6e3", terabytes(405'000'000'000) / 2048 * 1e3, "2.8",
       "A15: shards are staged where they are"},
      {"17.7.4 Ex1", "saves kept", "95", SavesKept(5, 90, 1)},
      {"17.7.4 Ex1", "TB kept, 1.1 each", "105", SavesKept(5, 90, 1) * 1.1},
      {"17.7.4 Ex2", "TB kept, 6 each", "570", SavesKept(5, 90, 1) * 6},
      {"17.7.4", "hours between failures of 16,000", "100",
       HoursBetweenFailures(kDeviceHoursBetweenFailures, 16000), "3",
       "E18: one in three hours on 16,384 was published"},
      {"17.7.4", "hours between failures at 10,000 a device", "100", HoursBetweenFailures(10000, 16000), "1",
       "E18: the chapter's own figure of a device"},
      {"rule 14", "minutes between failures of 1,000 at 500 hours", "30",
       HoursBetweenFailures(500, 1000) * 60},
      {"17.7.4", "MB/s a device to read 1,120 GB in two minutes on 64", "146",
       WriteRate(1120e9, 120, 64) * 1e-6},
  };
}

std::vector<Figure> Rates() {
  return {
      {"T17-85", "GB/s within 3 s", "373", WriteRate(1120e9, 3) * 1e-9},
      {"T17-85", "drives of 7 GB/s", "53", Number(StorageServers(WriteRate(1120e9, 3), 7e9, 1)), "54",
       "B18: rounded down"},
      {"T17-86", "GB/s over ten steps of 3 s", "37.3", WriteRate(1120e9, 30) * 1e-9},
      {"17.7.5", "MB/s a device of 64", "583", WriteRate(1120e9, 30, 64) * 1e-6},
      {"17.7.5 Ex1", "GB/s within 1 s", "1120", WriteRate(1120e9, 1) * 1e-9},
      {"17.7.5 Ex1", "drives", "160", Number(StorageServers(WriteRate(1120e9, 1), 7e9, 1))},
      {"17.7.5 Ex1", "ms of a step that stalls for 11.2 s in 1,000", "1120", StallPerStep(11.2, 1000) * 1e3,
       "11.2", "A16: it is a stall, not impossible"},
      {"17.7.5 Ex2", "GB/s over ten steps of 1 s", "112", WriteRate(1120e9, 10) * 1e-9},
      {"17.7.5 Ex2", "GB/s a device of 64", "1.75", WriteRate(1120e9, 10, 64) * 1e-9},
      {"17.7.5 Ex3", "s to write", "3.5", LoadTime(1120e9, 64, 5e9)},
      {"17.7.5", "servers, three copies", "12", Number(StorageServers(126e9, 40e9 * 0.8, 3))},
  };
}

std::vector<Figure> Logs() {
  const double nccl = DailyLogBytes(1024, 10e6, 90), out = DailyLogBytes(1024, 5e6, 90);
  const double traces = DailyLogBytes(1024, 500e6, 13), scalars = 0.5e9;
  return {
      {"17.7.6", "GB of scalars", "20", ScalarLogBytes(200, 1e6, 100) * 1e-9},
      {"T17-88", "GB, 64 devices", "57.6", DailyLogBytes(64, 10e6, 90) * 1e-9},
      {"T17-88", "GB, 1,024 devices", "921.6", nccl * 1e-9},
      {"T17-88", "TB, 16,384 devices", "14.7", DailyLogBytes(16384, 10e6, 90) * 1e-12},
      {"T17-88", "TB, 16,384 devices, warnings", "1.47", DailyLogBytes(16384, 1e6, 90) * 1e-12},
      {"T17-89", "GB, 64 devices", "1.0", MonitoringBytes(1280, 90, 15, 1.5) * 1e-9},
      {"T17-89", "GB, 1,024 devices", "15.9", MonitoringBytes(20480, 90, 15, 1.5) * 1e-9},
      {"T17-89", "GB, 16,384 devices", "254.4", MonitoringBytes(327680, 90, 15, 1.5) * 1e-9, "254.8",
       "sixteen times a rounded figure"},
      {"T17-89", "GB, 16,384 devices every 5 s", "763.3", MonitoringBytes(327680, 90, 5, 1.5) * 1e-9, "764.4",
       "as above"},
      {"17.7.6 Ex", "TB of traces", "6.66", traces * 1e-12},
      {"17.7.6 Ex", "GB of output", "460.8", out * 1e-9},
      {"17.7.6 Ex", "TB of all", "12", (nccl + out + traces + scalars + 116e9) * 1e-12, "8.2",
       "B18: the sum above it and 0.116"},
  };
}

}  // namespace

std::vector<Figure> StorageFigures() {
  std::vector<Figure> all;
  for (const auto& part : {Data(), Loading(), Saves(), Rates(), Logs()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace textbook
