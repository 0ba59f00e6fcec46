-- A small GPT whose knobs are arguments, for parity: dropout, masked tokens, micro-batches, clipping, tied weights.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local context = baleen.arg("context", 12)
local corpus = data.text { path = baleen.arg("data"), tokenizer = "bytes", context = context, held_out = 0.2 }
local dropout, masked = baleen.arg("dropout", 0.0), baleen.arg("masked", -1)
local dim, heads, norm = baleen.arg("dim", 24), baleen.arg("heads", 3), baleen.arg("norm", "layer")
local block = {
  dim = dim, heads = heads, kv_heads = baleen.arg("kv_heads", heads), hidden = baleen.arg("hidden", 4 * dim),
  causal = not baleen.arg("bidirectional", false), documents = baleen.arg("documents", false) and "tokens" or nil,
  dropout = dropout, norm = norm, activation = baleen.arg("activation", "gelu_tanh"),
  rotary = baleen.arg("rotary", false),
}

local embedding = nn.embedding { vocab = corpus.vocab, dim = dim, positions = context }
local model = nn.sequential {
  embedding,
  nn.repeated(baleen.arg("layers", 2), function() return nn.transformer_block(block) end),
  norm == "layer" and nn.layer_norm {} or nn.rms_norm {},
  baleen.arg("tied", false) and nn.tied(embedding)
    or nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
}

return baleen.job {
  model = model, loss = nn.cross_entropy { ignore_index = masked >= 0 and masked or nil }, data = corpus,
  batch = baleen.arg("batch", 8), steps = 20,
  clip_grad_norm = baleen.arg("clip", 0.0), gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer(baleen.arg("optimizer", "adamw"), {
    apply_groups = baleen.arg("groups", 0) > 0 and baleen.arg("groups", 0) or nil,
    lr = baleen.cosine { peak = baleen.arg("lr", 1e-2), warmup = 3 },
    -- A key's bias has a gradient of rounding alone: `epsilon1` of adafactor is to be above it.
    epsilon1 = baleen.arg("optimizer", "adamw") == "adafactor" and 1e-10 or nil,
  }),
  plan = { baleen.strategy("data", { bucket_mb = baleen.arg("bucket_mb", 4) }) },
  evaluate = { every = 10, batches = 2 },
}
