-- Goes on from a model of Hugging Face's `transformers`: a language model is trained further on text, and programs give
-- logits, or the embeddings of sentences. `--load FOLDER` names the model; the script reads what it is from there:
--   baleen run train.lua --load FOLDER -- --data TEXT
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local rows, length = baleen.arg("rows", 4), baleen.arg("length", 64)
local text = baleen.arg("data", "")
-- Of a checkpoint that was trained from such a folder: where the folder is.
local from = baleen.arg("config", "")
local head = baleen.arg("head", "")
local net = baleen.models.load {
  config = from ~= "" and from or nil, head = head ~= "" and head or nil,
  vocab_multiple = baleen.arg("vocab_multiple", 1),
}

local tokens = { dtype = "int32", shape = { rows, length }, axes = { "batch", "seq" } }

--- The mean of the tokens that stand (id 0), of length 1, as sentence transformers have it.
local function embedded(inputs)
  local x = net:hidden(inputs.tokens, { documents = inputs.documents })
  local ids = ops.reshape(inputs.documents, { rows, length, 1 })
  local kept = ops.pointwise(function(value, id) return ops.select(ops.lt(id, 0), 0, value) end, x, ids)
  local count = ops.sum(ops.pointwise(function(id) return ops.select(ops.lt(id, 0), 0, 1) end, inputs.documents), 2)
  local mean = ops.sum(kept, 2) / ops.reshape(count, { rows, 1 })
  local norm = ops.sqrt(ops.sum(mean * mean, -1, true))
  return { embedding = mean / ops.max(norm, 1e-12) }
end

local programs = {
  output = { inputs = { tokens = tokens }, run = function(inputs) return { output = net(inputs.tokens) } end },
}
if net.kind == "bert" then
  programs.embed = { inputs = { tokens = tokens, documents = tokens }, run = embedded }
elseif net.kind == "vit" then
  local images = { shape = { rows, net.channels, net.image, net.image }, axes = { "batch" } }
  programs.output = { inputs = { images = images }, run = function(inputs) return { output = net(inputs.images) } end }
end

if text == "" then return baleen.job { model = net, programs = programs } end

return baleen.job {
  model = net, loss = nn.cross_entropy {},
  data = baleen.data.text { path = text, tokenizer = baleen.arg("tokenizer", "bytes"), context = length },
  batch = rows, steps = 100, clip_grad_norm = 1.0, programs = programs,
  optimizer = baleen.optimizer("adamw", { lr = baleen.cosine { peak = 1e-4, warmup = 10 }, weight_decay = 0.1 }),
}
