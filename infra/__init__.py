"""The CDK app. Importing it sets the Node that jsii runs, which must happen before aws_cdk is imported."""

import os

from fanin_cdk.packaging.node import choose_node

choose_node(os.environ)
