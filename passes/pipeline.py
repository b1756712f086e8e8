"""The way through: the passes of each stage, as data."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.machines.chip_groups import ChipGroups
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.numerics import DRAM_PLACEMENTS, PIPELINE, TENSOR
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.placement import AnyRule, PlacementRule
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.dialects.core.rules.queues import QueueRule
from ttc.passes.base import Pass
from ttc.passes.netlist.accumulate_in_l1 import AccumulateInL1
from ttc.passes.netlist.allocate_memory import AllocateMemory
from ttc.passes.netlist.approximate_exp import ApproximateExp
from ttc.passes.netlist.assign_chips import AssignChips
from ttc.passes.netlist.balance import Balance
from ttc.passes.netlist.choose_ports import ChoosePorts
from ttc.passes.netlist.deal_epochs import DealEpochs
from ttc.passes.netlist.size_queues import SizeQueues
from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn.channels_last import ChannelsLast
from ttc.passes.nn.consteval import Consteval
from ttc.passes.nn.differentiate import Differentiate
from ttc.passes.nn.drop_stop_gradients import DropStopGradients
from ttc.passes.nn.expose_probes import ExposeProbes
from ttc.passes.nn.fold_batch_norm import FoldBatchNorm
from ttc.passes.nn.fold_pad import FoldPad
from ttc.passes.nn.fold_qdq import FoldQdq
from ttc.passes.nn.fold_scale import FoldScale
from ttc.passes.nn.fold_shapes import FoldShapes
from ttc.passes.nn.fold_transpose import FoldTranspose
from ttc.passes.nn.fuse_activation import FuseActivation
from ttc.passes.nn.fuse_bias import FuseBias
from ttc.passes.nn.group_heads import GroupHeads
from ttc.passes.nn.hoist_invariants import HoistInvariants
from ttc.passes.nn.hoist_pieces import HoistPieces
from ttc.passes.nn.inline_branches import InlineBranches
from ttc.passes.nn.join_transposes import JoinTransposes
from ttc.passes.nn.keep_sources import KeepSources
from ttc.passes.nn.look_up_whole import LookUpWhole
from ttc.passes.nn.lower_attention import LowerAttention
from ttc.passes.nn.lower_batch_norm import LowerBatchNorm
from ttc.passes.nn.lower_fft import LowerFft
from ttc.passes.nn.lower_pool import LowerPool
from ttc.passes.nn.lower_recurrent import LowerRecurrent
from ttc.passes.nn.lower_resize import LowerResize
from ttc.passes.nn.patch_product import PatchProduct
from ttc.passes.nn.recognize_attention import RecognizeAttention
from ttc.passes.nn.recognize_gelu import RecognizeGelu
from ttc.passes.nn.recognize_layer_norm import RecognizeLayerNorm
from ttc.passes.nn.recognize_rms_norm import RecognizeRmsNorm
from ttc.passes.nn.recognize_rotary import RecognizeRotary
from ttc.passes.nn.recognize_swish import RecognizeSwish
from ttc.passes.nn.simplify_algebra import SimplifyAlgebra
from ttc.passes.nn.train_attention import TrainAttention
from ttc.passes.nn.train_recurrent import TrainRecurrent
from ttc.passes.nn_to_tile.block_rows import BlockRows
from ttc.passes.nn_to_tile.divide_tensors import DivideTensors
from ttc.passes.nn_to_tile.lower_bodies import LowerBodies
from ttc.passes.nn_to_tile.lower_to_tile import LowerToTile
from ttc.passes.nn_to_tile.note_independent import NoteIndependent
from ttc.passes.nn_to_tile.stream_batch import StreamBatch
from ttc.passes.tile.assign_formats import AssignFormats
from ttc.passes.tile.cancel_tms import CancelTms
from ttc.passes.tile.clean_padding import CleanPadding
from ttc.passes.tile.copy_transposed import CopyTransposed
from ttc.passes.tile.expand_composites import ExpandComposites
from ttc.passes.tile.fuse_eltwise import FuseEltwise
from ttc.passes.tile.legalize_tile import LegalizeTile
from ttc.passes.tile.override_formats import OverrideFormats
from ttc.passes.tile.split_concat import SplitConcat
from ttc.passes.tile_to_netlist.lower_to_netlist import LowerToNetlist
from ttc.passes.training import TrainingPlan

RECOGNITION: tuple[Pass, ...] = (
    RecognizeGelu(),
    RecognizeSwish(),
    RecognizeLayerNorm(),
    RecognizeRmsNorm(),
    RecognizeRotary(),
    RecognizeAttention(),
)
"""Passes that find composite ops, which have gradients of their own."""


@record(kw_only=True)
class PipelineSettings:
    """What a user can ask of the passes on the way from a model to a netlist.

    Args:
        format: storage of floating-point tensors at op borders; None keeps the source's.
        precision: of the CPU's multiplier, recorded in the netlist; `bfloat16` on `host` implies format Float16_b.
        rules: of precision, for single ops.
        dram_placement: how DRAM channels are chosen.
        placement: what the user wants for the places of single ops and queues.
        chips: that programs are spread over; those of a pipeline are each linked to the next.
        parallel: what chips divide, one of `numerics.PARALLEL`; None: the batch where they can, ops else.
        replicas: of programs that divide a batch; None: as many as divide it and the chips.
        turns: whether epochs are dealt out among chips in turn.
        divides: how chips divide the tensors of ops; None: they do not, unless it is asked for.
        effort: of placement, from 0 to 2.
        samples: of a microbatch of a streamed batch; None: as tiles are filled.
        gradients: the pass that makes those asked for; None: none are.
        training: what the program is trained with; None: it is for inference.
    """

    format: str | None = None
    precision: str = "float32"
    rules: tuple[PrecisionRule, ...] = ()
    dram_placement: str = DRAM_PLACEMENTS[0]
    placement: tuple[AnyRule, ...] = ()
    chips: tuple[int, ...] = (0,)
    parallel: str | None = None
    replicas: int | None = None
    turns: bool = False
    divides: ChipGroups | None = None
    effort: int = 1
    samples: int | None = None
    gradients: Differentiate | None = None
    training: TrainingPlan | None = None

    @property
    def most_replicas(self) -> int:
        """Chips among which replicas may be divided; 1 where a pipeline is asked for, in one word or by ops that begin a chip."""
        begins = any(isinstance(rule, PlacementRule) and rule.chip_break for rule in self.placement)
        return 1 if self.parallel in (PIPELINE, TENSOR) or self.divides is not None or begins else len(self.chips)

    @property
    def division(self) -> ChipGroups | None:
        """How chips divide the tensors of ops: as was chosen, or if that is asked for by columns; None if they do not."""
        return self.divides or (ChipGroups((self.chips,)) if self.parallel == TENSOR else None)

    @property
    def in_turn(self) -> tuple[tuple[int, ...], int]:
        """The chips of all groups that take epochs in turn, where each group divides tensors, and how many groups there are."""
        if self.division is not None and len(self.division.groups) > 1:
            return self.division.chips, len(self.division.groups)
        return (), len(self.chips) if self.turns else 1

    def passes_on_gradients(self) -> list[Pass]:
        """Return the passes that make gradients and what trains with them; none for inference."""
        return [*([] if self.gradients is None else [self.gradients]), *([] if self.training is None else self.training.passes())]

    def passes_on_stashes(self) -> list[Pass]:
        """Return the passes that make room in training, behind all passes that merge equal ops; none for inference."""
        return [] if self.training is None else self.training.passes_on_stashes()


USUAL = PipelineSettings()
"""The settings of a compilation without options."""


def stages(target: Target, wanted: PipelineSettings = USUAL) -> dict[str, list[Pass]]:
    """Return the passes of the stages that have passes, in order, for a machine and its kernel set."""
    queue_rules = tuple(rule for rule in wanted.placement if isinstance(rule, QueueRule))
    op_rules = tuple(rule for rule in wanted.placement if isinstance(rule, PlacementRule))
    format = "Float16_b" if target.is_host and wanted.precision == "bfloat16" else wanted.format
    expansion: list[Pass] = [ExpandComposites(), CleanPadding()] if target.kernels == "buda" else []
    copies: list[Pass] = [CopyTransposed()] if target.kernels == "buda" else []
    divides = wanted.division
    tensors = [] if divides is None else [DivideTensors(divides.groups[0], divides.rows, wanted.parallel == TENSOR), Consteval()]
    memory = AllocateMemory(
        wanted.dram_placement, queue_rules, static_ports=target.kernels == "buda"
    )  # a Buda host fills its queues at any time
    return {
        "nn": [*_nn_stage(target, wanted.passes_on_gradients(), wanted.precision), *wanted.passes_on_stashes()],
        "tile": [
            *(
                NoteIndependent(),
                *(tensors or [StreamBatch(wanted.samples, wanted.most_replicas, format, wanted.replicas)]),
                BlockRows(),
                LowerToTile(),
                AssignFormats(format),
                OverrideFormats(wanted.rules),
                LegalizeTile(),
                CancelTms(),
            ),
            *expansion,
            SplitConcat(target.max_input_queues),
            FuseEltwise(numbers=target.kernels == "buda"),
            *copies,
            LowerBodies(),
        ],
        "netlist": [
            LowerToNetlist(wanted.precision, wanted.rules),
            AssignChips(wanted.chips[:1] if wanted.turns or divides is not None else wanted.chips, op_rules),
            AccumulateInL1(),
            ApproximateExp(),
            Balance(wanted.effort, op_rules, *wanted.in_turn),
            DealEpochs(wanted.chips if wanted.turns else ()),
            SizeQueues(queue_rules),
            memory,
            ChoosePorts(),
        ],
    }


def gradient_steps(*gradients: Pass, precision: str = "float32") -> list[Pass]:
    """Return the passes that make gradients, after those that do not compute with values: gradients are those of the parameters
    themselves.  precision: at which a CPU multiplies.
    """
    return [
        Canonicalize(),
        InlineBranches(),
        HoistInvariants(),
        FoldShapes(),
        FoldTranspose(),
        *RECOGNITION,
        TrainAttention(precision),
        TrainRecurrent(),
        *gradients,
    ]


def _nn_stage(target: Target, gradients: Sequence[Pass], precision: str) -> list[Pass]:
    """Passes on nn ops: constants, patterns, layouts.  A host has kernels of whole recurrent layers."""
    products: list[Pass] = [] if target.is_host else [PatchProduct()]
    return [
        KeepSources(),
        *(gradient_steps(*gradients, precision=precision) if gradients else []),
        LowerAttention(precision),
        DropStopGradients(),
        ExposeProbes(),
        Canonicalize(),
        InlineBranches(),
        HoistInvariants(),
        FoldShapes(),
        JoinTransposes(),
        HoistPieces(),
        Canonicalize(),
        FoldTranspose(),
        FoldQdq(),
        LowerRecurrent(0) if target.is_host else LowerRecurrent(),
        Consteval(),
        Canonicalize(),
        LookUpWhole(),
        FoldQdq(),
        *RECOGNITION,
        GroupHeads(),
        SimplifyAlgebra(),
        LowerBatchNorm(),
        LowerPool(),
        FoldPad(),
        FoldBatchNorm(),
        FoldScale(),
        FuseBias(),
        FoldScale(),
        FuseBias(),
        *products,
        ChannelsLast(),
        RecognizeLayerNorm(),
        LowerResize(),
        LowerFft(),
        Canonicalize(),
        FoldTranspose(),
        FuseActivation(),
        Consteval(),
        Canonicalize(),
    ]
