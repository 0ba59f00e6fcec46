---@meta baleen
-- What editors (LuaLS) complete and check. Point `Lua.workspace.library` at this folder. Never run.

---@class baleen
---@field nn baleen.nn
---@field ops baleen.ops
---@field data baleen.data
---@field init baleen.init
---@field schedule baleen.schedules
---@field parallel baleen.parallel
---@field models baleen.models
local baleen = {}

---Models of the shapes that Hugging Face's transformers has, by a config.json.
---@class baleen.models
---@field source? string what --load names
local models = {}

---@class baleen.models.options
---@field config? string | table a folder, a config.json, or its keys; what --load names unless given
---@field map? table a map of your own
---@field head? string what the model ends with, by the map's name for it
---@field vocab_multiple? integer the vocabulary is padded to a multiple of it
---@field dropout? number

---The model that `--load FOLDER` fills. `layer:hidden(...)`: what stands before its head.
---@param options baleen.models.options
---@return baleen.layer
function models.load(options) end

---The same, for models that --load does not fill.
---@param options baleen.models.options
---@return baleen.layer
function models.build(options) end

---What a kind of model is called in files, and how it is built; scripts/lua/baleen/models/map.lua has all fields.
---@param options { name: string, types: string[], heads: table<string, string>, default: string, prefix?: string, bare?: string[], ignored?: string[], earlier?: table<string, string>, unused?: fun(head: string): string[], build?: fun(config: table, given: table): baleen.layer, tensors: fun(config: table, given: table, add: fun(rule: table)) }
---@return table
function models.map(options) end

---The folder that --load names, where it holds a tokenizer.
---@return string?
function models.tokenizer() end

---Layouts by hand: they change where things lie, never what is computed. The innermost scope wins, `layout` stands above
---scopes, all stand above strategies. A mesh without the axis changes nothing.
---@class baleen.parallel
local parallel = {}

---What is made inside the body, a function or a layer, and has the logical axis `dim` is cut along the mesh axis.
---@param given { axis: string, dim: string }
---@return fun(body: function | baleen.layer, ...): ... calls the body with what follows it
function parallel.split(given) end

---What is made inside the body is whole on every rank of the mesh axis.
---@param given { axis: string }
---@return fun(body: function | baleen.layer, ...): ... calls the body with what follows it
function parallel.replicate(given) end

---Around a model's forward code: a step's batch is cut into as many micro-batches, which go through its stages in turn.
---@param given { micro_batches: integer }
---@return fun(body: function | baleen.layer, ...): ... calls the body with what follows it
function parallel.pipeline(given) end

---What is made inside the body is a stage of a pipeline: the next one, or the one of `index`, from 1.
---@param given { index?: integer }
---@return fun(body: function | baleen.layer, ...): ... calls the body with what follows it
function parallel.stage(given) end

---Of parameters and of the data's fields by name, of a layer's result by its path; patterns take `*` and `?`. `dim`: from
---1, -1 for the last, or a logical axis. Stands beside the model, not inside.
---@param given { name: string | string[], axis: string, placement: "shard" | "replicate", dim?: integer | string }
function parallel.layout(given) end

---A function of the step (from 0) and of the job's number of steps; or a number.
---@alias baleen.schedule number | fun(step: integer, steps: integer): number

---What is known after a step, or after an evaluation; metrics by their names, a strategy's too.
---@class baleen.facts
---@field step integer
---@field loss number of a step; the mean over its rows
---@field gradient_norm number of a step, before clipping
---@field lr number of a step
---@field held_out_loss number of an evaluation
---@field step_ms number of a step, as the next ones
---@field data_ms number of it waiting for data
---@field forward_ms number
---@field backward_ms number
---@field update_ms number
---@field units_per_second number rows or tokens
---@field flops_per_second number
---@field memory_bytes number
---@field memory_peak_bytes number
---@field [string] number

---@class baleen.group
---@field match string | string[] patterns of parameter names: `*` any text, `?` one character; of several groups
---that match a parameter the first is taken
---@field frozen? boolean these parameters are not trained
---@field [string] any the optimizer's own options, for these parameters

