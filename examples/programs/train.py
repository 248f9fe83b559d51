"""Trains a small neural network on two interleaved spirals, in plain Python, and reports each epoch.

The tool `train-classifier`: the arguments are the dataclass below; after each epoch the client sees how far it is and
how good the network has become. The result has the figures and the learning curve as a picture.

    python -m mcptasks.job.run examples/programs/train.py --arg epochs:=5 --schema examples/tools/train-classifier.yaml
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mcptasks.job import ToolError, image, task

Point = tuple[float, float, int]
"""Where it is, and which spiral it belongs to."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What the caller chooses."""

    epochs: int = 60
    hidden: int = 12
    learning_rate: float = 0.1
    points: int = 1500
    seed: int = 1


@dataclass(kw_only=True)
class Network:
    """Two inputs with their products, one hidden layer, one output."""

    hidden: list[list[float]]
    output: list[float]
    seen: list[float] = field(default_factory=list)

    @classmethod
    def random(cls, size: int, chance: random.Random) -> "Network":
        """One that knows nothing."""
        return cls(
            hidden=[[chance.uniform(-1, 1) for _ in range(6)] for _ in range(size)],
            output=[chance.uniform(-1, 1) for _ in range(size + 1)],
        )

    def guess(self, x: float, y: float) -> float:
        """How likely the point is of the second spiral."""
        inputs = (x, y, x * y, x * x, y * y, 1.0)
        self.seen = [math.tanh(sum(w * i for w, i in zip(unit, inputs, strict=True))) for unit in self.hidden]
        total = sum(w * s for w, s in zip(self.output, (*self.seen, 1.0), strict=True))
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))

    def learn(self, point: Point, rate: float) -> float:
        """One step down the gradient; the loss before it."""
        x, y, label = point
        guess = self.guess(x, y)
        slope = guess - label
        inputs = (x, y, x * y, x * x, y * y, 1.0)
        for index, seen in enumerate(self.seen):
            back = slope * self.output[index] * (1 - seen * seen)
            unit = self.hidden[index]
            for at, value in enumerate(inputs):
                unit[at] -= rate * back * value
            self.output[index] -= rate * slope * seen
        self.output[-1] -= rate * slope
        return -math.log(max(1e-12, guess if label else 1 - guess))


def spirals(count: int, chance: random.Random) -> list[Point]:
    """Points of two spirals, with a little noise."""
    found = []
    for index in range(count):
        label = index % 2
        turn = 3.5 * math.pi * (index // 2) / max(1, count // 2) + math.pi * label
        radius = 0.2 + 0.7 * (index // 2) / max(1, count // 2)
        found.append(
            (
                radius * math.cos(turn) * 2 + chance.gauss(0, 0.03),
                radius * math.sin(turn) * 2 + chance.gauss(0, 0.03),
                label,
            )
        )
    return found


def trained(network: Network, points: list[Point], arguments: Arguments, chance: random.Random) -> Iterator[float]:
    """The mean loss of one epoch after the other."""
    for _ in range(arguments.epochs):
        chance.shuffle(points)
        yield sum(network.learn(point, arguments.learning_rate) for point in points) / len(points)


def curve(losses: Sequence[float]) -> bytes:
    """The losses as a picture (SVG)."""
    width, height, most = 400, 200, max(losses)
    step = width / max(1, len(losses) - 1)
    line = " ".join(f"{index * step:.1f},{height * (1 - loss / most):.1f}" for index, loss in enumerate(losses))
    drawn = f'<polyline fill="none" stroke="steelblue" stroke-width="2" points="{line}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{drawn}</svg>'.encode()


def main(arguments: Arguments) -> None:
    """Train, and give what came of it."""
    chance = random.Random(arguments.seed)
    points = spirals(arguments.points, chance)
    network = Network.random(arguments.hidden, chance)
    losses: list[float] = []
    for loss in trained(network, points, arguments, chance):
        losses.append(loss)
        if not math.isfinite(loss):
            raise ToolError(f"the loss is {loss} after {len(losses)} epochs: try a smaller learning_rate")
        task.progress(len(losses), arguments.epochs, f"epoch {len(losses)}: loss {loss:.3f}")
    right = sum((network.guess(x, y) > 0.5) == bool(label) for x, y, label in points)
    figures = {"epochs": len(losses), "loss": round(losses[-1], 4), "accuracy": round(right / len(points), 4)}
    task.complete(
        f"{figures['accuracy']:.1%} of {len(points)} points are told right after {len(losses)} epochs.",
        structured=figures,
        images=[image(curve(losses), mime_type="image/svg+xml")],
    )


if __name__ == "__main__":
    task.run(main)
