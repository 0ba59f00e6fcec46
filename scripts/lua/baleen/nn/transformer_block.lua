--- transformer_block { heads, dim, kv_heads, head_dim, causal, rotary, documents, hidden, activation, norm = "layer",
--- epsilon, dropout = 0, bias, mlp_bias = bias, mlp, init }: x + attention(norm(x)), then x + mlp(norm(x)). `dim` is
--- checked against the input; `mlp` is a layer in the place of the mlp; the other options are those of the parts.
local attention = require "baleen.nn.attention"
local dropout = require "baleen.nn.dropout"
local layer = require "baleen.nn.layer"
local layer_norm = require "baleen.nn.layer_norm"
local mlp = require "baleen.nn.mlp"
local rms_norm = require "baleen.nn.rms_norm"

local function setup(self)
  local norm = self.norm == "layer" and layer_norm or rms_norm
  self.attention_norm = norm { name = "attention_norm", epsilon = self.epsilon }
  self.attention = attention {
    name = "attention", heads = self.heads, kv_heads = self.kv_heads, head_dim = self.head_dim,
    causal = self.causal, rotary = self.rotary, documents = self.documents, bias = self.bias, init = self.init,
  }
  self.mlp_norm = norm { name = "mlp_norm", epsilon = self.epsilon }
  local mlp_bias = self.mlp_bias
  if mlp_bias == nil then mlp_bias = self.bias end
  self.mlp = self.mlp or mlp {
    name = "mlp", hidden = self.hidden, activation = self.activation, bias = mlp_bias, init = self.init,
  }
  self.drop_attention = dropout { name = "attention_dropout", p = self.dropout }
  self.drop_mlp = dropout { name = "mlp_dropout", p = self.dropout }
end

return layer.define {
  kind = "transformer_block",
  label = "block",
  options = {
    dim = { type = "integer", min = 1 },
    heads = { type = "integer", required = true, min = 1 },
    kv_heads = { type = "integer", min = 1 },
    head_dim = { type = "integer", min = 1 },
    causal = { type = "boolean", default = false },
    rotary = { type = "boolean|table", default = false },
    documents = { type = "string" },
    hidden = { type = "integer", min = 1 },
    activation = { type = "string" },
    norm = { type = "string", default = "layer", choices = { "layer", "rms" } },
    epsilon = { type = "number", min = 0 },
    dropout = { type = "number", default = 0, min = 0, max = 0.99 },
    bias = { type = "boolean", default = true },
    mlp_bias = { type = "boolean" },
    mlp = { type = "table" },
    init = { type = "table" },
  },
  setup = setup,
  forward = function(self, x)
    if self.dim and self.dim ~= x.shape[x.rank] then
      self:fail(("`dim` is %d, but the input is %s"):format(self.dim, tostring(x)))
    end
    x = x + self.drop_attention(self.attention(self.attention_norm(x)))
    return x + self.drop_mlp(self.mlp(self.mlp_norm(x)))
  end,
}
