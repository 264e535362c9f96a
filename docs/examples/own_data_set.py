"""A recipe with a data set of texts of different length, and the function that makes a batch of them.

Try: gputuner --cli batch --recipe own_data_set.py:make --loader --batch-size 32
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

LONGEST, TOKENS = 64, 500


class Texts(Dataset):
    def __len__(self):
        return 2000

    def __getitem__(self, place):
        random = torch.Generator().manual_seed(place)
        length = int(torch.randint(8, LONGEST + 1, (1,), generator=random))
        return torch.randint(1, TOKENS, (length,), generator=random)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(TOKENS, 64)
        self.gru = nn.GRU(64, 128, batch_first=True)
        self.head = nn.Linear(128, TOKENS)

    def forward(self, tokens):
        return self.head(self.gru(self.embed(tokens))[0])


def make():
    def loss(model, tokens):
        scores = model(tokens[:, :-1])
        return nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)

    return {
        "model": Model(),
        "batch": lambda n: torch.randint(1, TOKENS, (n, LONGEST)),  # the longest: what memory must suffice for
        "loss": loss,
        "data_set": Texts(),
        "collate": lambda texts: pad_sequence(texts, batch_first=True),  # as they come: what loading must deliver
    }
