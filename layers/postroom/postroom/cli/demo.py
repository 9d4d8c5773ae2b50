"""`postroom demo`: a demonstration of the main flows, on the real template, in the local stack."""


def demo() -> None:
    """Run a demonstration of the main flows in a local stack."""
    from postroom.core.extras import require
    from postroom.local.checkout import template_path

    template = template_path()
    require("the story", "local", "peers")
    # Imported when it runs: the demo loads every package.
    from postroom.cli.played_demo import play

    play(template)
