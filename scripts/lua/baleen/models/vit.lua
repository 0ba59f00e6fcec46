--- ViT (arXiv 2010.11929): images [batch, channels, height, width] are cut into patches, each one linearly embedded; a
--- class token in front, learned positions, norms before. Gives logits [batch, labels] of the class token, or, with the
--- head "none", hidden states [batch, 1 + patches, width].
local encoder = require "baleen.models.encoder"
local initializer = require "baleen.initializer"
local layer = require "baleen.nn.layer"
local map = require "baleen.models.map"
local nn = require "baleen.nn"
local ops = require "baleen.ops"
local rules = require "baleen.models.rules"

--- [batch, channels, height, width] to [batch, patches, channels, size, size], row by row.
local function patches_of(self, images)
  local size = self.patch
  if images.rank ~= 4 or images.shape[2] ~= self.channels or images.shape[3] ~= self.image
    or images.shape[4] ~= self.image then
    self:fail(("images must be [batch, %d, %d, %d], and are %s"):format(self.channels, self.image, self.image,
      tostring(images)))
  end
  local batch, side = images.shape[1], self.image // size
  local cut = ops.reshape(images, { batch, self.channels, side, size, side, size })
  return ops.reshape(ops.transpose(cut, { 1, 3, 5, 2, 4, 6 }), { batch, side * side, self.channels, size, size })
end

local vit = layer.define {
  kind = "vit",
  options = {
    image = { type = "integer", required = true },
    patch = { type = "integer", required = true },
    channels = { type = "integer", required = true },
    dim = { type = "integer", required = true },
    blocks = { type = "table", required = true },
    epsilon = { type = "number", required = true },
    head = { type = "string", required = true },
    labels = { type = "integer", required = true },
    init = { type = "table", default = initializer.normal(0.02) },
  },
  setup = function(self)
    self.patches = nn.linear { name = "patches", out = self.dim, over = 3, axes = { "embed" } }
    self.norm = nn.layer_norm { name = "norm", epsilon = self.epsilon }
    if self.head == "classifier" then self.classifier = nn.linear { name = "classifier", out = self.labels } end
    if self.head == "pooler" then self.pooler = nn.linear { name = "pooler", out = self.dim, axes = { "embed" } } end
  end,
  children = function(self) return { self.patches, self.blocks, self.norm } end,
  --- The last hidden states, the class token's first.
  hidden = function(self, images)
    return self:within(function()
      local x = self.patches(patches_of(self, images))
      local count = x.shape[2]
      local token = self:parameter("class_token", { self.dim }, { axes = { "embed" }, init = self.init })
      local positions = self:parameter("positions", { count + 1, self.dim },
        { axes = { "", "embed" }, init = self.init })
      local first = ops.pad(ops.reshape(token, { 1, self.dim }), 1, 0, count)
      return self.norm(self.blocks(ops.pad(x, 2, 1, 0) + (positions + first)))
    end)
  end,
  forward = function(self, images)
    local x = self:hidden(images)
    if self.head == "none" then return x end
    local first = ops.reshape(ops.slice(x, 2, 1, 1), { x.shape[1], x.shape[3] })
    return self.classifier and self.classifier(first) or ops.tanh(self.pooler(first))
  end,
}

local function sides(config)
  local image, patch = config:integer("image_size"), config:integer("patch_size")
  if image % patch ~= 0 then
    config:fail(("`image_size` %d does not divide into patches of %d"):format(image, patch))
  end
  return image, patch
end

local function build(config, given)
  local width = config:integer("hidden_size")
  local image, patch = sides(config)
  config:only("qkv_bias", true)
  config:only("pooler_act", "tanh")
  config:only("pooler_output_size", width)
  local epsilon = config:number("layer_norm_eps", 1e-12)
  return vit {
    image = image, patch = patch, channels = config:integer("num_channels", 3), dim = width, epsilon = epsilon,
    blocks = encoder.blocks(config:count("num_hidden_layers"), {
      norm = "before", heads = config:heads("num_attention_heads", width), hidden = config:integer("intermediate_size"),
      activation = config:activation("hidden_act", "gelu"), epsilon = epsilon, dropout = given.dropout,
    }),
    head = given.head, labels = config:labels(),
  }
end

local function tensors(config, given, add)
  local width = config:integer("hidden_size")
  local heads = config:heads("num_attention_heads", width)
  local image, patch = sides(config)
  local sizes = {
    e = width, i = width, p = 3, h = heads, d = width // heads, f = config:integer("intermediate_size"),
    c = config:integer("num_channels", 3), y = patch, x = patch, s = (image // patch) * (image // patch) + 1,
    o = 1, q = 1, l = config:labels(),
  }
  local one, norm, linear = rules(add, sizes)
  one("class_token", "vit.embeddings.cls_token", "o q e -> (o q e)")
  one("positions", "vit.embeddings.position_embeddings", "o s e -> (o s) e")
  linear("patches", "vit.embeddings.patch_embeddings.projection", "e c y x -> c y x e", "e")
  for i = 0, config:count("num_hidden_layers") - 1 do
    local ours, theirs = ("blocks.%d."):format(i), ("vit.encoder.layer.%d."):format(i)
    norm(ours .. "attention_norm", theirs .. "layernorm_before")
    encoder.attention(one, ours .. "attention.", theirs .. "attention.attention.%s", theirs .. "attention.output.dense")
    norm(ours .. "mlp_norm", theirs .. "layernorm_after")
    encoder.mlp(one, ours .. "mlp.", theirs .. "intermediate.dense", theirs .. "output.dense")
  end
  norm("norm", "vit.layernorm")
  if given.head == "classifier" then linear("classifier", "classifier", "l e -> e l", "l") end
  if given.head == "pooler" then linear("pooler", "vit.pooler.dense", "e i -> i e", "e") end
end

local function unused(head)
  if head == "pooler" then return { "classifier.*" } end
  return head == "none" and { "classifier.*", "vit.pooler.*" } or { "vit.pooler.*" }
end

return map {
  name = "vit", types = { "vit" }, default = "pooler", prefix = "vit.", bare = { "none", "pooler" },
  heads = { classifier = "ViTForImageClassification", pooler = "ViTModel", none = "ViTModel without its pooler" },
  build = build, tensors = tensors, unused = unused,
}
