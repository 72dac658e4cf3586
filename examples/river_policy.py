"""Which learning rate? A bandit of this package chooses among river's models while they learn.

Each model is an arm. A round's loss is 0 where the model drawn predicts right and 1 where it does not.
"""

from __future__ import annotations

from river import datasets, linear_model, metrics, model_selection, optim, preprocessing

from allworlds.adapters.river import RiverPolicy

RATES = (1e-6, 1e-4, 1e-2, 1e-1)


def main() -> None:
    models = [linear_model.LogisticRegression(optimizer=optim.SGD(rate)) for rate in RATES]
    selection = model_selection.BanditClassifier(models, metrics.Accuracy(), RiverPolicy(seed=1, burn_in=10))
    scaler, accuracy = preprocessing.StandardScaler(), metrics.Accuracy()
    for x, y in datasets.Phishing():
        scaler.learn_one(x)
        scaled = scaler.transform_one(x)
        accuracy.update(y, selection.predict_one(scaled))
        selection.learn_one(scaled, y)
    print(selection.policy)
    print(accuracy)
    assert selection.best_model in (selection[2], selection[3])


if __name__ == "__main__":
    main()
