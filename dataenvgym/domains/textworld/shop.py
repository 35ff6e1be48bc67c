"""A shop of text pages with a search: a purchase in WebShop's form.

    search page --search[words]--> results --click[B0...]--> product --click[Buy Now]--> end

Pages and actions are those of WebShop in its text form (Yao et al., 2022), the products are our own
or those of a file. Unlike there, the last results have no "Next >", and there are no reviews.
The split of a drawn purchase is a hash of its product, so no two splits share a product.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from dataenvgym.domains.textworld.purchases import STEP, Product, Wanted, alike, purchase
from dataenvgym.domains.textworld.worlds import Problem, Seen, Step, World, impossible
from dataenvgym.errors import BrokenFileError
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import read_model
from dataenvgym.tasks.pocket import split_by_hash
from dataenvgym.tasks.source import Split

# --- the products, drawn by seed ------------------------------------------------------------------


PER_KIND = 10
_BRANDS = (
    "Aldren", "Borvik", "Calmora", "Deltin", "Estrava", "Fenwick", "Galdo", "Hestia", "Ilmar",
    "Jorven", "Kestrel", "Lumora", "Marvik", "Nordal", "Orsina", "Pelton", "Quellin", "Ravado",
)  # fmt: skip
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"


@dataclass(frozen=True)
class Category:
    """A category: its kinds of products, and what they may have.

    Attributes:
        kinds: the subcategory of each kind.
        options: the values of each option; a product has some of them.
        prices: the least and the most in dollars.
    """

    kinds: Mapping[str, str]
    attributes: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    prices: tuple[int, int]


_COLORS = ("black", "white", "red", "blue", "green", "gray", "brown", "pink")
CATEGORIES: Mapping[str, Category] = {
    "Beauty": Category(
        {"face cream": "Skin Care", "hand lotion": "Skin Care", "lip balm": "Skin Care",
         "shampoo": "Hair Care", "hair oil": "Hair Care", "hair mask": "Hair Care"},
        ("cruelty free", "paraben free", "long lasting", "dry skin", "sulfate free",
         "anti aging", "plant based", "fast absorbing"),
        {"scent": ("rosewood", "jasmine", "vanilla", "cedar", "citrus", "unscented"),
         "size": ("50 ml", "100 ml", "200 ml", "400 ml")},
        (6, 45),
    ),
    "Electronics": Category(
        {"headphones": "Audio", "wireless speaker": "Audio", "soundbar": "Audio",
         "phone charger": "Accessories", "laptop stand": "Accessories", "webcam": "Accessories"},
        ("noise cancelling", "fast charging", "water resistant", "easy setup", "high definition",
         "hands free", "heavy duty", "energy saving"),
        {"color": _COLORS, "style": ("standard", "compact", "pro", "travel")},
        (12, 180),
    ),
    "Fashion": Category(
        {"hiking boots": "Shoes", "running shoes": "Shoes", "sandals": "Shoes",
         "rain jacket": "Clothing", "hoodie": "Clothing", "trousers": "Clothing"},
        ("non slip", "machine wash", "arch support", "slim fit", "quick drying", "memory foam",
         "wind proof", "elastic waist"),
        {"color": _COLORS, "size": ("x-small", "small", "medium", "large", "x-large")},
        (18, 140),
    ),
    "Garden": Category(
        {"floor lamp": "Lighting", "string lights": "Lighting", "table lamp": "Lighting",
         "bookcase": "Furniture", "bar stool": "Furniture", "coffee table": "Furniture"},
        ("easy assembly", "space saving", "solid wood", "height adjustable", "stain proof",
         "mid century", "steel frame", "eco friendly"),
        {"color": _COLORS, "set": ("single", "pair", "set of three", "set of four")},
        (22, 260),
    ),
    "Grocery": Category(
        {"granola bars": "Snacks", "trail mix": "Snacks", "rice crackers": "Snacks",
         "ground coffee": "Drinks", "herbal tea": "Drinks", "oat milk": "Drinks"},
        ("gluten free", "low sodium", "sugar free", "dairy free", "non gmo", "high protein",
         "keto friendly", "fair trade"),
        {"flavor": ("maple", "caramel", "cinnamon", "hazelnut", "apple", "ginger"),
         "pack": ("pack of one", "pack of six", "pack of twelve", "bulk bag")},
        (4, 38),
    ),
}  # fmt: skip


def draw_products(seed: int) -> list[Product]:
    """The products of a shop."""
    rng = derive_rng(seed, "textworld_shop", "products")
    products: dict[str, Product] = {}
    for name, category in CATEGORIES.items():
        for kind, group in category.kinds.items():
            for brand in rng.permutation(_BRANDS)[:PER_KIND].tolist():
                asin = "B0" + "".join(_LETTERS[i] for i in rng.integers(len(_LETTERS), size=8))
                path = f"{name} {STEP} {group} {STEP} {kind.title()}"
                products[asin] = _product(asin, brand, kind, path, category, rng)
    return list(products.values())


def _product(
    asin: str, brand: str, kind: str, path: str, category: Category, rng: np.random.Generator
) -> Product:
    attributes = tuple(rng.permutation(category.attributes)[: int(rng.integers(3, 5))].tolist())
    options = {}
    for name, values in category.options.items():
        some = set(rng.permutation(values)[: int(rng.integers(3, 5))].tolist())
        options[name] = tuple(value for value in values if value in some)
    return Product(
        asin=asin,
        title=f"{brand} {kind.title()}, {attributes[0].title()}",
        query=kind,
        product_category=path,
        attributes=attributes,
        features=tuple(f"{each.capitalize()}, as tested by {brand}" for each in attributes),
        description=f"{kind.capitalize()} by {brand}: {' and '.join(attributes[:2])}.",
        options=options,
        price=round(float(rng.uniform(*category.prices)), 2),
    )


# --- the shop -------------------------------------------------------------------------------------


MOST_RESULTS = 50
PER_PAGE = 10
SKILLS = tuple(name.lower() for name in CATEGORIES)
SHOP_ACTION = re.compile(r"(search|click)\s*\[(.*)\]\s*\.?", re.IGNORECASE | re.DOTALL)
_ABOUT = ("Description", "Features")
_SATURATION, _LENGTH = 1.2, 0.75  # of BM25
_REQUESTS = (
    "i need {attributes} {kind}, {options}, and price lower than {price} dollars",
    "i am looking for {kind}, {attributes}, with {options}, and price lower than {price} dollars",
    "find me {kind} ({attributes}), {options}, for less than {price} dollars",
)


class Catalog:
    """The products of a shop, and the search."""

    def __init__(self, products: Sequence[Product]) -> None:
        self.products = {product.asin: product for product in products}
        self._counts = {asin: Counter(_words(product)) for asin, product in self.products.items()}
        self._found: dict[str, list[str]] = defaultdict(list)
        for asin, counts in self._counts.items():
            for word in counts:
                self._found[word].append(asin)
        total = sum(count.total() for count in self._counts.values())
        self._mean = total / max(1, len(self._counts))

    def search(self, words: str) -> list[str]:
        """The numbers of the 50 products that fit best, by BM25."""
        scores: dict[str, float] = defaultdict(float)
        for word in set(_split(words)):
            found = self._found.get(word, [])
            rarity = math.log(1 + (len(self.products) - len(found) + 0.5) / (len(found) + 0.5))
            for asin in found:
                count = self._counts[asin][word]
                length = self._counts[asin].total() / self._mean
                damped = count + _SATURATION * (1 - _LENGTH + _LENGTH * length)
                scores[asin] += rarity * count * (_SATURATION + 1) / damped
        return sorted(scores, key=lambda asin: (-scores[asin], asin))[:MOST_RESULTS]


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _words(product: Product) -> list[str]:
    options = (f"{name} {' '.join(values)}" for name, values in product.options.items())
    return _split(" ".join((product.title, *product.features, product.description, *options)))


@cache
def catalog_of(source: int | str) -> Catalog:
    """The drawn catalog of that seed, or the products in a JSON file.

    Raises:
        BrokenFileError: for a file that cannot be read, naming the product and the field.
    """
    if isinstance(source, int):
        return Catalog(draw_products(source))
    way_out = "the catalog of a shop is a JSON list of `Product`s, each with an asin of its own"
    products = read_model(Path(source).expanduser(), list[Product], way_out, BrokenFileError)
    most = Counter(product.asin for product in products).most_common(1)
    if not most or most[0][1] > 1:
        raise BrokenFileError(f"{source}: found {most}; {way_out}")
    return Catalog(products)


class ShopWorld(World):
    """A visit to the shop; done when something is bought."""

    def __init__(self, catalog: Catalog, wanted: Wanted) -> None:
        self.catalog = catalog
        self.wanted = wanted
        self.results: list[str] | None = None  # None: the search page
        self.page = 0
        self.product: Product | None = None
        self.about: str | None = None
        self.chosen: dict[str, str] = {}

    @property
    def actions(self) -> tuple[str, ...]:
        if self.results is None:
            return ("search[<words>]",)
        return tuple(f"click[{button}]" for button in self._buttons)

    @property
    def _buttons(self) -> list[str]:
        if self.results is None:
            return []
        if self.product is None:
            start = self.page * PER_PAGE
            before = ["< Prev"] if self.page else []
            after = ["Next >"] if len(self.results) > start + PER_PAGE else []
            return ["Back to Search", *before, *after, *self.results[start : start + PER_PAGE]]
        if self.about is not None:
            return ["Back to Search", "< Prev"]
        values = [value for values in self.product.options.values() for value in values]
        return ["Back to Search", "< Prev", *values, *_ABOUT, "Buy Now"]

    def act(self, action: str) -> Seen:
        found = SHOP_ACTION.fullmatch(action.strip())
        name, value = (found[1].lower(), found[2].strip()) if found else ("", "")
        if name == "search" and self.results is None and _split(value):
            self.results, self.page = self.catalog.search(value), 0
            return Seen(self.shown())
        buttons = {button.lower(): button for button in self._buttons}
        if name != "click" or value.lower() not in buttons:
            return Seen(impossible(action), is_valid=False)
        return self._click(buttons[value.lower()])

    def _click(self, button: str) -> Seen:
        note = ""
        if button == "Back to Search":
            self.results, self.product, self.about = None, None, None
        elif button == "< Prev" and self.about is not None:
            self.about = None
        elif button == "< Prev" and self.product is not None:
            self.product = None
        elif self.product is None and button in ("< Prev", "Next >"):
            self.page += 1 if button == "Next >" else -1
        elif self.product is None:
            self.product, self.chosen = self.catalog.products[button], {}
        elif button in _ABOUT:
            self.about = button
        elif button == "Buy Now":
            return self._bought(self.product)
        else:
            name = next(name for name, values in self.product.options.items() if button in values)
            self.chosen[name] = button
            note = f"You have clicked {button}.\n"
        return Seen(note + self.shown())

    def _bought(self, product: Product) -> Seen:
        got = purchase(product, self.chosen, self.wanted)
        left = [name for name in product.options if name not in self.chosen]
        n = len(self.wanted.attributes)
        text = (
            f"You bought {product.asin}. Score: {got.reward:.3f} of 1 (type {got.type:g}, "
            f"attributes {got.attributes} of {n}, options {got.options} of {got.n - n}, price "
            f"{'within' if got.price else 'above'} the limit)."
        )
        if left:
            text += f" It was bought without a choice of {', '.join(left)}."
        scores = {
            "type": got.type,
            "attributes": got.attributes / n,
            "price": float(got.price),
            **({"options": got.options / (got.n - n)} if got.n > n else {}),
        }
        return Seen(text, done=True, reward=got.reward, scores=scores)

    def shown(self) -> str:
        """The page as text; buttons are in brackets."""
        if self.results is None:
            return "[Search]"
        if self.product is None:
            start = self.page * PER_PAGE
            found = [self.catalog.products[a] for a in self.results[start : start + PER_PAGE]]
            moves = [f"[{b}]" for b in self._buttons if b in ("< Prev", "Next >")]
            total = f"Page {self.page + 1} (Total results: {len(self.results)})"
            items = [f"[{p.asin}]\n{p.title}\n${p.price:.2f}" for p in found]
            return "\n".join(["[Back to Search]", total, *moves, *items])
        product = self.product
        if self.about is not None:
            about = product.description if self.about == "Description" else None
            lines = [about] if about else [f"- {each}" for each in product.features]
            return "\n".join(["[Back to Search]", "[< Prev]", *(lines or ["(nothing)"])])
        options = [
            f"{name}: {' '.join(f'[{value}]' for value in values)}"
            for name, values in product.options.items()
        ]
        price = f"Price: ${product.price:.2f}"
        rest = [f"[{button}]" for button in (*_ABOUT, "Buy Now")]
        return "\n".join(["[Back to Search]", "[< Prev]", *options, product.title, price, *rest])


class ShopProblem(Problem):
    """A purchase; the data are `{"wanted": {...}, "request": "...", "catalog": 0}`.

    Attributes:
        request: what the student reads.
        catalog: the seed of a drawn catalog, or the path of a file.
    """

    wanted: Wanted
    request: str = Field(min_length=1)
    catalog: int | str = 0

    @property
    def skill(self) -> str:
        return self.wanted.product_category.split(STEP)[0].strip().lower() or "any"

    @property
    def instruction(self) -> str:
        return f"Instruction: {self.request}\n\n[Search]"

    def world(self) -> ShopWorld:
        return ShopWorld(catalog_of(self.catalog), self.wanted)

    def choice(self, product: Product) -> dict[str, str]:
        """The wanted value of each option of a product, or the nearest to it."""
        found = {}
        for name, values in product.options.items():
            want = self.wanted.options.get(name, "")
            found[name] = max(values, key=lambda value: (value == want, alike(value, want)))
        return found

    @property
    def query(self) -> str:
        """The words that the reference policy searches for."""
        wanted = self.wanted
        return " ".join((wanted.query, *wanted.attributes, *wanted.options.values()))

    @cached_property
    def best(self) -> tuple[float, Product, dict[str, str]]:
        """The first purchase with the highest reward, in the order of the search."""
        catalog = catalog_of(self.catalog)
        found: list[tuple[float, Product, dict[str, str]]] = []
        for asin in dict.fromkeys((*catalog.search(self.query), *catalog.products)):
            product = catalog.products[asin]
            chosen = self.choice(product)
            reward = purchase(product, chosen, self.wanted).reward
            found.append((reward, product, chosen))
            if reward >= 1:
                break
        return max(found, key=lambda each: each[0])

    def fault(self) -> str | None:
        try:
            reward, product, _ = self.best
        except BrokenFileError as error:
            return str(error)
        if reward >= 1:
            return None
        return (
            f"no product has all that is wanted: the best, {product.asin}, has a reward of "
            f"{reward:.3f}"
        )

    def solution(self) -> Iterator[Step]:
        """Search for what is wanted, choose each option, and buy."""
        _, product, chosen = self.best
        catalog, words = catalog_of(self.catalog), self.query
        results = catalog.search(words)
        if product.asin not in results:
            words = product.title
            results = catalog.search(words)
        yield Step("I search for what is wanted.", f"search[{words}]")
        for _ in range(results.index(product.asin) // PER_PAGE):
            yield Step("I do not see it on this page.", "click[Next >]")
        yield Step(f"I look at {product.asin}.", f"click[{product.asin}]")
        for name, value in chosen.items():
            yield Step(f"I choose the {name}.", f"click[{value}]")
        yield Step("It has all that is wanted.", "click[Buy Now]")


def draw(
    skill: str, split: Split, rng: np.random.Generator, *, seed: int
) -> tuple[str, Callable[[], Mapping[str, Any]]]:
    """A random purchase for a `ProceduralSource`; `seed` is that of the catalog."""
    products = [
        product
        for product in catalog_of(seed).products.values()
        if product.product_category.startswith(skill.title())
        and split_by_hash(product.asin) == split
    ]
    product = products[int(rng.integers(len(products)))]
    attributes = tuple(rng.permutation(product.attributes)[:2].tolist())
    options = {
        name: values[int(rng.integers(len(values)))] for name, values in product.options.items()
    }
    limit = 10.0 * (product.price // 10 + int(rng.integers(2, 5)))
    request = _REQUESTS[int(rng.integers(len(_REQUESTS)))].format(
        kind=product.query,
        attributes=" and ".join(attributes),
        options=" and ".join(f"{name}: {value}" for name, value in options.items()),
        price=f"{limit:.2f}",
    )
    wanted = Wanted(
        title=product.title,
        query=product.query,
        product_category=product.product_category,
        attributes=attributes,
        options=options,
        price_upper=limit,
    )
    problem = ShopProblem(wanted=wanted, request=request, catalog=seed)
    return problem.instruction, lambda: {
        "category": wanted.query,
        "data": problem.model_dump(mode="json"),
    }
