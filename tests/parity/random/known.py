"""Mistakes that random plans have found and that are mended: the smallest cases, and what comes of each."""
from case import Case

DATA = ({"data": 2}, [("data", {})])
LINE = ({"tensor": 2}, [("tensor", {})])
GRID = ({"tensor": 4}, [("tensor", {"mode": "2d"})])
SQUARE = ({"tensor": 9}, [("tensor", {"mode": "2d"})])
HALVES = ({"data": 2}, [("zero", {"stage": 2}), ("precision", {"dtype": "fp16"})])
RING = ({"tensor": 4, "sequence": 4}, [("tensor", {"mode": "2d"}), ("sequence", {"mode": "ring"})])


def _case(script, place, given, **more):
    return Case(f"{script}.lua", *place, given, **more)


def _staged(script, schedule, given, mode, *more):
    """On two stages, beside tensor parallelism in this mode."""
    mesh = {"pipeline": 2, "tensor": 4 if mode == "2d" else 2}
    plan = [("pipeline", {"schedule": schedule}), ("tensor", {"mode": mode}), *more]
    return _case(f"newcomers/{script}", (mesh, plan), given)


def _few_digits(script, place, dtype, given):
    """In fp32 with 16 bits in it, gradients of weights in fp32."""
    mesh, plan = place
    return _case(f"newcomers/{script}", (mesh, [*plan, ("precision", {"dtype": dtype, "gradients": "fp32"})]), given,
                 dtype="fp32")


MEGATRON = ("sequence", {"mode": "megatron"})
FOUR = {"batch": 8, "accumulate": 4}


