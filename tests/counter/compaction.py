"""What the jobs of compaction do to rows and objects, played by hand."""

import json
from collections.abc import Sequence

from tests.counter.counter import SHOP, Counter

from postroom.store.ids import row_of
from postroom.store.segments import Line, lay_out


def compact(counter: Counter, message_ids: Sequence[str], *, delete: bool = False) -> str:
    """Copy lines of these messages into a chunk, and swing their rows to it; the chunk's name.

    `delete`: what they were copied from is deleted at once, as if it held nothing else.
    """
    keys = [key for each in message_ids if (key := row_of(each, SHOP))]
    rows = [row for key in keys if (row := counter.register.find(key)) and row.live]
    lines = []
    for row in rows:
        assert row.place is not None
        value = json.loads(counter.objects.get_range(row.place))
        lines.append(Line(row.key, value["c"], value["envelope"], value["receipt"]))
    name = f"chk/{counter.new_id()}"
    data, places = lay_out(lines, name)
    counter.objects.put(name, data)
    for row, place in zip(rows, places, strict=True):
        assert row.place is not None
        counter.deployed.clients.dynamodb.update_item(
            TableName=counter.deployed.tables["PostTable"],
            Key={"pk": {"S": row.key.pk}, "sk": {"S": row.key.sk}},
            UpdateExpression="SET o = :o, off = :off, #len = :len",
            ConditionExpression="st = :live AND o = :src",
            ExpressionAttributeNames={"#len": "len"},
            ExpressionAttributeValues={
                ":o": {"S": place.object}, ":off": {"N": str(place.offset)}, ":len": {"N": str(place.length)},
                ":live": {"S": "L"}, ":src": {"S": row.place.object},
            },
        )  # fmt: skip
        if delete:
            counter.deployed.clients.s3.delete_object(Bucket=counter.deployed.bucket, Key=row.place.object)
    return name


def collect(counter: Counter) -> None:
    """Delete the objects that no row points to."""
    needed = {row["o"]["S"] for row in counter.deployed.rows("PostTable") if "o" in row}
    for name in counter.deployed.objects():
        if name not in needed:
            counter.deployed.clients.s3.delete_object(Bucket=counter.deployed.bucket, Key=name)
