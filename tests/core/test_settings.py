"""The settings: declared once in template.yaml, parsed once; a wrong one stops the start and is named."""

import ast
import importlib
import sys
from collections.abc import Iterable
from dataclasses import asdict, fields
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pytest
import yaml

from postroom.core.errors import SettingsError
from postroom.core.settings import DAY_SECONDS, DeploymentSettings, read_outputs, read_settings
from postroom.runtime.deployment import Deployment

ROOT = Path(__file__).parents[2]
FIELDS = {field.name: field for field in fields(DeploymentSettings)}
NUMBERS = [name for name, field in FIELDS.items() if type(field.default) in (int, float)]
POWERTOOLS = {"POWERTOOLS_LOG_LEVEL", "POWERTOOLS_METRICS_NAMESPACE", "POWERTOOLS_SERVICE_NAME"}


class Ref(str):
    """The name in a `!Ref`, or the text of a `!Sub`."""

    __slots__ = ()


class TemplateLoader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms, of which only `!Ref` and `!Sub` matter here."""


def _short_form(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.ScalarNode):
        text = loader.construct_scalar(node)
        return Ref(text) if tag in ("Ref", "Sub") else text
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    assert isinstance(node, yaml.MappingNode)
    return loader.construct_mapping(node, deep=True)


TemplateLoader.add_multi_constructor("!", _short_form)
TEMPLATE: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), TemplateLoader)
PARAMETERS = TEMPLATE["Parameters"]
EVERYWHERE: dict[str, Any] = TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]
FUNCTIONS: dict[str, dict[str, Any]] = {
    name: {**EVERYWHERE, **resource["Properties"]["Environment"]["Variables"]}
    for name, resource in TEMPLATE["Resources"].items()
    if resource["Type"] == "AWS::Serverless::Function"
}
DECLARED = {variable for variables in FUNCTIONS.values() for variable in variables} - POWERTOOLS


def refusal(**environment: str) -> str:
    """The sentence that stops the start; empty: it starts."""
    try:
        read_settings(environment)
    except SettingsError as error:
        return str(error)
    return ""


def wrong(**environment: str) -> str:
    sentence = refusal(**environment)
    assert sentence, f"it starts with {environment}"
    return sentence


def not_refused(names: Iterable[str], texts: Iterable[str], begins: str) -> list[str]:
    """Where a setting with one of these texts is not refused by a sentence that begins so."""
    tried = {(name, text): refusal(**{name: text}) for name, text in product(map(str.upper, names), texts)}
    return [
        f"{name}={text!r}: {sentence or 'it starts'}"
        for (name, text), sentence in tried.items()
        if not sentence.startswith(begins.format(name=name, text=text))
    ]


# --- the template and the settings agree -------------------------------------------------------------------------


def test_the_template_declares_every_setting_and_nothing_else() -> None:
    assert {variable.lower() for variable in DECLARED} == set(FIELDS)


def test_variables_without_a_parameter_have_the_default_of_the_settings() -> None:
    plain = {v: text for given in FUNCTIONS.values() for v, text in given.items() if not isinstance(text, Ref)}
    plain = {v: text for v, text in plain.items() if v not in POWERTOOLS}
    assert plain
    assert read_settings(plain) == DeploymentSettings()


@pytest.mark.parametrize(("variable", "value"), [("RESOLVERS", "nowhere.example"), ("TRUST_ANCHORS", ". IN A 1.2.3.4")])
def test_a_setting_of_a_special_form_is_named_too(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        _ = Deployment(read_settings({variable: value}), boto3.client).names.sender_keys


def test_a_gateway_that_is_none_is_named_before_a_profile_needs_it() -> None:
    names = Deployment(read_settings({"IPFS_GATEWAYS": "http://gateway.example"}), boto3.client).names
    with pytest.raises(SettingsError, match="IPFS_GATEWAYS"):
        _ = names.profiles


SET_BY_PARAMETERS = sorted(
    {(v, p) for given in FUNCTIONS.values() for v, p in given.items() if p in PARAMETERS and v not in POWERTOOLS}
)


def test_the_template_and_the_settings_have_the_same_default() -> None:
    defaults = [(variable, str(PARAMETERS[parameter]["Default"])) for variable, parameter in SET_BY_PARAMETERS]
    misses = [
        f"{variable} is {text!r} by the template, and {getattr(DeploymentSettings(), variable.lower())!r} else"
        for variable, text in defaults
        if read_settings({variable: text}) != DeploymentSettings()
    ]
    assert misses == []


def test_a_parameter_has_the_name_of_its_setting() -> None:
    called = dict(SET_BY_PARAMETERS)
    assert called == {variable: "".join(part.capitalize() for part in variable.split("_")) for variable in called}


def test_every_setting_is_read_somewhere() -> None:
    assert sorted(FIELDS.keys() - _attributes_read()) == []


def _attributes_read() -> set[str]:
    read: set[str] = set()
    for folder in (ROOT / "layers" / "postroom" / "postroom", ROOT / "functions"):
        for path in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                match node:
                    case (
                        ast.Attribute(ast.Name("settings"), attr)
                        | ast.Attribute(ast.Attribute(attr="_settings"), attr)
                        | ast.Call(ast.Attribute(attr="given"), [ast.Constant(str(attr))])
                        | ast.Call(ast.Attribute(attr="_queue"), [ast.Constant(str(attr))])
                        | ast.Call(ast.Name("given"), [ast.Constant(str(attr))])
                    ):
                        read.add(attr)
    return read


class Watched:
    """Settings that remember which of them were asked for."""

    def __init__(self, settings: DeploymentSettings) -> None:
        self._settings = settings
        self.needed: set[str] = set()
        self.read: set[str] = set()

    def given(self, name: str) -> str:
        self.needed.add(name)
        return self._settings.given(name)

    def __getattr__(self, name: str) -> object:
        self.read.add(name)
        return getattr(self._settings, name)


def start(function: str, settings: Watched) -> None:
    """Import a function's module, as a cold start does."""
    said = {**TEMPLATE["Globals"]["Function"], **TEMPLATE["Resources"][function]["Properties"]}
    module = f"{said['CodeUri'].strip('/').replace('/', '.')}.{said['Handler'].partition('.')[0]}"
    sys.modules.pop(module, None)
    with patch("postroom.core.settings.read_settings", lambda _environment: settings):
        importlib.import_module(module)
    del sys.modules[module]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_gets_only_the_variables_it_needs(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    given = {variable.lower() for variable in FUNCTIONS[function]} - {name.lower() for name in POWERTOOLS}
    own = {
        variable.lower() for variable in FUNCTIONS[function] if FUNCTIONS[function][variable] in TEMPLATE["Resources"]
    }
    settings = Watched(read_settings({name.upper(): "here" for name in own}))
    start(function, settings)
    assert settings.needed == own
    # What is set for some functions only must be set for all that read it: a default would come in unseen.
    assert {name for name in settings.read if name.upper() in DECLARED} - given == set()


# --- reading -----------------------------------------------------------------------------------------------------


def test_without_any_variable_every_setting_has_its_default() -> None:
    assert read_settings({}) == DeploymentSettings()


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_variable_has_its_default(empty: str) -> None:
    assert [name for name in FIELDS if read_settings({name.upper(): empty}) != DeploymentSettings()] == []


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("BUCKET", " box ", "box"),
        ("NLWEB_MAX_SKEW_SECONDS", "0", 0),
        ("DNSSEC_SKEW_SECONDS", "0", 0),
        ("NLWEB_MAX_AGE_SECONDS", "3600", 3600),
        ("DNS_TRY_SECONDS", "0.5", 0.5),
        ("DNS_TRY_SECONDS", "3", 3.0),
        ("ALLOW_RSA_1024", "true", True),
        ("ALLOW_RSA_1024", "False", False),
        ("FEEDBACK_PER_DOMAIN_AND_HOUR", "0", 0),
        ("OUTBOUND_PORT", "65535", 65535),
    ],
)
def test_a_setting_is_read_as_its_type(variable: str, text: str, value: object) -> None:
    read = getattr(read_settings({variable: text}), variable.lower())
    assert read == value
    assert type(read) is type(value)


