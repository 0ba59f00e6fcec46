-- A small GPT with programs of its own: what it makes of a text before the head, and how likely each next letter is.
local baleen = require "baleen"
local nn = baleen.nn

local corpus = baleen.data.text { path = baleen.arg("data"), tokenizer = "bytes", context = 8, held_out = 0.1 }
local body = nn.sequential {
  nn.embedding { vocab = corpus.vocab, dim = 8, positions = 8 },
  nn.repeated(2, function() return nn.transformer_block { dim = 8, heads = 2, causal = true } end),
  nn.layer_norm {},
}
local head = nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } }
local tokens = { dtype = "int32", shape = { baleen.arg("rows", 6), 8 }, axes = { "batch", "seq" } }

return baleen.job {
  model = function(ids) return head(body(ids)) end,
  loss = nn.cross_entropy {}, data = corpus, batch = 8, steps = 4, gradient_accumulation_steps = 2, seed = 5,
  optimizer = baleen.optimizer("adamw", { lr = 0.01 }),
  programs = {
    embed = {
      inputs = { tokens = tokens, scale = { shape = { 8 } } },
      run = function(inputs)
        local hidden = body(inputs.tokens)
        return { hidden = hidden, scaled = hidden * inputs.scale }
      end,
    },
    score = { inputs = { tokens = tokens }, run = function(inputs) return { logits = head(body(inputs.tokens)) } end },
    alone = {
      inputs = { tokens = tokens }, replicated = true,
      run = function(inputs) return { logits = head(body(inputs.tokens)) } end,
    },
  },
}
