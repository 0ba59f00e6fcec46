-- Goes on from a model of Hugging Face's `transformers`: trains it further on text; programs give its output, and the
-- embeddings of sentences. `--load FOLDER` names the model, and the script reads from there what it is:
--   baleen run train.lua --load FOLDER -- --data TEXT
-- Without a folder it begins a small GPT-2 of its own, which transformers can read when it is exported.
local baleen = require "baleen"
local models, nn, ops = baleen.models, baleen.nn, baleen.ops

local small = {
  model_type = "gpt2", n_embd = 64, n_head = 4, n_layer = 2, n_positions = 128, vocab_size = 256,
}
local from = baleen.arg("config", "") -- of parameters of our own in --load: config.json, or its folder
local head = baleen.arg("head", "")
local net = models.load {
  config = from ~= "" and from or not models.source and small or nil, head = head ~= "" and head or nil,
  vocab_multiple = baleen.arg("vocab_multiple", 1),
}

local rows, length = baleen.arg("rows", 4), baleen.arg("length", 64)
local tokens = { dtype = "int32", shape = { rows, length }, axes = { "batch", "seq" } }

--- The mean of the tokens that stand (their document is 0, not -1), of length 1, as sentence transformers have it.
local function embedded(inputs)
  local x = net:hidden(inputs.tokens, { documents = inputs.documents })
  local ids = ops.reshape(inputs.documents, { rows, length, 1 })
  local kept = ops.pointwise(function(value, id) return ops.select(ops.lt(id, 0), 0, value) end, x, ids)
  local count = ops.sum(ops.pointwise(function(id) return ops.select(ops.lt(id, 0), 0, 1) end, inputs.documents), 2)
  local mean = ops.sum(kept, 2) / ops.reshape(count, { rows, 1 })
  return { embedding = mean / ops.max(ops.sqrt(ops.sum(mean * mean, -1, true)), 1e-12) }
end

local programs = {
  output = { inputs = { tokens = tokens }, run = function(inputs) return { output = net(inputs.tokens) } end },
}
if net.kind == "bert" then
  programs.embed = { inputs = { tokens = tokens, documents = tokens }, run = embedded }
  programs.output = {
    inputs = { tokens = tokens, types = tokens, documents = tokens },
    run = function(inputs) return { output = net(inputs.tokens, inputs) } end,
  }
elseif net.kind == "vit" then
  local images = { shape = { rows, net.channels, net.image, net.image }, axes = { "batch" } }
  programs.output = { inputs = { images = images }, run = function(inputs) return { output = net(inputs.images) } end }
end

local text = baleen.arg("data", models.source and "" or "/usr/include/c++")
local tokenizer = baleen.arg("tokenizer", models.tokenizer() or "bytes")
if text == "" then return baleen.job { model = net, programs = programs } end

return baleen.job {
  model = net, loss = nn.cross_entropy {},
  data = baleen.data.text { path = text, tokenizer = tokenizer, context = length },
  batch = rows, steps = 100, clip_grad_norm = 1.0, programs = programs,
  optimizer = baleen.optimizer("adamw", { lr = baleen.cosine { peak = 1e-4, warmup = 10 }, weight_decay = 0.1 }),
}
