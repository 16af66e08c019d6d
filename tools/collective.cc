// orrery collective: nccl-tests on paper, and lists of operations that may never meet.

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "scenarios/collective_run/operations_play.h"
#include "scenarios/output/chrome_trace.h"
#include "scenarios/output/collective_output.h"
#include "scenarios/output/exchange_output.h"
#include "scenarios/output/output_file.h"
#include "tools/collective_request.h"
#include "tools/commands.h"
#include "tools/exchange_request.h"
#include "tools/interrupt.h"

namespace tools {
namespace {

using Errors = std::vector<std::string>;

// Files are made before anything runs, so that no result is lost for want of one.
struct Files {
  std::optional<scenarios::OutputFile> table;
  bool table_as_json = false;
};

Files FilesOf(const Arguments& arguments, Errors* errors) {
  Files files;
  const std::string path = arguments.value("output"), trace = arguments.value("trace");
  files.table_as_json = path.ends_with(".json");
  if (arguments.has("output") && !files.table_as_json && !path.ends_with(".txt")) {
    errors->push_back("--output " + path + ": a name that ends in .json or .txt is wanted");
  }
  if (arguments.has("trace") && !trace.ends_with(".json") && !trace.ends_with(".json.gz")) {
    errors->push_back("--trace " + trace + ": a name that ends in .json or .json.gz is wanted");
  }
  for (const std::string& one : {path, trace}) {
    if (!one.empty() && arguments.has("operations") &&
        scenarios::IsSameFile(one, arguments.value("operations"))) {
      errors->push_back(one + " is the file that was read; another name is wanted");
    }
  }
  if (!errors->empty()) return files;
  if (!path.empty() && !trace.empty() && scenarios::IsSameFile(path, trace)) {
    errors->push_back("--output and --trace both write " + path + "; two names are wanted");
  }
  if (const auto why = trace.empty() ? std::nullopt : scenarios::OutputFile::WhyNot(trace)) {
    errors->push_back(why->message);
  }
  if (path.empty() || !errors->empty()) return files;
  auto created = scenarios::OutputFile::Create(path);
  if (created.ok()) {
    files.table.emplace(std::move(created).value());
  } else {
    errors->push_back(created.error().message);
  }
  return files;
}

// What a run has to say, in both forms, and what its trace is of.
struct Answer {
  std::string text, json;
  const sim::Program* program = nullptr;
  const sim::Timeline* timeline = nullptr;
};

int Write(const Arguments& arguments, const Answer& answer, Files files, std::ostream& out,
          std::ostream& err) {
  if (arguments.has("trace")) {
    scenarios::TraceOptions options;
    options.path = arguments.value("trace");
    const auto written = scenarios::WriteChromeTrace(*answer.program, *answer.timeline, options);
    if (!written.ok()) return Fail(written.error().message, err);
  }
  if (files.table) {
    files.table->Write(files.table_as_json ? answer.json : answer.text);
    if (const auto finished = files.table->Finish(); !finished.ok()) {
      return Fail(finished.error().message, err);
    }
  }
  out << (arguments.has("json") ? answer.json : answer.text);
  return kExitDone;
}

int Interrupted(std::ostream& err) {
  err << "orrery: interrupted; nothing was written\n";
  return kExitInterrupted;
}

int RunOperations(const Arguments& arguments, const NamedCluster& named, const CollectiveRequest& request,
                  const scenarios::CollectiveHead& head, Files files, std::ostream& out, std::ostream& err) {
  const auto check = scenarios::CheckOperations(*request.operations);
  for (const std::string& deadlock : check.deadlocks) Fail(deadlock, err);
  if (!check.deadlocks.empty()) return kExitUsage;
  const auto played =
      scenarios::PlayOperations(named.cluster, *request.operations, check, request.options.go_on);
  if (!played.ok()) return Fail(played.error().message, err);
  if (played.value().stopped) return Interrupted(err);
  return Write(arguments,
               {scenarios::OperationsText(played.value(), named.cluster, head),
                scenarios::OperationsJson(played.value(), named.cluster, head), &played.value().program,
                &played.value().timeline},
               std::move(files), out, err);
}

int RunExchange(const Arguments& arguments, const NamedCluster& named, const ExchangeRequest& request,
                const scenarios::CollectiveHead& head, Files files, std::ostream& out, std::ostream& err) {
  const auto table = scenarios::PlayExchanges(named.cluster, request.exchange, request.ranks, request.tokens,
                                              request.options);
  if (!table.ok()) return Fail(table.error().message, err);
  if (table.value().stopped) return Interrupted(err);
  return Write(arguments,
               {scenarios::ExchangeText(table.value(), named.cluster, head),
                scenarios::ExchangeJson(table.value(), named.cluster, head), &table.value().last.program,
                &table.value().last.timeline},
               std::move(files), out, err);
}

// A time of 0 is no forecast: nccl-tests would time an empty call.
void WarnOfIdleRows(const scenarios::CollectiveTable& table, std::ostream& err) {
  const auto any = [&](auto is) { return std::any_of(table.rows.begin(), table.rows.end(), is); };
  if (any([](const scenarios::CollectiveRow& row) { return row.job.ranks.size() == 1; })) {
    err << "orrery: warning: a group of one rank sends nothing, so its time is 0: what the call itself takes "
           "is not simulated\n";
  } else if (any([](const scenarios::CollectiveRow& row) { return row.job.size == sim::Bytes(); })) {
    err << "orrery: warning: rows of 0 bytes, as sizes are rounded down to, send nothing, so their time is "
           "0: "
           "what the call itself takes is not simulated\n";
  }
}

constexpr const char* kExplanation =
    R"(orrery collective NAME plays one collective at each size, as nccl-tests runs it:

NAME      all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, gather, scatter, sendrecv (each
          member to the next).
sizes     -b 8 -e 16G -f 2 as in nccl-tests: K, M, G and T are powers of 1024, 1T is the most; 32M where
          none is given, and one size where only one end is. Rounded down to whole elements, and to 16
          bytes a rank where each rank has a part (all_gather, reduce_scatter, alltoall, gather, scatter).
size      all_reduce the buffer, all_gather the output, reduce_scatter the input, broadcast and sendrecv
          the message, alltoall what one member sends, its own part included.
time      of one call, from the moment all members are there; algbw is size / time, busbw that times
          2(n-1)/n for all_reduce, (n-1)/n where each rank has a part. A group of one takes no time
          and has no bandwidth.
bound     what no algorithm beats: the bytes that must leave or enter a member, or a node, over all the
          links that it has for them, at their full rate, without latency. NVLink switches may add up where
          NCCL may use them (NVLS), no others. Links carry what collectives achieve of the wire (hardware
          files). gap: how far above it the time is. The line below the rows says which links it is of.
by        how NCCL would do it, by its tuner: Ring/LL, Tree/LL128, NVLS/S (Simple), P2P/LL; --json has
          channels too. * where another way takes less here; lines below the rows say which. NCCL's version
          and variables: --set nccl.version=2.29 --set nccl.environment=NCCL_ALGO=Tree; several:
          --set 'nccl.environment=["NCCL_ALGO=Tree", "NCCL_PROTO=LL"]'.
variables honoured: NCCL_ALGO, NCCL_PROTO, NCCL_NVLS_ENABLE, NCCL_PAT_ENABLE, NCCL_P2P_LL_THRESHOLD;
          where NCCL would not look at one for what is asked, it is refused. Taken with a warning, since they
          move no time: NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, NCCL_MIN_CTAS and NCCL_MAX_CTAS (channels in
          reports), NCCL_DEBUG, NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE, NCCL_SOCKET_IFNAME, NCCL_IB_HCA,
          NCCL_IB_GID_INDEX. NCCL_COLLNET_ENABLE=0 is what is simulated. Any other is refused.
ring      members of a node in the order of their places; where NVLinks join them one by one, in the order
          whose slowest link is fastest.
--by-dimension ring,ring,direct
          all_reduce, all_gather or reduce_scatter not as NCCL does it, but along one dimension of a torus
          after the other, in lines of the grid: ring is rings both ways, one_way_ring one, direct each with
          each. Devices of a node are a dimension before those of the torus, where it has several. Any other
          grid says its sizes, the fastest-counting dimension first: ring:8,direct:4 are 32 ranks.
by chunk  with --chunk: the same transfer by transfer, the oracle; diff is how far the time is above it.

--background "alltoall 0-31 64M" is under way when what is measured starts, its data on the links, and starts
  again where it ends until all of that has ended.
--job "all_reduce 0-7 1G" --job "broadcast 0-3 256M root 2": all start together, sizes as they are. Jobs
  that share ranks run side by side there, each on a stream of its own.
--operations FILE has a line an operation; a rank's run in order, those of a group meet in order:
    rank 0-7: all_reduce 64M                    # each of these ranks; a group of all
    rank 0-3: broadcast 1M group 0-3 root 2
    rank 0: all_reduce 8K group 0-1 stream b    # beside the rank's other streams
    rank 0: send 1M to 1                        # and rank 1: recv 1M from 0
  Members that disagree and ranks that wait for each other for ever are deadlocks: status 2, no time.

--algorithm ONE_SHOT, TWO_SHOT: all_reduce by one kernel that reads its peers' memory, as TensorRT-LLM and
  vLLM do small ones: 2, 4, 6 or 8 ranks of one NVLink domain, up to 8e6 bytes (16e6 of two ranks). VLLM: as
  vLLM chooses: one shot of two ranks, and below 512 KiB of four or 256 KiB of six and eight; else two shots
  up to 8 MiB, and NCCL from there on and for sizes that are not whole 16 bytes. Where no size is given,
  1K to 4M (VLLM: 16M), each twice the one before.
dispatch, combine: tokens to experts and their sums home by DeepEP, a row for each of --tokens. RDMA and
  NVLink are GB/s as DeepEP prints them: bytes to nodes and to ranks, a rank's own among them; NIC is what
  leaves the node. --tokens LIST is of each rank; --hidden N, --top-k N, --experts N; --bf16: a dispatch
  not in FP8; --sms N of normal and V2 kernels. Routing is even; with --node-limit N, of these too, a
  token takes the N nodes of its best single experts, as in DeepEP's tests.
    orrery collective dispatch --hardware h800_sxm --devices 64 --tokens 4096 --node-limit 4
    orrery collective combine --hardware h800_sxm --devices 64 --kernels low_latency --tokens 128
)";

int RunCollective(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.has("explain")) {
    out << kExplanation;
    return kExitDone;
  }
  proto::Diagnostics diagnostics;
  Errors errors;
  const std::optional<NamedCluster> named = ReadCluster(arguments, &diagnostics, &errors);
  CollectiveRequest request;
  ExchangeRequest exchange;
  const bool exchanges = AsksForExchange(arguments);
  if (named && exchanges) exchange = ReadExchangeRequest(arguments, *named, &errors);
  if (named && !exchanges) request = ReadCollectiveRequest(arguments, *named, &diagnostics, &errors);
  Print(diagnostics, err);
  if (!diagnostics.ok()) errors.insert(errors.begin(), "");
  Files files = FilesOf(arguments, &errors);
  for (const std::string& error : errors) {
    if (!error.empty()) Fail(error, err);
  }
  if (!errors.empty()) return kExitUsage;
  const InterruptWatch watch;
  request.options.go_on = exchange.options.go_on = [&] { return !watch.interrupted(); };
  const scenarios::CollectiveHead head{named->hardware, named->topology, request.type,
                                       arguments.has("links")};
  if (exchanges) {
    return RunExchange(arguments, *named, exchange, head, std::move(files), out, err);
  }
  if (request.operations) {
    return RunOperations(arguments, *named, request, head, std::move(files), out, err);
  }
  const auto table =
      request.swept ? scenarios::PlaySizes(named->cluster, *request.swept, *request.type, request.sizes,
                                           request.options)
                    : scenarios::PlayTogether(named->cluster, request.jobs, *request.type, request.options);
  if (!table.ok()) return Fail(table.error().message, err);
  if (table.value().stopped) return Interrupted(err);
  WarnOfIdleRows(table.value(), err);
  return Write(arguments,
               {scenarios::CollectiveText(table.value(), named->cluster, head),
                scenarios::CollectiveJson(table.value(), named->cluster, head), &table.value().last.program,
                &table.value().last.timeline},
               std::move(files), out, err);
}

}  // namespace

