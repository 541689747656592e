"""The exact distribution of a word under 1-Diffractor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...privacy.distribution import Channel, TokenDistribution, seen_at_least_once
from ...privacy.sampling import LOG_DEPTH, NoiseStream
from .list_bundle import Bundle
from .list_draws import _random, draw_outputs
from .list_noise import Window, _crossing, geometric_steps, log_pmf, noisy_place, span, tem_steps, window


@dataclass(frozen=True, eq=False)
class DiffractorChannel(Channel):
    """The channel of one word through the lists."""

    bundle: Bundle
    row: int
    noise: str
    gamma: float | None

    @property
    def candidates(self) -> Sequence[str]:
        return self.bundle.outputs

    @property
    def source(self) -> str:
        return self.bundle.words[self.row]

    @property
    def source_index(self) -> np.ndarray:
        return self.bundle.output_of[self.row : self.row + 1]

    def at(self, epsilon: float) -> TokenDistribution:
        b, n = self.bundle, len(self.bundle.order)
        total: np.ndarray | None = None
        for place, order in zip(b.places[:, self.row], b.order, strict=True):
            log_p = np.full(len(b.outputs), -np.inf)
            log_p[order] = log_pmf(self.noise, epsilon, place, np.arange(len(order)), len(order), self.gamma)
            total = log_p if total is None else np.logaddexp(total, log_p)
        assert total is not None
        return TokenDistribution(
            candidates=self.candidates,
            log_probs=total - np.log(n),
            source=self.source,
            epsilon=float(epsilon),
            draws=None,
            _keep=self.source_index,
            _sampler=lambda m, stream: self._sample(epsilon, m, stream),
            depth=LOG_DEPTH,
        )

    def _sample(self, epsilon: float, n: int, stream: NoiseStream) -> np.ndarray:
        return draw_outputs(self.bundle, np.full(n, self.row), np.full(n, epsilon), self.noise, self.gamma, stream, n)[
            0
        ]

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(self._sample(epsilon, 1, stream)[0])

    def epsilon_breakpoints(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        chosen, sign, log_uniform, log_far = _random(self.bundle, stream, 1)
        c = int(chosen[0])
        at, length, order = self.bundle.places[c, self.row], self.bundle.lengths[c], self.bundle.order[c]
        args = (sign[0, c], log_uniform[0, c], log_far[0, c])

        def landed(epsilon: np.ndarray) -> np.ndarray:
            return noisy_place(self.noise, epsilon, np.full(len(epsilon), at), length, self.gamma, *args)

        def steps(epsilon: np.ndarray) -> np.ndarray:
            """Return the noise distance, except for leaving by the second uniform: it decreases as ε grows."""
            if self.noise == "geometric":
                return geometric_steps(epsilon, args[1])
            near = Window.of(epsilon, at, length, self.gamma)
            return tem_steps(near, self.gamma is None, args[1], np.inf)[0]

        most = int(min(steps(np.array([low]))[0], length))
        wanted = np.arange(1, most + 1)
        points = [_crossing(lambda e: steps(e) < wanted, most, low, high)]
        if self.noise == "tem" and self.gamma is None:
            # Once beyond γ, the position changes whenever the window shrinks, at integer γ.
            gone = _crossing(
                lambda e: args[2] <= (n := Window.of(e, at, length, None)).beyond - np.logaddexp(n.inside, n.beyond),
                1,
                low,
                high,
            )
            gammas = np.arange(1, int(min(window(None, low, length), length)) + 1)
            edges = 2 * span(length) / gammas * (1 + 1e-15)
            points += [gone, edges[(edges > (gone[0] if len(gone) else np.inf)) & (edges < high)]]
        points_all = np.append([low], np.unique(np.concatenate(points)))
        out: list[tuple[float, int]] = []
        for epsilon, place in zip(points_all, landed(points_all), strict=True):
            if not out or out[-1][1] != order[place]:
                out.append((float(epsilon), int(order[place])))
        return out

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        b = self.bundle
        each = max(1, n // len(b.order) // 2)
        near = [
            order[max(0, place - each) : place + each + 1]
            for place, order in zip(b.places[:, self.row], b.order, strict=True)
        ]
        outputs = np.unique(np.concatenate(near))
        best = self.log_p(np.geomspace(low, high, 5), outputs).max(axis=1)
        return outputs[np.argsort(-best, kind="stable")[:n]]

    def deniability(self, epsilon: float) -> tuple[float, float]:
        """Only positions near the word: geometric noise beyond has total probability below 1e-19, and TEM noise is
        uniform there."""
        if self.noise == "tem" and len(set(self.bundle.lengths.tolist()) | {len(self.bundle.outputs)}) > 1:
            return super().deniability(epsilon)  # lists over different words
        b, n = self.bundle, len(self.bundle.order)
        outputs, chances, even = [], [], 0.0
        for at, order in zip(b.places[:, self.row].tolist(), b.order, strict=True):
            size, beyond = len(order), 0.0
            reach = int(min(size, 46.0 / epsilon)) + 1
            if self.noise == "tem":
                near = Window.of(epsilon, at, size, self.gamma)
                reach = int(near.reach)
                if near.outside:
                    beyond = float(np.exp(near.beyond - np.logaddexp(near.inside, near.beyond)) / near.outside)
            to = np.arange(max(0, at - reach), min(size, at + reach + 1))
            p = np.exp(log_pmf(self.noise, epsilon, at, to, size, self.gamma))
            even += beyond / n
            outputs.append(order[to])
            chances.append((p - beyond) / n)
        which, place = np.unique(np.concatenate(outputs), return_inverse=True)
        p = np.bincount(place, np.concatenate(chances)) + even
        keep = float(p[which == self.source_index[0]].sum())
        distinct = seen_at_least_once(p, 100).sum()
        if even:
            distinct += (len(b.outputs) - len(which)) * seen_at_least_once(np.array([even]), 100)[0]
        return keep, float(distinct)

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        b = self.bundle
        to = b.where[:, which][:, :, None]
        log_p = log_pmf(
            self.noise,
            np.asarray(epsilons),
            b.places[:, self.row][:, None, None],
            to,
            b.lengths[:, None, None],
            self.gamma,
        )
        log_p = np.where(to >= 0, log_p, -np.inf)
        return np.logaddexp.reduce(log_p, axis=0) - np.log(len(b.order))
