"""Keep the page on this machine: its source names no other host, and the browser is told to refuse them all."""

import re

from starlette.datastructures import MutableHeaders

# Gradio's page shows link previews a picture on another host.
_PREVIEW_TAGS = re.compile(rb'<meta\s+(?:property="og:|name="twitter:)[^>]*>\s*')

# Gradio's scripts are partly inline and compile templates: hence the two "unsafe". Files may be shown from memory.
_POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"


class OfflinePage:
    """ASGI middleware that adds a content security policy and takes Gradio's link preview out of HTML.

    Args:
        app: ASGI application, Gradio's.
    """

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        """Answer one request."""
        await self.app(scope, receive, _Sender(send) if scope["type"] == "http" else send)


class _Sender:
    """What the application sends, changed on its way out."""

    def __init__(self, send):
        self.send = send
        self.start = None  # Of an HTML response; held back until its body, and so its length, is known.
        self.body = b""

    async def __call__(self, message):
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["content-security-policy"] = _POLICY
            if headers.get("content-type", "").startswith("text/html"):
                self.start = message
                return
        elif message["type"] == "http.response.body" and self.start:
            self.body += message.get("body", b"")
            if message.get("more_body"):
                return
            body = _PREVIEW_TAGS.sub(b"", self.body)
            MutableHeaders(scope=self.start)["content-length"] = str(len(body))
            await self.send(self.start)
            message = message | {"body": body}
        await self.send(message)