Command CollectiveCommand() {
  return {
      "collective",
      "nccl-tests on paper: times, bandwidths and bounds of collectives on any fabric.",
      "NAME | dispatch | combine | --job JOB... | --operations FILE [options]",
      1,
      {{"hardware", "NAME", "of `orrery list hardware`; h100_sxm"},
       {"topology", "NAME", "of `orrery list topologies`; one node, rails for more devices"},
       {"devices", "N", "of the fabric, or of each node: 8,8,5; one node's, or all of a list"},
       {"set", "PATH=VALUE", "change a field: hardware.node.nics=4", true},
       {"ranks", "LIST", "members in their order: 0-7, or 0,8,16, or 0-63:8; all devices"},
       {"minbytes", "SIZE", "8, 64K, 1.5M, 1T; -e, --maxbytes; -i, --stepbytes; -f, --stepfactor", false,
        'b'},
       {"maxbytes", "SIZE", "", false, 'e'},
       {"stepbytes", "SIZE", "", false, 'i'},
       {"stepfactor", "N", "", false, 'f'},
       {"datatype", "TYPE", "of what is counted; -r, --root R: its place among the members", false, 'd'},
       {"root", "R", "", false, 'r'},
       {"by-dimension", "LIST", ""},
       {"job", "JOB", "\"all_reduce 0-7 1G\": all jobs start together", true},
       {"background", "JOB", "again and again beside what is measured", true},
       {"operations", "FILE", "what each rank issues, checked for deadlocks and played"},
       {"chunk", "", "the slow and exact form too: transfer by transfer"},
       {"links", "", "the most loaded links of the last row, and who loads them"},
       {"algorithm", "NAME", "ONE_SHOT, TWO_SHOT, VLLM: not NCCL's; --by-dimension ring,direct: of a torus"},
       {"kernels", "NAME", "dispatch, combine: DeepEP's normal, low_latency, v2; with --tokens 128,4096"},
       {"sms", "N", ""},
       {"tokens", "LIST", ""},
       {"hidden", "N", ""},
       {"top-k", "N", ""},
       {"experts", "N", ""},
       {"node-limit", "N", ""},
       {"bf16", "", ""},
       {"json", "", "one JSON document; --output FILE: .txt, .json; --trace FILE: a Chrome trace"},
       {"output", "FILE", ""},
       {"trace", "FILE", ""},
       {"explain", "", "what columns, bounds, sizes and files of operations are, with examples"}},
      "  orrery collective all_reduce --devices 64 -b 8 -e 16G -f 2\n",
      RunCollective};
}

}  // namespace tools