---@class baleen.job.checkpoint
---@field folder? string relative to the working folder; "checkpoints"
---@field plugin? string the best that writes shards
---@field every? integer steps
---@field minutes? number
---@field keep? integer of the last; 3; 0: all
---@field best? boolean the one of lowest held-out loss is saved and stays
---@field memory_mb? number that a save may take of each rank; 0: no bound
---@field grace? number seconds from a signal on

---@class baleen.job.evaluate
---@field every? integer steps between evaluations; 0: only at the end
---@field batches? integer 0: the whole held-out part

---@class baleen.job.generate
---@field prompt? string
---@field tokens? integer
---@field temperature? number 0: always the likeliest
---@field top_k? integer only of so many likeliest tokens; 0: of all
---@field top_p? number only of the fewest tokens whose probabilities add up to it; 1: of all
---@field stop? string what follows ends behind this text

---@class baleen.program.input
---@field dtype? "fp32" | "int32" | "int64" | "uint8" fp32: the job's own floating dtype
---@field shape integer[]
---@field axes? string[] a logical axis per dimension, "" where none

---@class baleen.program
---@field inputs table<string, baleen.program.input>
---@field run fun(inputs: table<string, baleen.tensor>): table<string, baleen.tensor> describes the outputs by name
---@field replicated? boolean every rank computes all of it
---@field optimizer? baleen.optimizer each run updates parameters by the outputs `loss` and, where it is there, `weight`
---@field parameters? string[] patterns of the parameters that it updates; all unless given
---@field clip_grad_norm? number global norm of its gradient; 0: none

---@alias baleen.measure fun(output: baleen.tensor, target: baleen.tensor, fields: table): baleen.tensor, baleen.tensor | number

---@class baleen.job.options
---@field model baleen.layer | fun(input: baleen.tensor, fields: table<string, baleen.tensor>): baleen.tensor
---@field loss baleen.measure returns a sum over the batch, and the weight to divide it by
---@field metrics? table<string, baleen.measure> by names of letters, digits, `_` and `-`, none that a run tells itself (`loss`, `lr`)
---@field data baleen.dataset
---@field input? string the field that the model is given; the first unless named
---@field target? string the field that the loss is given; the last unless named
---@field batch integer rows in a step
---@field steps integer
---@field seed? integer of everything random
---@field gradient_accumulation_steps? integer micro-batches in a step
---@field clip_grad_norm? number global norm of the gradient; 0: none
---@field check? { every?: integer, memory?: boolean } updates (steps, runs of programs that learn) after which ranks compare their copies of tensors (100; 0: never), and whether updates compare what they read with what the last one wrote (true)
---@field on_nan? "stop" | "continue" after a step whose loss or gradient is NaN or infinite; "stop": exit code 6
---@field optimizer baleen.optimizer
---@field plan? baleen.strategy[]
---@field evaluate? baleen.job.evaluate
---@field checkpoint? baleen.job.checkpoint saves the run as it goes on
---@field generate? baleen.job.generate text that the model writes at the end
---@field programs? table<string, baleen.program> run by name with inputs of the caller
---@field loop? fun(job: baleen.job, run: baleen.run) instead of the library's train.lua
---@field on_step? fun(facts: baleen.facts, run: baleen.run)
---@field on_evaluate? fun(facts: baleen.facts, run: baleen.run)

---@class baleen.job: baleen.job.options
---@class baleen.optimizer
---@class baleen.strategy

---What a script returns.
---@param options baleen.job.options
---@return baleen.job
function baleen.job(options) end

---@param name string a plugin of kind optimizer
---@param options? { groups?: baleen.group[], [string]: any }
---@return baleen.optimizer
function baleen.optimizer(name, options) end

---@param name string a plugin of kind strategy
---@param options? table<string, any>
---@return baleen.strategy
function baleen.strategy(name, options) end

---An argument that stands after `--` on the command line. Without a default it must be given.
---@generic T
---@param name string
---@param default? T
---@return T
function baleen.arg(name, default) end

---Is the graph that is described now one that is trained: the job's own, or a program with an optimizer?
---@return boolean
function baleen.training() end

