x = (  # opwright: ignore[meta] on purpose, though it is off
