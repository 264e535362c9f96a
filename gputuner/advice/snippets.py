"""Code to paste. Plain PyTorch 2.4 and later; it runs as it stands with the reader's own objects.

Their names: ``model`` (on the card), ``dataset``, ``loader``, ``loss_fn`` (a mean over the batch), ``optimizer``; with
accumulation also ``scheduler`` and ``max_norm``.
"""

AUTOCAST = {"bf16": "torch.bfloat16", "fp16": "torch.float16"}


LONELY = "drop_last=True)  # the last batch would hold one sample, which batch norm cannot train on"


def loader(batch: int, *, effective: int | None = None, lonely: bool = False) -> str:
    """A DataLoader of ``batch``; says where that is more than the owner's ``effective`` batch.

    No sample is dropped (dropping the last, smaller batch would lose up to ``batch`` − 1 samples an epoch), but where
    the last batch would hold a ``lonely`` sample that batch norm fails on.
    """
    care = ""
    if effective is not None and batch > effective:
        care = f"# more than {effective} samples per optimizer step: tune the learning rate anew\n"
    last = f", {LONELY}" if lonely else ")"
    return f"{care}loader = torch.utils.data.DataLoader(dataset, batch_size={batch}, shuffle=True{last}"


def precision(name: str, *, cpu: bool) -> str:
    """The training loop in a number format: ``fp32``, ``tf32``, ``fp16`` or ``bf16``."""
    lines = [*_set_up(name, cpu=cpu), "for inputs, targets in loader:", *_to_device(cpu=cpu)]
    lines.append("    optimizer.zero_grad(set_to_none=True)")
    lines += _forward(name, cpu=cpu)
    if name == "fp16":
        lines += ["    scaler.scale(loss).backward()", "    scaler.step(optimizer)", "    scaler.update()"]
    else:
        lines += ["    loss.backward()", "    optimizer.step()"]
    return "\n".join(lines)


def _device(*, cpu: bool) -> str:
    return "cpu" if cpu else "cuda"


def _set_up(name: str, *, cpu: bool) -> list[str]:
    """What stands before the loop."""
    if name == "fp16":
        return [f'scaler = torch.amp.GradScaler("{_device(cpu=cpu)}")  # once, before the first epoch']
    if name == "tf32":
        return ['torch.set_float32_matmul_precision("high")  # matrix products; convolutions use TF32 by default']
    if name == "fp32" and not cpu:
        return [
            'torch.set_float32_matmul_precision("highest")',
            "torch.backends.cudnn.allow_tf32 = False  # else convolutions use TF32",
        ]
    return []


def _to_device(*, cpu: bool) -> list[str]:
    return [] if cpu else ['    inputs, targets = inputs.to("cuda"), targets.to("cuda")']


def _forward(name: str, *, cpu: bool) -> list[str]:
    forward = "loss = loss_fn(model(inputs), targets)"
    if name in AUTOCAST:
        return [f'    with torch.autocast("{_device(cpu=cpu)}", dtype={AUTOCAST[name]}):', f"        {forward}"]
    return [f"    {forward}"]


def channels_last() -> str:
    """Model and inputs in the channels-last layout."""
    return (
        "model = model.to(memory_format=torch.channels_last)  # once\n"
        "inputs = inputs.to(memory_format=torch.channels_last)  # each batch"
    )


def accumulate(micro: int, steps: int, name: str, *, cpu: bool, lonely: bool = False) -> str:
    """One epoch with gradient accumulation in the number format ``name`` that keeps the effective batch.

    Every sample counts alike: a micro batch is weighed by its share of the samples of its window, also where the
    epoch cuts the last window short. Unscaling, clipping, optimizer, scaler and scheduler act once per window, in
    this order; a step that the scaler skips moves no schedule. ``lonely`` as of ``loader``.
    """
    effective = micro * steps
    scaled = name == "fp16"
    backward = "scaler.scale(loss * share).backward()" if scaled else "(loss * share).backward()"
    lines = [
        f"# {micro} x {steps} = {effective} samples per optimizer step. Batch norm sees {micro} samples at a time:",
        "# a model with it is not trained exactly as with the whole batch at once.",
        loader(micro, lonely=lonely),
        f"samples = {f'len(loader) * {micro}' if lonely else 'len(dataset)'}  # of an epoch",
        f"steps_per_epoch = -(-samples // {effective})  # set schedules by it, anew for every batch size",
        *_set_up(name, cpu=cpu),
        "",
        "left, held = samples, 0  # samples of this epoch to come, samples of this window done",
        "optimizer.zero_grad(set_to_none=True)",
        "for inputs, targets in loader:",
        *_to_device(cpu=cpu),
        *_forward(name, cpu=cpu),
        f"    window = min({effective}, left)  # the last one may be smaller",
        "    share = len(targets) / window",
        f"    {backward}",
        "    held += len(targets)",
        "    if held == window:",
    ]
    if scaled:
        lines.append("        scaler.unscale_(optimizer)  # before clipping")
    lines.append("        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # only if you clip")
    if scaled:
        lines += [
            "        scale = scaler.get_scale()",
            "        scaler.step(optimizer)",
            "        scaler.update()",
            "        if scaler.get_scale() >= scale:  # else the step was skipped",
            "            scheduler.step()  # once per optimizer step",
        ]
    else:
        lines += ["        optimizer.step()", "        scheduler.step()  # once per optimizer step"]
    lines += ["        optimizer.zero_grad(set_to_none=True)", "        left, held = left - window, 0"]
    return "\n".join(lines)


def compiled() -> str:
    """Fewer launches: the compiler records the step as a CUDA graph."""
    return 'model = torch.compile(model, mode="reduce-overhead")'


def threads(count: int) -> str:
    """As many CPU threads as there are cores to run on."""
    return f"torch.set_num_threads({count})"


def workers(count: int) -> str:
    """A DataLoader that does not ask for more processes than there are cores."""
    return f"loader = torch.utils.data.DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers={count})"


def governor() -> str:
    """Let the CPU run at its full clock (needs root; reverts at reboot)."""
    return "sudo cpupower frequency-set -g performance"