def test_other_variables_are_ignored() -> None:
    assert read_settings({"PATH": "/bin", "bucket": "x", "AWS_REGION": "y"}) == DeploymentSettings()


def test_stack_outputs_are_read_like_the_functions_variables() -> None:
    told = {name for name, output in TEMPLATE["Outputs"].items() if isinstance(output["Value"], Ref)}
    referred = {name: str(TEMPLATE["Outputs"][name]["Value"]) for name in told}
    from_outputs = read_outputs({name: _value(refer) for name, refer in referred.items()})
    variables = {v: ref for given in FUNCTIONS.values() for v, ref in given.items() if isinstance(ref, Ref)}
    known = {v: _value(ref) for v, ref in variables.items() if ref in referred.values() and v not in POWERTOOLS}
    assert {"POST_TABLE", "CLAIMS_QUEUE_URL", "DM3_KEYS_SECRET", "RETAIN_SECONDS", "HORIZON_SECONDS"} <= known.keys()
    assert asdict(from_outputs) == asdict(read_settings(known))


def _value(refer: str) -> str:
    """What a parameter or a resource stands for in a deployment that is not as the defaults have it."""
    return {"RetainSeconds": "2500000", "HorizonSeconds": "1200000"}.get(
        refer, str(PARAMETERS[refer]["Default"]) if refer in PARAMETERS else f"the {refer}"
    )


