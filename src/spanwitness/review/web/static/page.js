// Keys, and nothing else: every act is a form or a link that works without this file.
"use strict";
(() => {
  const rows = Array.from(document.querySelectorAll("[data-row]"));
  let current = -1;

  const isWriting = (target) =>
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
      (target.tagName === "INPUT" && target.type !== "checkbox"));

  const select = (place) => {
    if (!rows.length) return;
    if (current >= 0) rows[current].classList.remove("is-current");
    current = Math.max(0, Math.min(place, rows.length - 1));
    const row = rows[current];
    row.classList.add("is-current");
    row.scrollIntoView({ block: "nearest" });
    const link = row.querySelector("a");
    if (link) link.focus({ preventScroll: true });
  };

  const open = () => {
    const row = rows[current];
    const form = document.getElementById("claim-form");
    if (row.dataset.canClaim && form) {
      form.action = row.dataset.claim;
      form.requestSubmit();
    } else {
      window.location.assign(row.dataset.href);
    }
  };

  const press = (element) => {
    if (element instanceof HTMLFormElement) element.requestSubmit();
    else element.click();
  };

  const dialog = async () => {
    const link = document.getElementById("help-link");
    if (!link) return;
    let box = document.getElementById("help-dialog");
    if (box && box.open) return box.close();
    if (!box) {
      const parts = new DOMParser().parseFromString(await (await fetch(link.href)).text(), "text/html");
      const content = parts.querySelector("main > div");
      if (!content) return window.location.assign(link.href);
      box = document.createElement("dialog");
      box.id = "help-dialog";
      box.setAttribute("aria-label", "Keys");
      box.append(document.importNode(content, true));
      document.body.append(box);
      box.addEventListener("click", (event) => event.target === box && box.close());
    }
    box.showModal();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isWriting(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.repeat && !/^[jk]$/.test(event.key)) return;
    if (document.querySelector("dialog[open]") && event.key !== "?") return;
    const key = event.key;
    if (key === "?") { event.preventDefault(); dialog(); return; }
    if (rows.length && (key === "j" || key === "k")) {
      event.preventDefault();
      select(key === "j" ? current + 1 : current - 1);
      return;
    }
    if (key === "Enter") {
      const isElsewhere = event.target !== document.body && event.target.id !== "main" && !event.target.closest("[data-row]");
      if (isElsewhere) return;
      if (rows.length && current >= 0) { event.preventDefault(); open(); return; }
    }
    if (key === "x" && rows.length && current >= 0) {
      const box = rows[current].querySelector("input[type=checkbox]:not(:disabled)");
      if (box) box.checked = !box.checked;
      return;
    }
    if (key === "o") {
      const out = document.querySelector("a.out");
      if (out) { event.preventDefault(); window.open(out.href, "_blank", "noopener,noreferrer"); }
      return;
    }
    if (key === "q" && document.body.dataset.page !== "queue") {
      const queue = document.querySelector(".top nav a");
      if (queue) queue.click();
      return;
    }
    const field = document.querySelector(`[data-focus="${CSS.escape(key)}"]`);
    if (field) { event.preventDefault(); field.focus(); field.scrollIntoView({ block: "nearest" }); return; }
    const pressed = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (pressed) { event.preventDefault(); press(pressed); }
  });

  // What is wider than its box opens at the place that the finding names.
  for (const sign of ["svg.timeline .ev-missing, svg.timeline .named", ".ledger td.broken"]) {
    const named = document.querySelector(sign);
    if (!named) continue;
    const box = named.closest(".scroll");
    const place = named.getBoundingClientRect().right - box.getBoundingClientRect().left;
    if (place > box.clientWidth) box.scrollLeft = place - box.clientWidth / 2;
  }

  // Ctrl+Enter in a note sends its form; a verdict is only given by its own key or button.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.closest(".note-form")) {
      event.target.form.requestSubmit();
    }
  });

  // A second press while the first is on its way would only meet a conflict.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "1";
    document.documentElement.dataset.busy = "1";
  });
  window.addEventListener("pageshow", () => {
    delete document.documentElement.dataset.busy;
    for (const form of document.forms) delete form.dataset.sent;
  });
})();
