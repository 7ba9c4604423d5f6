"""The app that `fanin local up` synthesises outside a clone: ``python -m fanin_cdk.app``.

``CDK_OUTDIR`` is the folder of the cloud assembly, ``CDK_CONTEXT_JSON`` holds the settings as context values.
"""

from __future__ import annotations

import os
import sys

from fanin_cdk.packaging.node import choose_node
from fanin_cdk.settings.config import ConfigError


def main() -> None:
    """Synthesise the app. Exits with a message for an invalid setting."""
    choose_node(os.environ)
    from fanin_cdk.stack import build  # noqa: PLC0415  # the CDK starts the Node that was chosen

    try:
        build().synth()
    except ConfigError as error:
        sys.exit(f"configuration: {error}")


if __name__ == "__main__":
    main()
