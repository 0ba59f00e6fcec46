-- A transformer of a size that the words after `--` tell (throughput.py): by default the small GPT, 6 layers of 384.
-- The data has 65 kinds of characters whatever the vocabulary is; what is measured does not depend on the ids.
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local context = baleen.arg("context", 256)
local dim, heads = baleen.arg("dim", 384), baleen.arg("heads", 6)
local corpus = data.text { path = baleen.arg("data"), tokenizer = "chars", context = context, held_out = 0 }
local vocab = math.max(baleen.arg("vocab", 65), corpus.vocab)
local causal = baleen.arg("causal", 1) == 1

local embedding = nn.embedding { vocab = vocab, dim = dim, positions = context }
local model = nn.sequential {
  embedding,
  nn.repeated(baleen.arg("layers", 6), function()
    return nn.transformer_block { dim = dim, heads = heads, causal = causal }
  end),
  nn.layer_norm {},
  baleen.arg("tied", false) and nn.tied(embedding) or nn.linear { out = vocab, bias = false, axes = { "vocab" } },
}

local dtype = baleen.arg("dtype", "fp32")
-- checkpoints.py, checkpoint_memory.py: a run that saves itself and does nothing else, and one that does nothing.
local loops = { save = function(_, run) run:checkpoint() end, nothing = function() end }

-- Other optimizers are there for how much they hold.
local name = baleen.arg("optimizer", "adamw")
local options = { lr = baleen.cosine { peak = 1e-3, warmup = 100 } }
if name == "adamw" then
  options.weight_decay = 0.1
  options.groups = { { match = { "*.bias", "*.gamma", "*.beta" }, weight_decay = 0 } }
end

return baleen.job {
  model = model, loss = nn.cross_entropy {}, data = corpus,
  batch = baleen.arg("batch", 8), steps = 1000,
  clip_grad_norm = 1.0, gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer(name, options),
  loop = loops[baleen.arg("loop", "")], check = { memory = baleen.arg("check_memory", true) },
  plan = dtype ~= "fp32" and { baleen.strategy("precision", { dtype = dtype }) } or nil,
}
