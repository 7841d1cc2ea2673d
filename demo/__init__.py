"""The browser page: ask a checkpoint questions. One file a tab."""

import os

# Gradio reads this when it is imported; the page's own `analytics_enabled=False` leaves its error reports on.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
