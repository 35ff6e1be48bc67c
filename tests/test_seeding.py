from dataenvgym.seeding import derive_rng, derive_seed


def test_the_same_path_gives_the_same_stream_and_another_path_another_one():
    draw = [derive_rng(0, 3, "agent").random() for _ in range(2)]
    assert draw[0] == draw[1]
    others = {
        derive_rng(*path).random()
        for path in [(0, 3, "agent"), (1, 3, "agent"), (0, 4, "agent"), (0, 3, "train"), (0, 3)]
    }
    assert len(others) == 5


def test_seeds_fit_into_63_bits_and_do_not_change():
    assert derive_seed(0, 1) != derive_seed(0, "1")
    assert derive_seed(0, 1, "train") == 6819339578631130998
    assert all(0 <= derive_seed(seed, "x") < 2**63 for seed in range(100))
