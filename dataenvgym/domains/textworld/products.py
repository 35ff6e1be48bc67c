"""Draws the products of a shop: five categories with six kinds of products each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dataenvgym.domains.textworld.purchases import STEP, Product
from dataenvgym.seeding import derive_rng

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
