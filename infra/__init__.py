"""The CDK app. Importing it sets the Node that jsii runs, which must happen before aws_cdk is imported.

The promise: an invalid setting, a template beyond a limit of AWS, and a finding of the AWS Solutions rules
that no construct accepts end the synthesis with a message.

Read in this order: ``app.py``: the entry point. ``config.py``: the settings. ``stack.py``: the constructs of
``fanin_cdk``, with alarms. ``pipeline_jobs.py``, ``spark_jobs/``: the Spark jobs and their grants, with the
code of ``pipeline_code.py``. ``execution_policy.py``: what CloudFormation may do for the stack.
"""

import os

from fanin_cdk.packaging.node import choose_node

choose_node(os.environ)
