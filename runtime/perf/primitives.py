"""The primitives that a tile op consists of on one core.

A rule takes the op and a core's share of it, and gives the primitives in order; `WORKS` has one for each op.
A composite is all primitives of Buda's vocabulary that it stands for.  What passes between them stays in L1 (`local`); what a window or
whole rows read besides is `reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import ceil, prod

from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.tile.facts import Role, fact_of, has_role
from ttc.dialects.tile.facts.role_tables import RoleTable
from ttc.dialects.tile.facts.steps import CompositeStep, taken
from ttc.runtime.perf.base import OpView, Share, dst_tiles
from ttc.runtime.perf.functions import primitives
from ttc.runtime.perf.work import CoreWork

Rule = Callable[[OpView, Share], list[CoreWork]]

WORKS: RoleTable[Rule] = RoleTable("the primitives")


def works_of(view: OpView, share: Share) -> list[CoreWork]:
    """Return primitives of one core's share of a tile op, in order.  Raises E0302, E0503."""
    found = WORKS.of(view.op)(view, share)
    if view.l1_acc:
        found = [work._replace(l1_acc=work.op == "matmul") for work in found]
    if view.approximate:
        alone = view.op == "attention" or has_role(f"tile.{view.op}", Role.NORMALIZATION)
        found = [work._replace(approximate=not alone or "exp" in (work.op, *work.then)) for work in found]
    return found


