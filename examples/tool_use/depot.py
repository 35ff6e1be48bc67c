"""A world in the words of the pocket student, and 216 problems: it learns them on any machine."""

import json
from pathlib import Path

from dataenvgym.tasks.worlds import Row, State, Table, ToolError, World, check, tool

GOODS = "tea rice corn salt milk wool soap coal bread honey sugar flour".split()  # noqa: SIM905
PLACES = ["mill", "farm", "bank", "camp", "school", "church", "castle", "museum"]


class Good(Row):
    place: str = "depot"


class Goods(State):
    goods: Table[Good]


class Depot(World[Goods]):
    name = "depot"

    def initial(self):
        return Goods(goods={name: {} for name in GOODS})

    @tool(writes=True)
    def join(self, item: str, place: str) -> str:
        """Bring a good to a place."""
        require(item in GOODS and place in PLACES)
        self.state.goods[item] = Good(place=place)
        return "ok"

    @tool(writes=True)
    def free(self, item: str) -> str:
        """Throw a good away."""
        require(self.state.goods.pop(item, None))
        return "ok"

    @check
    def is_at(self, item: str, place: str) -> bool:
        return item in self.state.goods and self.state.goods[item].place == place


def require(known):
    if not known:
        raise ToolError("there is no such item or place")


def problems():
    for item, place in ((item, place) for item in GOODS for place in PLACES):
        gold = [{"name": "join", "arguments": {"item": item, "place": place}}]
        for said in (f"The {place} must have {item}.", f"Please get the {item} to the {place}."):
            yield {"instruction": said, "skill": "bring", "gold": gold}
    for item in GOODS:
        gold = [{"name": "free", "arguments": {"item": item}}]
        for said in (f"Please get rid of the {item}.", f"Throw out the {item}."):
            yield {"instruction": said, "skill": "free", "gold": gold}


if __name__ == "__main__":
    rows = "\n".join(json.dumps({"id": f"p{n}", **row}) for n, row in enumerate(problems()))
    print(Path("depot.jsonl").write_text(rows), "bytes are written into depot.jsonl")
