"""Entries of `dataset_info.json` are read with LLaMA-Factory's own rules."""

import pytest

from dataenvgym.errors import DatasetFormatError
from dataenvgym.llama_factory.entries import DatasetEntry


def test_an_entry_that_says_nothing_has_the_alpaca_columns_without_system_and_history():
    entry = DatasetEntry.parse({"file_name": "a.json"})
    assert (entry.formatting, entry.ranking) == ("alpaca", False)
    assert entry.columns == {
        "prompt": "instruction",
        "query": "input",
        "response": "output",
        "messages": "conversations",
    }


def test_an_entry_that_names_columns_has_no_others():
    entry = DatasetEntry.parse({"file_name": "a.json", "columns": {"prompt": "text"}})
    assert entry.columns == {"prompt": "text"}


def test_an_entry_that_names_tags_has_no_others():
    entry = DatasetEntry.parse({"file_name": "a.json", "tags": {"role_tag": "role"}})
    assert entry.tags == {"role_tag": "role"}


def test_keys_that_llama_factory_passes_over_are_passed_over():
    assert DatasetEntry.parse({"file_name": "a.json", "load_from": "file", "note": 1})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a.json", "the entry is 'a.json', expected an object"),
        ({}, "'file_name' is None, expected a file's name"),
        ({"hf_hub_url": "x/y"}, r"'hf_hub_url' \('x/y'\), expected 'file_name'"),
        ({"file_name": "a.json", "num_samples": 5}, "'num_samples', expected none"),
        ({"file_name": "a.json", "split": "test"}, "'split' is 'test', expected 'train'"),
        ({"file_name": "a.json", "formatting": "openai"}, "'openai', expected 'alpaca' or"),
        ({"file_name": "a.json", "columns": {"images": "i"}}, "'images'.*, expected text only"),
        ({"file_name": "a.json", "columns": ["text"]}, r"'columns' is \['text'\], expected an obj"),
        ({"file_name": "a.json", "tags": {"role_tag": 1}}, "'tags' is .*, expected an object"),
    ],
)
def test_unsupported_options_are_refused(entry, message):
    with pytest.raises(DatasetFormatError, match=message):
        DatasetEntry.parse(entry)
