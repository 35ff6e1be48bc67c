"""A visit to the shop: pages, buttons, a purchase, and catalogs of files."""

import json
from itertools import combinations

import pytest

from dataenvgym.domains.textworld.shop import Catalog, ShopProblem, ShopWorld, catalog_of
from dataenvgym.domains.textworld.task import TextworldShopTask
from dataenvgym.errors import BrokenFileError
from dataenvgym.tasks.source import SPLITS
from tests.domains.textworld.test_purchases import PRODUCT, WANTED

BOOTS = [PRODUCT.model_copy(update={"asin": f"B{i:03}"}) for i in range(23)]
MILK = PRODUCT.model_copy(
    update={"asin": "M000", "title": "Oat Milk", "options": {}, "features": ("sweet",)}
)


@pytest.fixture
def shop():
    return ShopWorld(Catalog([*BOOTS, MILK]), WANTED)


def act(shop, *actions):
    for action in actions:
        seen = shop.act(action)
        assert seen.is_valid, action
    return seen


def test_the_search_page_only_searches(shop):
    assert shop.actions == ("search[<words>]",)
    for action in ("click[Buy Now]", "click[B000]", "search[]", "search boots", "search[!]"):
        seen = shop.act(action)
        assert not seen.is_valid
        assert "Nothing happens" in seen.text
    assert shop.shown() == "[Search]"


def test_results_are_shown_ten_a_page_and_turned(shop):
    page = act(shop, "search[hiking boots]").text.splitlines()
    assert page[:4] == ["[Back to Search]", "Page 1 (Total results: 23)", "[Next >]", "[B000]"]
    assert page[4:6] == ["Aldren Hiking Boots", "$50.00"]
    assert "click[< Prev]" not in shop.actions
    assert len([a for a in shop.actions if a.startswith("click[B0")]) == 10
    last = act(shop, "click[Next >]", "click[next >]").text
    assert "Page 3" in last
    assert "[< Prev]" in last
    assert "[Next >]" not in last
    assert "Page 2" in act(shop, "click[< Prev]").text
    assert act(shop, "click[Back to Search]").text == "[Search]"


def test_a_search_finds_what_fits_best_and_nothing_for_unknown_words(shop):
    act(shop, "search[sweet oat milk]")
    assert shop.results[0] == "M000"
    assert act(shop, "click[M000]", "click[Features]").text.endswith("- sweet")
    act(shop, "click[Back to Search]")
    assert "Total results: 0" in act(shop, "search[zebra]").text
    assert shop.actions == ("click[Back to Search]",)


def test_a_product_has_options_pages_about_it_and_a_way_back(shop):
    page = act(shop, "search[boots]", "click[b003]").text.splitlines()
    assert page == ["[Back to Search]", "[< Prev]", "color: [blue] [red]", "size: [8] [9]",
                    "Aldren Hiking Boots", "Price: $50.00", "[Description]", "[Features]",
                    "[Buy Now]"]  # fmt: skip
    assert act(shop, "click[Blue]").text.startswith("You have clicked blue.\n")
    assert act(shop, "click[Description]").text == "[Back to Search]\n[< Prev]\n(nothing)"
    assert not shop.act("click[Buy Now]").is_valid
    act(shop, "click[< Prev]")
    assert shop.chosen == {"color": "blue"}
    assert "Page 1" in act(shop, "click[< Prev]").text
    act(shop, "click[B003]")
    assert shop.chosen == {}


def test_a_purchase_ends_the_visit_with_its_parts(shop):
    act(shop, "search[boots]", "click[B001]", "click[red]", "click[blue]", "click[9]")
    seen = act(shop, "click[Buy Now]")
    assert seen.done
    assert seen.reward == pytest.approx(4 / 5)
    assert seen.scores == {"type": 1.0, "attributes": 0.5, "options": 1.0, "price": 1.0}
    assert seen.text == (
        "You bought B001. Score: 0.800 of 1 (type 1, attributes 1 of 2, options 2 of 2, price "
        "within the limit)."
    )
    act(other := ShopWorld(shop.catalog, WANTED), "search[boots]", "click[B001]")
    seen = act(other, "click[Buy Now]")
    assert seen.reward == pytest.approx(2 / 5)
    assert seen.text.endswith("It was bought without a choice of color, size.")


def write(path, products):
    path.write_text(json.dumps(products))
    return str(path)


def as_json(*products):
    return [product.model_dump(mode="json") for product in products]


def problem(catalog, **changes):
    wanted = WANTED.model_copy(update={"attributes": ("non slip",), **changes})
    return ShopProblem(wanted=wanted, request="i need boots", catalog=catalog)


def test_a_catalog_of_a_file_can_be_shopped_in(tmp_path):
    file = write(tmp_path / "products.json", as_json(MILK, *BOOTS))
    found = problem(file)
    assert found.fault() is None
    world = found.world()
    seen = [world.act(step.action) for step in found.solution()]
    assert (seen[-1].done, seen[-1].reward) == (True, 1.0)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attributes": ("heated",)}, "best, B000, has a reward of 0.750"),
        ({"price_upper": 10.0}, "reward of 0.750"),
        ({"options": {"color": "green"}}, "reward of 0.667"),
        ({"title": "Oat", "query": "x"}, None),
    ],
)
def test_a_purchase_that_is_unsolvable_as_stated_is_named(tmp_path, changes, reason):
    fault = problem(write(tmp_path / "p.json", as_json(*BOOTS)), **changes).fault()
    assert fault is not None
    assert "no product has all that is wanted" in fault
    assert reason is None or reason in fault


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "of its own"),
        ('[{"asin": "B001", "title": "x"}]', "0.price: Field required"),
        ('[{"asin": "B001", "title": "x", "price": 1}, {"asin": "B001", "title": "y", "price": 1}]',
         "B001"),
    ],
)  # fmt: skip
def test_a_damaged_catalog_is_named_in_one_message(tmp_path, text, message):
    file = tmp_path / "products.json"
    file.write_text(text)
    with pytest.raises(BrokenFileError, match=message) as error:
        catalog_of(str(file))
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)
    assert str(file) in (problem(str(file)).fault() or "")


def test_splits_share_no_product_and_texts_of_products_contain_no_value_of_an_option():
    task = TextworldShopTask()
    titles = [{i.data["wanted"]["title"] for i in task.on(split).instances} for split in SPLITS]
    assert not any(one & other for one, other in combinations(titles, 2))
    for product in catalog_of(0).products.values():
        values = [value for values in product.options.values() for value in values]
        assert not [value for value in values if product.mentions(value)], product


def test_no_purchase_without_options_has_the_whole_reward():
    for instance in TextworldShopTask(n_validation=20).instances:
        found = instance.data_as(ShopProblem)
        world = found.world()
        steps = [s for s in found.solution() if "choose" not in s.thought]
        seen = [world.act(step.action) for step in steps]
        assert seen[-1].done
        assert seen[-1].reward < 1
