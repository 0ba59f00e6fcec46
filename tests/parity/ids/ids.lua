-- A small recommender: who reads, by a hash of 64 bits, and the list of what they read before, of 0 to 4 such hashes.
local baleen = require "baleen"
local nn = baleen.nn

local data = baleen.data.table {
  path = baleen.arg("data"), ids = { "user" }, lists = { "items" }, most = 4, held_out = 0.2,
}
local users = nn.embedding { name = "users", vocab = 24, dim = 8, init = baleen.init.normal(0.5) }
local items = nn.embedding { name = "items", vocab = 32, dim = 8, init = baleen.init.normal(0.5) }
local mean = nn.pooling { length = "items_length", kind = baleen.arg("pooling", "mean") }
local hidden = nn.linear { name = "hidden", out = 16, axes = { "ff" } }
local head = nn.linear { name = "head", out = data.classes }

local function read(user, list)
  local of_user = users(user:hash_bucket { buckets = 24 })
  local x = of_user + mean(items(list:hash_bucket { buckets = 32, seed = 1 }))
  return head(baleen.ops.tanh(hidden(x)))
end

return baleen.job {
  model = function(_, batch) return read(batch.user, batch.items) end,
  loss = nn.cross_entropy {}, metrics = { accuracy = nn.accuracy {} }, data = data,
  batch = baleen.arg("batch", 12), steps = 20, gradient_accumulation_steps = baleen.arg("accumulate", 1), seed = 3,
  clip_grad_norm = baleen.arg("clip", 0.0), optimizer = baleen.optimizer("adamw", { lr = 0.05 }),
  programs = {
    buckets = {
      inputs = { ids = { dtype = "int64", shape = { 6 }, axes = { "batch" } } },
      replicated = baleen.arg("whole", false), -- it has no parameters that `tensor` could cut
      run = function(inputs)
        return { rows = inputs.ids:hash_bucket { buckets = 2147483647 }, again = inputs.ids:reshape { 3, 2 } }
      end,
    },
    score = {
      inputs = {
        user = { dtype = "int64", shape = { 6 }, axes = { "batch" } },
        items = { dtype = "int64", shape = { 6, 4 }, axes = { "batch" } },
        items_length = { dtype = "int32", shape = { 6 }, axes = { "batch" } },
      },
      run = function(inputs) return { logits = read(inputs.user, inputs.items) } end,
    },
  },
}
