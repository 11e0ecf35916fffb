from full_scale.storage.processes import Processes


def test_the_pieces_are_shared_out(monkeypatch):
    assert [list(Processes(rank, 3).mine(7)) for rank in range(3)] == [[0, 3, 6], [1, 4], [2, 5]]
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert Processes.of_launch() == (0, 1)
    Processes.of_launch().wait()
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert Processes.of_launch() == (2, 4)
