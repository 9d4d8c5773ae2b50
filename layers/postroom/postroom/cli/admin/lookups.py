"""The look-ups of `admin status` in AWS, one after the other, and the check of each result."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import dns.name
from dns.rdatatype import TXT

from postroom.cli.admin import operation_checks, setup_checks
from postroom.cli.admin.aws_requests import ask
from postroom.cli.admin.findings import (
    Alarm,
    EventSource,
    Function,
    Held,
    Libraries,
    NamedDeployment,
    QueueLoad,
    RecentMail,
    Served,
    Stack,
    Subscription,
    Unseen,
)
from postroom.cli.admin.mail_metrics import MailMetrics, QueueMetrics
from postroom.cli.library import is_packed
from postroom.cli.message_events.event import EventFilter
from postroom.cli.message_events.event_log import event_log_of
from postroom.cli.open_deployment import OpenDeployment
from postroom.core.settings import DAY_SECONDS
from postroom.doctor import DoctorCheck, ExaminerNetwork
from postroom.doctor.checks import good
from postroom.doctor.keys import judge_key
from postroom.doctor.post_office import PostOffice
from postroom.jobs.library import LIBRARIES, WHEELS, library, script
from postroom.jobs.report_storage import last_reported
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.protocols.nlweb.names import MAX_NAME
from postroom.protocols.nlweb.schema import DIALECTS
from postroom.storage.directory.domains import Domain

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

Found = TypeVar("Found")

_RECORD: Final = re.compile(r"(?P<host>\S+)\. CNAME \S+\.")
_COUNTS: Final[Sequence["QueueAttributeNameType"]] = (
    "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible",
)  # fmt: skip
_QUEUE_RIGHTS: Final = "sqs:GetQueueAttributes and cloudwatch:GetMetricStatistics"
_LOOKED_UP: Final = 5
"""Domains whose hosts and keys are looked up: each takes four look-ups and two connections."""


def look(opened: OpenDeployment, place: NamedDeployment, outside: ExaminerNetwork) -> Iterator[DoctorCheck]:
    """All checks, in the order in which an operator sets these things up. Errors of AWS are not raised.

    `outside`: the network in which hosts are looked up.
    """
    return _Look(opened, place, outside).all()


class _Look:
    def __init__(self, opened: OpenDeployment, place: NamedDeployment, outside: ExaminerNetwork) -> None:
        self._opened = opened
        self._place = place
        self._outside = outside
        self._now = outside.clock()

    def all(self) -> Iterator[DoctorCheck]:
        stack = ask(self._place, "cloudformation:DescribeStacks", self._stack)
        yield stack.check("stack") if isinstance(stack, Unseen) else setup_checks.judge_stack(self._place, stack)
        yield setup_checks.judge_outputs(
            self._place, self._opened.outputs, None if isinstance(stack, Unseen) else stack
        )
        if setup_checks.OF_OURS not in self._opened.outputs:
            return  # nothing else could be read
        domains = ask(self._place, "dynamodb:Scan", self._domain_names)
        yield from self._hosts(domains)
        yield from self._domains(domains)
        # The age of a stack that cannot be read is unknown; younger stacks are allowed more.
        known = Stack("", self._now, self._now, {}) if isinstance(stack, Unseen) else stack
        yield from self._secrets(known)
        yield from self._dcp()
        yield from self._functions(known)
        yield from self._jobs(known)
        yield from self._alarms(known)
        yield from self._messages()
        for queue in operation_checks.DEAD_LETTERS:
            judge = partial(operation_checks.judge_dead_letters, self._place, queue)
            yield self._check(f"queue {queue}", _QUEUE_RIGHTS, partial(self._load, queue), judge)

    def _check(
        self, name: str, permission: str, question: Callable[[], Found], judge: Callable[[Found], DoctorCheck]
    ) -> DoctorCheck:
        """The check of a resource, or a check without a result if it could not be read."""
        found = ask(self._place, permission, question)
        return found.check(name) if isinstance(found, Unseen) else judge(found)

    # --- stack and hosts -----------------------------------------------------------------------------------------

    def _stack(self) -> Stack:
        client: CloudFormationClient = self._opened.clients("cloudformation")
        [stack] = client.describe_stacks(StackName=self._opened.name)["Stacks"]
        created = stack["CreationTime"].timestamp()
        changed = stack["LastUpdatedTime"].timestamp() if "LastUpdatedTime" in stack else created
        parameters = {it["ParameterKey"]: it.get("ParameterValue", "") for it in stack.get("Parameters", [])}
        return Stack(stack["StackStatus"], created, changed, parameters)

    def _domain_names(self) -> list[str]:
        return self._opened.storage.operators.domains()

    def _hosts(self, domains: Sequence[str] | Unseen) -> Iterator[DoctorCheck]:
        records = {found["host"]: found[0] for found in _RECORD.finditer(self._opened.outputs.get("Hosts", ""))}
        known = None if isinstance(domains, Unseen) else domains
        looked_up = (known or ())[:_LOOKED_UP]
        yield setup_checks.judge_hosts(self._place, records, known, len(looked_up))
        if self._place.is_local:
            return
        hosts = dict.fromkeys([*records, *(dialect.host(domain) for domain in looked_up for dialect in DIALECTS)])
        for host in hosts:
            reached = PostOffice(host, self._outside)
            met, record = self._meet(reached), records.get(host)
            yield setup_checks.name_host(self._place, host, met, reached.answered, record, is_first=not records)

    @staticmethod
    def _meet(host: PostOffice) -> DoctorCheck:
        """The first problem with the host, or the check of its inbox."""
        return next((check for check in host.reach() if not check.is_good), None) or host.inbox()

    # --- domains and keys ----------------------------------------------------------------------------------------

    def _domains(self, domains: Sequence[str] | Unseen) -> Iterator[DoctorCheck]:
        if isinstance(domains, Unseen):
            yield domains.check("domains")
            return
        count = (lambda: 0) if domains else self._dm3_mailboxes
        judge = partial(setup_checks.judge_domains, self._place, domains)
        yield self._check("domains", "dynamodb:Scan", count, judge)
        keys = self._signing_keys() if domains else None
        found = {name: ask(self._place, "dynamodb:Query", partial(self._domain, name)) for name in domains}
        buffered = {it.domain.name for it in found.values() if isinstance(it, Served) and it.domain.buffer}
        for number, (name, served) in enumerate(found.items()):
            if isinstance(served, Unseen):
                yield served.check(f"domain {name}")
                continue
            yield setup_checks.judge_domain(self._place, served, sorted(buffered - {name}))
            yield setup_checks.judge_domain_key(self._place, served.domain, keys)
            stored = (keys or {}).get(name)
            if stored and number < _LOOKED_UP and not self._place.is_local:
                yield from self._published(name, stored)

    def _published(self, domain: str, stored: setup_checks.Stored) -> Iterator[DoctorCheck]:
        for dialect in DIALECTS:
            name, found = dialect.key_name(domain, stored.selector), None
            if len(name) <= MAX_NAME:
                owner = dns.name.from_text(name)
                found = judge_key(stored.selector, owner, self._outside.look_up(owner, TXT))
            yield setup_checks.judge_published(domain, dialect, stored, found)

    def _domain(self, name: str) -> Served:
        directory = self._opened.storage.directory
        # Removed since it was listed: it accepts nothing.
        domain = directory.domain(name) or Domain(name, inbox=False)
        return Served(domain, len(domain.subjects) + len(directory.mailbox(name).subjects))

    def _dm3_mailboxes(self) -> int:
        return len(self._opened.storage.operators.dm3_mailboxes())

    def _signing_keys(self) -> Mapping[str, setup_checks.Stored | None] | None:
        held = ask(self._place, "secretsmanager:GetSecretValue", partial(self._held, "SigningKeysSecret"))
        if isinstance(held, Unseen) or held.value is None:
            return None
        return {domain: setup_checks.read_stored(entry) for domain, entry in held.value.items()}

    def _secrets(self, stack: Stack) -> Iterator[DoctorCheck]:
        place, quorum = self._place, int(self._opened.outputs.get("EnsQuorum", "2"))
        judges: dict[str, tuple[str, Callable[[Held], DoctorCheck]]] = {
            "signing keys": ("SigningKeysSecret", partial(setup_checks.judge_signing_keys, place)),
            "delivery service keys": ("DeliveryServiceKeysSecret", self._judge_delivery_keys),
            "token keys": ("TokenKeysSecret", partial(setup_checks.judge_token_keys, place, now=self._now)),
            "webhook keys": ("WebhookKeysSecret", setup_checks.judge_webhook_keys),
            "DCP identities": ("DcpIdentitiesSecret", partial(setup_checks.judge_dcp_identities, now=self._now)),
            "names": (
                "ChainEndpointsSecret",
                partial(setup_checks.judge_names, place, quorum=quorum, parameters=stack.parameters),
            ),
        }
        for name, (output, judge) in judges.items():
            yield self._check(name, "secretsmanager:GetSecretValue", partial(self._held, output), judge)

    def _dcp(self) -> Iterator[DoctorCheck]:
        table, socket = self._opened.outputs.get("DcpTable", ""), self._opened.outputs.get("DcpSocketUrl", "")
        judge_table = partial(setup_checks.judge_dcp_table, self._place, table)
        yield self._check("DCP table", "dynamodb:DescribeTimeToLive", self._time_to_live, judge_table)
        judge_socket = partial(setup_checks.judge_dcp_socket, self._place, socket)
        yield self._check("DCP socket", "apigateway:GET", self._socket_stages, judge_socket)

    def _time_to_live(self) -> str:
        """Whether rows of the table are removed, in AWS's word."""
        client, table = self._opened.storage.dynamodb, self._opened.output("DcpTable")
        described = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        return described.get("TimeToLiveStatus", "")

    def _socket_stages(self) -> list[str]:
        """The names of the stages of the WebSocket API."""
        api = (urlsplit(self._opened.output("DcpSocketUrl")).hostname or "").partition(".")[0]
        stages = self._opened.clients("apigatewayv2").get_stages(ApiId=api)["Items"]
        return [stage["StageName"] for stage in stages]

    def _judge_delivery_keys(self, held: Held) -> DoctorCheck:
        # Only if there are none, it matters whether they are needed.
        count = (lambda: 0) if held.value else self._dm3_mailboxes
        judge = partial(setup_checks.judge_delivery_keys, self._place, held)
        return self._check("delivery service keys", "dynamodb:Scan", count, judge)

    def _held(self, output: str) -> Held:
        """The content of a secret. Errors never contain its text, which must not be shown."""
        secret = self._opened.output(output)
        text = self._opened.storage.secretsmanager.get_secret_value(SecretId=secret).get("SecretString", "")
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        return Held(secret, value if isinstance(value, dict) else None)

    # --- functions and their queues ------------------------------------------------------------------------------

    def _functions(self, stack: Stack) -> Iterator[DoctorCheck]:
        takes = "lambda:GetFunctionConfiguration and lambda:GetFunctionConcurrency"
        for logical in operation_checks.FUNCTIONS:
            judge = partial(operation_checks.judge_function, self._place, logical, stack)
            yield self._check(f"function {logical}", takes, partial(self._function, logical), judge)
        for queue, function in operation_checks.SOURCES.items():
            source = partial(operation_checks.judge_source, self._place, queue)
            yield self._check(
                f"queue {queue}", "lambda:ListEventSourceMappings", partial(self._source, queue, function), source
            )

    def _function(self, logical: str) -> Function:
        client: LambdaClient = self._opened.clients("lambda")
        name = self._opened.output(logical)
        stack = client.get_function_configuration(FunctionName=name)
        return Function(
            name,
            stack.get("State", "Active"),
            stack.get("StateReason", ""),
            stack.get("LastUpdateStatus", "Successful"),
            stack.get("LastUpdateStatusReason", ""),
            client.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions"),
            stack.get("Environment", {}).get("Variables"),
        )

    def _source(self, queue: str, function: str) -> EventSource | None:
        """The event source mapping from a queue to its function; None: there is none."""
        client: LambdaClient = self._opened.clients("lambda")
        name = self._opened.output(f"{queue}Url").rpartition("/")[2]
        pages = client.get_paginator("list_event_source_mappings").paginate(FunctionName=self._opened.output(function))
        for page in pages:
            for it in page["EventSourceMappings"]:
                if it.get("EventSourceArn", "").rpartition(":")[2] == name:
                    return EventSource(it["UUID"], it["State"])
        return None

    def _messages(self) -> Iterator[DoctorCheck]:
        for queue in operation_checks.SOURCES:
            yield self._check(
                f"messages in {queue}", _QUEUE_RIGHTS,
                partial(self._load, queue), partial(operation_checks.judge_load, queue),
            )  # fmt: skip
        permission = (
            "logs:FilterLogEvents"
            if self._place.is_local
            else "cloudwatch:GetMetricStatistics, ListMetrics and GetMetricData"
        )
        judge = partial(operation_checks.judge_mail, now=self._now)
        yield self._check("mail", permission, self._logged_mail if self._place.is_local else self._counted_mail, judge)

    def _load(self, queue: str) -> QueueLoad:
        url = self._opened.output(f"{queue}Url")
        found = self._opened.storage.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS))["Attributes"]
        waiting, delayed, in_work = (int(found[name]) for name in _COUNTS)
        # The embedded AWS has no metrics of queues.
        age = None if self._place.is_local else QueueMetrics(self._cloudwatch, self._now).oldest(url)
        return QueueLoad(waiting + delayed, in_work, age)

    def _counted_mail(self) -> RecentMail:
        return MailMetrics(self._cloudwatch, self._opened.name, self._now).of_last_day()

    def _logged_mail(self) -> RecentMail:
        """The mail of the last day by the functions' logs: a local stack evaluates no metrics."""
        log = event_log_of(self._opened.outputs, self._opened.clients("logs"))
        judged = [
            event
            for event in log.events(int((self._now - DAY_SECONDS) * 1000), EventFilter())
            if event.function == "worker" and event.event in set(ClaimOutcome)
        ]
        discarded = Counter(event.reason for event in judged if event.event == ClaimOutcome.DISCARDED)
        return RecentMail(judged[-1].at_ms / 1000 if judged else None, discarded)

    @property
    def _cloudwatch(self) -> Any:
        return self._opened.clients("cloudwatch")

    # --- jobs ----------------------------------------------------------------------------------------------------

    def _jobs(self, stack: Stack) -> Iterator[DoctorCheck]:
        wheels = () if self._place.is_local else WHEELS
        wanted = (library(), *map(script, ("compact_chunks", "expire_messages")), *wheels)
        judge = partial(operation_checks.judge_library, self._place, wanted)
        yield self._check("jobs library", "s3:ListBucket and s3:GetObject", self._libraries, judge)
        for job in operation_checks.JOBS:
            aws_name = self._opened.outputs.get(f"{job.capitalize()}Job", "")
            judge = partial(operation_checks.judge_job, self._place, job, stack, aws_name, self._now)
            # Without s3:ListBucket, S3 answers "access denied" for a missing object.
            yield self._check(f"job {job}", "s3:GetObject or s3:ListBucket", partial(self._began, job), judge)

    def _libraries(self) -> Libraries:
        pages = self._opened.storage.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self._opened.output("Bucket"), Prefix=LIBRARIES
        )
        names = [it["Key"].removeprefix(LIBRARIES) for page in pages for it in page.get("Contents", [])]
        return Libraries(names, library() in names and is_packed(self._library()))

    def _library(self) -> bytes:
        s3, bucket = self._opened.storage.s3, self._opened.output("Bucket")
        return s3.get_object(Bucket=bucket, Key=LIBRARIES + library())["Body"].read()

    def _began(self, job: str) -> float | None:
        """When the last completed run began, in epoch seconds; None: no report can be read."""
        began = last_reported(job, self._opened.storage.objects).began
        return began / 1000 if began else None

    # --- alarms and dead letters ---------------------------------------------------------------------------------

    def _alarms(self, stack: Stack) -> Iterator[DoctorCheck]:
        if self._place.is_local:
            yield good("alarms", "on a local stack they are not evaluated")
            return
        judge = partial(operation_checks.judge_subscriptions, self._opened.outputs.get("AlarmTopic", ""))
        yield self._check("alarm topic", "sns:ListSubscriptionsByTopic", self._subscriptions, judge)
        alarms = ask(self._place, "cloudwatch:DescribeAlarms", self._all_alarms)
        if isinstance(alarms, Unseen):
            yield alarms.check("alarms")
        else:
            yield from operation_checks.judge_alarms(self._place, alarms, stack, self._now)

    def _subscriptions(self) -> list[Subscription]:
        client: SNSClient = self._opened.clients("sns")
        pages = client.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=self._opened.output("AlarmTopic"))
        # Before it is confirmed, and after it was deleted, a word is in place of the ARN.
        return [
            Subscription(f"{it['Protocol']} {it['Endpoint']}", it["SubscriptionArn"].startswith("arn:"))
            for page in pages
            for it in page["Subscriptions"]
        ]

    def _all_alarms(self) -> list[Alarm]:
        topic, prefix = self._opened.output("AlarmTopic"), f"{self._opened.name}-"
        pages = (
            self._opened.clients("cloudwatch")
            .get_paginator("describe_alarms")
            .paginate(AlarmNamePrefix=prefix, AlarmTypes=["MetricAlarm"])
        )
        # Another stack's name may begin with this one's: their topic shows whose alarms they are.
        return [
            Alarm(
                it["AlarmName"].removeprefix(prefix).partition("-")[0],
                it["StateValue"] == "ALARM",
                it.get("AlarmDescription", ""),
            )
            for page in pages
            for it in page["MetricAlarms"]
            if topic in it["AlarmActions"]
        ]
