"""BERT, GPT-2 and the LSTM: published sizes, counted operations, and that they learn."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from gputuner.workloads.bodies import bert, gpt, lstm  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import UnsupportedError  # noqa: E402
from gputuner.workloads.bodies.training_shapes import BertShape, GptShape, LstmShape  # noqa: E402

pytestmark = pytest.mark.torch

BERT = BertShape(layers=2, width=64, heads=4, feed_forward=128, vocabulary=100, positions=32)
GPT = GptShape(layers=3, width=64, heads=4, vocabulary=96, positions=32)
LSTM = LstmShape(layers=2, width=32, vocabulary=50)


def parameters(network, shape):
    """Of a network; its shape must state the same."""
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in network(shape).parameters())
    assert shape.parameters == count
    return count


def tiny(kind, precision="fp32", batch=2):
    options = {"batch": batch, "precision": precision, "seed": 1}
    match kind:
        case "bert":
            return bert.BertTraining(CpuDevice(None), sequence=32, shape=BERT, **options)
        case "gpt":
            return gpt.GptTraining(CpuDevice(None), sequence=32, shape=GPT, **options)
        case _:
            return lstm.LstmTraining(CpuDevice(None), sequence=8, shape=LSTM, **options)


def counted(body):
    """Operations of one sample, forward and backward, by torch's own count of its products."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        body._forward(*body._source.take()).backward()
    return counter.get_total_flops() / 2


def test_bert_large_has_the_published_parameters():
    # 335 141 888 of the encoder with its pooler (bert-large-uncased), and 2 × 1024 + 2 of the head
    assert parameters(bert.Bert, BertShape()) == 335_141_888 + 2050


def test_gpt2_small_has_the_published_parameters_and_its_padding():
    assert parameters(gpt.Gpt, GptShape(vocabulary=50257)) == 124_439_808
    assert parameters(gpt.Gpt, GptShape()) == 124_439_808 + (50304 - 50257) * 768


def test_lstm_has_the_parameters_it_states():
    words, layers = 10_000 * 1024, 2 * (4 * 1024 * 2048 + 2 * 4096)
    assert parameters(lstm.LstmModel, LstmShape()) == words + layers + 10_000 == 27_043_600


def test_sparse_share_of_bert_is_two_of_three_products_of_its_linear_layers():
    layers = bert.Bert(BERT).layers
    weights = sum(module.weight.numel() for module in layers.modules() if isinstance(module, torch.nn.Linear))
    assert BERT.sparse_share(32) == pytest.approx(2 * 2.0 * 32 * weights / BERT.flop(32))
    assert BertShape().sparse_share(384) == pytest.approx(0.941 * 2 / 3, rel=0.001)


def test_operations_of_bert():
    assert counted(tiny("bert")) == BERT.flop(32)


def test_operations_of_gpt_leave_out_what_lies_behind_the_mask():
    behind = 3 * 2.0 * GPT.layers * GPT.width * 32**2
    assert counted(tiny("gpt")) - behind == GPT.flop(32)


def test_operations_of_the_lstm():
    cells = [torch.nn.LSTMCell(32, 32) for _ in range(LSTM.layers)]
    body = tiny("lstm")
    with FlopCounterMode(display=False) as counter:
        features = torch.randn(2, 8, 32, requires_grad=True)
        for cell in cells:
            state = (torch.zeros(2, 32, requires_grad=True), torch.zeros(2, 32))
            steps = []
            for token in features.unbind(1):
                state = cell(token, state)
                steps.append(state[0])
            features = torch.stack(steps, 1)
        features.sum().backward()
    head = 3 * 8 * 2.0 * 32 * 50
    assert counter.get_total_flops() / 2 + head == LSTM.flop(8)
    assert body.notes()["model_flop_per_sample"] == LSTM.flop(8)


@pytest.mark.parametrize("kind", ["bert", "gpt", "lstm"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_repeated_batch_is_learned(kind, precision):
    body = tiny(kind, precision)
    for _ in range(12):
        body.iterate()
    notes = body.notes()
    assert notes["loss_finite"] is True
    assert notes["last_loss"] < notes["first_loss"]
    assert body.work == {"samples": 2.0, "tokens": 2.0 * (8 if kind == "lstm" else 32)}


@pytest.mark.parametrize(("kind", "classes"), [("bert", 32), ("gpt", 96), ("lstm", 50)])
def test_the_first_loss_is_that_of_chance(kind, classes):
    body = tiny(kind, batch=8)
    body.iterate()
    assert body.notes()["first_loss"] == pytest.approx(torch.tensor(float(classes)).log().item(), rel=0.08)


def test_bert_attends_to_all_tokens_and_gpt_only_to_earlier_ones():
    for kind, model, shape in (("bert", bert.Bert(BERT), BERT), ("gpt", gpt.Gpt(GPT), GPT)):
        tokens = torch.randint(shape.vocabulary, (1, 16), generator=torch.Generator().manual_seed(2))
        changed = tokens.clone()
        changed[0, -1] = (tokens[0, -1] + 1) % shape.vocabulary
        before, after = model(tokens)[0, 0], model(changed)[0, 0]
        assert torch.equal(before, after) is (kind == "gpt")


def test_the_lstm_refuses_bf16_on_a_card():
    device = CpuDevice(None)
    device.name = "cuda"
    with pytest.raises(UnsupportedError, match="FP16"):
        lstm.LstmTraining(device, batch=1, precision="bf16", seed=1, shape=LSTM)
