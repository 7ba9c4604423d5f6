"""The exit codes of ``fanin``, and the sentences of its errors: one place for every verb."""

from __future__ import annotations

import sys
from enum import IntEnum

from fanin.client.http_bodies.documents import CHECK_CREDENTIALS
from fanin.errors import AccessDenied, FaninError, StoreUnavailable


class ExitCode(IntEnum):
    """How a command ended. 130 and 141 are of the shell: Ctrl-C, and a reader that closed the pipe."""

    SUCCESS = 0
    REFUSED = 1
    USAGE = 2
    TIMED_OUT = 3
    DENIED = 4
    UNANSWERED = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class UsageError(FaninError):
    """The command line is invalid, or lacks something; nothing was sent for it."""


class Refused(FaninError):
    """A command did not do all that it was asked for; its output says what."""


CREDENTIALS_HINT = (
    "check the credentials: --profile and --region, as of the AWS CLI, or FANIN_TOKEN of a JWT stage"
)
REGION_HINT = "give --region, or a --profile that has one"
HINTS = {
    "NoRegionError": REGION_HINT,
    "EndpointConnectionError": "check the region, the network, and AWS_ENDPOINT_URL",
}
"""What to do about an error of botocore, by its name."""
DENIED_CODES = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
        "UnrecognizedClientException",
    }
)
"""The error codes with which AWS services refuse credentials."""
NO_CREDENTIALS = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "ProfileNotFound",
    "TokenRetrievalError",
    "SSOError",
)
AFTER_INTERRUPTION = {
    "publish": "the same command again goes on where it stopped",
    "redrive": "what was moved stays moved; run it again for the rest",
    "ack": "run it again: an item that is acked twice counts once",
    "fail": "run it again: an item that is acked twice counts once",
    "watch": "the batch goes on; run it again to see it",
    "wait": "the batches go on; run it again to wait for them",
    "work": "what was not done is in the queue; run it again to go on",
    "dashboard": "the batches go on; run it again for a new address",
}
"""How to go on after Ctrl-C, by the verb."""
QUOTED = 100
"""Characters of an argument that is quoted."""
NO_ANSWER = ("ConnectionError", "HTTPClientError")


def code_of(error: BaseException) -> ExitCode | None:
    """Return the exit code of *error*; None for a bug, whose traceback is needed."""
    if isinstance(error, (UsageError, UnicodeEncodeError)):
        return ExitCode.USAGE
    if isinstance(error, AccessDenied):
        return ExitCode.DENIED
    if isinstance(error, StoreUnavailable):
        return ExitCode.UNANSWERED
    if isinstance(error, TimeoutError):
        return ExitCode.TIMED_OUT
    if isinstance(error, (FaninError, OSError)):
        return ExitCode.REFUSED
    return _code_of_aws(error)


def sentence_of(error: BaseException) -> str:
    """Return what standard error says of *error*: what was wrong, and what to do."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object[:QUOTED]!r} is not text in UTF-8"
    hint, text = _hint(error), str(error).removesuffix(CHECK_CREDENTIALS)
    return f"{text.rstrip('.')}; {hint}" if hint else str(error)


def interruption(verb: str | None, error: KeyboardInterrupt) -> str:
    """Return what standard error says after Ctrl-C: how to go on, by the *error*, or else by the *verb*."""
    return f"interrupted; {str(error) or AFTER_INTERRUPTION.get(verb or '', 'run it again')}"


def _hint(error: BaseException) -> str:
    """Return what to do about *error*, if its text does not say it."""
    if code_of(error) is ExitCode.DENIED:
        return CREDENTIALS_HINT
    return HINTS.get(type(error).__name__, "")


def _code_of_aws(error: BaseException) -> ExitCode | None:
    """Return the code of an error of botocore, which most commands do not import."""
    aws = sys.modules.get("botocore.exceptions")
    if aws is None or not isinstance(error, (aws.BotoCoreError, aws.ClientError)):
        return None
    if isinstance(error, aws.ClientError):
        return _code_of_answer(error.response)
    if isinstance(error, _classes(aws, NO_CREDENTIALS)):
        return ExitCode.DENIED
    if isinstance(error, aws.NoRegionError):
        return ExitCode.USAGE
    return ExitCode.UNANSWERED if isinstance(error, _classes(aws, NO_ANSWER)) else ExitCode.REFUSED


def _code_of_answer(response: dict[str, dict[str, object]]) -> ExitCode:
    if response.get("Error", {}).get("Code") in DENIED_CODES:
        return ExitCode.DENIED
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return ExitCode.UNANSWERED if isinstance(status, int) and status >= 500 else ExitCode.REFUSED


def _classes(module: object, names: tuple[str, ...]) -> tuple[type[BaseException], ...]:
    return tuple(getattr(module, name) for name in names if hasattr(module, name))
