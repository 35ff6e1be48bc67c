"""The reward of a purchase, by the formula of WebShop (Yao et al., 2022, and its `get_reward`).

    r_type x (attributes + options + price) / (n_attributes + n_options + 1)

`attributes` and `options` count what the product has of what is wanted, `price` is 1 within the
limit. `r_type` lowers the reward of another kind of product, by its query, category and title.

WebShop finds the nouns of a title with a tagger of spaCy. Here every word counts that is not a
function word, unless `nouns` is given; and colors are those of `COLORS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import Field

from dataenvgym.records.model import Finite, Model

Nouns = Callable[[str], Sequence[str]]
STEP = "\u203a"
"""Between the parts of the path of a category."""
COLORS = (
    "beige", "black", "blue", "brown", "gold", "gray", "green", "grey", "ivory", "khaki", "navy",
    "olive", "orange", "pink", "purple", "red", "silver", "tan", "teal", "white", "yellow",
)  # fmt: skip
"""The plain colors, in the order in which they are looked for: "dark blue" is "blue"."""
_FUNCTION_WORDS = frozenset(
    ("a", "an", "and", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with", "without")
)
_ALIKE = 85  # two texts are the same above this ratio


class Product(Model):
    """A product of a shop, with the fields of WebShop's products.

    Attributes:
        asin: its number, as shown.
        title: its name.
        query: the search that belongs to its kind.
        product_category: the path of its category, such as "Fashion › Shoes › Boots".
        attributes: short texts, which features or description may repeat.
        features: the bullet points.
        options: the values of each option, such as {"size": ("8", "9")}; one of each is chosen.
        price: in dollars.
    """

    asin: str = Field(pattern=r"^[A-Z0-9]{4,10}$")
    title: str = Field(min_length=1)
    query: str = ""
    product_category: str = ""
    attributes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    description: str = ""
    options: dict[str, tuple[str, ...]] = {}
    price: Finite = Field(ge=0)

    def mentions(self, text: str) -> bool:
        """Whether the title, the features or the description contain a text."""
        texts = (self.title, " ".join(self.features), self.description)
        return any(text in each.lower() for each in texts)


class Wanted(Model):
    """What is to be bought: the product that an instruction describes.

    Attributes:
        title, query, product_category: of a product that fits, for `r_type`.
        options: the wanted value of each option.
        price_upper: the limit in dollars.
    """

    title: str = Field(min_length=1)
    query: str = ""
    product_category: str = ""
    attributes: tuple[str, ...] = Field(min_length=1)
    options: dict[str, str] = {}
    price_upper: Finite = Field(gt=0)


@dataclass(frozen=True)
class Purchase:
    """The parts of a reward; `reward` puts them together.

    Attributes:
        type: 0, 0.1, 0.5 or 1.
        attributes, options: how many fit.
        price: whether it is within the limit.
        n: how many attributes and options are wanted.
    """

    type: float
    attributes: int
    options: int
    price: bool
    n: int

    @property
    def reward(self) -> float:
        return self.type * (self.attributes + self.options + self.price) / (self.n + 1)


def purchase(
    product: Product, chosen: Mapping[str, str], wanted: Wanted, *, nouns: Nouns | None = None
) -> Purchase:
    """Grade the purchase of a product with these options.

    Args:
        nouns: finds the nouns of a title.
    """
    chosen_values = [plain_color(value) for value in chosen.values()]
    return Purchase(
        type=_type(product, wanted, nouns or words_in),
        attributes=sum(
            any(alike(own, each) > _ALIKE for own in product.attributes) or product.mentions(each)
            for each in wanted.attributes
        ),
        options=sum(
            any(alike(value, goal) > _ALIKE for value in chosen_values)
            for goal in map(plain_color, wanted.options.values())
        ),
        price=product.price <= wanted.price_upper,
        n=len(wanted.attributes) + len(wanted.options),
    )


def words_in(title: str) -> list[str]:
    """The words of a title in lower case, without numbers and function words."""
    words = re.findall(r"[^\W\d_]+", title.lower())
    return [word for word in words if word not in _FUNCTION_WORDS]


def _type(product: Product, wanted: Wanted, nouns: Nouns) -> float:
    theirs, ours = (
        {part.strip() for part in each.product_category.split(STEP)} for each in (product, wanted)
    )
    desired = [word.lower() for word in nouns(wanted.title)]
    shared = {word.lower() for word in nouns(product.title)} & set(desired)
    score = len(shared) / len(desired) if desired else 0.2
    if score < 0.1:
        return 0.1 if score else 0.0
    is_same = product.query == wanted.query or len(theirs & ours) >= 2 or score > 0.2
    return 1.0 if is_same else 0.5


def plain_color(value: str) -> str:
    """The first of the plain colors that a text contains; the text itself if there is none."""
    return next((color for color in COLORS if color in value), value)


@lru_cache(maxsize=100_000)
def alike(one: str, other: str) -> int:
    """How alike two texts are, from 0 to 100, whatever the order and number of their words.

    This is `token_set_ratio` of thefuzz 0.19, WebShop's: the best ratio between the words that both
    have, and these with the other words of one or the other. It leaves out U+0080 to U+00FF.
    """
    mine, theirs = (
        set(re.sub(r"\W", " ", re.sub("[\x80-\xff]", "", text)).lower().split())
        for text in (one, other)
    )
    if not mine or not theirs:
        return 0
    shared = " ".join(sorted(mine & theirs))
    texts = [
        " ".join(filter(None, (shared, " ".join(sorted(rest)))))
        for rest in (mine - theirs, theirs - mine)
    ]
    return max(_ratio(shared, texts[0]), _ratio(shared, texts[1]), _ratio(*texts))


def _ratio(one: str, other: str) -> int:
    """Twice the longest common subsequence, as a percentage of both lengths."""
    if not one or not other:
        return 0
    row = [0] * (len(other) + 1)
    for letter in one:
        before = 0
        for i, their in enumerate(other, 1):
            before, row[i] = row[i], before + 1 if letter == their else max(row[i], row[i - 1])
    return round(200 * row[-1] / (len(one) + len(other)))
