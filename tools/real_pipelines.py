"""Pipelines of classical machine learning as converters write them: scikit-learn by skl2onnx, XGBoost and LightGBM by onnxmltools.

    python tools/real_pipelines.py FOLDER [PART]

trains each on small random data, and writes NAME.onnx with inputs of `ROWS` rows beside it, as NAME.in<i>.npy in the order of the graph.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from real_pipeline_data import DATA, Feeds

PLAIN: Mapping[str, Any] = {"zipmap": False}
"""The converter's options for scores as an array, instead of a map a row."""
OPSETS = {"": 21, "ai.onnx.ml": 3}


@dataclass(frozen=True)
class Pipeline:
    """One estimator to train and convert.

    Args:
        name: of its files.
        make: gives the estimator, not trained.
        data: which of `DATA` it is trained on.
        options: of the conversion: `{"zipmap": False}`.
        convert: gives the model of a trained estimator.
    """

    name: str
    make: Callable[[], Any]
    data: str = "three"
    options: Mapping[str, Any] | None = None
    convert: Callable[[Any, Feeds, Mapping[str, Any] | None], Any] | None = None


def make(folder: Path, only: str = "") -> list[str]:
    """Write models and inputs of all pipelines, or of those whose name has a part; return the names of those that could be converted."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    for pipeline in pipelines():
        if only not in pipeline.name:
            continue
        x, y, feeds = DATA[pipeline.data]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = pipeline.make().fit(x, y)
                onnx_model = (pipeline.convert or _by_skl2onnx)(model, feeds, pipeline.options)
            except Exception as error:  # noqa: BLE001 - a converter's own limits are none of ours
                print(f"{pipeline.name}: not converted: {type(error).__name__}: {str(error)[:150]}")
                continue
        (folder / f"{pipeline.name}.onnx").write_bytes(onnx_model.SerializeToString())
        for index, array in enumerate(feeds.values()):
            np.save(folder / f"{pipeline.name}.in{index}.npy", array, allow_pickle=False)
        written.append(pipeline.name)
    return written


# ---- conversion ------------------------------------------------------------------------------------------------------------------------


def _by_skl2onnx(model: Any, feeds: Feeds, options: Mapping[str, Any] | None) -> Any:
    from skl2onnx import to_onnx
    from skl2onnx.common import _container
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    kinds = {name: FloatTensorType if array.dtype == np.float32 else StringTensorType for name, array in feeds.items()}
    types = [(name, kinds[name]([None, array.shape[1]])) for name, array in feeds.items()]
    given: dict[Any, dict[str, Any]] = {kind: {"locale": "C"} for kind in (CountVectorizer, TfidfVectorizer)}  # every machine has that one
    if options is not None:
        given[id(model)] = dict(options)
    original = _container.make_node
    with mock.patch.object(_container, "make_node", lambda *a, **k: original(*a, **{n: _plain(v) for n, v in k.items()})):
        return to_onnx(model, initial_types=types, target_opset=OPSETS, options=given)


def _plain(value: Any) -> Any:
    """Booleans in lists as integers: newer versions of onnx take no others."""
    return [int(v) if isinstance(v, bool | np.bool_) else v for v in value] if isinstance(value, list) else value


def _by_onnxmltools(model: Any, feeds: Feeds, options: Mapping[str, Any] | None) -> Any:
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    kind = "xgboost" if type(model).__module__.startswith("xgboost") else "lightgbm"
    types = [(name, FloatTensorType([None, array.shape[1]])) for name, array in feeds.items()]
    more = dict(options or {}) if kind == "lightgbm" else {}
    return getattr(onnxmltools, f"convert_{kind}")(model, initial_types=types, target_opset=15, **more)


# ---- pipelines -------------------------------------------------------------------------------------------------------------------------


def pipelines() -> Iterator[Pipeline]:
    """Yield all of them, by family."""
    for family in (_trees, _boosted, _linear, _kernels, _neighbours, _bayes, _others, _preprocessed, _transformers, _composed):
        yield from family()


def _trees() -> Iterator[Pipeline]:
    from sklearn import ensemble, tree

    yield Pipeline("decision_tree_classifier", lambda: tree.DecisionTreeClassifier(max_depth=8, random_state=0))
    yield Pipeline("decision_tree_labels_of_text", lambda: tree.DecisionTreeClassifier(max_depth=8, random_state=0), "words")
    yield Pipeline("decision_tree_regressor", lambda: tree.DecisionTreeRegressor(random_state=0), "real")
    yield Pipeline("decision_tree_two_targets", lambda: tree.DecisionTreeRegressor(max_depth=7, random_state=0), "two reals")
    yield Pipeline("extra_tree_classifier", lambda: tree.ExtraTreeClassifier(random_state=0))
    yield Pipeline("random_forest_classifier", lambda: ensemble.RandomForestClassifier(100, random_state=0))
    yield Pipeline("random_forest_binary", lambda: ensemble.RandomForestClassifier(100, random_state=0), "two", PLAIN)
    yield Pipeline("random_forest_labels_of_text", lambda: ensemble.RandomForestClassifier(20, random_state=0), "words", PLAIN)
    yield Pipeline("random_forest_two_labels", lambda: ensemble.RandomForestClassifier(20, random_state=0), "two labels", PLAIN)
    yield Pipeline("random_forest_regressor", lambda: ensemble.RandomForestRegressor(100, random_state=0), "real")
    yield Pipeline("random_forest_two_targets", lambda: ensemble.RandomForestRegressor(30, random_state=0), "two reals")
    yield Pipeline("extra_trees_classifier", lambda: ensemble.ExtraTreesClassifier(50, random_state=0), "three", PLAIN)
    yield Pipeline("extra_trees_regressor", lambda: ensemble.ExtraTreesRegressor(50, random_state=0), "real")
    yield Pipeline("isolation_forest", lambda: ensemble.IsolationForest(n_estimators=50, random_state=0))
    yield Pipeline("bagging_classifier", lambda: ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=6), random_state=0))
    yield Pipeline("bagging_regressor", lambda: ensemble.BaggingRegressor(random_state=0), "real")


def _boosted() -> Iterator[Pipeline]:
    import lightgbm
    import xgboost
    from sklearn import ensemble

    yield Pipeline("gradient_boosting_classifier", lambda: ensemble.GradientBoostingClassifier(random_state=0))
    yield Pipeline("gradient_boosting_binary", lambda: ensemble.GradientBoostingClassifier(random_state=0), "two", PLAIN)
    yield Pipeline("gradient_boosting_regressor", lambda: ensemble.GradientBoostingRegressor(random_state=0), "real")
    yield Pipeline("hist_gradient_boosting_classifier", lambda: ensemble.HistGradientBoostingClassifier(random_state=0), "holes")
    yield Pipeline(
        "hist_gradient_boosting_binary", lambda: ensemble.HistGradientBoostingClassifier(random_state=0), "two", {"zipmap": False}
    )
    yield Pipeline("hist_gradient_boosting_regressor", lambda: ensemble.HistGradientBoostingRegressor(random_state=0), "real holes")
    yield Pipeline("ada_boost_classifier", lambda: ensemble.AdaBoostClassifier(random_state=0))
    yield Pipeline("ada_boost_regressor", lambda: ensemble.AdaBoostRegressor(random_state=0), "real")
    to, sizes = _by_onnxmltools, {"n_estimators": 60, "max_depth": 5}
    yield Pipeline("xgboost_classifier", lambda: xgboost.XGBClassifier(**sizes), "three", None, to)
    yield Pipeline("xgboost_binary", lambda: xgboost.XGBClassifier(**sizes), "two", None, to)
    yield Pipeline("xgboost_holes", lambda: xgboost.XGBClassifier(**sizes), "holes", None, to)
    yield Pipeline("xgboost_regressor", lambda: xgboost.XGBRegressor(**sizes), "real", None, to)
    yield Pipeline("xgboost_poisson", lambda: xgboost.XGBRegressor(objective="count:poisson", **sizes), "counts", None, to)
    yield Pipeline("xgboost_forest", lambda: xgboost.XGBRFRegressor(n_estimators=40), "real", None, to)
    yield Pipeline("xgboost_ranker", lambda: _Ranked(xgboost.XGBRanker(**sizes)), "three", None, to)
    quiet = {"n_estimators": 60, "verbosity": -1}
    yield Pipeline("lightgbm_classifier", lambda: lightgbm.LGBMClassifier(**quiet), "three", None, to)
    yield Pipeline("lightgbm_binary", lambda: lightgbm.LGBMClassifier(**quiet), "two", {"zipmap": False}, to)
    yield Pipeline("lightgbm_labels_of_text", lambda: lightgbm.LGBMClassifier(**quiet), "words", {"zipmap": False}, to)
    yield Pipeline("lightgbm_holes", lambda: lightgbm.LGBMClassifier(**quiet), "holes", {"zipmap": False}, to)
    yield Pipeline("lightgbm_regressor", lambda: lightgbm.LGBMRegressor(**quiet), "real", None, to)
    yield Pipeline("lightgbm_poisson", lambda: lightgbm.LGBMRegressor(objective="poisson", **quiet), "counts", None, to)
    yield Pipeline("lightgbm_ranker", lambda: _Ranked(lightgbm.LGBMRanker(**quiet)), "three", None, to)


class _Ranked:
    """A ranker, trained on groups of ten rows."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, x: NDArray, y: NDArray) -> Any:
        return self._model.fit(x, y, group=[10] * (len(x) // 10))


def _linear() -> Iterator[Pipeline]:
    from sklearn import discriminant_analysis, linear_model, svm

    for name, kind in (("three", ""), ("two", "_binary"), ("words", "_labels_of_text")):
        yield Pipeline(f"logistic_regression{kind}", lambda: linear_model.LogisticRegression(max_iter=500), name)
    yield Pipeline("logistic_regression_plain", lambda: linear_model.LogisticRegression(max_iter=500), "three", PLAIN)
    yield Pipeline("logistic_regression_columns", lambda: linear_model.LogisticRegression(max_iter=500), "three", {"zipmap": "columns"})
    yield Pipeline("sgd_hinge", lambda: linear_model.SGDClassifier(random_state=0))
    yield Pipeline("sgd_log", lambda: linear_model.SGDClassifier(loss="log_loss", random_state=0), "two", PLAIN)
    yield Pipeline("perceptron", lambda: linear_model.Perceptron(random_state=0))
    yield Pipeline("passive_aggressive", lambda: linear_model.PassiveAggressiveClassifier(random_state=0))
    yield Pipeline("ridge_classifier", lambda: linear_model.RidgeClassifier())
    yield Pipeline("linear_svc", lambda: svm.LinearSVC(random_state=0))
    yield Pipeline("linear_svr", lambda: svm.LinearSVR(random_state=0), "real")
    yield Pipeline("lda", lambda: discriminant_analysis.LinearDiscriminantAnalysis(), "three", PLAIN)
    yield Pipeline("qda", lambda: discriminant_analysis.QuadraticDiscriminantAnalysis(), "three", PLAIN)
    yield Pipeline("linear_regression", lambda: linear_model.LinearRegression(), "two reals")
    kinds = ("Ridge", "Lasso", "ElasticNet", "BayesianRidge", "HuberRegressor", "SGDRegressor", "Lars", "TheilSenRegressor")
    for kind in kinds:
        yield Pipeline(f"{kind.lower()}", lambda kind=kind: getattr(linear_model, kind)(), "real")
    yield Pipeline("poisson_regressor", lambda: linear_model.PoissonRegressor(), "counts")
    yield Pipeline("ransac_regressor", lambda: linear_model.RANSACRegressor(random_state=0), "real")


def _kernels() -> Iterator[Pipeline]:
    from sklearn import gaussian_process, svm
    from sklearn.gaussian_process import kernels

    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        yield Pipeline(f"svc_{kernel}", lambda kernel=kernel: svm.SVC(kernel=kernel))
        yield Pipeline(f"svr_{kernel}", lambda kernel=kernel: svm.SVR(kernel=kernel), "real")
    yield Pipeline("svc_probability", lambda: svm.SVC(probability=True, random_state=0))
    yield Pipeline("svc_probability_binary", lambda: svm.SVC(probability=True, random_state=0), "two", PLAIN)
    yield Pipeline("svc_binary", lambda: svm.SVC(), "two", PLAIN)
    yield Pipeline("svc_labels_of_text", lambda: svm.SVC(probability=True, random_state=0), "words", PLAIN)
    yield Pipeline("nu_svc", lambda: svm.NuSVC(nu=0.3))
    yield Pipeline("nu_svr", lambda: svm.NuSVR(), "real")
    for kernel in ("rbf", "poly"):
        yield Pipeline(f"one_class_svm_{kernel}", lambda kernel=kernel: svm.OneClassSVM(kernel=kernel, nu=0.2))
    process = gaussian_process.GaussianProcessRegressor
    yield Pipeline("gaussian_process_regressor", lambda: process(kernels.RBF(2.0), alpha=0.1), "real")
    yield Pipeline("gaussian_process_classifier", lambda: gaussian_process.GaussianProcessClassifier(), "two", PLAIN)


def _neighbours() -> Iterator[Pipeline]:
    from sklearn import cluster, mixture, neighbors

    yield Pipeline("k_neighbours_classifier", lambda: neighbors.KNeighborsClassifier(), "three", PLAIN)
    yield Pipeline("k_neighbours_default", lambda: neighbors.KNeighborsClassifier())
    yield Pipeline("k_neighbours_regressor", lambda: neighbors.KNeighborsRegressor(weights="distance"), "real")
    yield Pipeline("nearest_centroid", lambda: neighbors.NearestCentroid())
    yield Pipeline("radius_neighbours", lambda: neighbors.RadiusNeighborsRegressor(5.0), "real")
    yield Pipeline("local_outlier_factor", lambda: neighbors.LocalOutlierFactor(novelty=True))
    yield Pipeline("k_means", lambda: cluster.KMeans(4, n_init=1, random_state=0))
    yield Pipeline("mini_batch_k_means", lambda: cluster.MiniBatchKMeans(4, n_init=1, random_state=0))
    yield Pipeline("gaussian_mixture", lambda: mixture.GaussianMixture(3, random_state=0))


def _bayes() -> Iterator[Pipeline]:
    from sklearn import naive_bayes

    yield Pipeline("gaussian_nb", lambda: naive_bayes.GaussianNB())
    yield Pipeline("gaussian_nb_plain", lambda: naive_bayes.GaussianNB(), "words", PLAIN)
    for kind in ("MultinomialNB", "BernoulliNB", "ComplementNB"):
        yield Pipeline(kind.lower(), lambda kind=kind: getattr(naive_bayes, kind)(), "counts", PLAIN)


def _others() -> Iterator[Pipeline]:
    from sklearn import calibration, ensemble, linear_model, multiclass, multioutput, neural_network, svm, tree

    yield Pipeline("mlp_classifier", lambda: neural_network.MLPClassifier((32,), max_iter=50, random_state=0))
    yield Pipeline("mlp_binary", lambda: neural_network.MLPClassifier((32,), max_iter=50, random_state=0), "two", PLAIN)
    yield Pipeline("mlp_regressor", lambda: neural_network.MLPRegressor(hidden_layer_sizes=(32, 16), max_iter=50, random_state=0), "real")
    yield Pipeline("one_vs_rest", lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), "three", PLAIN)
    yield Pipeline("one_vs_one", lambda: multiclass.OneVsOneClassifier(linear_model.LogisticRegression()), "three", PLAIN)
    yield Pipeline(
        "multi_output_classifier",
        lambda: multioutput.MultiOutputClassifier(tree.DecisionTreeClassifier(max_depth=5)),
        "bits",
        {"zipmap": False},
    )
    yield Pipeline("multi_output_regressor", lambda: multioutput.MultiOutputRegressor(linear_model.Ridge()), "two reals")
    yield Pipeline(
        "calibrated_sigmoid", lambda: calibration.CalibratedClassifierCV(svm.LinearSVC(random_state=0)), "two", {"zipmap": False}
    )
    yield Pipeline(
        "calibrated_isotonic",
        lambda: calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), method="isotonic"),
        "two",
        {"zipmap": False},
    )
    voters = [("tree", tree.DecisionTreeClassifier(max_depth=5)), ("line", linear_model.LogisticRegression(max_iter=500))]
    yield Pipeline("voting_hard", lambda: ensemble.VotingClassifier(voters, flatten_transform=False))
    yield Pipeline(
        "voting_soft", lambda: ensemble.VotingClassifier(voters, voting="soft", flatten_transform=False), "three", {"zipmap": False}
    )
    reals = [("tree", tree.DecisionTreeRegressor(max_depth=5)), ("line", linear_model.Ridge())]
    yield Pipeline("voting_regressor", lambda: ensemble.VotingRegressor(reals), "real")
    yield Pipeline("stacking_classifier", lambda: ensemble.StackingClassifier(voters), "three", PLAIN)
    yield Pipeline("stacking_regressor", lambda: ensemble.StackingRegressor(reals), "real")


