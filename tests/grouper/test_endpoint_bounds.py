"""Batch APIs at the bounds of their settings, as a program builds them."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper.settings.endpoints import Endpoint, Secret, Signing

FUNCTION = "arn:aws:lambda:eu-west-1:111122223333:function:batch"
SECRET = Secret("arn:aws:secretsmanager:eu-west-1:111122223333:secret:batch/api-AbCdEf")
RESOURCE = "arn:aws:execute-api:eu-west-1:111122223333:abcdef1234/$default/POST/batch"
SIGNING = Signing("execute-api", "eu-west-1", ("execute-api:Invoke",), RESOURCE)


def field_of(error):
    """The setting that a refusal names."""
    return error.value.field


@pytest.mark.parametrize("seconds", [0.001, 1, 419.9, 420])
def test_a_timeout_of_up_to_seven_minutes_is_accepted(seconds):
    assert Endpoint("*", "https://a", timeout=seconds).timeout == seconds


@pytest.mark.parametrize("seconds", [-1, 0, 420.001, 421])
def test_any_other_timeout_is_refused(seconds):
    with pytest.raises(InvalidRequest, match="must be more than 0 and at most 420") as refused:
        Endpoint("*", "https://a", timeout=seconds)

    assert field_of(refused) == "timeoutSeconds"


@pytest.mark.parametrize(("name", "value"), [("url", "https://a"), ("secret", SECRET), ("signing", SIGNING)])
def test_a_function_takes_nothing_of_an_http_service(name, value):
    with pytest.raises(InvalidRequest, match="takes no url, secret or signing") as refused:
        Endpoint("*", function=FUNCTION, **{name: value})

    assert field_of(refused) == "function"


@pytest.mark.parametrize("service", ["", "Execute API", "execute_api", "a" * 65])
def test_the_service_of_a_signature_is_a_name(service):
    with pytest.raises(InvalidRequest, match="the name of an AWS service") as refused:
        Signing(service, "eu-west-1", ("execute-api:Invoke",), RESOURCE)

    assert field_of(refused) == "service"


@pytest.mark.parametrize("url", ["https://a:1/", "https://a:65535/", "http://a", "https://[::1]:8080/b?c=d"])
def test_a_url_names_a_host_and_any_port(url):
    assert Endpoint("*", url).url == url


@pytest.mark.parametrize("url", ["https://a:0/", "https://a:65536/", "https:///batch", "https://:443/", "a"])
def test_a_url_without_a_host_or_with_an_impossible_port_is_refused(url):
    with pytest.raises(InvalidRequest, match="must be an http") as refused:
        Endpoint("*", url)

    assert field_of(refused) == "url"
