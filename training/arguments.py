"""A script's settings: one dataclass is its command line, its printout and its run.json."""

import argparse
import contextlib
import dataclasses


def setting(default=dataclasses.MISSING, text="", **metadata):
    """Declare one setting of a script: a dataclass field with its help text."""
    return dataclasses.field(default=default, metadata={"help": text} | metadata)


def parse(settings_class, argv, description):
    """Fill a dataclass of `setting` fields from the command line.

    A field without default is positional; a tuple takes one or more values; a bool is a switch that turns it on; every
    other one is `--name VALUE`, its default in the help.

    Args:
        settings_class: the dataclass.
        argv: list of str, or None for `sys.argv`.
        description: str, shown by --help.

    Returns:
        an instance of `settings_class`.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in dataclasses.fields(settings_class):
        text = field.metadata["help"]
        if field.default is dataclasses.MISSING:
            parser.add_argument(field.name, nargs="+" if field.type is tuple else None, help=text)
        elif field.type is bool:
            parser.add_argument(f"--{field.name}", action="store_true", help=text)
        else:
            shown = "" if field.default is None else f" (default: {field.default})"
            parser.add_argument(
                f"--{field.name}",
                type=str if field.type is tuple else field.type,
                nargs="+" if field.type is tuple else None,
                default=field.default,
                choices=field.metadata.get("choices"),
                help=text + shown,
            )
    values = vars(parser.parse_args(argv))
    return settings_class(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    )


@contextlib.contextmanager
def one_line_errors():
    """End the script with the sentence of an error about its files or settings, without a traceback."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from error