# --- a wrong setting stops the start -----------------------------------------------------------------------------


def test_an_invalid_number_is_named() -> None:
    texts = ["many", "1e", "0x10", "1 000", "1,5", "-", "٣", "1_000", "9" * 5000]
    assert not_refused(NUMBERS, texts, "{name} is ") == []


def test_an_invalid_integer_is_named() -> None:
    whole = [name for name in NUMBERS if FIELDS[name].type is int]
    assert whole
    assert not_refused(whole, ["1.5", "1e3", "NaN"], "{name} is '{text}'; it must be a whole number") == []


def test_a_waiting_time_is_finite_and_positive() -> None:
    times = [name for name in NUMBERS if FIELDS[name].type is float]
    assert times
    assert not_refused(times, ["nan", "inf", "-inf", "1e999", "0", "-1"], "{name} is ") == []


def test_no_number_is_negative() -> None:
    assert not_refused(NUMBERS, ["-1"], "{name} is -1") == []


def test_settings_that_must_be_positive_are_not_zero() -> None:
    something = (
        "nlweb_max_age_seconds", "nlweb_max_body_bytes", "horizon_seconds", "sync_lease_seconds", "outbound_port"
    )  # fmt: skip
    assert not_refused(something, ["0"], "{name} is 0") == []


def test_an_invalid_flag_is_named() -> None:
    texts = ["yes", "1", "on", "truth"]
    assert not_refused(["allow_rsa_1024"], texts, "{name} is '{text}'; it must be true or false") == []


def test_a_number_above_its_maximum_is_named() -> None:
    begins = "{name} is {text}; it must be"
    assert not_refused(["nlweb_max_skew_seconds", "dnssec_skew_seconds"], [str(DAY_SECONDS + 1)], begins) == []
    assert not_refused(["outbound_port"], ["65536"], begins) == []


def parameter_of(variable: str) -> dict[str, Any]:
    """The parameter that sets a variable; empty: none does."""
    return PARAMETERS.get("".join(part.capitalize() for part in variable.split("_")), {})  # type: ignore[no-any-return]


LAST_TAKEN = [
    (variable, parameter_of(variable)[bound], beyond)
    for variable in map(str.upper, NUMBERS)
    for bound, beyond in (("MinValue", -1), ("MaxValue", 1))
    # As an event of Lambda a message may be twice as long.
    if bound in parameter_of(variable) and (variable, bound) != ("NLWEB_MAX_BODY_BYTES", "MaxValue")
]
"""Variable, the last number that the template takes for it, and how far from that is the first one beyond."""


def test_the_template_allows_only_numbers_that_functions_accept() -> None:
    sentences = []
    for variable, last, _ in LAST_TAKEN:
        together = {
            "HORIZON_SECONDS": {"RETAIN_SECONDS": str(last + 15 * DAY_SECONDS)},
            "RETAIN_SECONDS": {"HORIZON_SECONDS": str(last - 15 * DAY_SECONDS)},
        }
        sentences.append(refusal(**{variable: str(last), **together.get(variable, {})}))
    assert sentences
    assert [sentence for sentence in sentences if sentence] == []


