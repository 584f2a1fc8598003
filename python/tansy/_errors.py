"""What goes wrong, as exceptions."""


class Error(Exception):
    """An error of the library; the message names primitive, operand, reason and place.

    `status` is the library's name of its kind: "TN_ETYPE", "TN_ELINEAR", "TN_EPARSE", "TN_ERULE" .."""

    def __init__(self, message, status=""):
        super().__init__(message)
        self.status = status


class Unsupported(Error):
    """A JAX program has what Tansy has not.

    `missing` maps each thing that is missing (a primitive's name, a dtype, a parameter's value) to the places that
    use it; the message lists all of them."""

    def __init__(self, missing):
        self.missing = {what: list(places) for what, places in missing.items()}
        lines = "".join(
            f"\n  {what}" + (f" at {', '.join(places[:3])}" if places[:3] else "")
            for what, places in self.missing.items()
        )
        super().__init__("not in Tansy:" + lines, "TN_ERULE")
