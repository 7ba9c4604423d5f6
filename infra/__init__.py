"""The CDK app. Importing it chooses the Node of jsii, which must happen before aws_cdk is imported."""

import os

from infra.node import choose_node

choose_node(os.environ)
