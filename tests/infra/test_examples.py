"""The example stacks: synthesised without network, looked at by cdk-nag and cfn-lint."""

from __future__ import annotations

from datetime import date

from infra.paths import ROOT
from tests.infra.examples import EXAMPLES, module, stack_of
from tests.infra.shop import findings
from tests.infra.synthesis import UNBUNDLED, logs_by_a_policy, scratch_folder
from tests.infra.test_options import checked_by_the_cdk, unknown_actions


def test_the_examples_have_no_finding_of_cdk_nag_of_the_cdk_and_of_cfn_lint(monkeypatch):
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks

    # What would install packages, and need a network.
    monkeypatch.setattr("fanin_cdk.packaging.packages.install", None)
    folder = scratch_folder()
    app = cdk.App(context=UNBUNDLED, outdir=str(folder))
    stacks = [stack_of(name, app, name.replace("_", "-")).stack_name for name in EXAMPLES]
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    templates = checked_by_the_cdk(app, *stacks)

    assert findings(folder) == []
    assert unknown_actions(*templates) == []
    logs = [log for template in templates for log in logs_by_a_policy(template)]
    assert [log for log in logs if not log.startswith("/aws/vendedlogs/")] == []


def test_every_folder_of_examples_is_tested_and_says_what_it_is():
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/app.py")}

    assert folders == set(EXAMPLES)
    for name in EXAMPLES:
        assert len((ROOT / "examples" / name / "README.md").read_text().splitlines()) < 20


def test_the_nightly_script_gives_the_spark_job_arguments_that_it_takes():
    from pipeline.jobs.fan_out import arguments

    asked = [
        "--lake",
        "s3://datasets",
        "--api-url",
        "https://a/",
        "--queue-url",
        "https://q",
        "--region",
        "r",
    ]
    glues = ["--JOB_NAME", "nightly", "--TempDir", "s3://t/"]
    given = module("spark_nightly/job/nightly.py").options(
        [*glues, *asked, "--region", "r"], date(2026, 3, 3)
    )

    options = arguments().parse_args(given)
    assert options.dataset == "s3://datasets/catalog/dt=2026-03-02/"
    assert (options.user_key, options.chunk) == ("catalog-2026-03-02", 64)
