"""How the page looks: the system's fonts, one accent colour, light and dark."""

import gradio as gr

# Plain strings, not Gradio's font classes: those would fetch a file for each name.
_FONTS = ("-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Helvetica", "Arial", "sans-serif")
_MONOSPACE_FONTS = ("ui-monospace", "Menlo", "Consolas", "monospace")

# Accent: teal 700 on light and teal 400 on dark keep a contrast of at least 4.5 to 1 for text.
THEME = gr.themes.Base(
    primary_hue="teal",
    secondary_hue="teal",
    neutral_hue="slate",
    radius_size="lg",
    font=_FONTS,
    font_mono=_MONOSPACE_FONTS,
).set(
    body_background_fill="*neutral_50",
    body_background_fill_dark="*neutral_950",
    body_text_color_subdued="*neutral_600",
    block_background_fill_dark="*neutral_900",
    block_label_text_color="*neutral_600",
    block_title_text_color="*neutral_600",
    block_title_text_color_dark="*neutral_300",
    block_title_text_weight="500",
    border_color_primary_dark="*neutral_800",
    input_background_fill="*neutral_50",
    input_background_fill_dark="*neutral_950",
    input_border_width="1px",
    input_border_color="*neutral_300",
    input_border_color_dark="*neutral_700",
    input_border_color_focus="*primary_700",
    input_border_color_focus_dark="*primary_400",
    slider_color="*primary_700",
    slider_color_dark="*primary_400",
    button_large_padding="10px 16px",
    button_large_text_size="*text_md",
    button_border_width="1px",
    button_primary_border_color="transparent",
    button_primary_border_color_dark="transparent",
    button_primary_border_color_hover="transparent",
    button_primary_border_color_hover_dark="transparent",
    button_primary_background_fill="*primary_700",
    button_primary_background_fill_dark="*primary_400",
    button_primary_background_fill_hover="*primary_800",
    button_primary_background_fill_hover_dark="*primary_300",
    button_primary_text_color="white",
    button_primary_text_color_dark="*primary_950",
    button_secondary_text_color="*neutral_800",
    button_secondary_background_fill="white",
    button_secondary_background_fill_dark="transparent",
    button_secondary_background_fill_hover="*neutral_100",
    button_secondary_background_fill_hover_dark="*neutral_800",
    button_secondary_border_color="*neutral_300",
    button_secondary_border_color_dark="*neutral_700",
)

