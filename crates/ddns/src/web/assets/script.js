// Everything works without this script. It adds: countdowns, copy buttons, light and dark, news without reloading,
// and a list of services that narrows while somebody types.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => from.querySelectorAll(selector);
  const theme = {
    get() { try { return localStorage.getItem("theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("theme", value); } catch { /* It holds for this page. */ } },
  };
  if (theme.get()) root.dataset.theme = theme.get();

  // Countdowns: `data-left` is in seconds from the moment the page was made.
  let made = Date.now();
  const clock = (seconds) => {
    const two = (number) => String(number).padStart(2, "0");
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    if (hours >= 48) return `${Math.floor(hours / 24)} days`;
    return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
  };
  const ago = (seconds) => {
    if (seconds < 10) return "just now";
    const [count, unit] = seconds < 60 ? [seconds, "second"] : [Math.floor(seconds / 60), "minute"];
    return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  };
  const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const tick = () => {
    const passed = Math.round((Date.now() - made) / 1000);
    for (const node of all("[data-left]")) put(node, clock(Math.max(0, node.dataset.left - passed)));
    for (const node of all("time[data-ago]")) {
      const seconds = Number(node.dataset.ago) + passed;
      if (seconds < 3600) put(node, ago(seconds));
    }
  };

  const without = (node) => {
    const next = node.nextSibling;
    node.remove();
    return next;
  };
  // Makes `old` equal to `fresh` and keeps every node that can be kept: focus, selection and scrolling stay.
  const morph = (old, fresh) => {
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const is_edited = (node) => node === document.activeElement || (node.value !== undefined && node.value !== node.defaultValue);
    if (old.matches("input, select") && is_edited(old)) return;
    let place = old.firstChild;
    for (const next of [...fresh.childNodes]) {
      while (place && next.id && place.id !== next.id && [...old.children].some((node) => node.id === next.id)) place = without(place);
      if (place && place.nodeName === next.nodeName && (place.id || "") === (next.id || "")) {
        if (next.nodeType === Node.ELEMENT_NODE) morph(place, next);
        else if (place.nodeValue !== next.nodeValue) place.nodeValue = next.nodeValue;
        place = place.nextSibling;
      } else {
        old.insertBefore(document.importNode(next, true), place);
      }
    }
    while (place) place = without(place);
  };

  const equip = () => {
    if (navigator.clipboard) for (const button of all("[data-copy]")) button.hidden = false;
    if (document.querySelector("[data-again]")) setTimeout(refresh, 1000);
    tick();
  };
  const show = async (response) => {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.querySelector("main");
    if (!response.ok || !fresh) return;
    if (!page.querySelector(".tabs")) {
      // The session ended.
      location.reload();
      return;
    }
    made = Date.now();
    document.title = page.title;
    morph(document.querySelector("main"), fresh);
    equip();
  };

  // News: the service says that something changed, and the page fetches itself. One request at a time.
  let fetching = false;
  let again = false;
  const refresh = async () => {
    if (fetching) { again = true; return; }
    fetching = true;
    try {
      await show(await fetch(location.href, { cache: "no-store" }));
      // If not, the next event tries again.
    } catch {}
    fetching = false;
    if (again) { again = false; setTimeout(refresh, 200); }
  };
  // Without the service nothing here is sure, and no button does anything: all of it says so.
  const gone = (is_gone, is_locked = false) => {
    const note = document.getElementById("connection");
    [note.hidden, note.firstElementChild.hidden, note.lastElementChild.hidden] = [!is_gone, is_locked, !is_locked];
    root.classList.toggle("gone", is_gone);
    document.title = (is_gone ? "Not connected · " : "") + document.title.replace("Not connected · ", "");
    // A disabled button would lose the focus.
    for (const button of all("main button:not([data-copy])")) {
      const { said } = button.dataset;
      if (is_gone && !said) {
        [button.dataset.said, button.textContent] = [button.innerHTML, "Not connected"];
        button.setAttribute("aria-disabled", "true");
      } else if (!is_gone && said) {
        button.innerHTML = said;
        button.removeAttribute("aria-disabled");
        delete button.dataset.said;
      }
    }
  };
  let live = false;
  const listen = () => {
    const events = new EventSource("/events");
    let silence;
    // A service that hangs closes no connection: it is silent for twice the time between its signs of life.
    const wait = () => {
      clearTimeout(silence);
      silence = setTimeout(() => { gone(true); events.close(); listen(); }, 41000);
    };
    const heard = ({ type }) => {
      const was_gone = root.classList.contains("gone");
      if (was_gone) gone(false);
      if (live && (was_gone || type === "changed")) refresh();
      wait();
    };
    for (const type of ["alive", "changed"]) events.addEventListener(type, heard);
    events.onerror = async () => {
      if (leaving) return;
      // A browser gives up where the answer was no stream of events: the service may have been replaced, or the session ended.
      const is_over = events.readyState === EventSource.CLOSED;
      if (is_over) clearTimeout(silence);
      const { status } = is_over ? await fetch("/events", { method: "HEAD", signal: AbortSignal.timeout(4000) }).catch(() => ({})) : {};
      gone(true, status === 401);
      if (is_over) setTimeout(listen, 5000);
    };
    wait();
  };

  // The list of services narrows; Enter asks the service, which also forgives slips. A list that was searched before is not the whole one.
  const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  const narrow = (field) => {
    const [word, searched] = [plain(field.value), plain(field.defaultValue)];
    const is_whole = word.startsWith(searched);
    let left = 0;
    for (const list of all("ul.services")) {
      for (const item of list.children) {
        const { find } = item.dataset;
        item.hidden = is_whole && find !== undefined && !plain(find).includes(word);
        left += find !== undefined && !item.hidden;
      }
      list.closest("section").hidden = [...list.children].every((item) => item.hidden);
    }
    const said = left === 1 ? "1 service matches." : `${left} services match.`;
    put(document.getElementById("narrowed"), !word ? "" : is_whole && left ? said : "Enter searches all services.");
  };
  // What was typed is not lost without a question.
  document.addEventListener("input", ({ target }) => {
    if (target.id === "find") narrow(target);
    target.closest("[data-guard]")?.setAttribute("data-dirty", "");
  });
  let leaving = false;
  for (const name of ["pagehide", "pageshow"]) addEventListener(name, () => { leaving = name === "pagehide"; });
  addEventListener("beforeunload", (event) => { if (!leaving && document.querySelector("[data-dirty]")) event.preventDefault(); });
  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      await navigator.clipboard.writeText(copy.parentElement.querySelector("code").textContent);
      const label = copy.firstChild;
      label.nodeValue = "Copied";
      setTimeout(() => { label.nodeValue = "Copy"; }, 2000);
    }
    if (event.target.closest("[data-theme-switch]")) {
      const is_dark = getComputedStyle(root).colorScheme === "dark"
        || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
      root.dataset.theme = is_dark ? "light" : "dark";
      theme.set(root.dataset.theme);
    }
  });
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    // Nothing is done without the service, or twice.
    if (root.classList.contains("gone") || form.querySelector("[aria-busy]")) {
      event.preventDefault();
      return;
    }
    const button = event.submitter ?? form.querySelector("button");
    button?.setAttribute("aria-busy", "true");
    const rest = () => button?.removeAttribute("aria-busy");
    setTimeout(rest, 9000);
    leaving = true;
    if (!form.matches("[data-quiet]")) return;
    leaving = false;
    event.preventDefault();
    try {
      const body = new URLSearchParams(new FormData(form));
      const { ok } = await fetch(form.action, { method: "POST", body });
      // The browser shows what is wrong.
      if (ok) await refresh();
      else form.submit();
    } catch {
      form.submit();
    }
    rest();
  });
  document.addEventListener("DOMContentLoaded", () => {
    for (const node of all("[data-theme-switch]")) node.hidden = false;
    equip();
    setInterval(tick, 1000);
    document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    live = Boolean(document.querySelector("main[data-live]"));
    if (document.querySelector(".tabs") || location.pathname === "/setup") listen();
  });
})();
