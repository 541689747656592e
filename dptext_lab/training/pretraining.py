"""Pre-training of the autoencoder: it learns to reconstruct a text from one clipped vector, without noise.

Training uses Adam, with a learning rate that is halved without progress. The softmax over 29,524 word pieces is
expensive. So the loss of a position is over all word pieces in the batch and a random sample of the others, weighted to
estimate the full sum. Reported figures use all word pieces. After each epoch, the folder has a usable checkpoint with
the best weights, and the state to continue. An interrupted run continues from its last whole epoch, and ends with the
same numbers as an uninterrupted one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.errors import ConfigError, InputError
from dptext_core.models import autoencoder as ae
from dptext_core.support import folder_lock
from dptext_core.support.checks import check_whole_number, real, text_list
from dptext_core.support.device import best_dtype, resolve_device
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.support.whole_files import sweep, write_errors, write_whole

STATE, LOG = "training.safetensors", "training.json"
#: Files of a run that ended early, without a log.
_BEFORE_LOG = (ae.WEIGHTS, ae.CONFIG, STATE)
#: Sampled word pieces for the loss, besides those of the batch.
SAMPLED = 512
#: Validation texts after each epoch: the full softmax at all of their positions takes as long as training.
LOOKED = 256
_HELD_OUT = 0.05
_STOPPED = "Stopped. The checkpoint is stored. Repeat the command to continue."

Report = Callable[[int, int, Mapping[str, float]], None]
"""Called after each epoch with its number, the largest number of epochs, and its figures."""


@dataclass(frozen=True)
class Epoch:
    """The figures of one epoch. loss: the sampled estimate on training texts. validation_loss, accuracy: on validation
    texts over all word pieces, with teacher forcing."""

    epoch: int
    loss: float
    validation_loss: float
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Settings:
    """The settings of a run, which must not change when it continues."""

    hidden: int = 128
    window: int = 64
    max_tokens: int = 20
    clip_norm: float | None = 5.0
    epochs: int = 200
    lr: float = 0.003
    decay: float = 0.5
    batch: int = 64
    patience: int = 10
    seed: int = 1

    def rate(self, accuracies: Sequence[float]) -> float:
        """Return the learning rate after epochs with these accuracies.

        It is multiplied by ``decay`` after each third of the patience without progress."""
        rate, best, waited = self.lr, -1.0, 0
        for accuracy in accuracies:
            waited = 0 if accuracy > best else waited + 1
            best = max(best, accuracy)
            if waited == max(1, self.patience // 3):
                rate, waited = rate * self.decay, 0
        return rate

    @property
    def shape(self) -> ae.AutoencoderShape:
        return ae.AutoencoderShape(self.hidden, self.window, self.max_tokens, self.clip_norm)


@dataclass
class Training:
    """A run: its settings, data and results. ``ended``: the reason for its end, or "" while it runs."""

    settings: Settings
    data: dict[str, Any]
    history: list[Epoch] = field(default_factory=list)
    best: int = 0
    ended: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "settings": asdict(self.settings),
            "data": self.data,
            "best": self.best,
            "ended": self.ended,
            "history": [
                {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in asdict(e).items()}
                for e in self.history
            ],
        }


def pretrain(
    texts: Sequence[str],
    validation: Sequence[str] | None,
    out: str | Path,
    *,
    clip: bool = True,
    clip_norm: float = 5.0,
    hidden: int = 128,
    window: int = 64,
    max_tokens: int = 20,
    epochs: int = 200,
    lr: float = 0.003,
    decay: float = 0.5,
    batch: int = 64,
    seed: int = 1,
    patience: int = 10,
    device: str | None = None,
    source: Mapping[str, Any] | None = None,
    report: Report | None = None,
    task: Task = UNWATCHED,
) -> Training:
    """Train an autoencoder on ``texts`` in the folder ``out``, or continue the run in it.

    validation: validation texts (None: every twentieth of ``texts``). The checkpoint has the weights of the epoch with
    the best accuracy on them, and the run ends after ``patience`` epochs without progress. decay: factor on the
    learning rate after a third of these epochs (1: constant, as in the paper). source: description of the data in
    training.json (file, hash). Raises ConfigError, InputError, and Cancelled on a request to stop, which leaves the
    best checkpoint in ``out``.
    """
    settings = _settings(clip, clip_norm, hidden, window, max_tokens, epochs, lr, decay, batch, patience, seed)
    texts = _texts("texts", texts)
    if validation is None:
        step = round(1 / _HELD_OUT)
        validation, texts = texts[::step], [t for i, t in enumerate(texts) if i % step]
    aside = _texts("validation", validation)
    if not texts:
        raise InputError("There are too few texts to train on. Give at least two.")
    data = {"texts": len(texts), "validation": len(aside), **(source or {})}
    run = _Run(Path(out), settings, data, texts, aside, resolve_device(device))
    if not run.out.is_dir():
        task.check(_STOPPED)
    with write_errors(run.out):
        run.out.mkdir(parents=True, exist_ok=True)
    with folder_lock.exclusive(run.out):
        return run.go(report, task)


def _settings(clip, clip_norm, hidden, window, max_tokens, epochs, lr, decay, batch, patience, seed) -> Settings:
    for name, value in (("hidden", hidden), ("window", window), ("max_tokens", max_tokens)):
        low, high = ae.LIMITS[name]
        if check_whole_number(name, value, low) > high:
            raise ConfigError(f"{name} must be at most {high}; it is {value}.")
    for name, value in (("epochs", epochs), ("batch", batch), ("patience", patience)):
        check_whole_number(name, value, 1)
    check_whole_number("seed", seed, 0)
    for name, value in (("lr", lr), ("decay", decay)):
        if not 0 < real(name, value) <= 1:
            raise ConfigError(f"{name} must be above 0 and at most 1; it is {value:g}.")
    if not 0 < real("clip_norm", clip_norm) < 1e6:
        raise ConfigError(f"clip_norm must be above 0; it is {clip_norm:g}.")
    norm = float(clip_norm) if clip else None
    return Settings(hidden, window, max_tokens, norm, epochs, float(lr), float(decay), batch, patience, seed)


def _texts(name: str, given: Any) -> list[str]:
    texts = text_list(given, name)
    if not texts:
        raise InputError(f"{name} is empty. Give at least one text.")
    return texts


class _Run:
    """One run in its folder."""

    def __init__(self, out: Path, settings: Settings, data: dict, texts: list[str], held_out: list[str], device: str):
        self.out, self.settings, self.device = out, settings, device
        marks = ae.tokenizer()
        self.texts, self.held = ([marks.ids(t)[: settings.window] for t in group] for group in (texts, held_out))
        self.training = Training(settings, data)

    def go(self, report: Report | None, task: Task) -> Training:
        import torch

        # Torch's layers draw their initial weights from the global generator, so its state is restored for the caller.
        with torch.random.fork_rng(devices=[]):
            return self._go(report, task)

    def _go(self, report: Report | None, task: Task) -> Training:
        import torch

        s, t = self.settings, self.training
        model = _Model(s.shape, self.device, s.seed)
        optimizer = torch.optim.Adam(model.parameters(), lr=s.lr, fused=True)
        best = self._resume(model, optimizer)
        if not t.ended:
            task.check(_STOPPED)
        if not t.history:
            # A run that ends before its first epoch also leaves a checkpoint.
            self._write(model, optimizer, True)
        while not t.ended:
            number, began = len(t.history) + 1, time.monotonic()
            for group in optimizer.param_groups:
                group["lr"] = s.rate([e.accuracy for e in t.history])
            loss = self._epoch(model, optimizer, number, task)
            validation_loss, right = model.evaluate(self.held[:: max(1, len(self.held) // LOOKED)][:LOOKED])
            t.history.append(Epoch(number, loss, validation_loss, right, time.monotonic() - began))
            if better := right > best:
                best, t.best = right, number
            if number >= s.epochs:
                t.ended = "all epochs"
            elif number - t.best >= s.patience:
                t.ended = "early stopping"
            self._write(model, optimizer, better)
            task.report(number, s.epochs)
            if report is not None:
                report(number, s.epochs, asdict(t.history[-1]))
        return t

    def _epoch(self, model: _Model, optimizer: Any, number: int, task: Task) -> float:
        import torch

        # Seeded by the epoch, so a continued run draws the same numbers.
        random = torch.Generator().manual_seed(self.settings.seed * 1_000_003 + number)
        total, count = 0.0, 0
        for rows in batches([len(t) for t in self.texts], self.settings.batch, self.settings.seed, number):
            task.check(_STOPPED)
            loss, n = model.loss([self.texts[i] for i in rows], random)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total, count = total + float(loss.detach()) * n, count + n
        return total / count

    # --- files

    def _resume(self, model: _Model, optimizer: Any) -> float:
        """Load an existing run, and return its best accuracy."""
        t = self.training
        state, log = self.out / STATE, self.out / LOG
        if not log.is_file():
            sweep(self.out)
            if any(p.name not in _BEFORE_LOG for p in self.out.iterdir()):
                raise ConfigError(f"The folder {self.out} is not empty and has no run. Name another one.")
            return -1.0
        try:
            known = json.loads(log.read_text(encoding="utf-8"))
            same = known["settings"] == asdict(self.settings) and known["data"] == t.data
            t.ended = known["ended"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{log} is not a log of a run ({type(error).__name__}). Name another folder.") from error
        if not same:
            raise ConfigError(
                f"The folder {self.out} has a run with other settings or other data. Name another folder, or repeat "
                f"the settings of its {LOG}."
            )
        if t.ended:
            t.history, t.best = [Epoch(**e) for e in known["history"]], known["best"]
            return 0.0
        return self._read_state(state, model, optimizer)

    def _read_state(self, path: Path, model: _Model, optimizer: Any) -> float:
        """Load the weights and the optimizer's state of the last whole epoch, and return its figures."""
        import torch

        weights = ae.read_weights(path)
        try:
            record = json.loads(bytes(weights.pop("record")).decode())
            model.set({k: v for k, v in weights.items() if "/" not in k})
            names = [name for name, _ in model.named()]
            moments = {
                i: {
                    "step": torch.tensor(float(record["steps"])),
                    "exp_avg": torch.from_numpy(weights[f"first/{n}"]).to(self.device),
                    "exp_avg_sq": torch.from_numpy(weights[f"second/{n}"]).to(self.device),
                }
                for i, n in enumerate(names)
                if record["steps"]
            }
            optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
            history = [Epoch(**e) for e in record["history"]]
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise ConfigError(
                f"{path} does not belong to this run ({type(error).__name__}). Name another folder."
            ) from error
        self.training.history, self.training.best = history, record["best"]
        return max((e.accuracy for e in history), default=-1.0)

    def _write(self, model: _Model, optimizer: Any, better: bool) -> None:
        from safetensors.numpy import save

        t, weights = self.training, model.weights()
        self.out.mkdir(parents=True, exist_ok=True)
        if better:
            ae.save(self.out, self.settings.shape, weights)
        tensors = dict(weights)
        steps = 0
        for name, parameter in model.named():
            if parameter in optimizer.state:
                state = optimizer.state[parameter]
                steps = int(state["step"])
                tensors[f"first/{name}"] = state["exp_avg"].cpu().numpy()
                tensors[f"second/{name}"] = state["exp_avg_sq"].cpu().numpy()
        record = {"steps": steps, "best": t.best, "history": [asdict(e) for e in t.history]}
        tensors["record"] = np.frombuffer(json.dumps(record).encode(), np.uint8).copy()
        if not t.ended:
            write_whole(self.out / STATE, save(tensors))
        text = json.dumps(t.to_dict(), ensure_ascii=False, indent=1).replace("\n   ", "").replace("\n  }", "}")
        write_whole(self.out / LOG, (text + "\n").encode())
        if t.ended:
            (self.out / STATE).unlink(missing_ok=True)


