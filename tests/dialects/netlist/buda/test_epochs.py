"""Which graphs run together, and in which order ops run."""

from __future__ import annotations

import pytest

from tests.runtime.golden.netlists import queue_of
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.buda.epochs import CALL, epochs_of, work_of
from ttc.dialects.netlist.model import Chip, Graph, Grid, Netlist, Op

CHIP = Chip("n150", "wormhole_b0", 1, (8, 8), (32, 32), 1, 8, 6, 1, 0, 32, 40, ("Float32",))
TYPE = TensorType((1, 32, 32), "Float32", "tiles(32, 32)")


def op_of(name: str, *inputs: str, shapes: tuple[tuple[int, ...], ...] = (), inner: tuple[int, int] | None = None) -> Op:
    types = tuple(TensorType(shape, "Float32") for shape in shapes) or (TYPE,) * len(inputs)
    result = TensorType((*types[0].shape[:-1], types[-1].shape[-1]), "Float32")
    work = Function(types, (Work("nn.add", tuple(range(len(types))), {}, (result,)),), (len(types),))
    return Op(name, "add", inputs, Grid(0, 0, 1, 1), None, work, inner=inner)


def netlist_of(*graphs: Graph) -> Netlist:
    queues = {name: queue_of(name, source=source) for name, source in (("x", "HOST"), ("e", "w"), ("r", "w"))}
    queues["r"] = queue_of("r", type="ram", source="w")
    return Netlist(CHIP, queues, {graph.name: graph for graph in graphs})


def order(netlist: Netlist, graph: str) -> list[str]:
    return [op.name for _, op in epochs_of(netlist)[graph].ops]


def test_ops_follow_what_they_read_over_graphs():
    left = Graph("left", 0, 2, (op_of("c", "b"), op_of("a", "x")), (), epoch=3)
    right = Graph("right", 1, 2, (op_of("b", "a"),), (), epoch=3)
    netlist = netlist_of(left, right, Graph("alone", 0, 1, (op_of("z", "x"),), ()))
    epochs = epochs_of(netlist)
    assert order(netlist, "right") == ["a", "b", "c"]
    assert epochs["left"] is epochs["right"]
    assert list(epochs["alone"].graphs) == ["alone"]
    assert epochs["left"].last_use == {"a": 1, "b": 2}


def test_a_relay_is_written_before_it_is_read_but_a_ram_is_not_waited_for():
    graph = Graph("g", 0, 1, (op_of("reads", "e"), op_of("peeks", "r"), op_of("w", "x")), (("w", "e"), ("w", "r")))
    assert order(netlist_of(graph), "g") == ["peeks", "w", "reads"]


def test_a_relay_back_to_its_writer_does_not_count():
    graph = Graph("g", 0, 1, (op_of("w", "e"),), (("w", "e"),))
    assert order(netlist_of(graph), "g") == ["w"]


@pytest.mark.parametrize(
    ("graphs", "code"),
    [
        ((Graph("a", 0, 1, (op_of("o", "nothing"),), ()),), "E0601"),
        ((Graph("a", 0, 1, (op_of("o", "p"), op_of("p", "o")), ()),), "E0608"),
        ((Graph("a", 0, 1, (), (), epoch=1), Graph("b", 0, 2, (), (), epoch=1)), "E0608"),
    ],
)
def test_graphs_that_cannot_run(graphs: tuple[Graph, ...], code: str):
    with pytest.raises(Error) as failure:
        epochs_of(netlist_of(*graphs))
    assert failure.value.code == code


def test_work_counts_multiplications_or_elements():
    assert work_of(op_of("o", "x", "x")) == CALL + 3 * 1024
    product = op_of("m", "x", "x", shapes=((1, 32, 64), (1, 64, 96)), inner=(1, 2))
    assert work_of(product) == CALL + 32 * 64 + 64 * 96 + 32 * 64 * 96