def test_the_template_refuses_numbers_that_functions_refuse() -> None:
    misses = []
    for variable, last, beyond in LAST_TAKEN:
        sentence = refusal(**{variable: str(last + beyond)})
        # Of the two that go together one may name the other.
        if not sentence.startswith((f"{variable} is {last + beyond};", "RETAIN_SECONDS is ")):
            misses.append(f"{variable}={last + beyond}: {sentence or 'it starts'}")
    assert misses == []


def test_every_number_parameter_has_a_minimum() -> None:
    numbers = [name for name, said in PARAMETERS.items() if said["Type"] == "Number" and "AllowedValues" not in said]
    assert [name for name in numbers if "MinValue" not in PARAMETERS[name]] == []


def test_the_minimum_retention_is_not_above_the_maximum() -> None:
    assert wrong(KEY_CACHE_MIN_SECONDS="3601").startswith("KEY_CACHE_MIN_SECONDS is 3601; it must be at most")
    read_settings({"KEY_CACHE_MIN_SECONDS": "3600"})


def test_sent_messages_are_kept_longer_than_they_are_retried() -> None:
    sentence = wrong(OUTBOX_KEEP_SECONDS=str(DeploymentSettings().outbox_give_up_seconds + DAY_SECONDS - 1))
    assert sentence.startswith(
        f"OUTBOX_KEEP_SECONDS is {DeploymentSettings().outbox_give_up_seconds + DAY_SECONDS - 1}; it must"
    )
    read_settings({"OUTBOX_KEEP_SECONDS": str(DeploymentSettings().outbox_give_up_seconds + DAY_SECONDS)})


def test_the_interval_of_notifications_is_one_that_sqs_can_delay_by() -> None:
    assert wrong(NOTIFY_INTERVAL_SECONDS="901").startswith("NOTIFY_INTERVAL_SECONDS is 901; it must be at most 900")
    read_settings({"NOTIFY_INTERVAL_SECONDS": "900"})


# --- RETAIN (store protocol, Times) ------------------------------------------------------------------------------


def test_retain_is_22_days_where_the_horizon_is_7() -> None:
    assert (DeploymentSettings().horizon_seconds, DeploymentSettings().retain_seconds) == (
        7 * DAY_SECONDS,
        22 * DAY_SECONDS,
    )


@pytest.mark.parametrize("horizon_days", [1, 7, 14])
def test_seen_rows_outlive_every_copy_in_a_queue(horizon_days: int) -> None:
    horizon, least = horizon_days * DAY_SECONDS, (horizon_days + 15) * DAY_SECONDS
    read_settings({"HORIZON_SECONDS": str(horizon), "RETAIN_SECONDS": str(least)})
    sentence = wrong(HORIZON_SECONDS=str(horizon), RETAIN_SECONDS=str(least - 1))
    assert sentence.startswith(
        f"RETAIN_SECONDS is {least - 1}; it must be at least HORIZON_SECONDS + 15 days ({least})"
    )


def test_seen_rows_are_deleted_before_30_days() -> None:
    read_settings({"RETAIN_SECONDS": str(30 * DAY_SECONDS - 1)})
    assert wrong(RETAIN_SECONDS=str(30 * DAY_SECONDS)).startswith(f"RETAIN_SECONDS is {30 * DAY_SECONDS}; ")


def test_a_horizon_of_15_days_allows_no_retention() -> None:
    for days in (29, 30, 31):
        assert "RETAIN_SECONDS" in wrong(HORIZON_SECONDS=str(15 * DAY_SECONDS), RETAIN_SECONDS=str(days * DAY_SECONDS))


# --- what a function needs ---------------------------------------------------------------------------------------


def test_a_missing_variable_is_named() -> None:
    settings = read_settings({"BUCKET": "box"})
    assert settings.given("bucket") == "box"
    with pytest.raises(SettingsError, match=r"^POST_TABLE is not set"):
        settings.given("post_table")


def test_for_a_stack_the_missing_output_is_named() -> None:
    settings = read_outputs({"Bucket": "box"})
    assert settings.given("bucket") == "box"
    for setting, output in (("post_table", "PostTable"), ("dm3_keys_secret", "DeliveryServiceKeysSecret")):
        with pytest.raises(
            SettingsError, match=f"the stack has no output {output}: it is not a deployment of postroom"
        ):
            settings.given(setting)


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        DeploymentSettings().bucket = "other"  # type: ignore[misc]
