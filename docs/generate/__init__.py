"""Pages that are made when the site is built: references from the code, and files beside docs/.

hooks           what MkDocs calls: adds the generated pages, expands the nav, turns links
pages           all generated pages by path
nav             patterns in the nav of mkdocs.yml
links           links that leave docs/, turned to the pages made of those files
commands        reference of the commands, from the parser of the command line
options         reference of the configuration, from the YAML files
api             one page for each public part of the package, filled by mkdocstrings
files           pages of examples, and of CHANGELOG.md, CONTRIBUTING.md, ... at the top
"""