def _preprocessed() -> Iterator[Pipeline]:
    from sklearn import decomposition, linear_model, pipeline, preprocessing

    steps: dict[str, Any] = {
        "polynomial_features": preprocessing.PolynomialFeatures(2),
        "polynomial_cubic": preprocessing.PolynomialFeatures(3, interaction_only=True),
        "k_bins": preprocessing.KBinsDiscretizer(5, encode="onehot-dense"),
        "k_bins_ordinal": preprocessing.KBinsDiscretizer(5, encode="ordinal"),
        "quantile": preprocessing.QuantileTransformer(n_quantiles=50),
        "power": preprocessing.PowerTransformer(),
        "robust": preprocessing.RobustScaler(),
        "min_max": preprocessing.MinMaxScaler(),
        "max_abs": preprocessing.MaxAbsScaler(),
        "normalizer_l1": preprocessing.Normalizer("l1"),
        "normalizer_max": preprocessing.Normalizer("max"),
        "binarizer": preprocessing.Binarizer(threshold=0.3),
        "spline": preprocessing.SplineTransformer(),
        "pca": decomposition.PCA(4),
        "pca_whiten": decomposition.PCA(4, whiten=True),
        "truncated_svd": decomposition.TruncatedSVD(4),
        "incremental_pca": decomposition.IncrementalPCA(4),
        "kernel_pca": decomposition.KernelPCA(4, kernel="rbf"),
        "function_log": preprocessing.FunctionTransformer(),
    }
    for name, step in steps.items():
        model = linear_model.LogisticRegression(max_iter=200)
        yield Pipeline(f"{name}_pipeline", lambda step=step, model=model: pipeline.make_pipeline(step, model))


