"""The composition root: every object of a deployment, made from its settings and AWS clients when first used.

    deployment = Deployment(read_settings(os.environ), FunctionClients(own_faults, "dynamodb"), own_faults)
    deployment.storage.register.find(row)
    deployment.pipeline.worker.work(records)

The parts follow the packages of the library. Each is made once, and imports what it needs then. To replace one, as
tests do, set it before it is used: `deployment.pipeline.forwarding = fake`.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import DeploymentSettings
from postroom.runtime.storage_parts import StorageParts
from postroom.runtime.system import System

if TYPE_CHECKING:
    from postroom.runtime.aws_clients import AwsClients
    from postroom.runtime.mailbox_parts import MailboxParts
    from postroom.runtime.name_parts import NameParts
    from postroom.runtime.outbound_parts import OutboundParts
    from postroom.runtime.pipeline_parts import PipelineParts


class Deployment:
    """A deployment. Raises SettingsError when a part is used whose settings are missing or wrong.

    `own_faults`: where its parts record faults of the deployment itself. `system`: the machine's, unless given.
    """

    def __init__(
        self,
        settings: DeploymentSettings,
        clients: "AwsClients",
        own_faults: OwnFaults | None = None,
        system: System | None = None,
    ) -> None:
        self.settings = settings
        self.clients = clients
        self.own_faults = OwnFaults() if own_faults is None else own_faults
        self.system = System() if system is None else system

    @cached_property
    def storage(self) -> StorageParts:
        """Tables, bucket, queues and secrets."""
        return StorageParts(self)

    @cached_property
    def names(self) -> "NameParts":
        """Look-ups of keys, profiles and manifests, and the network for them."""
        from postroom.runtime.name_parts import NameParts

        return NameParts(self)

    @cached_property
    def pipeline(self) -> "PipelineParts":
        """From the inbox to the mailbox: accepting, judging and filing."""
        from postroom.runtime.pipeline_parts import PipelineParts

        return PipelineParts(self)

    @cached_property
    def outbound(self) -> "OutboundParts":
        """The courier: Feedback, owners' messages, and notifications."""
        from postroom.runtime.outbound_parts import OutboundParts

        return OutboundParts(self)

    @cached_property
    def mailbox_api(self) -> "MailboxParts":
        """The mailbox API."""
        from postroom.runtime.mailbox_parts import MailboxParts

        return MailboxParts(self)
