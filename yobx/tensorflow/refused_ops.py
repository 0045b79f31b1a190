"""Why an op type of TensorFlow has no converter: classes of op types, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["CLASSES", "RefusedClass", "by_class", "class_of"]


@dataclass(frozen=True)
class RefusedClass:
    """Op types that are refused for one reason.

    Attributes:
        title: What they have in common.
        reason: Why there is no converter.
        pattern: Regular expression that the whole op type matches.
    """

    title: str
    reason: str
    pattern: str


#: The first class that matches is the one. Gradients and devices come before what they are of.
CLASSES = (
    RefusedClass(
        "Part of the walk",
        "Function calls, inputs and handles of variables are converted by the walk over the graph "
        "itself, not by a converter.",
        r"PartitionedCall|StatefulPartitionedCall|Placeholder|PlaceholderV2|VarHandleOp"
        r"|DisableCopyOnRead|FakeParam",
    ),
    RefusedClass(
        "TPU, collectives and devices",
        "They move data between devices and have no meaning within one model.",
        r".*TPU.*|Xla.*|.*Xla(Concat|Split)ND|Collective.*|Nccl.*|Infeed.*|Outfeed.*|.*SparseCore.*"
        r"|AllToAll|CrossReplicaSum|ConfigureDistributedTPU|Send|Recv|RemoteCall|SyncDevice"
        r"|DeviceIndex|Prelinearize.*|WorkerHeartbeat|GlobalIterId|CheckPinned|Copy|CopyHost"
        r"|GetMinibatch.*|StoreMinibatch.*|ConvertToCooTensor|ComputeBatchSize|.*Mutex.*",
    ),
    RefusedClass(
        "Random crops for training",
        "They draw another crop of a training image in every run: crop in front of the model, or "
        "use ``tf.image.crop_and_resize`` with boxes that are inputs.",
        r"(Stateless)?SampleDistortedBoundingBox(V2)?",
    ),
    RefusedClass(
        "Training",
        "Optimizers, gradients, accumulators and samplers of training; some gradients that models "
        "hold have converters, see the table.",
        r"(Resource)?(Sparse)?Apply.*|.*Grad(ient)?(V\d|A|Boxes|Image|WithArgmax|WithShape)?"
        r"|.*GradGrad.*|.*Backprop(Filter|Input)?(V\d)?|.*Accumulator.*|.*CandidateSampler|Sdca.*"
        r"|CTCLoss(V2)?|DebugGradient.*|SymbolicGradient|ComputeAccidentalHits"
        r"|Kmeans.*|KMC2.*|.*GradGradV2",
    ),
    RefusedClass(
        "Writes to state",
        "An ONNX model has no variables, queues or stacks: make the state an input and an output.",
        r"Assign.*|(Resource)?Scatter(Nd)?(Add|Div|Max|Min|Mul|Sub|Update)"
        r"|.*CountUpTo|.*StridedSliceAssign|.*TemporaryVariable|IsVariableInitialized"
        r"|VarIsInitializedOp|.*Queue(V2)?|Queue.*|Stack.*|(Ordered)?Map(Clear|Peek|Size|Stage"
        r"|IncompleteSize|Unstage.*)|Stage.*|Unstage|Barrier.*|DestroyResourceOp|.*Sessions?(Handle"
        r"|Tensor).*|Inplace.*|ParallelConcat|ConsumeMutexLock",
    ),
    RefusedClass(
        "Bytes of strings",
        "ONNX strings are text, and no operator of onnxruntime or onnxruntime-extensions gives "
        "their bytes: decode in front of the model, and make the numbers its input.",
        r"Decode(PaddedRaw|Raw|Compressed)|EncodeBase64|DecodeBase64",
    ),
    RefusedClass(
        "Input pipelines",
        "``tf.data`` belongs in front of a model: readers, iterators, datasets, parsers.",
        r".*Dataset.*|.*Iterator.*|.*Reader.*|Reader.*|Parse.*|Decode(CSV|JSONExample|ProtoV2)"
        r"|EncodeProto|.*MemoryCache|.*SeedGenerator|Optional.*|.*Options"
        r"|DummyIterationCounter|StatsAggregator.*|ThreadPoolHandle|ExperimentalThreadPoolHandle"
        r"|ExperimentalStats.*|RecordInput|CompressElement|UncompressElement|GetElementAtIndex"
        r"|Batch|Unbatch|BatchFunction|WindowOp|.*Iterator",
    ),
    RefusedClass(
        "Files, images and sound as bytes",
        "ONNX has no codecs and no files: decode in front of the model.",
        r"Decode.*|Encode.*|ReadFile|WriteFile|MatchingFiles|Save.*|Restore.*|MergeV2Checkpoints"
        r"|Sharded.*|FileSystem.*|ExtractJpegShape|DistributedSave|LoadAndRemapMatrix"
        r"|GenerateVocabRemapping|ImmutableConst|InitializeTableFromTextFile(V2)?|(De)?[Ss]erialize.*",
    ),
    RefusedClass(
        "Summaries, debugging and host calls",
        "They have effects outside the model, or call Python.",
        r".*Summary.*|Debug.*|Print(V2)?|Timestamp|Abort|.*PyFunc.*|ImportEvent|Fact",
    ),
    RefusedClass(
        "Tables that are filled or changed",
        "Static hash tables are read while converting; others change while the model runs.",
        r".*Mutable.*|AnonymousHashTable|HashTable|InitializeTable.*|LookupTable.*|TensorMap.*"
        r"|EmptyTensorMap",
    ),
    RefusedClass(
        "Loops and arrays of frozen graphs",
        "Loading a ``GraphDef`` (``load_graph_def``, a ``.pb`` file) writes these loops as "
        "``While`` and these arrays as lists, which convert. Elsewhere, such as in a SavedModel "
        "of TensorFlow 1, they stay: freeze it with "
        "``tf.compat.v1.graph_util.convert_variables_to_constants``.",
        r"Enter|Exit|NextIteration|LoopCond|TensorArray(Read|Write|Gather|Scatter|Size|Concat"
        r"|Split|Close)?V3",
    ),
    RefusedClass(
        "First versions of control flow and lists",
        "Control flow on references and tensor arrays of before TensorFlow 1.0: trace the model "
        "with TensorFlow 2, which writes ``While``, ``If`` and tensor lists.",
        r"ControlTrigger|Ref(Enter|Exit|Identity|Merge"
        r"|NextIteration|Select|Switch)|TensorArray.*|For|MapDefun|ToBool",
    ),
    RefusedClass(
        "Operations that TensorFlow removed",
        "Kept for old graphs only, and replaced by others that have converters, such as "
        "``tf.linalg.expm`` for ``MatrixExponential``.",
        r"Batch(FFT|IFFT).*|BatchMatrix.*|BatchSelfAdjoint.*|BatchSvd|AdjustContrast|SelfAdjointEig"
        r"|Reverse|BatchNormWithGlobalNormalization|RandomPoisson|RandomCrop|MatrixExponential"
        r"|Conv3DBackpropInput|Conv2DBackpropInputV2|TileGrad|QuantizeAndDequantize",
    ),
    RefusedClass(
        "Boosted trees and nearest neighbours",
        "Models of libraries that TensorFlow no longer ships.",
        r".*BoostedTrees.*|NearestNeighbors|IsotonicRegression",
    ),
    RefusedClass(
        "Hashes of text",
        "FarmHash and SipHash have no ONNX operator: hash in front of the model, or look words up "
        "in a table. onnxruntime-extensions 0.15.2 (domain ai.onnx.contrib) has "
        "StringToHashBucket, which agrees with TensorFlow's but for the empty string; its "
        "StringToHashBucketFast gives other numbers than TensorFlow's, and it has no "
        "StringToHashBucketStrong.",
        r"StringToHashBucket.*|Fingerprint|.*Cross(Hashed|V2)?",
    ),
    RefusedClass(
        "Text that ONNX cannot express",
        "Neither onnxruntime nor onnxruntime-extensions has an operator for it: do it in front of "
        "the model.",
        r"String.*|Unicode.*|UnsortedSegmentJoin",
    ),
    RefusedClass(
        "Quantized arithmetic of old kernels",
        "Arithmetic on levels with ranges that travel along; quantising, dequantising, "
        "``QuantizedMatMul``, ``FakeQuant`` and ``QuantizeAndDequantize`` have converters.",
        r"Quantize.*|Quantized.*|Dequantize|Requantiz.*|UniformQuantiz.*|UniformDequantize"
        r"|UniformRequantize",
    ),
    RefusedClass(
        "Random numbers whose algorithm is the result",
        "ONNX draws uniform and normal numbers: what follows from these, gamma, Poisson and "
        "truncated ones among them, has converters; these would need a loop without end, or the "
        "state of a generator.",
        r"Stateful.*|Stateless.*|RandomIndexShuffle|Rng.*|NonDeterministicInts|SobolSample",
    ),
    RefusedClass(
        "Ragged rows as one value",
        "``tf.map_fn`` and ``tf.while_loop`` carry a row of a ragged tensor as one opaque value, "
        "for which ONNX has no type: use ``tf.ragged.map_flat_values``, or ``to_tensor()`` and a "
        "mask.",
        r"RaggedTensor(To|From)Variant|RaggedTensorToVariantGradient",
    ),
    RefusedClass(
        "Sparse and ragged tensors",
        "ONNX has no sparse tensors at run time; those operations that give dense ones, or single "
        "parts of sparse ones, have converters.",
        r"(Add)?(Many)?Sparse.*|.*SparseToTensorsMap|TakeManySparse.*|.*CSR.*|CSR.*"
        r"|DenseCountSparseOutput|Ragged.*|.*TensorsMap"
        r"|CompositeTensor.*|UnwrapDatasetVariant|WrapDatasetVariant",
    ),
    RefusedClass(
        "Recurrent layers of CUDA",
        "Their weights are one opaque buffer, and TensorFlow has no kernel for the CPU to compare "
        "with; the same layers built for the CPU convert.",
        r"CudnnRNN.*",
    ),
    RefusedClass(
        "Not written yet",
        "ONNX could express them; nobody asked so far.",
        r"ApproxTopK|AudioSpectrogram|Mfcc|BandedTriangularSolve|BesselY[01]|Eig"
        r"|CTCBeamSearchDecoder|ExtractGlimpse|I?R?FFTND"
        r"|Fused(Resize)?(And)?Pad.*|GenerateBoundingBoxProposals"
        r"|MatrixLogarithm|MatrixSquareRoot"
        r"|TensorListConcatLists|TensorListPushBackBatch",
    ),
)


def class_of(op_type: str) -> RefusedClass | None:
    """Returns the class of an op type without a converter, ``None`` if it is not TensorFlow's."""
    return next((c for c in CLASSES if re.fullmatch(c.pattern, op_type)), None)


def by_class(op_types: Iterable[str]) -> dict[RefusedClass, list[str]]:
    """Sorts op types by class, in the order of :data:`CLASSES`; empty classes are left out."""
    found: dict[RefusedClass, list[str]] = {c: [] for c in CLASSES}
    for op_type in sorted(op_types):
        refused = class_of(op_type)
        if refused is not None:
            found[refused].append(op_type)
    return {c: names for c, names in found.items() if names}
