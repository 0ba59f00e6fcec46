--- map { name, types, heads, build, tensors, ... }: what a kind of model is called in config.json, how it is built
--- here, and which tensors of its files are which parameters. Maps of your own are tables like those beside this file.
---   types: values of `model_type` in config.json
---   heads: what the model ends with, by our name, as { lm = "GPT2LMHeadModel", none = "GPT2Model" }: the architecture
---     in config.json; `default` is the one where config.json names none
---   prefix: what names in files may begin with or not ("transformer."); `tensors` gives them with it
---   bare: heads whose files are written without the prefix, as { "none" }
---   ignored: patterns of tensors that are no parameters
---   unused(head): patterns of tensors that a model with this head leaves out
---   earlier: endings of names as older files have them, as { [".gamma"] = ".weight" }
---   build(config, given): the model as a layer; `given`: head, vocab_multiple, dropout
---   tensors(config, given, add): calls add { ours, theirs, form, ... } for every parameter:
---     ours: our name; theirs: theirs, or a list of names that `stack` puts together
---     form: letters of their dimensions and of ours, as "(h d) e -> e h d": equal letters are equal dimensions, those
---       in parentheses are one dimension. One side alone: both are equal
---     sizes: extents of all letters
---     stack: the letter of ours that counts the list `theirs`
---     padded: a letter that may be longer here than there: filled with zeros when read, cut when written
---     copies: further names of the same tensor (tied weights): may be there, and are never written
---     optional: may be missing there; then the parameter keeps its first value
local core = require "baleen.core"
local options = require "baleen.options"

local rules = {
  name = { type = "string", required = true },
  types = { type = "table", required = true },
  heads = { type = "table", required = true },
  default = { type = "string", required = true },
  prefix = { type = "string", default = "" },
  bare = { type = "table", default = {} },
  ignored = { type = "table", default = {} },
  earlier = { type = "table", default = {} },
  build = { type = "function" },
  unused = { type = "function", default = function() return {} end },
  tensors = { type = "function", required = true },
}

local tensor_rules = {
  ours = { type = "string", required = true },
  theirs = { type = "string|table", required = true },
  form = { type = "string", required = true },
  sizes = { type = "table", required = true },
  stack = { type = "string", default = "" },
  padded = { type = "string", default = "" },
  copies = { type = "table", default = {} },
  optional = { type = "boolean", default = false },
}

local function texts(what, list)
  for i, text in ipairs(list) do options.expect(("%s %d"):format(what, i), text, "string") end
  return list
end

local Map = {}
Map.__index = Map

--- The rules of one model, as the core reads them. `at`: the layer's path, under which our names stand.
function Map:rules(config, given, at)
  local list, names, tensors = {}, {}, 0
  local prefix = at == "" and "" or at .. "."
  self.tensors(config, given, core.entry(function(rule)
    local what = "map `" .. self.name .. "`"
    if type(rule) == "table" and type(rule.ours) == "string" then what = what .. ": `" .. rule.ours .. "`" end
    local one = options.check(what, rule, tensor_rules)
    if type(one.theirs) == "string" then one.theirs = { one.theirs } end
    if #one.theirs == 0 then core.fail(what .. ": `theirs` is empty; it must be a name or a list of names") end
    tensors = tensors + #one.theirs
    if tensors > 1000000 then core.fail(what .. ": more than 1000000 tensors") end
    texts(what .. ": `theirs`", one.theirs)
    texts(what .. ": `copies`", one.copies)
    if names[one.ours] then core.fail(what .. ": a second rule for this parameter") end
    names[one.ours] = true
    one.letters, one.extents = {}, {}
    for letter, extent in pairs(one.sizes) do
      if type(letter) ~= "string" or math.type(extent) ~= "integer" or extent < 1 then
        core.fail(("%s: `sizes` holds %s = %s; it must be letters and integers from 1 on"):format(what,
          core.describe(letter), core.describe(extent)))
      end
      one.letters[#one.letters + 1], one.extents[#one.extents + 1] = letter, extent
    end
    one.ours, one.where = prefix .. one.ours, core.where()
    list[#list + 1] = one
  end))
  if #list == 0 then core.fail("map `" .. self.name .. "` gives no tensors") end
  return list
end

--- The head that is meant: the one given, else by config.json's architecture.
function Map:head(config, given)
  local names, known = {}, {}
  for head, architecture in pairs(self.heads) do
    names[#names + 1], known[architecture] = head, head
  end
  if given then
    if not self.heads[given] then core.fail(self.name .. ": " .. core.unknown_word("head", given, names)) end
    return given
  end
  local architecture = config:architecture()
  if not architecture then return self.default end
  return known[architecture] or config:fail(("`architectures` names %s, for which the map `%s` has no head; heads: "
    .. "%s; say which is meant with `head`"):format(core.describe(architecture), self.name, table.concat(names, ", ")))
end

--- Is it for this config?
function Map:fits(config)
  for _, name in ipairs(self.types) do
    if config.values.model_type == name then return true end
  end
  return false
end

return core.entry(function(given)
  if getmetatable(given) == Map then return given end
  local map = options.check("map", given, rules)
  texts("map: `types`", map.types)
  texts("map: `bare`", map.bare)
  texts("map: `ignored`", map.ignored)
  map.earlier_names, map.later_names = {}, {}
  for earlier, later in pairs(map.earlier) do
    options.expect("map: `earlier`", earlier, "string")
    options.expect("map: `earlier`", later, "string")
    map.earlier_names[#map.earlier_names + 1], map.later_names[#map.later_names + 1] = earlier, later
  end
  if not map.heads[map.default] then core.fail("map: `default` is " .. map.default .. ", which `heads` lacks") end
  return setmetatable(map, Map)
end)
