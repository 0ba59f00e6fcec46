-- A GPT whose costs have closed forms: learned positions, which belong to no product, are left out; embedding and head
-- share a table.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local context = baleen.arg("context", 512)
local corpus = data.text { path = baleen.arg("data"), tokenizer = "bytes", context = context, held_out = 0 }
local dim, vocab = baleen.arg("dim", 256), baleen.arg("vocab", 1024)
local embedding = nn.embedding { vocab = vocab, dim = dim }
local whole = baleen.arg("whole", "none") -- what is left whole though `tensor` would cut it
if whole ~= "none" then baleen.parallel.layout { name = whole, axis = "tensor", placement = "replicate" } end
local block = { dim = dim, heads = baleen.arg("heads", 16), causal = true }

return baleen.job {
  model = nn.sequential {
    embedding,
    nn.repeated(baleen.arg("layers", 3), function() return nn.transformer_block(block) end),
    nn.layer_norm {},
    nn.tied(embedding),
  },
  loss = nn.cross_entropy {}, data = corpus, batch = baleen.arg("batch", 128), steps = 1,
  gradient_accumulation_steps = baleen.arg("accumulate", 1), optimizer = baleen.optimizer("adamw", { lr = 1e-4 }),
}