---@class baleen.schedules
---@field constant fun(options: { value: number }): baleen.schedule
---@field linear fun(options: { peak: number, warmup?: integer, final?: number, steps?: integer }): baleen.schedule
---@field cosine fun(options: { peak: number, warmup?: integer, final?: number, steps?: integer }): baleen.schedule
---@field inverse_sqrt fun(options: { peak: number, warmup: integer }): baleen.schedule
---@field warm_up fun(options: { to: baleen.schedule, warmup: integer }): baleen.schedule
---@field piecewise fun(options: { points: number[][], smooth?: boolean }): baleen.schedule

---@param options { value: number }
---@return baleen.schedule
function baleen.constant(options) end

---@param options { peak: number, warmup?: integer, final?: number, steps?: integer }
---@return baleen.schedule
function baleen.linear(options) end

---@param options { peak: number, warmup?: integer, final?: number, steps?: integer }
---@return baleen.schedule
function baleen.cosine(options) end

---@param options { peak: number, warmup: integer }
---@return baleen.schedule
function baleen.inverse_sqrt(options) end

---@param options { to: baleen.schedule, warmup: integer }
---@return baleen.schedule
function baleen.warm_up(options) end

---@param options { points: number[][], smooth?: boolean }
---@return baleen.schedule
function baleen.piecewise(options) end

---@class baleen.initializer

---@class baleen.init
---@field zeros baleen.initializer
---@field ones baleen.initializer
---@field constant fun(value: number): baleen.initializer
---@field normal fun(deviation: number, mean?: number): baleen.initializer
---@field uniform fun(low: number, high: number): baleen.initializer
---@field fan_in fun(gain?: number): baleen.initializer deviation gain / sqrt(inputs)

---Rows of text. Every option: `baleen plugins text`.
---@class baleen.text_options
---@field path string | string[] file, folder or pattern
---@field tokenizer? "auto" | "bytes" | "chars" | "u16" | "llmc" | string or the path of a tokenizer's file or folder
---@field context? integer tokens in a row
---@field held_out? number share at the end that is kept back
---@field held_out_every? integer every n-th file is kept back
---@field held_out_path? string | string[]
---@field extensions? string | string[]
---@field shuffle? boolean
---@field separator? string what ends a document
---@field separator_token? integer the same by its number
---@field documents? "none" | "files" | "lines" | "jsonl" what gets a separator behind it
---@field json_field? string
---@field mask_boundaries? boolean targets that begin another document are -1
---@field cache? "beside" | "none" | string or the folder of token caches
---@field vocab? integer

---`data.<plugin> { options }` opens a data set.
---@class baleen.data
---@field text fun(options: baleen.text_options): baleen.dataset
---@field [string] fun(options: table<string, any>): baleen.dataset

---@class baleen.field
---@field name string
---@field dtype string
---@field shape integer[] of one row
---@field axes string[]
---@field length? string of a field of lists: the field with their lengths

---@class baleen.dataset
---@field vocab integer number of distinct ids
---@field classes integer the same number
---@field rows integer rows of the train part
---@field held_out_rows integer
---@field fields baleen.field[]
---@field unit string
---@field summary string
local dataset = {}

---@param text string
---@return integer[]
function dataset:encode(text) end

---@param ids integer[]
---@return string
function dataset:decode(ids) end

---What a training loop drives.
---@class baleen.run
---@field step_count integer steps done
---@field programs table<string, { inputs: table<string, baleen.type>, outputs: table<string, baleen.type> }>
local run = {}

---@class baleen.type
---@field dtype string
---@field shape integer[]

---Numbers that a program gave, row-major. `#array` is how many there are, `array[i]` one of them.
---@class baleen.array
---@field shape integer[]
---@field [integer] number
local array = {}

---@param first? integer from 1
---@param count? integer all that follow
---@return number[]
function array:values(first, count) end

---Runs a program of the job. With several ranks all of them do, with the same inputs.
---@param program string
---@param inputs table<string, number[] | baleen.array>
---@return table<string, baleen.array>
function run:run(program, inputs) end

---@return baleen.facts facts `step`, `loss`, `gradient_norm`, …
function run:step() end

---@param batches? integer
---@return baleen.facts
function run:evaluate(batches) end

---Logits of the token that follows these.
---@param tokens integer[]
---@return number[]
function run:logits(tokens) end

---@param path string
function run:save(path) end

--- Saves the whole run now, where the job or the manifest has `checkpoint`.
function run:checkpoint() end

return baleen
