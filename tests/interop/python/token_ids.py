#!/usr/bin/env python3
"""The ids of `baleen tokenizer encode`, and the texts of `decode`, against tokenizers, transformers and sentencepiece, on
10,000 lines of mixed text and on every character; and what `baleen tokenizer train` writes, loaded by them."""
import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PLACES = ["/work/shared/data/tinyshakespeare/input.txt"]


def mixed_line(draw):
    """A line of words, accents, emoji, ideographs, controls and spaces of all kinds, without a line's end."""
    words = ["the", "of", "Naïve", "café", "façade", "Straße", "ŁÓDŹ", "İstanbul", "ΣΊΣΥΦΟΣ", "мир", "Привет", "שלום", "مرحبا",
             "नमस्ते", "ไทย", "한국어", "日本語", "中文字符", "\u3000全角", "don't", "I'LL", "we've", "it'ſ", "x²+y³", "12345", "3.14",
             "١٢٣", "Ⅷ", "½", "🙂", "👩‍👩‍👧", "🇩🇪", "👍🏽", "e\u0301", "a\u0308\u0323", "ﬁ", "ＡＢＣ", "\u200b", "\u00a0", "\u2028",
             "\u0085", "\t", "  ", "   ", "\x00", "\x01", "\x7f", "\ufeff", "\ufffd", "\u00ad", "_", "snake_case", "CamelCase",
             "foo.bar()", "a/b\\c", "<|endoftext|>", "[MASK]", "[UNK]", "«»", "“”", "…", "—", "http://x.y/z?q=1&r=2", "\r",
             "\U00020000", "\U0001f980", "\U0010ffff", "𝒳𝓎", "Ǆ", "ǆ", "ᾳ", "\u1e9e", "가", "\u1100\u1161"]
    parts = []
    for _ in range(draw.randint(0, 24)):
        kind = draw.random()
        if kind < 0.75:
            parts.append(draw.choice(words))
        elif kind < 0.85:
            parts.append("".join(chr(draw.choice([draw.randint(1, 0x24f), draw.randint(0x370, 0x1fff),
                                                  draw.randint(0x3000, 0x9fff)])) for _ in range(draw.randint(1, 4))))
        elif kind < 0.95:
            parts.append("".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(1, 9))))
        else:
            parts.append("".join(chr(draw.choice([draw.randint(0x10000, 0x1ffff), draw.randint(0xe000, 0xffff)]))
                                 for _ in range(2)))
        parts.append(draw.choice([" ", " ", " ", "", "  ", "\t"]))
    # Characters that came with later versions of Unicode are letters to one table and nothing to another.
    known = "".join(c for c in "".join(parts) if unicodedata.category(c) != "Cn")
    return known.replace("\n", " ")


def lines_of(seed):
    draw = random.Random(seed)
    lines = [mixed_line(draw) for _ in range(10_000)]
    for place in PLACES:
        if pathlib.Path(place).exists():
            lines[::4] = pathlib.Path(place).read_text().split("\n")[:len(lines[::4])]
    return lines


class Baleen:
    """The program, as the test calls it."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def run(self, *words, stdin=b""):
        done = subprocess.run([self.program, "tokenizer", *map(str, words)], input=stdin, capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"baleen tokenizer {' '.join(map(str, words))}: {done.stderr.decode()}")
        return done.stdout

    def encode(self, tokenizer, lines, *options):
        text = "".join(line + "\n" for line in lines).encode()
        out = self.run("encode", "--tokenizer", tokenizer, *options, stdin=text).decode().split("\n")
        return [[int(word) for word in line.split()] for line in out[:-1]]

    def decode(self, tokenizer, ids):
        """Texts, of which none may have a line's end."""
        text = "".join(" ".join(map(str, line)) + "\n" for line in ids).encode()
        return self.run("decode", "--tokenizer", tokenizer, stdin=text).decode(errors="replace").split("\n")[:-1]


