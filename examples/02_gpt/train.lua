-- A small GPT on real text: the C++ headers of this machine, or any file, folder or pattern given as `-- --data PATH`;
-- of bytes, or of the tokens of `-- --tokenizer PATH` (`baleen tokenizer train` makes one).
local baleen = require "baleen"
local nn, data = baleen.nn, baleen.data

local headers = "/usr/include/c++"
local path = baleen.arg("data", headers)
local corpus = data.text {
  path = path, tokenizer = baleen.arg("tokenizer", "bytes"), cache = baleen.arg("cache", "beside"), context = 128,
  held_out_every = path == headers and 20 or 0, -- whole files of the headers; of any other text the last tenth
}

local model = nn.sequential {
  nn.embedding { vocab = corpus.vocab, dim = 128, positions = 128 },
  nn.repeated(4, function() return nn.transformer_block { dim = 128, heads = 4, causal = true } end),
  nn.layer_norm {},
  nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } },
}

return baleen.job {
  model = model, loss = nn.cross_entropy {}, data = corpus,
  batch = 16, steps = 1000, clip_grad_norm = 1.0,
  optimizer = baleen.optimizer("adamw", {
    lr = baleen.cosine { peak = 1e-3, warmup = 100 }, weight_decay = 0.1,
    groups = { { match = { "*.bias", "*.gamma", "*.beta" }, weight_decay = 0 } },
  }),
  evaluate = { every = 200, batches = 64 },
  generate = { prompt = "template <", tokens = 400, temperature = 0.8 },
}
