"""Which language a browser is shown: the page "/" is English, "/ko" Korean, and a link leads from one to the other."""

import urllib.parse

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse

from demo.words import LANGUAGES

# Gradio's page says it is English, whatever it shows.
SET_LANGUAGE = """document.documentElement.lang = location.pathname.endsWith("/ko") ? "ko" : "en";"""


class BrowserLanguage:
    """ASGI middleware that leads a browser from "/" to the page in its language.

    "/?lang=en" stays: it is the link from the Korean page, a choice.

    Args:
        app: ASGI application, the page.
        language: key of `LANGUAGES` for every browser; None for the one that the browser asks for.
    """

    def __init__(self, app, language=None):
        self.app = app
        self.language = language

    async def __call__(self, scope, receive, send):
        """Answer one request."""
        app = self.app
        if scope["type"] == "http" and scope["path"] == "/":
            query = scope["query_string"].decode()
            language = self.language or preferred_language(Headers(scope=scope).get("accept-language", ""))
            if language == "ko" and "lang" not in urllib.parse.parse_qs(query):
                app = RedirectResponse("ko" + ("?" + query if query else ""), headers={"vary": "accept-language"})
        await app(scope, receive, send)


def preferred_language(accepted):
    """Return the key of `LANGUAGES` that an Accept-Language header likes best; "en" if it likes none."""
    liking = {}
    for entry in accepted.split(","):
        name, _, quality = entry.strip().lower().partition(";q=")
        try:
            liking.setdefault(name.split("-")[0], float(quality or 1))
        except ValueError:  # A header may hold anything.
            continue
    return max(LANGUAGES, key=lambda language: liking.get(language, 0))
