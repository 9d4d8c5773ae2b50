"""An archive moves to another home: copied, compared, then switched; wherever it dies, nothing is lost."""

import io
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
from tests.client.archive.mail import HELLO, KEYS, archive, delivered, filled
from tests.client.archive.pulling import DiedError, Points, Watched
from tests.protocols.dm3.stored_mail import ALICE, texts_of

from postroom.client.archive import Archive, Home, MemoryHome, export_record, import_record, verify
from postroom.client.archive.moving import NotCopiedError, move, vacate
from postroom.client.archive.ownership import (
    KEY,
    NotThisHomeError,
    Ownership,
    check_ownership,
    put_ownership,
    read_ownership,
    take_home,
)
from postroom.protocols.dm3.containers import ContainerError, conversation_key

THERE = "s3://there"


def moving() -> tuple[Archive, Archive, MemoryHome]:
    source = filled()
    take_home(source)
    home = MemoryHome()
    return source, replace(source, home=home), home


def there(target: Archive) -> Callable[[str], Home]:
    return {THERE: target.home}.__getitem__


def everything(archive: Archive) -> dict[str, list[str]]:
    return {partner: texts_of(archive.open(partner)) for partner in archive.conversations()}


def test_a_move_copies_everything_and_the_old_home_names_the_new_one() -> None:
    source, target, _ = moving()
    met: list[str] = []
    move(source, target, THERE, there(target), met.append)
    assert everything(target) == everything(source)
    assert verify(target, KEYS).flaws == []
    assert tuple(met) == source.conversations()
    check_ownership(target)
    with pytest.raises(NotThisHomeError, match=f"--home {THERE}"):
        check_ownership(source)
    with pytest.raises(NotThisHomeError, match=f"--home {THERE}"):
        take_home(source)


def test_the_old_home_stays_until_it_is_removed_and_its_ownership_record_remains() -> None:
    source, target, _ = moving()
    before = everything(source)
    move(source, target, THERE, there(target))
    assert everything(source) == before
    vacate(source, target)
    assert isinstance(source.home, MemoryHome)
    assert len(source.home.containers()) == 1
    assert read_ownership(source)[0] == Ownership(source.owner, THERE, vacated=True)
    assert everything(target) == before


def test_a_move_that_crashed_at_any_point_is_completed_by_the_next_try() -> None:
    whole = everything(filled())
    for point in count():
        source, target, home = moving()
        points = Points(point, die)
        try:
            mortal = replace(source, home=Watched(source.home, points)), replace(target, home=Watched(home, points))
            move(*mortal, THERE, there(target))
            vacate(*mortal)
        except DiedError:
            # One of the two is the archive, and has all of it.
            is_there = read_ownership(source)[0].moved_to == THERE
            assert everything(target if is_there else source) == whole
            move(source, target, THERE, there(target))
            vacate(source, target)
        assert everything(target) == whole
        assert verify(target, KEYS).flaws == []
        assert isinstance(source.home, MemoryHome)
        assert len(source.home.containers()) == 1
        if points.passed <= point:
            break
    assert point > 100


def die() -> None:
    raise DiedError


def test_messages_stored_during_a_move_are_moved_too() -> None:
    for point in count():
        source, target, home = moving()
        late = delivered("late", 9)
        points = Points(point, lambda source=source, late=late: source.store([late]))  # type: ignore[misc]
        move(
            replace(source, home=Watched(source.home, points)),
            replace(target, home=Watched(home, points)),
            THERE,
            there(target),
        )
        assert read_ownership(source)[0].moved_to == THERE
        if points.passed <= point:
            break
        if late.message_hash not in [entry.message_hash for entry in target.open(ALICE)]:
            # It came when everybody could know: who brought it asks, and does not acknowledge it.
            with pytest.raises(NotThisHomeError):
                check_ownership(source)


def test_an_import_into_a_home_during_its_move_is_an_error() -> None:
    export_record(filled(), file := io.BytesIO())
    outcomes = set()
    for point in count():
        old = archive(MemoryHome())
        take_home(old)
        new = replace(old, home=MemoryHome())
        points = Points(point, lambda old=old, new=new: move(old, new, THERE, there(new)))  # type: ignore[misc]
        try:
            import_record(file.getvalue(), replace(old, home=Watched(old.home, points)))
            outcomes.add("succeeded")
            assert points.passed <= point or everything(new) == everything(filled())
        except NotThisHomeError:
            outcomes.add("failed")
        if points.passed <= point:
            break
    assert outcomes == {"succeeded", "failed"}


def test_only_copied_containers_are_removed() -> None:
    source, target, _ = moving()
    move(source, target, THERE, there(target))
    source.store([delivered("late", 9)])
    before = everything(source)
    with pytest.raises(NotCopiedError, match=ALICE):
        vacate(source, target)
    assert everything(source) == before
    move(source, target, THERE, there(target))
    vacate(source, target)
    assert "late" in everything(target)[ALICE]


