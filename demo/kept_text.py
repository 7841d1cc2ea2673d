"""A switch of the language keeps what was typed, and the tab: the browser carries both from one page to the other."""

# Of each page's head: Gradio shows its boxes a moment before it runs KEEP_TYPED.
NOTE_TYPED = """<script>
window.kbertTyped = new WeakSet();
document.addEventListener("input", (event) => window.kbertTyped.add(event.target), true);
</script>"""

# Runs once on each page. A tab is in the page only after it was opened, so its texts wait until it is. Of boxes that
# nobody typed in, the other page has its own example. Gradio may put its examples there late: what was typed is put
# back until the person does something below the tabs.
KEEP_TYPED = """
const KEY = "kbert-typed";
const PANELS = "[role=tabpanel][id^=tab-]";
const BOXES = "textarea, input[type=text]:not([role=combobox]), input[type=checkbox]";
const CHECK_MILLISECONDS = 100;
const panels = () => [...document.querySelectorAll(PANELS)];
const boxesOf = (panel) => [...panel.querySelectorAll(BOXES)];
const shown = (box) => (box.type === "checkbox" ? box.checked : box.value);
const typed = window.kbertTyped;
const { opened, ...kept } = JSON.parse(sessionStorage.getItem(KEY) || "{}");
sessionStorage.removeItem(KEY);

// A box that is not there yet, such as the one to ask a run that has not saved, keeps its text for later.
const keep = (values, panel, found) => {
  const length = 1 + found.findLastIndex((value) => value !== null);
  if (length) values[panel.id] = found.slice(0, length);
  else delete values[panel.id];
};
const put = (box, value) => {
  if (box.type === "checkbox") return box.click();
  box.value = value;
  box.dispatchEvent(new Event("input", { bubbles: true }));
};
const restore = (isWhole) => {
  for (const panel of panels()) {
    const values = kept[panel.id];
    const boxes = boxesOf(panel);
    if (!values || (!isWhole && boxes.length < values.length)) continue;
    const late = values.map((value, place) => [boxes[place], value]).filter(([box, value]) =>
      box && value !== null && shown(box) !== value);
    late.forEach(([box, value]) => put(box, value));
    // A tab that answers by itself when it is opened may have answered its own example.
    if (late.length) setTimeout(() => panel.querySelector(".kb-answers-itself")?.click());
  }
};
const timer = Object.keys(kept).length && setInterval(() => restore(false), CHECK_MILLISECONDS);
const release = (event) => {
  if (!event.target.closest?.(PANELS)) return;
  restore(true);  // A panel that a person uses is not being built.
  for (const panel of panels()) keep(kept, panel, (kept[panel.id] ?? []).fill(null, 0, boxesOf(panel).length));
  if (!Object.keys(kept).length) clearInterval(timer);
};
// Not focusin: Gradio moves the focus by itself.
for (const kind of ["pointerdown", "keydown", "beforeinput"]) document.addEventListener(kind, release, true);
const openTab = () => {
  const tabs = document.querySelectorAll(".tab-wrapper [role=tab], .overflow-dropdown button");
  if (tabs.length) tabs[opened]?.click();
  else setTimeout(openTab, 50);
};
if (opened) openTab();

document.addEventListener("click", (event) => {
  if (!event.target.closest(".kb-header nav a")) return;
  const values = { ...kept };
  for (const panel of panels()) {
    const waiting = kept[panel.id] ?? [];
    const found = boxesOf(panel).map((box, place) => waiting[place] ?? (typed.has(box) ? shown(box) : null));
    keep(values, panel, [...found, ...waiting.slice(found.length)]);
  }
  values["opened"] = panels().find((panel) => panel.offsetParent)?.id.split("-")[1] ?? 0;
  sessionStorage.setItem(KEY, JSON.stringify(values));
}, true);
"""
