"""Medal cut-offs are made by running the reference solutions: one competition is run again and compared with what is on file."""

import pytest
import yaml

from rubrics_gym.grading import metrics
from rubrics_gym.grading.references import SOLUTIONS, cut_offs, run
from rubrics_gym.records.tasks import Role, TaskKind
from rubrics_gym.tasks.catalog import RESOURCES, load_benchmark, load_spec
from rubrics_gym.tasks.holdouts import list_tasks
from rubrics_gym.tasks.metrics import METRICS

ON_FILE = yaml.safe_load((RESOURCES / "packaged_thresholds.yaml").read_text())["tasks"]
COMPETITIONS = load_benchmark("packaged").split("all")


def test_one_competition_run_again_gives_what_is_on_file():
    scores = run("packaged", "carseats-store-sales")
    assert scores == pytest.approx(ON_FILE["carseats-store-sales"]["references"], rel=1e-3)


@pytest.mark.parametrize("task", COMPETITIONS)
def test_the_cut_offs_on_file_follow_from_the_scores_on_file(task):
    greater = METRICS[load_spec("packaged", task).metric].greater_is_better
    references = ON_FILE[task]["references"]
    thresholds = cut_offs(list(references.values()), greater)
    assert list(references) == list(SOLUTIONS) and len(references) >= 8
    assert thresholds.model_dump() == ON_FILE[task]["thresholds"]
    ladder = [thresholds.gold, thresholds.silver, thresholds.bronze, thresholds.median, ON_FILE[task]["constant"]]
    assert ladder == sorted(ladder, reverse=greater)
    assert metrics.better(thresholds.median, ON_FILE[task]["constant"], greater)


def test_cut_offs_of_small_boards():
    ten = cut_offs([float(score) for score in range(1, 11)], greater_is_better=True)
    assert (ten.gold, ten.silver, ten.bronze, ten.median) == (10, 9, 7, 5.5)
    lower = cut_offs([float(score) for score in range(1, 11)], greater_is_better=False)
    assert (lower.gold, lower.silver, lower.bronze, lower.median) == (1, 2, 4, 5.5)
    # leaderboard of the 50 teams of MLE-bench's detecting-insults: gold is the fifth place, silver the tenth, bronze the twentieth
    fifty = cut_offs([float(score) for score in range(50)], greater_is_better=True)
    assert (fifty.gold, fifty.silver, fifty.bronze) == (45, 40, 30)


@pytest.mark.parametrize(
    "task", [task for task in list_tasks("packaged", Role.TRAIN) if load_benchmark("packaged").entry(task).kind is TaskKind.PREDICTION]
)
def test_every_pool_prediction_can_be_done_better_than_a_constant(task):
    scores = run("packaged", task, ("prepared linear", "prepared balanced tree"))
    greater = METRICS[load_spec("packaged", task).metric].greater_is_better
    assert any(metrics.better(score, ON_FILE[task]["constant"], greater) for score in scores.values())
