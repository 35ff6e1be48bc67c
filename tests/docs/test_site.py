"""The site as it is built, and as a browser shows it."""

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.browser import Tab, opened

ROOT = Path(__file__).parents[2]
PHONE = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": False}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture
def chromium():
    if (program := shutil.which("chromium")) is None:
        pytest.skip("chromium is not installed: `make test-slow` installs Debian's where it may")
    return program


def test_the_site_is_built_without_a_warning_and_fetches_nothing_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 80
    loaded = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=[\"']?(https?:)?//[^>]*>")
    for page in pages:
        assert loaded.search(page.read_text()) is None, page
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\([\"']?(?:https?:)?//", style.read_text()), style
    assert (site / "search" / "search_index.json").stat().st_size > 100_000


def test_a_word_that_is_typed_into_the_search_finds_its_page(site, chromium):
    async def search(word: str) -> list[str]:
        async with opened(chromium, site) as tab:
            await tab.wait_for("document.querySelector('[data-md-component=search-query]') != null")
            await tab.value("document.querySelector('[data-md-component=search-query]').focus()")
            await tab.wait_for("document.querySelector('.md-search-result__meta') != null")
            await tab.call("Input.insertText", text=word)
            links = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
            found: list[str] = await tab.wait_for(f"({links}).length && {links}")
            return found

    assert any("/studies/" in link for link in asyncio.run(search("racing"))[:3])


def test_a_command_on_a_page_is_whole_on_the_narrowest_screen(site, chromium):
    pages = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))

    async def cut(tab: Tab, page: str) -> object:
        await tab.value(f"location.href = '/{page}'")
        await tab.wait_for(f"location.pathname == '/{page}' && document.readyState == 'complete'")
        return await tab.value(CUT)

    async def all_cut() -> dict[str, object]:
        async with opened(chromium, site) as tab:
            await tab.call("Emulation.setDeviceMetricsOverride", **PHONE)
            names = ("" if page == "index" else f"{page}/" for page in pages)
            return {name: lines for name in names if (lines := await cut(tab, name))}

    assert asyncio.run(all_cut()) == {}


CUT = """
[...document.querySelectorAll('article pre code')]
  .filter(code => /^dataenvgym /m.test(code.textContent))
  .filter(code => code.scrollWidth > code.clientWidth + 1)
  .map(code => code.textContent.slice(0, 60))
"""
