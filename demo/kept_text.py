"""A switch of the language keeps what was typed, and the tab: the browser carries both from one page to the other."""

# Runs once on each page. A tab is in the page only after it was opened, so its texts wait until it is. Of boxes that
# nobody typed in, the other page has its own example.
KEEP_TYPED = """
const KEY = "kbert-typed";
const PANELS = "[role=tabpanel][id^=tab-]";
const BOXES = "textarea, input[type=text]:not([role=listbox]), input[type=checkbox]";
const boxesOf = (panel) => [...panel.querySelectorAll(BOXES)];
const held = new Map();  // Restored, until the person does something: Gradio may yet put its own value there.
const HELD_CHECKS = 40, CHECK_MILLISECONDS = 100;
const shown = (box) => (box.type === "checkbox" ? box.checked : box.value);
const valueOf = (box) => (held.has(box) ? held.get(box) : shown(box));
const typed = new WeakSet();
document.addEventListener("input", (event) => typed.add(event.target), true);
for (const kind of ["pointerdown", "keydown"]) {
  document.addEventListener(kind, (event) => event.target.closest(".kb-header nav a") || held.clear(), true);
}
const kept = JSON.parse(sessionStorage.getItem(KEY) || "{}");
sessionStorage.removeItem(KEY);
const opened = kept["opened"];
delete kept["opened"];

const put = (box, value) => {
  if (box.type === "checkbox") return box.checked === value || box.click();
  box.value = value;
  box.dispatchEvent(new Event("input", { bubbles: true }));
};
const restore = (box, value) => {
  held.set(box, value);
  put(box, value);
  let checks = 0;
  const timer = setInterval(() => {
    if (!held.has(box) || ++checks > HELD_CHECKS) {
      held.delete(box);
      clearInterval(timer);
    } else if (shown(box) !== value) put(box, value);
  }, CHECK_MILLISECONDS);
};
const restoreWhatIsHere = () => {
  for (const panel of document.querySelectorAll(PANELS)) {
    const values = kept[panel.id];
    const boxes = boxesOf(panel);
    if (!values || boxes.length < values.length) continue;
    delete kept[panel.id];
    values.forEach((value, place) => value === null || restore(boxes[place], value));
  }
};
const waiting = new MutationObserver(() => {
  restoreWhatIsHere();
  if (!Object.keys(kept).length) waiting.disconnect();
});
waiting.observe(document.body, { childList: true, subtree: true });
restoreWhatIsHere();
const openTab = () => {
  const tabs = document.querySelectorAll(".tab-wrapper [role=tab], .overflow-dropdown button");
  if (tabs.length) tabs[opened]?.click();
  else setTimeout(openTab, 50);
};
if (opened) openTab();

document.addEventListener("click", (event) => {
  if (!event.target.closest(".kb-header nav a")) return;
  const panels = [...document.querySelectorAll(PANELS)];
  const values = { ...kept };
  for (const panel of panels) {
    const found = boxesOf(panel).map((box) => (typed.has(box) ? valueOf(box) : null));
    if (found.some((value) => value !== null)) values[panel.id] = found;
  }
  values["opened"] = panels.find((panel) => panel.offsetParent)?.id.split("-")[1] ?? 0;
  sessionStorage.setItem(KEY, JSON.stringify(values));
}, true);
"""
