"""`ttc netlist`: finds its subcommands, each in a module of its own."""

from __future__ import annotations

import importlib

import click

from ttc.dialects.core.errors import Error, nearest

SUBCOMMANDS = ("check", "run", "fmt")


class Subcommands(click.Group):
    """Loads a subcommand's module when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        return importlib.import_module(f"ttc.cli.netlist_{cmd_name}").command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in SUBCOMMANDS and not args[0].startswith("-"):
            raise Error("E0101", f"there is no command 'netlist {args[0]}'", hint=nearest(args[0], SUBCOMMANDS))
        return super().resolve_command(ctx, args)


@click.group("netlist", cls=Subcommands)
def command() -> None:
    """Check, run and format netlists in the Buda format."""
