"""The tab "Inside": the embedding sum and the attention of the typed text, live."""

import html

import gradio as gr

from demo.bars import answer_card, empty_card
from demo.charts import attention_chart, embedding_chart
from demo.questions import MODEL_QUEUE, check_texts

EXAMPLES = {
    "en": ["The animal did not cross the street because it was tired.", "My dog is cute. He likes playing."],
    "ko": ["나는 학교에 가서 공부를 했다.", "우리 강아지는 귀엽다. 공놀이를 좋아한다."],
}
MAX_TOKENS = 64  # More would not be legible.
AVERAGE = "average of all heads"
VIEWS = {"Both directions": False, "Left to right only": True}
NOTE = (
    "A row of the attention picture is a token, its columns are the tokens it looks at. BERT looks in both directions; "
    "a left-to-right model would see only the lower left half, which the second view shows, each row scaled to 1."
)


def build_tab(inspect, languages, num_layers, num_heads):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        inspect: `kbert.InspectText`, or any callable with its signature.
        languages: keys of `EXAMPLES`.
        num_layers, num_heads: ints, of the largest model behind `inspect`.
    """
