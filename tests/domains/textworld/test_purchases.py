"""The reward of a purchase equals the published formula, written down here a second time."""

import itertools
import re
from functools import cache

import numpy as np
import pytest

from dataenvgym.domains.textworld.purchases import COLORS, Product, Wanted, alike, purchase
from dataenvgym.domains.textworld.shop import CATEGORIES, draw_products


@cache
def common(one, other):
    """The length of the longest common subsequence."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + common(one[1:], other[1:])
    return max(common(one[1:], other), common(one, other[1:]))


def ratio(one, other):
    return round(200 * common(one, other) / (len(one) + len(other))) if one and other else 0


def token_set_ratio(one, other):
    a, b = (set(re.findall(r"[a-z0-9]+", text.lower())) for text in (one, other))
    if not a or not b:
        return 0
    both, only_a, only_b = (" ".join(sorted(part)) for part in (a & b, a - b, b - a))
    first, second = f"{both} {only_a}".strip(), f"{both} {only_b}".strip()
    return max(itertools.starmap(ratio, ((both, first), (both, second), (first, second))))


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("caf\u00e9 au lait", "caf au lait", 100), ("a_b c", "a b c", 80), ("\u0151z", "oz", 50),
     ("\u00f1", "\u00f1", 0), ("\u4e2d\u6587 red", "red", 100)],
)  # fmt: skip
def test_words_beyond_ascii_are_compared_as_thefuzz_does(one, other, ratio):
    """The ratios of thefuzz 0.19, which WebShop pins; 20,000 generated texts were equal."""
    assert alike(one, other) == ratio


def published(product, chosen, wanted, nouns):
    """`get_reward` of WebShop, from its description."""
    texts = [product.title.lower(), " ".join(product.features).lower(), product.description.lower()]

    def in_texts(text):
        return any(text in each for each in texts)

    def color(value):
        return next((c for c in sorted(COLORS) if c in value), value)

    n_attributes = 0
    for attribute in wanted.attributes:
        fuzzy = any(token_set_ratio(own, attribute) > 85 for own in product.attributes)
        n_attributes += 1 if fuzzy or in_texts(attribute) else 0
    goals = [color(v) for v in wanted.options.values()]
    n_options = 0
    for goal in goals:
        n_options += any(token_set_ratio(color(v), goal) > 85 for v in chosen.values())
    price = 1 if product.price <= wanted.price_upper else 0

    query = product.query == wanted.query
    steps = [set(map(str.strip, p.product_category.split("\u203a"))) for p in (product, wanted)]
    category = len(steps[0] & steps[1]) >= 2
    desired = nouns(wanted.title)
    title = len(set(nouns(product.title)) & set(desired)) / len(desired) if desired else 0.2
    r_type = 1.0 if query or category or title > 0.2 else 0.5
    if title < 0.1:
        r_type = 0.1
    if title == 0.0:
        r_type = 0.0
    total = n_attributes + n_options + price
    return r_type * total / (len(wanted.attributes) + len(wanted.options) + 1)


def nouns(title):
    return [word for word in re.findall("[a-z]+", title.lower()) if word not in ("for", "with")]


def cases(n):
    """Purchases of any product for any wish, near ones more often."""
    rng = np.random.default_rng(7)
    products = draw_products(3)
    words = re.findall("[a-z]+", "rug mat pad soft warm dark blue wide steel frame for oak set two")
    values = [v for c in CATEGORIES.values() for vs in c.options.values() for v in vs]
    values += ["dark blue", "light gray", "powder snow", "size 9"]
    attributes = [a for c in CATEGORIES.values() for a in c.attributes] + ["essential oils"]

    def some(given, most):
        return tuple(rng.permutation(given)[: int(rng.integers(0, most + 1))].tolist())

    for _ in range(n):
        product = products[int(rng.integers(len(products)))]
        model = products[int(rng.integers(len(products)))] if rng.random() < 0.7 else product
        if rng.random() < 0.3:
            title = " ".join(some(words, 12)) or "mat"
            product = product.model_copy(update={"title": title, "attributes": some(attributes, 4)})
        names = rng.permutation(["size", "color", "scent", "Size"]).tolist()
        wanted = Wanted(
            title=" ".join(some(words, 12)) or model.title,
            query=model.query,
            product_category=model.product_category,
            attributes=some(attributes, 3) or product.attributes or ("soft",),
            options=dict(zip(names, some(values, 3), strict=False)),
            price_upper=float(rng.integers(5, 200)),
        )
        if rng.random() < 0.5:
            wanted = wanted.model_copy(update={"title": model.title})
        if rng.random() < 0.1:
            wanted = wanted.model_copy(update={"title": " ".join(words)})
            product = product.model_copy(update={"title": "Aldren oak"})
        chosen = dict(zip(names, some(values, 3), strict=False))
        if rng.random() < 0.5:
            chosen |= wanted.options
        yield product, chosen, wanted


def test_the_reward_equals_the_published_formula_on_generated_purchases():
    seen = []
    for product, chosen, wanted in cases(200):
        got = purchase(product, chosen, wanted, nouns=nouns)
        seen.append(got)
        expected = published(product, chosen, wanted, nouns)
        assert got.reward == pytest.approx(expected), (product, chosen, wanted)
    assert {each.type for each in seen} == {0.0, 0.1, 0.5, 1.0}
    assert {each.price for each in seen} == {True, False}
    assert {0, 1, 2} <= {each.options for each in seen} & {each.attributes for each in seen}


PRODUCT = Product(
    asin="B000",
    title="Aldren Hiking Boots",
    query="hiking boots",
    product_category="Fashion \u203a Shoes \u203a Boots",
    attributes=("non slip", "arch support"),
    options={"color": ("blue", "red"), "size": ("8", "9")},
    price=50.0,
)
WANTED = Wanted(
    title="Aldren Hiking Boots",
    query="hiking boots",
    product_category="Fashion \u203a Shoes \u203a Boots",
    attributes=("non slip", "wind proof"),
    options={"color": "blue", "size": "9"},
    price_upper=60.0,
)
