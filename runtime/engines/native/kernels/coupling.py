"""Probabilities of classes from those of pairs, row by row: a quadratic form, and rounds of steps along each of its axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.dialects.core.kernels.coupling import ROUNDS, TOLERANCE
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class CoupleProbabilities(JobKernel):
    """Computes probabilities p[n, classes] of r[n, pairs]: see `nn.couple_probabilities`.

    Args:
        source, target: element types of r and p; f32, or narrower.

    A task is a row.  Words: `names`.  Scratch: `scratch_bytes`.
    """

    source: Storage
    target: Storage

    @property
    def names(self) -> tuple[str, ...]:
        return ("r", "p", "pairs", "classes")

    @staticmethod
    def scratch_bytes(classes: int) -> int:
        """Return bytes of scratch memory that a thread needs."""
        return 4 * (classes * classes + 2 * classes)

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the search for probabilities, row by row; see `JobKernel.emit_job`."""
        classes = words["classes"]
        p, products = f.scratch, f.at(f.scratch, classes, "f32")
        form = f.at(products, classes, "f32")
        size = f.converted(classes, "f32")
        with f.loop(f.begin, f.end) as row:
            self._form(f, f.at(words.pointer("r"), row * words["pairs"], self.source), form, classes)
            with f.loop(0, classes) as i:
                f.store(1.0 / size, f.at(p, i, "f32"))
            rounds = f.variable(f.constant(0, "i64"))
            with f.while_() as stop:
                total = self._multiply(f, form, p, products, classes)
                stop((self._error(f, products, total, classes) < TOLERANCE / size) | (rounds.get() >= ROUNDS))
                self._round(f, form, p, products, total, classes)
                rounds.set(rounds.get() + 1)
            y = f.at(words.pointer("p"), row * classes, self.target)
            with f.loop(0, classes) as i:
                f.write(f.load(f.at(p, i, "f32"), "f32"), f.at(y, i, self.target), self.target)

    def _form(self, f: Writer, r: Value, form: Value, classes: Value) -> None:
        """Write form[i, i] = the sum of r_ji^2, and form[i, j] = -r_ji r_ij."""
        with f.loop(0, classes * classes) as i:
            f.store(f.constant(0.0, "f32"), f.at(form, i, "f32"))
        place = f.variable(f.constant(0, "i64"))
        with f.loop(0, classes) as i, f.loop(i + 1, classes) as j:
            one = f.read(f.at(r, place.get(), self.source), self.source)
            other = 1.0 - one
            for (a, b), value in (((i, i), other), ((j, j), one)):
                at = f.at(form, a * classes + b, "f32")
                f.store(f.load(at, "f32") + value * value, at)
            for a, b in ((i, j), (j, i)):
                f.store(-(one * other), f.at(form, a * classes + b, "f32"))
            place.set(place.get() + 1)

    def _multiply(self, f: Writer, form: Value, p: Value, products: Value, classes: Value) -> Value:
        """Write the form times p; gives p times that."""
        total = f.variable(f.constant(0.0, "f32"))
        with f.loop(0, classes) as i:
            sum_ = f.variable(f.constant(0.0, "f32"))
            with f.loop(0, classes) as j:
                sum_.set(sum_.get() + f.load(f.at(form, i * classes + j, "f32"), "f32") * f.load(f.at(p, j, "f32"), "f32"))
            f.store(sum_.get(), f.at(products, i, "f32"))
            total.set(total.get() + f.load(f.at(p, i, "f32"), "f32") * sum_.get())
        return total.get()

    def _error(self, f: Writer, products: Value, total: Value, classes: Value) -> Value:
        largest = f.variable(f.constant(0.0, "f32"))
        with f.loop(0, classes) as i:
            error = f.unary("fabs", f.load(f.at(products, i, "f32"), "f32") - total)
            largest.set(f.larger(error, largest.get()))
        return largest.get()

    def _round(self, f: Writer, form: Value, p: Value, products: Value, first: Value, classes: Value) -> None:
        total = f.variable(first)
        with f.loop(0, classes) as i:
            line = f.at(form, i * classes, "f32")
            own, product = f.load(f.at(line, i, "f32"), "f32"), f.load(f.at(products, i, "f32"), "f32")
            step = (total.get() - product) / own
            at = f.at(p, i, "f32")
            f.store(f.load(at, "f32") + step, at)
            scale = 1.0 + step
            total.set((total.get() + step * (step * own + 2.0 * product)) / scale / scale)
            with f.loop(0, classes) as j:
                at = f.at(products, j, "f32")
                f.store((f.load(at, "f32") + step * f.load(f.at(line, j, "f32"), "f32")) / scale, at)
                at = f.at(p, j, "f32")
                f.store(f.load(at, "f32") / scale, at)