def test_a_moved_archive_can_be_moved_again() -> None:
    source, target, home = moving()
    third = replace(source, home=MemoryHome())
    homes = {THERE: home, "elsewhere": third.home, "back": source.home}.__getitem__
    move(source, target, THERE, homes)
    with pytest.raises(NotThisHomeError, match=THERE):
        move(source, third, "elsewhere", homes)
    move(target, third, "elsewhere", homes)
    # To say the first one again does not bring it back to where it is no more.
    with pytest.raises(NotThisHomeError, match="elsewhere"):
        move(source, target, THERE, homes)
    move(third, source, "back", homes)
    check_ownership(source)
    assert everything(source) == everything(third)


def test_messages_left_in_an_old_home_follow_the_ownership_records() -> None:
    """A device stored and acknowledged it before the ownership record was written; the mover died before the copy."""
    source, target, home = moving()
    third = replace(source, home=MemoryHome())
    homes = {THERE: home, "elsewhere": third.home}.__getitem__
    move(source, target, THERE, homes)
    source.store([delivered("late", 9)])
    move(target, third, "elsewhere", homes)
    with pytest.raises(NotThisHomeError, match="--to elsewhere for what is left"):
        move(source, target, THERE, homes)
    move(source, third, "elsewhere", homes)
    assert "late" in everything(third)[ALICE]
    vacate(source, third)
    check_ownership(third)


def test_circular_ownership_records_are_reported_and_nothing_is_changed() -> None:
    source, target, home = moving()
    _, etag = read_ownership(source)
    put_ownership(source, Ownership(source.owner, "b"), etag)
    put_ownership(target, Ownership(source.owner, "a"), None)
    before = home.containers()
    with pytest.raises(NotThisHomeError, match="b, a"):
        move(source, replace(source, home=MemoryHome()), "c", {"a": source.home, "b": home}.__getitem__)
    assert home.containers() == before


# ---- two devices move at once ----------------------------------------------------------------------------------------
def is_here(archive: Archive) -> bool:
    ownership, etag = read_ownership(archive)
    return etag is not None and not ownership.moved_to


def two_move(first: tuple[str, str], second: tuple[str, str], names: str) -> set[tuple[str, str]]:
    """One device moves, and at every point of it another one, too; what came of both.

    Each of them moves from a home to a home. Whatever they do, the archive is in one home, with all that is in any.
    """
    outcomes = set()
    for point in count():
        source, _, _ = moving()
        archives = {name: source if name == "a" else replace(source, home=MemoryHome()) for name in names}
        homes = {name: archive.home for name, archive in archives.items()}.__getitem__
        results: dict[str, str] = {}

        def run(
            who: str,
            way: tuple[str, str],
            points: Points | None = None,
            archives: dict[str, Archive] = archives,
            homes: Callable[[str], Home] = homes,
            results: dict[str, str] = results,
        ) -> None:
            old, new = (
                replace(archives[name], home=Watched(homes(name), points)) if points else archives[name] for name in way
            )
            try:
                move(old, new, way[1], homes)
                results[who] = "done"
            except NotThisHomeError:
                results[who] = "refused"

        points = Points(point, lambda run=run: run("second", second))  # type: ignore[misc]
        run("first", first, points)
        if points.passed <= point:
            break
        outcomes.add((results["first"], results["second"]))
        [live] = [archive for archive in archives.values() if is_here(archive)]
        assert everything(live) == everything(filled())
    return outcomes


def test_of_two_concurrent_moves_to_two_homes_one_succeeds_and_the_other_fails() -> None:
    assert two_move(("a", "b"), ("a", "c"), "abc") == {("refused", "done"), ("done", "refused")}


def test_two_concurrent_moves_to_the_same_home_both_succeed() -> None:
    assert two_move(("a", "b"), ("a", "b"), "ab") == {("done", "done")}


def test_mail_in_a_home_that_is_given_back_follows_the_archive() -> None:
    source, target, home = moving()
    third = replace(source, home=MemoryHome())
    homes = {THERE: home, "elsewhere": third.home}.__getitem__

    def others(_: str) -> None:
        if not is_here(third):
            target.store([delivered("pulled into the new home", 9)])
            move(source, third, "elsewhere", homes)

    with pytest.raises(NotThisHomeError, match="elsewhere"):
        move(source, target, THERE, homes, others)
    with pytest.raises(NotThisHomeError, match="elsewhere"):
        check_ownership(target)
    assert "pulled into the new home" in everything(third)[ALICE]


def test_a_former_home_is_not_given_back() -> None:
    source, target, home = moving()
    take_home(target)
    third = replace(source, home=MemoryHome())
    homes = {THERE: home, "elsewhere": third.home}.__getitem__

    def others(_: str) -> None:
        if not is_here(third):
            move(source, third, "elsewhere", homes)

    with pytest.raises(NotThisHomeError, match="elsewhere"):
        move(source, target, THERE, homes, others)
    check_ownership(target)


