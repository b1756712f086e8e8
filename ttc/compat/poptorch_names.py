"""Every name of PopTorch that is there, with what it is in ttc, and every one that is refused, with the reason; the docs show both.

Options that are taken and have no effect are in tables of `poptorch_options`, `poptorch_optim` and `poptorch_data`.
"""

from __future__ import annotations

_HERE = "nothing: there is no IPU"
TRANSLATED: dict[str, str] = {
    "trainingModel": '`ttc.training(model, loss=, optimizer=)`; with a loss inside the model `loss="output"`',
    "inferenceModel": "`ttc.inference(model)`, which takes the newest weights of what trains the model",
    "trainingModel(device_iterations)": "`iterations=`",
    "trainingModel(gradient_accumulation)": "`accumulate=`",
    "trainingModel(replication_factor)": "`replicas=`",
    "trainingModel(loss)": "`loss=`; a module of one's own, too",
    "trainingModel(optimizer)": "`optimizer=`: SGD, Adam, AdamW, RMSprop, LAMB, and more; without it SGD of 0.01",
    "trainingModel(profile)": "nothing: `ttc run --profile` and `ttc perf` tell where time goes",
    "trainingModel(trace_model)": "nothing: every model is exported by PyTorch",
    "trainingModel(options)": "the options of the executor",
    "PoplarExecutor": "what `ttc.training` and `ttc.inference` give; other names are those of the model",
    "PoplarExecutor.model": "the model itself, whose class stays as it is",
    "PoplarExecutor.options": "the options that it was made with",
    "PoplarExecutor.copyWeightsToHost": "`pull_weights(overwrite=True)`, which every call of training ends with",
    "PoplarExecutor.copyWeightsToDevice": "`push_weights(overwrite=True)`; without `overwrite` E0809 where both sides have changed",
    "PoplarExecutor.setOptimizer": "`executor.optimizer = ...`; changed learning rates need no call",
    "PoplarExecutor.load_state_dict": "`load_state_dict` of the model, and `push_weights`",
    "PoplarExecutor.compile": "nothing: the first call compiles; `example_inputs=` compiles at once",
    "PoplarExecutor.isCompiled": "whether there was a call",
    "PoplarExecutor.attachToDevice": _HERE,
    "PoplarExecutor.detachFromDevice": _HERE,
    "PoplarExecutor.isAttachedToDevice": "whether there was a call",
    "PoplarExecutor.destroy": "`close()`",
    "IPU": "`with ttc.stage(n):`, or `ttc.stage(n).start()` without a layer",
    "BeginBlock": "`ttc.stage(n)(module)`",
    "Block": "`ttc.stage(n).start()`: what follows is of the stage, too",
    "Block.start": "`ttc.stage(n).start()`",
    "Block.useAutoId": "nothing: blocks without a number get one anyway",
    "BlockFunction": "`@ttc.stage(n)`",
    "removeBlocks": "nothing: stages of a model change no number",
    "PipelinedExecution": "`ttc.Pipeline(model, devices=)`; executors take calls that do not fill the stages, which is E0101 here",
    "ShardedExecution": "the same numbers",
    "AutoStage": "the numbers that stages are given",
    "ipu_print_tensor": "`ttc.probe(x, name, sink=)`, whose result need not be used",
    "identity_loss": "`ttc.mark_loss(x, reduction)`; several marked losses are added",
    "for_loop": "a loop in Python",
    "nop": "nothing",
    "serializedMatMul": "`torch.matmul`, which ttc cuts itself",
    "MatMulSerializationMode": "nothing: ttc cuts products itself",
    "set_available_memory": "nothing: tensors lie where ttc puts them",
    "recomputationCheckpoint": "nothing: `recompute=`, and `ttc.recompute(f)`, say what is computed again",
    "isRunningOnIpu": "`torch.compiler.is_exporting()`",
    "ipuHardwareIsAvailable": "False",
    "setLogLevel": "nothing: `-v` of the command line",
    "NameScope": "nothing: ops keep the names of the model",
    "Error": "`ttc.Error`",
    "RecoverableError": "`ttc.Error`",
    "UnrecoverableError": "`ttc.Error`",
    "DataLoader": "`ttc.DataLoader(dataset, batch, iterations=, ...)`",
    "DataLoader.combinedBatchSize": "rows of a call",
    "DataLoader.terminate": "nothing: rows are loaded when they are asked for",
    "DataLoaderMode": "nothing: rows are loaded when they are asked for",
    "AsynchronousDataAccessor": "the loader as it is",
    "AsynchronousDataAccessor.terminate": "nothing: rows are loaded when they are asked for",
    "optim.SGD": "`torch.optim.SGD`; `max_grad_norm` is `clip_norm=`",
    "optim.Adam": "`torch.optim.Adam`; likewise",
    "optim.AdamW": "`torch.optim.AdamW`; likewise",
    "optim.RMSprop": "`torch.optim.RMSprop`; likewise",
    "optim.LAMB": "`ttc.optim.LAMB`",
    "Options": "options of executors, frozen once a model has taken them",
    "Options.deviceIterations": "`iterations=`",
    "Options.replicationFactor": "`replicas=`; of more than `TTC_VISIBLE_DEVICES` lists: E0104",
    "Options.setExecutionStrategy": "`schedule=` of `ttc.Pipeline`",
    "Options.outputMode": "`output=`",
    "Options.anchorMode": "`output=`",
    "Options.clone": "a copy that is not frozen",
    "Options.Training.gradientAccumulation": "`accumulate=`",
    "Options.Training.accumulationAndReplicationReductionType": '`reduction="mean"` or `"sum"`',
    "OutputMode": '`output="all"`, `"last"`, `"every:N"`, `"sum"`; `"mean"` and `"loss"` besides',
    "AnchorMode": "`output=`",
    "ReductionType": "`reduction=`",
    "MeanReductionStrategy": "nothing: a mean is divided once, at the end",
    "ConnectionType": _HERE,
    "SyncPattern": _HERE,
    "TensorLocationSettings": "nothing: tensors lie where ttc puts them",
    "HalfFloatCastingBehavior": "nothing: `format=` and `precision=` choose how numbers are kept and computed",
}
"""The names that exist here: functions and their arguments, classes and their members, all under their dotted names."""
REFUSED_OF_EXECUTORS = {
    **dict.fromkeys(
        ("getLatency", "getComputeLatency", "getHostIpuLatency", "getIpuHostLatency", "getPerfCounters"), "`ttc perf` tells times"
    ),
    **dict.fromkeys(
        ("compileAndExport", "loadExecutable", "cycleCount"), "`program.save(path)` writes an archive, ttc.load(path) reads it"
    ),
    "rng_state": "drawing ops have seeds of their own",
    **dict.fromkeys(("getTensorNames", "getAnchoredTensor"), "ttc.probe(x, name, sink=) hands out values"),
    "copyNamedBuffersToDevice": "push_weights() of an executor takes buffers with the parameters",
}
"""Methods of executors that mean nothing here, and why."""
REFUSED = {
    "custom_op": "custom ops are code for an IPU; write the op in PyTorch",
    "CPU": "ttc.host(function) makes a function of Python a part of a model",
    **dict.fromkeys(
        (
            *("ctc_beam_search_decoder", "CTCBeamSearchDecoder", "multi_conv", "MultiConv", "MultiConvPlanType", "MultiConvPartialsType"),
            *("cond", "fps", "dynamic_slice", "dynamic_update"),
        ),
        "write it in PyTorch, as torch.cond does for cond",
    ),
    **dict.fromkeys(("ParallelPhasedExecution", "SerialPhasedExecution", "Phase", "Stage", "Liveness"), "models are not split into phases"),
    **dict.fromkeys(("load", "convertReplicatedTensorForTraining", "distributed"), "ttc.load reads archives of ttc; there is one process"),
    "ipuHardwareVersion": "there is no IPU",
    "VariableAttributes": "numbers are read at every call",
    "LossScaling": "loss_scale= of ttc.training",
    "Attribute": "attributes are of PopART, which there is none of",
    "autocasting": "format= and precision= of ttc.training choose how numbers are computed",
    "profiling": "`ttc run --profile` and `ttc perf` tell where time goes",
    **dict.fromkeys(
        ("set_overlap_for_input", "set_overlap_for_output", "OverlapMode", "SharingStrategy"),
        "there is no copy between a host and an IPU that could overlap",
    ),
}
"""Names that mean nothing here, and why."""
