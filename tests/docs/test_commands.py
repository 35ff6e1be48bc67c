"""The reference of the commands has every command and every argument."""

import argparse

from dataenvgym.cli.commands import add_commands
from docs.generate.commands import commands_page


def test_each_command_is_a_section_with_its_options_and_their_help():
    page = commands_page()
    sections = dict(section.partition("\n")[::2] for section in page.split("\n## ")[1:])
    commands = add_commands(argparse.ArgumentParser(), argparse.ArgumentParser)
    assert list(sections) == list(commands)
    text = {name: " ".join(section.split()).casefold() for name, section in sections.items()}
    for name, command in commands.items():
        for action in command._actions:
            assert all(f"`{option}" in text[name] for option in action.option_strings), action
            shown = " ".join((action.help or "").split()).casefold()
            assert (
                shown.replace("|", "\\|").replace("<", "&lt;").replace("$", "&#36;") in text[name]
            )


def test_a_bar_in_a_help_text_does_not_end_the_cell():
    rows = [line for line in commands_page().splitlines() if line.startswith("| `")]
    assert len(rows) > 50
    assert {row.replace("\\|", "").count("|") for row in rows} == {3}
