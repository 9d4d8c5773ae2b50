"""Which web pages may post to the delivery service (Fetch Standard, CORS protocol)."""

import pytest

from postroom.core.errors import SettingsError
from postroom.core.settings import read_settings
from postroom.http.cors import Cors

PAGE, OTHER = "https://app.example", "https://evil.example"
SETTING = "DM3_CORS_ORIGINS"
PREFLIGHT = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "content-type",
    "Access-Control-Max-Age": "86400",
}
SETTINGS = ["*", PAGE, f"{PAGE},http://localhost:3000", "none"]


def test_any_origin_is_allowed_by_default() -> None:
    cors = Cors(read_settings({}).dm3_cors_origins, SETTING)
    assert cors.headers(PAGE) == cors.headers("") == {"Access-Control-Allow-Origin": "*"}
    assert cors.preflight(PAGE) == {"Access-Control-Allow-Origin": "*", **PREFLIGHT}


def test_a_star_among_the_origins_allows_any_origin() -> None:
    assert Cors(f"{PAGE}, *", SETTING).headers(OTHER) == {"Access-Control-Allow-Origin": "*"}


@pytest.mark.parametrize("written", [PAGE, f" {PAGE} , http://localhost:3000,", f"http://[::1]:8080,{PAGE}"])
def test_a_listed_origin_is_echoed_with_vary(written: str) -> None:
    cors = Cors(written, SETTING)
    assert cors.headers(PAGE) == {"Access-Control-Allow-Origin": PAGE, "Vary": "Origin"}
    assert cors.preflight(PAGE) == {"Access-Control-Allow-Origin": PAGE, "Vary": "Origin", **PREFLIGHT}


@pytest.mark.parametrize("origin", ["", OTHER, "null", f"{PAGE}.evil.example", f"{PAGE}:8443", "http://app.example"])
def test_an_unlisted_origin_is_not_allowed(origin: str) -> None:
    cors = Cors(PAGE, SETTING)
    assert cors.headers(origin) == cors.preflight(origin) == {"Vary": "Origin"}


@pytest.mark.parametrize("origin", ["", PAGE, "none", "null"])
def test_none_allows_no_origin(origin: str) -> None:
    cors = Cors("none", SETTING)
    assert cors.headers(origin) == cors.preflight(origin) == {}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("origin", ["", PAGE, OTHER])
def test_credentials_are_never_allowed(setting: str, origin: str) -> None:
    cors = Cors(setting, SETTING)
    names = {name.lower() for headers in (cors.headers(origin), cors.preflight(origin)) for name in headers}
    assert "access-control-allow-credentials" not in names


@pytest.mark.parametrize(
    "written",
    [
        f"{PAGE}/", f"{PAGE}/chat", "app.example", "HTTPS://app.example", "https://App.example", "https://müller.example",
        f"{PAGE} {OTHER}", "https://*.example", f"none,{PAGE}", "", " , ",
    ],
)  # fmt: skip
def test_an_invalid_origin_in_the_settings_stops_the_start(written: str) -> None:
    with pytest.raises(SettingsError, match="DM3_CORS_ORIGINS"):
        Cors(written, SETTING)
