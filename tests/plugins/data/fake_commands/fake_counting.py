"""The commands that `fake_commands` offers."""

import click


@click.command()
@click.argument("path", type=click.Path())
def count(path):
    """Count the lines of a file."""
    with open(path) as lines:
        click.echo(len(lines.readlines()))


@click.command()
def fail():
    """Fail."""
    raise ValueError("nothing to count")


def plain():
    """No command at all."""
