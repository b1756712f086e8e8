"""Every name of PopTorch is there, or refused with a reason, and a table says what it is in ttc."""

from __future__ import annotations

import enum
import inspect
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")

from ttc.compat import poptorch_names  # noqa: E402
from ttc.compat.names import Refusing  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402

OF_POPTORCH = """
    trainingModel inferenceModel PoplarExecutor isRunningOnIpu load IPU Block BeginBlock BlockFunction removeBlocks Stage AutoStage
    Phase Liveness ShardedExecution PipelinedExecution ParallelPhasedExecution SerialPhasedExecution ipu_print_tensor identity_loss
    custom_op CPU for_loop cond nop fps dynamic_slice dynamic_update ctc_beam_search_decoder CTCBeamSearchDecoder serializedMatMul
    set_available_memory set_overlap_for_input set_overlap_for_output recomputationCheckpoint MultiConv MultiConvPlanType
    MultiConvPartialsType NameScope Attribute Options DataLoader AsynchronousDataAccessor DataLoaderMode TensorLocationSettings
    VariableAttributes OutputMode AnchorMode ReductionType MeanReductionStrategy ConnectionType SyncPattern OverlapMode SharingStrategy
    MatMulSerializationMode HalfFloatCastingBehavior ipuHardwareIsAvailable ipuHardwareVersion setLogLevel Error RecoverableError
    UnrecoverableError autocasting profiling distributed optim
"""
"""What PopTorch's reference documents."""
OF_EXECUTORS = """
    copyWeightsToHost copyWeightsToDevice setOptimizer compile isCompiled destroy attachToDevice detachFromDevice rng_state load_state_dict
    getLatency getPerfCounters compileAndExport copyNamedBuffersToDevice getTensorNames getAnchoredTensor
"""
OF_OPTIONS = """
    deviceIterations replicationFactor outputMode anchorMode setExecutionStrategy setAvailableMemoryProportion enableExecutableCaching
    enableProfiling autoRoundNumIPUs randomSeed logDir modelName connectionType syncPattern useIpuId useIpuModel useOfflineIpuTarget
    broadcastBuffers inputReplicaGrouping loadFromFile clone Training Precision TensorLocations Distributed _Popart anchorTensor
"""
INSIDE = {"Options.fields", "Options.check_open", "Training.fields"}
"""What classes have for ttc itself."""


def is_known(owner: Any, name: str) -> bool:
    """Whether a name is there, or refused with a reason."""
    try:
        getattr(owner, name)
    except Error as error:
        return error.code == "E0105"
    except AttributeError:
        return False
    return True


def members(owner: str, kind: type) -> set[str]:
    """Dotted names of the methods that a class defines for its users."""
    if issubclass(kind, enum.Enum):
        return set()
    return {f"{owner}.{name}" for name in vars(kind) if not name.startswith("_") and name != "forward"} - INSIDE


def test_every_name_of_poptorch_is_there_or_refused(poptorch: Any) -> None:
    executor = object.__new__(poptorch.PoplarExecutor)
    executor.model = None
    for owner, names in ((poptorch, OF_POPTORCH), (executor, OF_EXECUTORS), (poptorch.Options(), OF_OPTIONS)):
        assert [name for name in names.split() if not is_known(owner, name)] == []
    assert not is_known(poptorch, "no_such_name")


def test_the_table_has_every_name_that_is_there_and_no_other(poptorch: Any) -> None:
    made = {name: value for name, value in vars(poptorch).items() if "poptorch" in str(getattr(value, "__module__", "")) and name[0] != "_"}
    own = {name: value for name, value in made.items() if callable(value) and not isinstance(value, Refusing)}
    found = {*own, "identity_loss", "Error", "RecoverableError", "UnrecoverableError"} - {"Nesting", "printer"}
    for name, value in own.items():
        found |= members(name, value) if inspect.isclass(value) and name != "Nesting" else set()
    found |= {f"optim.{name}" for name in vars(poptorch.optim) if not name.startswith("_")}
    found |= members("Options.Training", type(poptorch.Options().Training))
    fields = {"PoplarExecutor.model", "PoplarExecutor.options", "DataLoader.combinedBatchSize"}
    assert found | fields == {name for name in poptorch_names.TRANSLATED if "(" not in name}


def test_arguments_in_the_table_are_those_of_the_functions(poptorch: Any) -> None:
    told = {name.removesuffix(")").partition("(")[2] for name in poptorch_names.TRANSLATED if "(" in name}
    assert told == set(inspect.signature(poptorch.trainingModel).parameters) - {"model"}
