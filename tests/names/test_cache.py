from postroom.names.cache import Cache, Kept


def test_an_entry_is_there_until_it_ends():
    cache = Cache(2)
    cache.put("a", Kept(1, 0, 10))
    assert cache.get("a", 9.9) == Kept(1, 0, 10)
    assert cache.get("a", 10) is None
    assert len(cache) == 0


def test_a_dropped_entry_is_gone_and_others_stay():
    cache = Cache(2)
    cache.put("a", Kept(1, 0, 10))
    cache.put("b", Kept(2, 0, 10))
    for _ in range(2):
        cache.drop("a")
        assert [bool(cache.get(name, 1)) for name in "ab"] == [False, True]


def test_the_entry_used_longest_ago_leaves_first():
    cache = Cache(2)
    cache.put("a", Kept(1, 0, 10))
    cache.put("b", Kept(2, 0, 10))
    cache.get("a", 1)
    cache.put("c", Kept(3, 0, 10))
    assert [bool(cache.get(name, 1)) for name in "abc"] == [True, False, True]