def compare(title, lines, ours, theirs):
    wrong = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
    if len(ours) != len(theirs) or wrong:
        first = wrong[0] if wrong else 0
        sys.exit(f"{title}: {len(wrong)} of {len(lines)} lines differ; line {first}: {lines[first]!r}\n  ours   {ours[first]}\n"
                 f"  theirs {theirs[first]}")
    print(f"{title}: {len(lines)} lines alike", flush=True)


def byte_level(pattern, lines, prefix_space=False, size=3000):
    made = Tokenizer(models.BPE())
    if pattern is None:
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    else:
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=["<|endoftext|>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    made.train_from_iterator(lines, trainer)
    return made


def wordpiece(lines, lower, accents=None):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=accents)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=4000, special_tokens=specials, show_progress=False))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")])
    return made


def llama2_like(lines):
    """Byte fallback, and spaces as marks by normalising, as the files of Llama 2 and Mixtral have it."""
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=2000, special_tokens=specials, show_progress=False, limit_alphabet=60)
    short = [line[:60] for line in lines]
    made.train_from_iterator(short, trainer)
    described = json.loads(made.to_str())
    described["added_tokens"] = described["added_tokens"][:3]
    described["model"]["fuse_unk"] = True
    made = Tokenizer.from_str(json.dumps(described))
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    return made


def mixed_steps(lines):
    """Steps that no well-known model has together."""
    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Strip(left=False), normalizers.Lowercase(),
                                            normalizers.Replace(Regex(r"\s+"), " ")])
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.Split("o", "merged_with_previous"), pre_tokenizers.Metaspace(prepend_scheme="first")])
    made.decoder = decoders.Metaspace(prepend_scheme="first")
    made.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=2500, special_tokens=["[UNK]"], show_progress=False,
                                                        limit_alphabet=300))
    made.add_tokens([AddedToken("foo.bar", single_word=True), AddedToken("<SEP>", lstrip=True, rstrip=True)])
    made.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    return made


def whitespace_steps(lines):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=12))
    made.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Whitespace()])
    made.decoder = decoders.WordPiece(cleanup=False)
    made.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=3000, special_tokens=["[UNK]"], show_progress=False))
    return made


def check_file(baleen, title, made, lines):
    path = baleen.folder / (title.replace(" ", "_") + ".json")
    made.save(str(path))
    expected = [made.encode(line, add_special_tokens=False).ids for line in lines]
    ours = baleen.encode(path, lines)
    compare(title, lines, ours, expected)
    framed = [made.encode(line).ids for line in lines[:200]]
    compare(title + ", framed", lines[:200], baleen.encode(path, lines[:200], "--framed"), framed)
    texts = made.decode_batch(expected, skip_special_tokens=False)
    without = [i for i, text in enumerate(texts) if "\n" not in text]
    compare(title + ", decoded", [lines[i] for i in without], baleen.decode(path, [expected[i] for i in without]),
            [texts[i] for i in without])
    return path


