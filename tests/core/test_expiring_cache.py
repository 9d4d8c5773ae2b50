from postroom.core.expiring_cache import Cache, CacheEntry


def test_an_entry_is_kept_until_it_expires():
    cache = Cache(2)
    cache.put("a", CacheEntry(1, 0, 10))
    assert cache.get("a", 9.9) == CacheEntry(1, 0, 10)
    assert cache.get("a", 10) is None
    assert len(cache) == 0


def test_a_dropped_entry_is_gone_and_others_stay():
    cache = Cache(2)
    cache.put("a", CacheEntry(1, 0, 10))
    cache.put("b", CacheEntry(2, 0, 10))
    for _ in range(2):
        cache.drop("a")
        assert [bool(cache.get(name, 1)) for name in "ab"] == [False, True]


def test_entries_are_removed_until_the_total_weight_is_allowed():
    cache = Cache(9, most_weight=10)
    for name, weight in (("a", 3), ("b", 3), ("c", 4)):
        cache.put(name, CacheEntry(name, 0, 10), weight)
    assert len(cache) == 3
    cache.put("d", CacheEntry("d", 0, 10), 4)
    assert [bool(cache.get(name, 1)) for name in "abcd"] == [False, False, True, True]
    cache.put("c", CacheEntry("c", 0, 10), 6)  # which is counted once, as it is now
    assert [bool(cache.get(name, 1)) for name in "cd"] == [True, True]
    cache.get("c", 10)
    cache.put("e", CacheEntry("e", 0, 20), 6)
    assert [bool(cache.get(name, 1)) for name in "cde"] == [False, True, True]


def test_an_entry_heavier_than_the_limit_is_not_kept_and_removes_no_other():
    cache = Cache(9, most_weight=10)
    cache.put("a", CacheEntry(1, 0, 10), 10)
    cache.put("b", CacheEntry(2, 0, 10), 11)
    assert [bool(cache.get(name, 1)) for name in "ab"] == [True, False]


def test_the_least_recently_used_entry_is_removed_first():
    cache = Cache(2)
    cache.put("a", CacheEntry(1, 0, 10))
    cache.put("b", CacheEntry(2, 0, 10))
    cache.get("a", 1)
    cache.put("c", CacheEntry(3, 0, 10))
    assert [bool(cache.get(name, 1)) for name in "abc"] == [True, False, True]
