// The symbols of the two chapters, and where a user of the program writes or reads them.

#ifndef TESTS_TEXTBOOK_SYMBOLS_H_
#define TESTS_TEXTBOOK_SYMBOLS_H_

namespace textbook {

struct Symbol {
  const char* symbol;
  const char* chinese;
  const char* english;
  const char* field;  // a path of a scenario or its model and hardware; with dashes a flag of `orrery budget`
};

inline constexpr Symbol kSymbols[] = {
    {"L", "层数", "layers", "model.layers"},
    {"d, d_model", "隐藏宽度", "hidden width", "model.hidden"},
    {"d_f, d_ff", "前馈中间宽度", "feed-forward width", "model.ffn"},
    {"d_e, d_ff_expert", "专家中间宽度", "width of an expert", "model.experts.ffn"},
    {"V", "词表大小", "vocabulary", "model.vocabulary"},
    {"h_q, h", "查询头数", "query heads", "model.heads"},
    {"h_kv, g", "键值头数", "key-value heads", "model.kv_heads"},
    {"d_h, d_head", "每头宽度", "head width", "model.head_dim"},
    {"tau", "输入输出共享", "tied table", "model.tied_embedding"},
    {"E", "专家数", "experts", "model.experts.routed"},
    {"k, top_k", "激活专家数", "experts a token visits", "model.experts.per_token"},
    {"B, B_micro", "微批大小", "micro-batch", "batch.micro"},
    {"B_global, B_eff", "全局批大小", "global batch", "batch.global"},
    {"T, S", "序列长度", "sequence length", "batch.sequence_length"},
    {"N", "设备数", "devices", "devices"},
    {"TP", "张量并行", "tensor parallelism", "layout.tensor"},
    {"PP", "流水线并行", "pipeline parallelism", "layout.pipeline"},
    {"DP, N_d", "数据并行", "data parallelism", "layout.data"},
    {"EP", "专家并行", "expert parallelism", "layout.expert"},
    {"SP", "序列并行", "context parallelism: rings, Ulysses", "layout.context"},
    {"b_w", "权重字节数", "bytes of a weight", "training.format"},
    {"b_g", "梯度字节数", "bytes of a gradient", "training.gradient_type"},
    {"b_c", "缓存字节数", "bytes of a cached number", "--with kv-bytes"},
    {"q", "量化位数", "bits of a weight", "--with weight-bits"},
    {"R_peak", "峰值操作率", "peak", "hardware.peaks.tflops"},
    {"beta", "传输带宽", "memory rate", "hardware.memory.bandwidth_gb_per_s"},
    {"D", "词元数", "tokens of the run", "--tokens"},
    {"S, T_target", "期限", "deadline", "--days"},
    {"u, MFU", "有效利用率", "utilisation", "--mfu"},
    {"price", "单价", "price of a device-hour", "price.usd_per_device_hour"},
};

}  // namespace textbook

#endif  // TESTS_TEXTBOOK_SYMBOLS_H_
