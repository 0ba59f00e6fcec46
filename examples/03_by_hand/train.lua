-- Layouts by hand: two ranks share the layers of a small GPT, as this script says, and no strategy is needed. One rank
-- runs the same script, and so does any mesh without the axis `tensor`.
local baleen = require "baleen"
local nn, parallel = baleen.nn, baleen.parallel

local corpus = baleen.data.text {
  path = baleen.arg("data", "/usr/include/c++"), tokenizer = "bytes", context = 64, held_out = 0.1,
}

local embedding = nn.embedding { vocab = corpus.vocab, dim = 64, positions = 64 }
local blocks = nn.repeated(2, function() return nn.transformer_block { dim = 64, heads = 4, causal = true } end)
local norm = nn.layer_norm { name = "norm" }
local head = nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } }

-- Around forward code: what is made inside and has the logical axis is cut along the mesh axis, parameters included.
local heads = parallel.split { axis = "tensor", dim = "heads" }
local width = parallel.split { axis = "tensor", dim = "ff" }
local vocabulary = parallel.split { axis = "tensor", dim = "vocab" }

-- By name: this one is small, so every rank keeps the whole of it.
parallel.layout { name = "blocks.0.mlp.up.bias", axis = "tensor", placement = "replicate" }

return baleen.job {
  model = function(ids)
    local x = vocabulary(embedding, ids)
    x = heads(function() return width(blocks, x) end)
    return vocabulary(head, norm(x))
  end,
  loss = nn.cross_entropy {}, data = corpus, batch = 16, steps = 200,
  optimizer = baleen.optimizer("adamw", { lr = baleen.cosine { peak = 2e-3, warmup = 20 } }),
}
