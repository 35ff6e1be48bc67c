"""A world: fruits are counted, and carried into the cellar."""

from dataenvgym.tasks.worlds import Row, State, Table, ToolError, World, tool


class Heap(Row):
    count: int


class Ground(State):
    heaps: Table[Heap]


class Cellar(World[Ground]):
    name, policy = "cellar", "Carry only what is there: otherwise say how many there are."

    def initial(self):
        return Ground(heaps={"apple": {"count": 12}, "pear": {"count": 7}, "plum": {"count": 40}})

    @tool
    def count(self, fruit: str) -> int:
        """How many fruits of a kind lie on the ground."""
        if fruit not in self.state.heaps:
            raise ToolError("there is no such fruit")
        return self.state.heaps[fruit].count

    @tool(writes=True)
    def carry(self, fruit: str, count: int) -> int:
        """Carry fruits into the cellar; returns how many are left."""
        left = self.count(fruit) - count
        if count <= 0 or left < 0:
            raise ToolError("so many cannot be carried")
        self.state.heaps[fruit] = Heap(count=left)
        return left
