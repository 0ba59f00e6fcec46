-- Stages by hand: a small GPT in two stages and eight micro-batches. Without a mesh axis `pipeline` one rank does all
-- of it; without `parallel.stage` the strategy cuts the model itself, so that each stage has as much to do.
local baleen = require "baleen"
local nn, parallel = baleen.nn, baleen.parallel

local corpus = baleen.data.text {
  path = baleen.arg("data", "/usr/include/c++"), tokenizer = "bytes", context = 64, held_out = 0.1,
}

local embedding = nn.embedding { vocab = corpus.vocab, dim = 64, positions = 64 }
local function blocks(count, name)
  return nn.repeated(count, function() return nn.transformer_block { dim = 64, heads = 4, causal = true } end,
    { name = name })
end
local lower, upper = blocks(3, "lower"), blocks(2, "upper")  -- the head is as much as a block
local norm = nn.layer_norm { name = "norm" }
local head = nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } }

local stage = parallel.stage {}

return baleen.job {
  model = function(ids)
    return parallel.pipeline { micro_batches = 8 } (function()
      local x = stage(function() return lower(embedding(ids)) end)
      return stage(function() return head(norm(upper(x))) end)
    end)
  end,
  loss = nn.cross_entropy {}, data = corpus, batch = 16, steps = 200,
  optimizer = baleen.optimizer("adamw", { lr = baleen.cosine { peak = 2e-3, warmup = 20 } }),
}