def batches(lengths: Sequence[int], size: int, seed: int, epoch: int) -> Iterator[list[int]]:
    """Yield every text once, in batches of about equal length, in a new order for each epoch."""
    rng = np.random.default_rng([seed, epoch])
    order = np.lexsort((rng.random(len(lengths)), np.array(lengths)))
    starts = np.arange(0, len(order), size)
    for start in rng.permutation(starts):
        yield order[start : start + size].tolist()


class _Model:
    """The autoencoder in torch, with the names and shapes of ``ae.AutoencoderShape.tensors``."""

    def __init__(self, shape: ae.AutoencoderShape, device: str, seed: int = 0):
        import torch
        from torch import nn

        self.shape, self.device = shape, device
        h, width, random = shape.hidden, ae.trunk_width(), torch.Generator().manual_seed(seed)

        def drawn(*size: int) -> torch.Tensor:
            return torch.randn(*size, generator=random)

        self.embeddings = torch.from_numpy(ae.trunk_embeddings()).to(device)
        self.outputs = torch.from_numpy(ae.output_ids()).to(device)
        self.column = torch.full((len(self.embeddings),), -1, dtype=torch.long, device=device)
        self.column[self.outputs] = torch.arange(len(self.outputs), device=device)
        marks = ae.tokenizer()
        self.begin, self.end = marks.begin, marks.end
        self.fast = best_dtype(device) == "bfloat16"
        self.encoder = nn.LSTM(h, h, batch_first=True)
        self.decoder = nn.LSTM(3 * h, h, batch_first=True)
        for half in (self.encoder, self.decoder):
            # One bias is enough, and the files have one.
            half.bias_hh_l0.data.zero_().requires_grad_(False)
            half.bias_hh_l0.requires_grad_(False)
            half.weight_ih_l0.data = drawn(*half.weight_ih_l0.shape) / half.weight_ih_l0.shape[1] ** 0.5
            nn.init.orthogonal_(half.weight_hh_l0, generator=random)
            half.bias_ih_l0.data.zero_()
            half.bias_ih_l0.data[h : 2 * h] = 1.0  # forget gates are initially open
        self.read = nn.Parameter(drawn(width, h) / width**0.5)
        self.write = nn.Parameter(drawn(width, h) / width**0.5)
        self.bridge = nn.Linear(2 * h, 2 * h)
        self.bridge.weight.data = drawn(2 * h, 2 * h) / (2 * h) ** 0.5
        self.bridge.bias.data.zero_()
        for part in (self.encoder, self.decoder, self.bridge):
            part.to(device)
        self.read.data, self.write.data = self.read.data.to(device), self.write.data.to(device)

    def named(self) -> list[tuple[str, Any]]:
        return [
            ("read", self.read),
            ("write", self.write),
            ("encoder.input", self.encoder.weight_ih_l0),
            ("encoder.state", self.encoder.weight_hh_l0),
            ("encoder.bias", self.encoder.bias_ih_l0),
            ("bridge.weight", self.bridge.weight),
            ("bridge.bias", self.bridge.bias),
            ("decoder.input", self.decoder.weight_ih_l0),
            ("decoder.state", self.decoder.weight_hh_l0),
            ("decoder.bias", self.decoder.bias_ih_l0),
        ]

    def parameters(self) -> list[Any]:
        return [p for _, p in self.named()]

    def weights(self) -> dict[str, np.ndarray]:
        return {name: p.detach().cpu().numpy().copy() for name, p in self.named()}

    def set(self, weights: Mapping[str, np.ndarray]) -> None:
        import torch

        with torch.no_grad():
            for name, p in self.named():
                p.copy_(torch.from_numpy(weights[name]))

    # --- one batch

    def _states(self, texts: Sequence[Sequence[int]]) -> tuple[Any, Any, Any]:
        """Return the decoder's hidden states (positions, h), the target word pieces (positions,), and the contexts."""
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence

        rows = [[self.end, *reversed(t)] for t in texts]
        packed = pack_padded_sequence(
            self._embed(rows), torch.tensor([len(r) for r in rows]), batch_first=True, enforce_sorted=False
        )
        _, (h, c) = self.encoder(packed)
        context = torch.cat([h[0], c[0]], dim=1)
        if self.shape.clip_norm is not None:
            norm = context.abs().sum(dim=1, keepdim=True)
            context = context * (self.shape.clip_norm / norm.clamp(min=self.shape.clip_norm))
        context = context * self.shape.scale
        both = self.bridge(context)
        start = (
            torch.tanh(both[:, : self.shape.hidden])[None].contiguous(),
            both[:, self.shape.hidden :][None].contiguous(),
        )
        # The word pieces to write, and the end token if it fits.
        most = self.shape.max_tokens
        given = [[self.begin, *t][:most] for t in texts]
        wanted = [[*t, self.end][:most] for t in texts]
        x = self._embed(given)
        x = torch.cat([x, context[:, None].expand(-1, x.shape[1], -1)], dim=2)
        states, _ = self.decoder(x, start)
        on = torch.arange(x.shape[1])[None] < torch.tensor([len(g) for g in given])[:, None]
        right = torch.tensor([p for w in wanted for p in w], device=self.device)
        return states[on.to(self.device)], right, context

    def _embed(self, rows: Sequence[Sequence[int]]) -> Any:
        import torch

        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        unique, place = torch.unique(ids.to(self.device), return_inverse=True)
        return (self.embeddings[unique] @ self.read)[place]

    def loss(self, texts: Sequence[Sequence[int]], random: Any) -> tuple[Any, int]:
        """Return the mean loss of a batch over its positions, and their number. random: the generator of the sample."""
        import torch

        states, right, _ = self._states(texts)
        pieces, target = torch.unique(right, return_inverse=True)
        others = torch.randperm(len(self.outputs), generator=random)[:SAMPLED].to(self.device)
        # Weight the sampled word pieces to represent all others. Word pieces of the batch count only once.
        known = torch.isin(self.outputs[others], pieces)
        weight = np.log(max(1, len(self.outputs) - len(pieces)) / max(1, int((~known).sum())))
        table = self.embeddings[torch.cat([pieces, self.outputs[others]])] @ self.write
        with torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=self.fast):
            scores = states @ table.T
        shift = torch.zeros(len(pieces) + len(others), device=self.device)
        shift[len(pieces) :] = torch.where(known, -torch.inf, float(weight))
        return torch.nn.functional.cross_entropy(scores.float() + shift, target), len(right)

    def evaluate(self, texts: Sequence[Sequence[int]], rows: int = 64) -> tuple[float, float]:
        """Return the mean loss and the share of correct word pieces, over all positions of the texts and all word
        pieces."""
        import torch

        total, right_ones, count = 0.0, 0, 0
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        with torch.inference_mode():
            table = (self.embeddings[self.outputs] @ self.write).T.contiguous()
            for start in range(0, len(order), rows):
                states, right, _ = self._states([texts[i] for i in order[start : start + rows]])
                scores, target = states @ table, self.column[right]
                # A word piece that cannot be written (the unknown token) is never correct.
                able = target >= 0
                right_ones += int((scores.argmax(dim=1)[able] == target[able]).sum())
                total += float(torch.nn.functional.cross_entropy(scores[able], target[able], reduction="sum"))
                count += int(able.sum())
        return total / max(1, count), right_ones / max(1, count)