# Colours come from the theme's variables, which Gradio switches for dark.
CSS = """
.html-container { padding: 0 !important; }
.nav-holder { display: none !important; } /* Gradio's way between pages; the header has one. */
.dark input[type="range"] { --neutral-200: var(--neutral-700); } /* Its track knows no dark colour. */
input[type="range"]::-webkit-slider-thumb { box-shadow: 0 0 0 1px var(--slider-color) !important; }
.kb-header h1 { font-size: 1.75rem; font-weight: 700; letter-spacing: -0.02em; line-height: 1.2; margin: 0 0 4px; }
.kb-header p { color: var(--body-text-color-subdued); margin: 0; }
.kb-header { display: flex; justify-content: space-between; align-items: flex-start; gap: 12px 24px; }
.kb-header nav { display: flex; gap: 4px; flex: none; font-size: 0.875rem; }
.kb-header nav a { padding: 4px 8px; border-radius: 6px; color: var(--body-text-color-subdued); text-decoration: none; }
.kb-header nav a:hover { background: var(--border-color-primary); }
.kb-header nav a[aria-current] { color: var(--slider-color); font-weight: 600; }
@media (max-width: 500px) { .kb-header { flex-direction: column-reverse; } .kb-header nav { align-self: flex-end; } }
button[role="tab"][aria-selected="true"] { color: var(--slider-color); font-weight: 600; }
button[role="tab"][aria-selected="true"]::after { background: var(--slider-color); }

@media (max-width: 500px) { .tab-container button { padding: 0 9px !important; font-size: 0.875rem !important; } }

/* Question left, answer right, examples under the question. One column on a phone: question, answer, examples. */
.kb-tab { display: grid; grid-template-columns: minmax(0, 1fr); gap: 20px 32px; align-items: start; }
@media (min-width: 800px) {
  .kb-tab { grid-template: "question answer" auto "examples answer" 1fr / minmax(0, 1fr) minmax(0, 1fr); }
  .kb-question { grid-area: question; }
  .kb-answer { grid-area: answer; }
  .kb-examples { grid-area: examples; }
}
.kb-buttons { flex-wrap: nowrap; }
/* A list's arrow would lie on the name of what is chosen. */
@media (max-width: 500px) { .kb-buttons:has([role="combobox"]) .form { flex-direction: column; } }
.kb-examples .label svg { display: none; }
.kb-examples .gallery-item, .kb-examples .gallery-item div { text-align: left; }

.kb-card {
  background: var(--block-background-fill); color: var(--body-text-color); line-height: 1.5;
  border: 1px solid var(--border-color-primary); border-radius: var(--radius-lg); padding: 20px 22px;
}
.kb-card p { margin: 0; overflow-wrap: anywhere; }
.kb-empty { border-style: dashed; background: none; color: var(--body-text-color-subdued); }
.kb-refusal { border: 1px solid #dc2626; box-shadow: inset 4px 0 0 #dc2626; }
.kb-note { color: var(--body-text-color-subdued); font-size: 0.875rem; line-height: 1.5; margin: 0; }

.kb-excerpt { font-weight: 500; }
.kb-excerpt mark { background: none; color: var(--slider-color); font-weight: 700; }
.kb-bars { list-style: none; margin: 0; padding: 0; }
.kb-excerpt + .kb-bars, .kb-note + .kb-bars { margin-top: 12px; }
.kb-bars + .kb-note { margin-top: 12px; }
.kb-bars + .kb-excerpt { margin-top: 22px; padding-top: 20px; border-top: 1px solid var(--border-color-primary); }
.kb-bars li {
  display: grid; grid-template-columns: min(7.5rem, 36%) minmax(0, 1fr) 3.25rem; gap: 12px;
  align-items: center; padding: 5px 0; margin: 0;
}
.kb-label { overflow-wrap: anywhere; }
.kb-track { height: 8px; border-radius: 4px; overflow: hidden; background: var(--border-color-primary); }
.kb-track span { display: block; height: 100%; min-width: 2px; border-radius: 4px; background: var(--slider-color); }
.kb-percent { text-align: right; font-variant-numeric: tabular-nums; color: var(--body-text-color-subdued); }

.kb-words { white-space: pre-wrap; font-size: 1.0625rem; line-height: 2; margin-bottom: 12px !important; }
.kb-words button {
  font: inherit; color: inherit; padding: 1px 2px; border: 0; border-radius: 4px; cursor: pointer;
  background: color-mix(in srgb, var(--slider-color) calc(45% * var(--share)), transparent);
}
.kb-words button:hover, .kb-words button[aria-pressed="true"] { outline: 2px solid var(--slider-color); }
.kb-words button[aria-pressed="true"] { text-decoration: line-through; background: var(--border-color-primary); }
.kb-words + .kb-note { margin-bottom: 4px; }

.kb-pictures { gap: 32px; margin-top: 8px; }
.kb-pictures .modebar-container { display: none; }
.kb-card + .kb-card { margin-top: 16px; }
.kb-pieces-head { display: flex; justify-content: space-between; align-items: baseline; gap: 12px; flex-wrap: wrap; }
.kb-pieces { list-style: none; margin: 14px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 6px; }
.kb-pieces li {
  margin: 0; padding: 5px 9px; border: 1px solid var(--border-color-primary); border-radius: 8px; text-align: center;
  line-height: 1.35;
}
.kb-pieces b { display: block; font-weight: 600; overflow-wrap: anywhere; }
.kb-pieces span {
  display: block; font-size: 0.75rem; font-variant-numeric: tabular-nums; color: var(--body-text-color-subdued);
}
.kb-pieces .kb-continued { border-style: dashed; }
.kb-pieces .kb-continued b { color: var(--slider-color); }
.kb-pieces .kb-unknown { border-color: #dc2626; }
.kb-pieces .kb-drawn { border: 2px solid var(--slider-color); padding: 4px 8px; }
.kb-pieces .kb-drawn b { color: var(--slider-color); }
.kb-pieces .kb-right { background: color-mix(in srgb, var(--slider-color) 14%, transparent); }
.kb-learnt .kb-pieces { align-items: flex-start; }
.kb-learnt h3 { font-weight: 600; margin: 0 0 4px; }
.kb-learnt .kb-pieces + .kb-note { margin-top: 6px; }
.kb-track[role="progressbar"] { margin: 10px 0 6px; }
.kb-section h2, .kb-game h2 { font-size: 1.125rem; font-weight: 600; margin: 16px 0 4px; }
.kb-answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr)); gap: 24px 32px; }
.kb-pieces + .kb-answers { margin-top: 20px; padding-top: 20px; border-top: 1px solid var(--border-color-primary); }
.kb-answers + .kb-excerpt { margin-top: 20px; padding-top: 16px; border-top: 1px solid var(--border-color-primary); }
.kb-answers .kb-bars { margin: 10px 0; }
.kb-section { margin-top: 16px; }
.kb-joints .kb-bars { margin: 8px 0; padding-left: 14px; border-left: 2px solid var(--border-color-primary); }
.kb-table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.kb-table, .kb-table * { border: 0 !important; }
.kb-table :is(th, td) { text-align: left; vertical-align: top; padding: 4px 32px 4px 0 !important; }
.kb-table td { overflow-wrap: anywhere; }
.kb-numbers :is(thead th, td) { text-align: right; }
.kb-numbers tbody td { white-space: nowrap; }
@media (max-width: 500px) { .kb-table :is(th, td) { padding-right: 14px !important; } }
.kb-table th { font-weight: 500; color: var(--body-text-color-subdued); white-space: nowrap; }
.kb-table thead th { color: var(--body-text-color); font-weight: 600; white-space: normal; }
.kb-game .kb-buttons { max-width: 420px; align-items: end; }
"""
