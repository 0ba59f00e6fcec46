-- A GPT of 7.5 billion parameters (36 layers of width 4096, 32 heads; Narayanan et al., arXiv 2104.04473), to be
-- planned, not run.
-- The tokens are a few bytes of text, or drawn from the vocabulary (`data=drawn`): what is planned depends on shapes
-- alone.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local context, dim, vocab = baleen.arg("context", 1024), baleen.arg("dim", 4096), baleen.arg("vocab", 50304)
local path, rows = baleen.arg("data"), baleen.arg("batch", 2048)
local corpus = path == "drawn" and data.synthetic { context = context, vocab = vocab, rows = rows, held_out = 0 }
  or data.text { path = path, tokenizer = "bytes", context = context, held_out = 0 }
local embedding = nn.embedding { vocab = vocab, dim = dim, positions = context }
local block = { dim = dim, heads = baleen.arg("heads", 32), causal = true }

return baleen.job {
  model = nn.sequential {
    embedding,
    nn.repeated(baleen.arg("layers", 36), function() return nn.transformer_block(block) end),
    nn.layer_norm {},
    nn.tied(embedding),
  },
  loss = nn.cross_entropy {}, data = corpus, batch = rows, steps = 1,
  gradient_accumulation_steps = baleen.arg("accumulate", 2), optimizer = baleen.optimizer("adamw", { lr = 1e-4 }),
}