def tiles_of(type_: TensorType) -> int:
    """Return tiles of a whole tensor; of 1024 elements in row layout."""
    return prod(type_.tile_dims()) if type_.layout != "rows" else -(-type_.elements // 1024)


def _work(view: OpView, share: Share, op: str, **changes: object) -> CoreWork:
    """Return a primitive over the share, in the op's formats."""
    made = CoreWork(
        op,
        tuple(x.format for x in view.operands if x is not None and x.elements != 1) or (view.result.format,),
        view.result.format,
        share.t,
        share.mblock,
        share.ublock,
        fidelity=view.fidelity,
        intermediate=view.intermediate,
    )
    return made._replace(**changes) if changes else made


@WORKS.rule(Role.VIEW, Role.GATHER, "pad", "retile", "to_host", "from_host")
def works_of_copy(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of an op that only moves data."""
    return [_work(view, share, "nop")]


@WORKS.rule("concat", "splice")
def works_of_concat(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of laying tiles of several operands side by side."""
    return [_work(view, share, "splice", inputs=(view.result.format,))]


@WORKS.rule("topk")
def works_of_topk(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of a bitonic network: for each doubling of runs, a comparison of each doubling below it."""
    width = max(view.operand(0).shape[-1] // max(int(str(view.attrs.get("cores") or 1)), 1), 2)
    doublings = (width - 1).bit_length()
    return [_work(view, share, "maximum", then=("maximum",) * (doublings * (doublings + 1) // 2))]


@WORKS.rule(Role.ELEMENTWISE, Role.CONVERSION)
def works_of_eltwise(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of an elementwise op or region; what is between its functions stays in the destination register."""
    first, *rest = functions_of(view) or ("nop",)
    vector = str(view.attrs.get("vector") or "rc")
    return [_work(view, share, first, then=tuple(rest), vector=vector)]


FUNCTIONS: RuleTable[Callable[[OpView], tuple[str, ...]]] = RuleTable("functions that it applies")
"""What gives the measured functions that an elementwise op applies in turn; none where packer or unpacker does it all on the way."""
FUNCTIONS.add("sfpu", lambda view: (str(view.attrs["fn"]),))
FUNCTIONS.add("binary", lambda view: (str(view.attrs["fn"]),))
FUNCTIONS.add("rescale", lambda view: (str(view.attrs["kind"]),))
FUNCTIONS.add("map", lambda view: primitives(str(view.attrs.get("fn")), view.operands, _limits(view.attrs)))
FUNCTIONS.rule("relu", "adjust", "cast")(lambda view: ())


def functions_of(view: OpView) -> tuple[str, ...] | None:
    """Return the measured functions that an elementwise op applies; None for other ops. Raises E0901 for one that `FUNCTIONS` lacks."""
    return FUNCTIONS[view.op](view) if has_role(f"tile.{view.op}", Role.ELEMENTWISE, Role.CONVERSION) else None


@FUNCTIONS.rule("eltwise")
def _functions_of_region(view: OpView) -> tuple[str, ...]:
    if view.body is None:
        return ()
    types = view.body.value_types
    found: list[str] = []
    for work in view.body.works:
        if work.op == "tile.map":
            operands = [None if i is None else types[i] for i in work.operands]
            found += primitives(str(work.attrs.get("fn")), operands, _limits(work.attrs))
    return tuple(found)


@WORKS.rule("matmul")
def works_of_matmul(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of tile products over the inner dimension (and over summed matrices), bias and activation on the result."""
    left = view.operand(0)
    inner = left.shape[-2] if view.attrs.get("transpose_a") else left.shape[-1]
    products = left.shape[-3] if view.attrs.get("accumulate") else 1
    return [_product(view, share, products * -(-inner // 32))]


@WORKS.rule("sparse_matmul")
def works_of_sparse_matmul(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of a selection: products with its tiles that are not zero, those of a tile's rows as far apart as neighbouring rows
    lie.
    """
    sizes, steps, terms = _numbers(view.attrs["sizes"]), _numbers(view.attrs["steps"]), int(str(view.attrs["terms"]))
    apart = abs(steps[-1]) if steps else 0
    tiles = share.t * share.rows * prod(sizes[:terms]) * (apart + 1)
    per_ublock = share.ublock[0] * 4
    ublocks = max(-(-tiles // per_ublock), share.t * share.mblock[0])
    inner = share.inner or (1, 1)
    strips = max(min(inner[0], ublocks), 1)
    return [_work(view, share, "sparse_matmul", sparse=(strips, ublocks, max(tiles, 1)), inner=inner)]


@WORKS.rule("encoded_matmul")
def works_of_encoded_matmul(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of a product where codes say which tiles are not zero: as a selection of pixels has them, two for each row of tiles
    of the result.
    """
    tiles = 2 * share.t * share.rows
    inner = share.inner or (1, 1)
    strips = max(min(inner[0], tiles), 1)
    ublocks = max(-(-tiles // (share.ublock[0] * 4)), share.t * share.mblock[0])
    formats = (view.operand(0).format, view.operand(1).format)
    return [_work(view, share, "sparse_matmul", inputs=formats, sparse=(strips, ublocks, max(tiles, 1)), inner=inner)]


@WORKS.rule("depthwise", "tile_depthwise")
def works_of_depthwise(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of a product with a diagonal tile a tap."""
    taps = int(str(view.attrs.get("count") or view.operand(0).shape[0]))
    return [_work(view, share, "depthwise", inner=(max(taps, 1), 1), then=_epilogue(view))]


@WORKS.rule("conv2d")
def works_of_conv2d(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of products over taps and input channels; depthwise where each channel has its own weights."""
    kernel_h, kernel_w, channels, _ = view.operand(1).shape
    taps = kernel_h * kernel_w
    if channels == 1 and int(str(view.attrs.get("groups") or 1)) > 1:
        return [_work(view, share, "depthwise", inner=(max(taps, 1), 1), then=_epilogue(view))]
    return [_product(view, share, taps * -(-channels // 32))]


@WORKS.rule("conv_transpose2d")
def works_of_conv_transpose2d(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of products over the taps that meet each output, and input channels."""
    kernel_h, kernel_w, _, _ = view.operand(1).shape
    stride_h, stride_w = _pair(view.attrs["strides"])
    taps = -(-kernel_h // stride_h) * -(-kernel_w // stride_w)
    return [_product(view, share, taps * -(-view.operand(0).shape[-1] // 32))]


@WORKS.rule("attention")
def works_of_attention(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of scores, softmax over them, and the weighted sum of values.

    Cores among which the columns of the result are divided meet a part of the keys each, and join their sums.  Scores fill the destination
    register, of one row or, where that has few, of several; the block of the result has nothing to do with it.
    Source: tt-metal, ttnn/cpp/ttnn/operations/transformer/sdpa (`qk_out_subblock_w`, `qk_out_subblock_h`).
    """
    depth, parts = -(-view.operand(0).shape[-1] // 32), key_parts(view, share.cols)
    keys = -(-view.operand(1).shape[-2] // 32 // parts)
    limit = dst_tiles(view.intermediate)
    across = _divisor(keys, limit)
    down = _divisor(share.rows, limit // across) if across == keys else 1
    scores = Share(share.t, share.rows, keys, (down, across))
    weights = Share(share.t, share.rows, share.cols * parts, share.ublock, share.reread)
    query, key, value = (view.operand(i).format for i in range(3))
    found = [_work(view, scores, "matmul", inputs=(query, key), inner=scores.k_blocks(depth), output=view.intermediate, local=True)]
    if len(view.operands) > 3 and view.operands[3] is not None:
        found.append(_work(view, scores, "add", inputs=(view.intermediate, view.operands[3].format), output=view.intermediate, local=True))
    found += _works_of_steps(view, scores, fact_of("softmax").steps, view.intermediate)
    products = _work(view, weights, "matmul", inputs=(view.intermediate, value), inner=weights.k_blocks(keys))
    return [*found, products, *_works_of_parts(view, share, parts)]


def key_parts(view: OpView, cols: int) -> int:
    """Return among how many cores the keys of a row of an attention are divided.  cols: tile columns of the result that a core has."""
    return ceil(view.result.shape[-1] / 32 / cols)


def _works_of_parts(view: OpView, share: Share, parts: int) -> list[CoreWork]:
    """Return the work of joining the weighted sums that cores have of a part of the keys each, of the columns of one of them.

    It brings the sums and statistics of the others, weighs each by the exponential of its largest score, and adds up.
    Source: tt-metal, ttnn/cpp/ttnn/operations/transformer/sdpa_decode (reduction of partial results among the cores of a head).
    """
    if parts == 1:
        return []
    column = Share(share.t, share.rows, 1, (share.ublock[0], 1))
    block = _work(view, share, "nop", inputs=(view.intermediate,), output=view.intermediate, local=True)
    row = _work(view, column, "nop", inputs=(view.intermediate,), output=view.intermediate, local=True, vector="c")
    others = parts - 1
    statistics = [row, row, row._replace(op="maximum"), row._replace(op="add")] * others
    weighed = [row._replace(op="subtract", then=("exp",)), row._replace(op="multiply"), block._replace(op="multiply")] * parts
    joined = [block, block._replace(op="add")] * others
    return [*statistics, *weighed, *joined, row._replace(op="reciprocal"), block._replace(op="multiply", output=view.result.format)]


@WORKS.rule(Role.NORMALIZATION)
def works_of_rows(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of the steps of the op's fact, but for those that take an operand that the op lacks."""
    fact = fact_of(view.op)
    absent = fact.operands[len(view.operands) :] + tuple(name for name, x in zip(fact.operands, view.operands, strict=False) if x is None)
    return _works_of_steps(view, share, taken(fact.steps, absent), view.operand(0).format, fact.attrs)


def _works_of_steps(
    view: OpView, share: Share, steps: Sequence[CompositeStep], format_: str, numbers: Collection[str] = ()
) -> list[CoreWork]:
    """Return steps over the rows of an operand x in a format.

    A function of what the step before it gave is computed in the destination register, as is one of the attributes that are numbers.
    """
    column = Share(share.t, share.rows, 1, (share.ublock[0], 1))
    block = _work(view, share, "nop", output=view.intermediate, local=True)
    row = _work(view, column, "nop", inputs=(view.intermediate,), output=view.intermediate, local=True)
    found: list[CoreWork] = []
    formats, statistics = {"x": format_}, set[str]()
    previous = ""
    for step in steps:
        inputs = tuple(formats.get(name, view.intermediate) for name in step.values)
        formats[step.result] = view.intermediate
        if step.is_statistic or statistics.issuperset(name for name in step.values if name not in numbers):
            statistics.add(step.result)
        if step.is_statistic:
            found.append(_statistic(step.fn, block, row, inputs[0], share.cols))
        elif not set(numbers).isdisjoint(step.values):
            continue
        elif step.values == (previous,):
            found[-1] = found[-1]._replace(then=(*found[-1].then, *primitives(step.fn)))
        elif step.result in statistics:
            found.append(row._replace(op=primitives(step.fn)[0], vector="c"))
        else:
            found.append(block._replace(op=primitives(step.fn)[0], inputs=inputs))
        previous = "" if step.is_statistic else step.result
    return [*found[:-1], found[-1]._replace(output=view.result.format)]


def _statistic(fn: str, block: CoreWork, row: CoreWork, format_: str, cols: int) -> CoreWork:
    """Return one number for each row: the largest by a reduction, sums by a product with a column of ones."""
    if fn == "max":
        return block._replace(op="reduce", dim="c", inputs=(format_,))
    return row._replace(op="matmul", inputs=(format_, row.intermediate), inner=(1, cols))


@WORKS.rule("reduce")
def works_of_reduce(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of a reduction: every tile of the operand once, shared among the cores as the result is; sums are products with
    ones.
    """
    ratio = max(-(-tiles_of(view.operand(0)) // max(tiles_of(view.result), 1)), 1)
    axes = _numbers(view.attrs.get("axes", ()))
    rank = len(view.operand(0).shape)
    last = any(axis % max(rank, 1) == rank - 1 for axis in axes)
    inner = share.k_blocks(ratio)
    if view.attrs.get("fn") in ("sum", "mean"):
        return [_work(view, share, "matmul", inputs=(view.operand(0).format,) * 2, inner=inner)]
    if view.attrs.get("fn") == "prod":
        return [_work(view, share, "multiply", t=share.t * ratio)]
    if not last and all(axis % max(rank, 1) < rank - 2 for axis in axes):
        return [_work(view, share, "reduce", dim="z", z=ratio)]
    (m, n), (rt, ct) = share.mblock, share.ublock
    blocks = ((m, n * inner[0]), (rt, ct * inner[1])) if last else ((m * inner[0], n), (rt * inner[1], ct))
    return [_work(view, share, "reduce", dim="c" if last else "r", mblock=blocks[0], ublock=blocks[1])]


@WORKS.rule("max_pool2d")
def works_of_max_pool2d(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of the maximum over taps: a reduction along z of the pixels under each."""
    kernel_h, kernel_w = _pair(view.attrs["kernel"])
    return [_work(view, share, "reduce", dim="z", z=max(kernel_h * kernel_w, 1))]


@WORKS.rule("avg_pool2d")
def works_of_avg_pool2d(view: OpView, share: Share) -> list[CoreWork]:
    """Return the work of a sum over taps: products with tiles of ones, scaled."""
    kernel_h, kernel_w = _pair(view.attrs["kernel"])
    return [_work(view, share, "depthwise", inner=(max(kernel_h * kernel_w, 1), 1))]


def reading(view: OpView, share: Share) -> int:
    """Return tiles of its first operand that an op gathers for its windows, or reads again; 0 where it takes each tile once as it comes."""
    if has_role(f"tile.{view.op}", Role.NORMALIZATION):
        return share.tiles * fact_of(view.op).passes if share.reread else 0
    window = has_role(f"tile.{view.op}", Role.WINDOW)
    if not window and not (view.op == "depthwise" and share.reread):
        return 0
    count = TAPS[view.op](view)
    if count == 1:
        return 0
    grouped = int(str(view.attrs.get("groups") or 1)) > 1 or view.op not in ("conv2d", "conv_transpose2d")
    columns = share.cols if grouped else -(-view.operand(0).shape[-1] // 32)
    return share.t * share.rows * columns * count


TAPS: RuleTable[Callable[[OpView], int]] = RuleTable("number of pixels under a window")
"""What gives the taps that an op reads its image for; those of `depthwise` lie in L1 unless they are read again."""
TAPS.rule("conv2d", "conv_transpose2d")(lambda view: prod(view.operand(1).shape[:2]))
TAPS.rule("max_pool2d", "avg_pool2d")(lambda view: prod(_pair(view.attrs["kernel"])))
TAPS.add("depthwise", lambda view: view.operand(0).shape[0])


def _product(view: OpView, share: Share, k_tiles: int) -> CoreWork:
    left, right = view.operand(0).format, view.operand(1).format
    bias = len(view.operands) > 2 and view.operands[2] is not None
    then = (*(("add",) if bias else ()), *_epilogue(view))
    return _work(view, share, "matmul", inputs=(left, right), inner=share.k_blocks(k_tiles), then=then)


def _epilogue(view: OpView) -> tuple[str, ...]:
    function = view.attrs.get("activation")
    if not function:
        return ()
    limits = view.attrs.get("activation_args")
    return primitives(str(function), (), limits if isinstance(limits, tuple) else ())


def _limits(attrs: dict[str, Plain]) -> tuple[Plain, ...]:
    """(min, max) of a clip."""
    names, values = attrs.get("names"), attrs.get("values")
    if not isinstance(names, tuple) or not isinstance(values, tuple):
        return ()
    given = dict(zip(names, values, strict=False))
    return (given.get("min"), given.get("max"))


def _divisor(number: int, limit: int) -> int:
    return next(d for d in range(max(min(number, limit), 1), 0, -1) if number % d == 0)


def _numbers(value: object) -> tuple[int, ...]:
    if isinstance(value, tuple) and all(isinstance(x, int) for x in value):
        return value
    raise ValueError(f"{value!r} is no list of numbers")


def _pair(value: object) -> tuple[int, int]:
    if isinstance(value, tuple) and len(value) == 2:
        return int(value[0]), int(value[1])
    raise ValueError(f"{value!r} is not a pair")
