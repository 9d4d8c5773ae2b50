"""Our own manifest, and the reply to `Identity@Graph` (decisions "Feedback" and "Buffer")."""

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.protocols.nlweb.names import is_host_name, read_host_name, read_receiver
from postroom.protocols.nlweb.reasons import NOT_OURS, WRONG_SHAPE
from postroom.protocols.nlweb.schema import DIALECTS, HANDSHAKE

CONTENT_TYPE = "application/yaml"
"""RFC 9512."""


def manifest_of(domain: str, feedback: str | None) -> str:
    """The manifest of one of our domains, in YAML. `feedback`: the domain of its buffer."""
    # Few processes need it: it is imported only when it is used.
    import yaml

    about = {"Name": domain, **({"Feedback": feedback} if feedback else {})}
    return yaml.safe_dump({HANDSHAKE: "nlweb.org/MANIFEST/ABOUT", "About": about}, allow_unicode=True, sort_keys=False)


def domain_of_host(host: str) -> str:
    """The domain whose post office `host` is: `nlweb.<domain>` or `pw.<domain>`, without the port.

    Raises TheirError(NOT_OURS) if the host has another form.
    """
    name = read_host_name(host.rsplit(":", 1)[0].removesuffix(".")) or ""
    for dialect in DIALECTS:
        domain = name.removeprefix(dialect.host_prefix + ".")
        if domain != name and is_host_name(domain):
            return domain
    raise TheirError(NOT_OURS, "a post office answers at nlweb.<domain> or pw.<domain>")


def read_identity_request(body: JsonValue) -> str:
    """The domain in an Identity request `{Domain}`. Raises TheirError(WRONG_SHAPE)."""
    domain = body.get("Domain") if isinstance(body, dict) else None
    if not isinstance(domain, str):
        raise TheirError(WRONG_SHAPE, "the Body of an Identity request is not {Domain: <host name>}")
    return read_receiver(domain, "Body.Domain")


def identity_reply(domain: str, feedback: str | None) -> dict[str, JsonValue]:
    """The bare reply to an Identity request."""
    return {"Domain": domain, **({"Feedback": feedback} if feedback else {})}
