-- Blocks as large language models have them: grouped heads, rotary positions, gates, no biases.
local baleen = require "baleen"
local common = require "common"
local nn = baleen.nn

local data = common.tokens(16, 40)
local model = nn.sequential {
  nn.embedding { name = "emb", vocab = 40, dim = 32 },
  nn.repeated(4, function()
    return nn.transformer_block { dim = 32, heads = 4, kv_heads = 2, causal = true, rotary = true, norm = "rms",
      activation = "swiglu", hidden = 48, bias = false } end),
  nn.rms_norm {}, nn.linear { name = "head", out = 40, bias = false, axes = { "vocab" } } }
return common.job { model = model, loss = nn.cross_entropy {}, metrics = { acc = nn.accuracy {} }, data = data,

  }