def check_characters(baleen):
    """Every character within a word through each step: a vocabulary of bytes alone shows what a step made of it."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    shows = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    steps = {"BertNormalizer": (normalizers.BertNormalizer(), None), "Lowercase": (normalizers.Lowercase(), None),
             "StripAccents": (normalizers.StripAccents(), None), "NFC": (normalizers.NFC(), None),
             "NFD": (normalizers.NFD(), None), "NFKC": (normalizers.NFKC(), None), "NFKD": (normalizers.NFKD(), None),
             "BertPreTokenizer": (None, pre_tokenizers.BertPreTokenizer()), "Whitespace": (None, pre_tokenizers.Whitespace()),
             "Digits": (None, pre_tokenizers.Digits()), "Punctuation": (None, pre_tokenizers.Punctuation()),
             "ByteLevel": (None, pre_tokenizers.ByteLevel(add_prefix_space=False))}
    characters = [chr(code) for code in range(1, 0x110000) if not 0xd800 <= code < 0xe000 and code != 10]
    characters = [one for one in characters if unicodedata.category(one) not in ("Cn", "Co")]
    lines = [f"a{one}b1" for one in characters]
    for title, (normalizer, cut) in steps.items():
        made = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
        if normalizer:
            made.normalizer = normalizer
        if cut:  # a mark before each piece
            mark = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=False)
            bytes_again = [] if title == "ByteLevel" else [shows]
            made.pre_tokenizer = pre_tokenizers.Sequence(([cut, mark] if bytes_again else [cut]) + bytes_again)
        else:
            made.pre_tokenizer = shows
        path = baleen.folder / "step.json"
        made.save(str(path))
        expected = [one.ids for one in made.encode_batch(lines, add_special_tokens=False)]
        ours = baleen.encode(path, lines)
        compare(f"every character, {title}", lines, ours, expected)


def check_pair(baleen, made, lines):
    """vocab.json and merges.txt."""
    folder = baleen.folder / "pair"
    folder.mkdir()
    made.model.save(str(folder))
    compare("vocab.json and merges.txt", lines, baleen.encode(folder, lines),
            [one.ids for one in made.encode_batch(lines, add_special_tokens=False)])


def check_bert(baleen, made, lines):
    """vocab.txt, as transformers reads it."""
    from transformers import BertTokenizerFast
    for lower in (True, False):
        folder = baleen.folder / f"bert_{lower}"
        folder.mkdir()
        tokens = sorted(made.get_vocab(), key=made.token_to_id)
        (folder / "vocab.txt").write_text("".join(token + "\n" for token in tokens))
        (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lower, "tokenizer_class": "BertTokenizer"}))
        theirs = BertTokenizerFast.from_pretrained(str(folder))
        compare(f"vocab.txt, lower case {lower}", lines, baleen.encode(folder, lines),
                [theirs.encode(line, add_special_tokens=False) for line in lines])


def check_sentencepiece(baleen, lines):
    source = baleen.folder / "sentences.txt"
    source.write_text("".join(line.replace("\r", " ").replace("\0", " ") + "\n" for line in lines))
    for kind in ("unigram", "bpe"):
        for options in ({}, {"byte_fallback": True, "normalization_rule_name": "identity", "split_digits": True}):
            name = kind + "_" + str(len(options))
            sentencepiece.SentencePieceTrainer.train(
                input=str(source), model_prefix=str(baleen.folder / name), vocab_size=9000, model_type=kind,
                character_coverage=0.98, minloglevel=2, num_threads=1, user_defined_symbols=["<|endoftext|>"], **options)
            path = baleen.folder / (name + ".model")
            theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
            expected = theirs.encode(lines)
            ours = baleen.encode(path, lines)
            # Of ways that score the same, versions of the library take different ones: the same pieces in another order.
            tied = [i for i, (a, b) in enumerate(zip(ours, expected)) if a != b and sorted(a) == sorted(b)]
            if kind == "bpe" or len(tied) > 5:
                tied = []
            for i in tied:
                ours[i] = expected[i]
            compare(f"sentencepiece {name} ({len(tied)} ties)", lines, ours, expected)
            texts = theirs.decode(expected)
            without = [i for i, text in enumerate(texts) if "\n" not in text]
            compare(f"sentencepiece {name}, decoded", [lines[i] for i in without],
                    baleen.decode(path, [expected[i] for i in without]), [texts[i] for i in without])


JOB = """
local baleen = require "baleen"
local nn = baleen.nn
local corpus = baleen.data.text {
  path = "long.txt", tokenizer = baleen.arg("tokenizer"), cache = baleen.arg("cache"), context = 8,
}
return baleen.job {
  model = nn.sequential { nn.embedding { vocab = corpus.vocab, dim = 4 }, nn.linear { name = "head", out = corpus.vocab } },
  loss = nn.cross_entropy {}, data = corpus, batch = 1, steps = 1, optimizer = baleen.optimizer("sgd", { lr = 0.1 }),
}
"""


def check_cache(baleen, title, text):
    """A file of several megabytes, which a data set tokenizes in parts on several threads: its cache has the ids of the
    whole."""
    (baleen.folder / "long.txt").write_bytes(text.encode())
    (baleen.folder / "job.lua").write_text(JOB)
    path, kept = baleen.folder / (title + ".json"), baleen.folder / ("kept_" + title)
    subprocess.run([baleen.program, "graph", baleen.folder / "job.lua", "--", "--tokenizer", path, "--cache", kept],
                   stdout=subprocess.DEVNULL, check=True)
    data = next(kept.glob("*.tokens")).read_bytes()
    magic, version, width, runs, count = struct.unpack_from("<8sII16xQQ", data)
    assert (magic, version, runs) == (b"BALEENTK", 1, 1)
    ours = list(struct.unpack_from(f"<{count}{'H' if width == 2 else 'I'}", data, 64 + 8 * runs))
    compare(f"cache of {len(text.encode()) / 1e6:.1f} MB, {title}", [""], [ours],
            [Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids])


def check_training(baleen, lines):
    source = baleen.folder / "training.txt"
    text = "\n".join(lines)[:1_000_000]
    source.write_bytes(text.encode()[:1 << 20].decode(errors="ignore").encode())
    text = source.read_bytes().decode()
    for options in ([], ["--option", "pattern=llama3"]):
        path = baleen.folder / "own.json"
        baleen.run("train", "--kind", "bpe", "--vocab", 3000, "--out", path, source, *options)
        own = Tokenizer.from_file(str(path))
        theirs = byte_level(LLAMA3 if options else None, [text])
        merges = [json.loads(one.to_str())["model"]["merges"] for one in (own, theirs)]
        same = next((i for i, (a, b) in enumerate(zip(*merges)) if a != b), min(map(len, merges)))
        print(f"train bpe {options}: the first {same} of {len(merges[1])} merges are those of their trainer", flush=True)
        if same < len(merges[1]):
            sys.exit(f"their trainer merges otherwise: {merges[0][same]} and {merges[1][same]}")
        compare("trained bpe", lines, baleen.encode(path, lines), [one.ids for one in own.encode_batch(lines)])
    path = baleen.folder / "own_wordpiece.json"
    baleen.run("train", "--kind", "wordpiece", "--vocab", 3000, "--out", path, source)
    own = Tokenizer.from_file(str(path))
    compare("trained wordpiece", lines, baleen.encode(path, lines, "--framed"), [one.ids for one in own.encode_batch(lines)])
    path = baleen.folder / "own.model"
    baleen.run("train", "--kind", "sentencepiece", "--vocab", 12000, "--out", path, "--option", "byte_fallback=true",
               "--option", "character_coverage=980", source)
    own = sentencepiece.SentencePieceProcessor(model_file=str(path))
    compare("trained sentencepiece", lines, baleen.encode(path, lines), own.encode(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baleen", required=True)
    parser.add_argument("--seed", type=int, default=20)
    given = parser.parse_args()
    lines = lines_of(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        baleen = Baleen(given.baleen, folder)
        check_characters(baleen)
        gpt2 = byte_level(None, lines)
        bert = wordpiece(lines, True)
        for title, made in {"gpt2": gpt2, "gpt2 prefix space": byte_level(None, lines, True), "llama3": byte_level(LLAMA3, lines),
                            "qwen2": byte_level(QWEN2, lines), "o200k": byte_level(O200K, lines), "bert": bert,
                            "bert cased": wordpiece(lines, False), "bert accents": wordpiece(lines, True, False),
                            "llama2": llama2_like(lines), "mixed": mixed_steps(lines),
                            "whitespace": whitespace_steps(lines)}.items():
            check_file(baleen, title, made, lines)
        long = "\n".join(line + ("\r" if i % 5 == 0 else "") for i, line in enumerate(lines)) * 12
        for title in ("gpt2", "llama3", "o200k", "bert"):
            check_cache(baleen, title, long)
        check_pair(baleen, gpt2, lines)
        check_bert(baleen, bert, lines)
        check_sentencepiece(baleen, lines)
        check_training(baleen, lines)
    print("all alike")


if __name__ == "__main__":
    main()