def _transformers() -> Iterator[Pipeline]:
    from sklearn import feature_selection, impute, preprocessing

    yield Pipeline("standard_scaler", lambda: preprocessing.StandardScaler())
    yield Pipeline("polynomial_alone", lambda: preprocessing.PolynomialFeatures(2))
    yield Pipeline("simple_imputer", lambda: impute.SimpleImputer(), "holes")
    yield Pipeline("knn_imputer", lambda: impute.KNNImputer(), "holes")
    yield Pipeline("select_k_best", lambda: feature_selection.SelectKBest(k=4))
    yield Pipeline("ordinal_encoder", lambda: preprocessing.OrdinalEncoder(), "categories")
    yield Pipeline("one_hot_encoder", lambda: preprocessing.OneHotEncoder(sparse_output=False), "categories")


def _composed() -> Iterator[Pipeline]:
    from sklearn import compose, ensemble, feature_extraction, impute, linear_model, pipeline, preprocessing

    def table(model: Any, words: Any) -> Any:
        numbers = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler())
        columns = compose.ColumnTransformer([("numbers", numbers, ["age", "fare"]), ("words", words, ["sex", "port"])])
        return pipeline.make_pipeline(columns, model)

    hot = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    yield Pipeline("table_logistic", lambda: table(linear_model.LogisticRegression(), hot), "table")
    yield Pipeline("table_forest", lambda: table(ensemble.RandomForestClassifier(50, random_state=0), hot), "table")
    ordinal = preprocessing.OrdinalEncoder()
    yield Pipeline("table_ordinal", lambda: table(ensemble.GradientBoostingClassifier(random_state=0), ordinal), "table")
    text = feature_extraction.text
    yield Pipeline("tfidf_logistic", lambda: pipeline.make_pipeline(text.TfidfVectorizer(), linear_model.LogisticRegression()), "texts")
    yield Pipeline(
        "tfidf_bigrams", lambda: pipeline.make_pipeline(text.TfidfVectorizer(ngram_range=(1, 2)), linear_model.SGDClassifier()), "texts"
    )
    yield Pipeline("count_vectorizer", lambda: text.CountVectorizer(), "texts")
    yield Pipeline("union", lambda: pipeline.make_union(preprocessing.StandardScaler(), preprocessing.PolynomialFeatures(2)), "three")


if __name__ == "__main__":
    make(Path(sys.argv[1]), *sys.argv[2:])