# name: a case, and its outcome or a part of what refuses it
CASES = {
    # A rank's piece that is short in one dimension and empty in the other ended in a recursion without end.
    **{f"HiddenOf{hidden}OnASquare": (_case("known/two_layers", SQUARE, {"hidden": hidden}), "equal")
       for hidden in (5, 8)},
    "FourHeadsOnASquare": (_case("zoo/language", SQUARE, {"heads": 4, "context": 8}), "equal"),
    "SixTokensInARingOfFour": (_case("zoo/encoder", RING, {"heads": 2, "context": 6}, command="plan"),
                               "does not divide into 4 equal parts"),
    # A weight that is sliced before its products was cut along the sliced dimension where all its sizes are equal.
    "ASlicedWeightOfEqualSizes": (_case("zoo/convolution", SQUARE, {"dim": 3, "batch": 5}), "equal"),
    # One rank refused what several computed.
    "AStatisticOfTheBatch": (_case("known/statistic", DATA, {"accumulate": 2}), "equal"),
    # Both cuts of a product are legal, by whatever names its dimensions have.
    **{f"DimensionNumber{dim}Of{rows.title()}And{columns.title()}":
       (_case("known/own_product", LINE, {"dim": dim, "rows": rows, "columns": columns}), "equal")
       for dim in (1, 2) for rows, columns in (("ff", "embed"), ("embed", "ff"), ("ff", "other"))},
    "NothingToCut": (_case("known/own_product", LINE, {"dim": 1}), "there is nothing to cut along `tensor`"),
    # A pattern that matches nothing was taken without a word.
    "AFrozenNameWithATypingError": (_case("known/two_layers", DATA, {"frozen": "heat.*"}), "did you mean `head.*`"),
    # A state's new value was to be made behind a reader of the old one, which waited for a call behind one that needed it.
    "AdafactorWithClippingAndALossScale": (_case("zoo/mixer", HALVES, {"optimizer": "adafactor", "dim": 8, "clip": 0.5},
                                                 dtype="fp32"), "equal"),
    # A value without a name was called ``.
    "ACutThatANamelessResultIsTooShortFor": (_case("zoo/patches", DATA, {"heads": 2, "dim": 12, "batch": 4, "pool": "token",
                                                   "scopes": "split:data:seq"}), "`slice`: `seq` = 1 of [4, 1, 12] cannot be cut"),
    # Users were told what strategies might do.
    "ASlicedWeightThatIsCut": (_case("zoo/convolution", ({"tensor": 2}, [("tensor", {})]), {
        "heads": 4, "dim": 32, "batch": 4, "layout": "second.weight:tensor:1"}), "Keep it whole with parallel.layout"),
    # Two that rounding makes equal, of which the larger one is taken, were apart in every reference.
    "TheLargerOfTwoThatRoundingMakesEqual": (_case("zoo/convolution", (
        {"data": 1}, [("precision", {"dtype": "bf16", "gradients": "fp32"})]), {
            "optimizer": "muon", "layers": 1, "groups": True, "smoothing": 0.1, "length": 6, "batch": 6, "heads": 2, "dim": 8},
        dtype="fp32"), "equal"),
    # What a rank gathers of another stage's result stood in that stage's chunk, where all waited for each other.
    "AMemoryThatALaterChunkGathers": (_staged("cross_decoder", "interleaved", FOUR, "1d", MEGATRON), "equal"),
    # The sum of the losses began before this rank's last send, for which those who have the loss waited.
    "ALossBesideALateSend": (_staged("cross_decoder", "zero_bubble_v", FOUR, "1d", MEGATRON), "equal"),
    # Ranks that have none of a micro-batch's rows waited for what only the others read, a chunk too early.
    "AMemoryThatSomeRanksHaveNoRowOf": (_staged("cross_decoder", "zero_bubble_v", {"batch": 4, "accumulate": 4}, "2d"),
                                        "equal"),
    # What the backward pass alone read of a norm stood in an earlier chunk and drew the norm there; and what a stage
    # had been sent in the forward pass was sent to it again.
    "ANormThatGoesBackOnAGrid": (_staged("uncertain", "interleaved", {"batch": 16, "accumulate": 4}, "2d"), "equal"),
    # Only one operand of a product knew that it is of the batch, and blocks of the two did not fit.
    "ALevelOfNoiseOnAGrid": (_case("newcomers/diffusion", GRID, {"batch": 5, "accumulate": 5}),
                             "does not divide into 5 micro-batches"),
    # What was received an action ahead overwrote what a gradient of a weight had yet to read.
    "AWeightThatIsLateWithWhatItRead": (_staged("recurrent", "zero_bubble", FOUR, "2d"), "equal"),
    # Sends that gradients of weights alone read waited for such gradients of others.
    "ABookOfCodesInTwoStages": (_case("newcomers/quantised", ({"pipeline": 2}, [
        ("pipeline", {"schedule": "zero_bubble_h2"}), ("recompute", {"mode": "selective"})]), FOUR), "equal"),
    # Blocks that ran again had their inputs sent again, for which stages waited for each other.
    "BlocksThatRunAgainInAV": (_case("newcomers/deep", ({"pipeline": 2}, [
        ("pipeline", {"schedule": "zero_bubble_v"}), ("recompute", {"mode": "full"})]), FOUR), "equal"),
    # Ranks cut a batch along their stages, and waited for those of other stages.
    "ACutAlongStages": (_case("newcomers/scattered", ({"pipeline": 2}, [("pipeline", {})]), {
        **FOUR, "scopes": "split:pipeline:batch"}), "has each op on the ranks of one coordinate"),
    # What nets make of random numbers could not be made per micro-batch.
    "ALevelOfNoiseForEachRow": (_case("newcomers/diffusion", DATA, FOUR), "equal"),
    # So could what is reshaped and no more, as gradients of maxima over several dimensions are.
    "TheLargestOfEachRow": (_case("newcomers/ranking", DATA, FOUR), "equal"),
    # One row on two ranks, joined with its tokens, had pieces that are no reshapes of each other.
    "OneRowAndItsTokensOnTwoRanks": (_case("newcomers/flat", DATA, {"batch": 6, "accumulate": 6}),
                                     "cannot share them evenly where rows are joined"),
    # A gather of the forward pass began before an op of the backward pass, since that one stood further in front.
    "AGatherBesideTheBackwardPassOfAWeight": (_case("newcomers/masked_words", ({"data": 2, "tensor": 4}, [
        ("zero", {"stage": 3, "bucket_mb": 0}), ("tensor", {"mode": "2d"})]), {}), "equal"),
    "AGatherOfATableOnTwoStages": (_case("newcomers/cross_decoder", ({"data": 2, "pipeline": 2}, [
        ("zero", {"stage": 3, "prefetch": 2}), ("pipeline", {})]), FOUR), "equal"),
    # A tile was called a parameter, which no annotation has the name of.
    "ATileOfAWeightThatIsCut": (_case("newcomers/token_mixer", ({"tensor": 2}, [
        ("tensor", {}), ("offload", {"min_elements": 1, "parameters": ["*"], "tile_mb": 0.0001})]), {}),
                                "name = \"blocks.0.t2.weight\""),
    # Ranks round what they add up term by term, which references had whole: a bias whose gradient nearly cancels.
    "ABiasBehindASumOverRanks": (_few_digits("bags", ({"tensor": 3}, [("tensor", {})]), "bf16", {
        "batch": 6, "accumulate": 3, "rate": "linear"}), "equal"),
    "ABiasBehindASumOverRanksOnStages": (_few_digits("bags", ({"tensor": 2, "pipeline": 2}, [
        ("pipeline", {"schedule": "zero_bubble"}), ("tensor", {})]), "bf16", {"batch": 6, "accumulate": 6}), "equal"),
    # What goes back in fp16 was rounded at random alone, though like numbers are rounded alike.
    "ABiasWhoseTermsRoundAlikeInFp16": (_few_digits("bags", ({"pipeline": 3, "data": 2}, [
        ("pipeline", {}), ("zero", {"stage": 3, "bucket_mb": 0}), ("compress", {"method": "bf16", "min_elements": 20})]),
        "fp16", {"batch": 12, "accumulate": 6, "optimizer": "sgd_momentum", "rate": "pieces", "clip": 0.5, "decay": 0.1,
                 "every": 1}), "equal"),
    # The same in other models that rounding was said to decide in.
    **{f"FewDigitsIn{''.join(map(str.title, model.split('_')))}": (_few_digits(model, place, dtype, given), "equal")
       for model, place, dtype, given in (
           ("two_players", ({"tensor": 4, "pipeline": 2}, [("pipeline", {}), ("tensor", {"mode": "2d"})]), "bf16",
            {"batch": 16, "accumulate": 8, "optimizer": "lamb", "rate": "linear"}),
           ("shared_experts", ({"data": 2, "tensor": 2}, [("zero", {"stage": 2}), ("tensor", {})]), "fp16", FOUR),
           ("distillation", ({"tensor": 4, "data": 2}, [("data", {}), ("tensor", {"mode": "2d"})]), "bf16",
            {"batch": 2, "rate": "linear", "clip": 0.01}),
           ("cross_decoder", ({"data": 2, "tensor": 3}, [("zero", {"stage": 3}), ("tensor", {})]), "bf16", FOUR))},
    # Adafactor divides noise by itself, in those elements of a gradient that are noise: those of an attention's keys.
    "ABiasOfKeysAmongOthers": (_case("newcomers/odd_heads", ({"tensor": 4}, [("tensor", {}), MEGATRON]), {
        "batch": 8, "accumulate": 8, "optimizer": "adafactor", "rate": "number"}), "equal"),
    # What is held out was found to be too little after the last step; now it is a short batch.
    "LessHeldOutThanABatch": (_case("known/two_layers", DATA, {"batch": 32, "held_out": 0.2}), "equal"),
}

# Plans whose `--exact` joined ranks of several classes: an annotation cuts a weight along an axis that ZeRO shards over too.
EXACT = {f"{weight}InStage{stage}": _case("zoo/language", (
    {"data": 6, "sequence": 2}, [("zero", {"stage": stage, "also": ["sequence"]}), ("sequence", {"mode": "ulysses"})]),
    {"heads": 4, "context": 8, "batch": 12, "dim": 16, "layout": f"{weight}:sequence:1"})
    for weight in ("blocks.0.mlp.up.weight", "head.weight") for stage in (1, 3)}