def test_a_home_that_another_device_moved_into_is_not_given_back() -> None:
    """Another device moves it elsewhere, and from there to where this one moves it: both are done."""
    source, target, home = moving()
    third = replace(source, home=MemoryHome())
    homes = {THERE: home, "elsewhere": third.home}.__getitem__

    def others(_: str) -> None:
        if not is_here(third) and not read_ownership(source)[0].moved_to:
            move(source, third, "elsewhere", homes)
            move(third, target, THERE, homes)

    move(source, target, THERE, homes, others)
    check_ownership(target)
    with pytest.raises(NotThisHomeError, match=THERE):
        check_ownership(third)


def test_a_home_that_another_device_is_moving_into_is_not_given_back() -> None:
    source, target, home = moving()
    third = replace(source, home=MemoryHome())
    homes = {THERE: home, "elsewhere": third.home}.__getitem__

    def others(_: str) -> None:
        if not is_here(third):
            move(source, third, "elsewhere", homes)
            with pytest.raises(DiedError):
                move(third, target, THERE, homes, lambda _: die())

    with pytest.raises(NotThisHomeError, match="elsewhere"):
        move(source, target, THERE, homes, others)
    # Otherwise the two would say of one another that the archive is there, once the other device goes on.
    check_ownership(target)


def test_a_home_that_was_claimed_twice_is_given_back() -> None:
    """The archive moves elsewhere and back while it is copied, and while it is copied again, elsewhere."""
    source, target, home = moving()
    third = replace(source, home=MemoryHome())
    homes = {THERE: home, "elsewhere": third.home, "here": source.home}.__getitem__
    met: list[str] = []

    def others(partner: str) -> None:
        met.append(partner)
        if met.count(partner) == len(met):
            move(source, third, "elsewhere", homes)
            move(third, source, "here", homes)
        elif met == [*source.conversations(), partner]:
            move(source, third, "elsewhere", homes)

    with pytest.raises(NotThisHomeError, match="elsewhere"):
        move(source, target, THERE, homes, others)
    with pytest.raises(NotThisHomeError, match="elsewhere"):
        check_ownership(target)


def test_an_archive_that_moved_away_and_back_is_moved_from_there() -> None:
    source, target, home = moving()
    homes = {THERE: home, "here": source.home}.__getitem__
    done: list[str] = []

    def others(partner: str) -> None:
        if not done:
            done.append(partner)
            move(source, target, THERE, homes)
            move(target, source, "here", homes)

    move(source, target, THERE, homes, others)
    check_ownership(target)
    with pytest.raises(NotThisHomeError, match=THERE):
        check_ownership(source)


def test_a_copy_into_a_home_during_its_move_is_an_error() -> None:
    outcomes = set()
    for point in count():
        source, target, home = moving()
        third = replace(source, home=MemoryHome())
        homes = {THERE: home, "elsewhere": third.home}.__getitem__
        move(source, target, THERE, homes)
        source.store([delivered("late", 9)])
        points = Points(point, lambda target=target, third=third, homes=homes: move(target, third, "elsewhere", homes))  # type: ignore[misc]
        try:
            move(
                replace(source, home=Watched(source.home, points)),
                replace(target, home=Watched(home, points)),
                THERE,
                homes,
            )
            outcomes.add("succeeded")
            assert points.passed <= point or "late" in everything(third)[ALICE]
        except NotThisHomeError:
            outcomes.add("failed")
        if points.passed <= point:
            break
    assert outcomes == {"succeeded", "failed"}


def test_nothing_is_removed_from_the_current_home() -> None:
    source, target, _ = moving()
    before = everything(source)
    with pytest.raises(NotThisHomeError, match="nothing was removed"):
        vacate(source, target)
    check_ownership(source)
    assert everything(source) == before


def test_an_archive_does_not_move_into_a_home_of_another_owner() -> None:
    source, target, home = moving()
    other = replace(target, owner="carol.eth")
    take_home(other)
    before = home.containers()
    with pytest.raises(NotThisHomeError, match=r"carol\.eth"):
        move(source, target, THERE, there(target))
    assert home.containers() == before
    check_ownership(source)


def test_a_damaged_archive_is_not_moved() -> None:
    source, target, _ = moving()
    source.home.delete(conversation_key(source.filing.root, "carol.eth"))
    with pytest.raises(ContainerError, match="missing"):
        move(source, target, THERE, there(target))
    check_ownership(source)


def test_a_new_home_that_loses_containers_is_not_used() -> None:
    class Forgetful(MemoryHome):
        def put(self, key: str, data: bytes, *, etag: str | None) -> str:
            if etag is not None:
                return etag
            return super().put(key, data, etag=etag)

    source, target, _ = moving()
    target = replace(target, home=Forgetful())
    target.store([delivered("there before", -5)])
    with pytest.raises(NotCopiedError):
        move(source, target, THERE, there(target))
    check_ownership(source)


def test_the_ownership_record_is_sealed_and_a_changed_one_is_invalid() -> None:
    source, _, _ = moving()
    assert isinstance(source.home, MemoryHome)
    assert not any(source.owner.encode() in data for data in source.home.containers().values())
    source.store([HELLO])
    found = source.home.get(KEY)
    assert found
    source.home.put(KEY, found.data[:-1] + bytes([found.data[-1] ^ 1]), etag=found.etag)
    with pytest.raises(NotThisHomeError, match="another key"):
        check_ownership(source)
