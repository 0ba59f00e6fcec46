-- A language model as most are today: rotary positions, heads in groups, gated layers.
local baleen = require "baleen"
local settings = require "settings"
local arg, nn = baleen.arg, baleen.nn

local norm, tied, groups = arg("norm", "rms"), arg("tied", false), arg("kv", 0)
local activation, bias = arg("activation", "swiglu"), arg("bias", false)
local corpus = settings.text()
local embedding = nn.embedding { name = "embedding", vocab = corpus.vocab, dim = settings.dim }

local model = nn.sequential {
  embedding,
  nn.dropout { p = settings.dropout },
  nn.repeated(settings.layers, function()
    return nn.transformer_block {
      heads = settings.heads, kv_heads = groups > 0 and groups or settings.heads, causal = true, rotary = true,
      norm = norm, activation = activation, bias = bias, hidden = settings.hidden, dropout = settings.dropout,
    }
  end),
  norm == "rms" and nn.rms_norm { name = "final" } or nn.layer_norm { name = "final" },
  tied and nn.tied(embedding) or nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
}

return settings.job {
  model = model, loss = settings.loss(), data = corpus, metrics = { accuracy = nn.accuracy {} },
}
