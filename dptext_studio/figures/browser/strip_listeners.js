// Handlers of the page's events.

class StripListeners {
  listen() {
    this.off = new AbortController();
    const on = (target, type, act, more = {}) =>
      target.addEventListener(
        type,
        (event) => {
          try {
            act(event);
          } catch (problem) {
            this.fail(problem);
          }
        },
        { signal: this.off.signal, ...more },
      );

    this.panel.listen(on);
    this.tour.listen(on);
    this.listenToSlider(on);
    this.listenToNumber(on);
    this.listenToLane(on);
    this.listenToText(on);
    this.listenToList(on);
    this.listenToSheet(on);
    this.listenToMenu(on);
  }

  // The slider and its reset.
  listenToSlider(on) {
    const { ui } = this;
    // An exact ε may lie between two steps: the thumb accepts it, and uses steps again when touched.
    on(ui.slider, "pointerdown", () => {
      ui.slider.step = "1";
      this.hold(true);
      clearTimeout(this.timers.send);
    }, { capture: true });
    on(ui.slider, "keydown", () => (ui.slider.step = "1"), { capture: true });
    on(ui.slider, "input", () => {
      ui.slider.step = "1";
      this.switched = null;
      this.setEps(this.stepEps(Math.round(ui.slider.valueAsNumber)), true);
    });
    const release = () => {
      if (!this.dragging) return;
      this.hold(false);
      this.schedule();
      this.queue(0);
    };
    on(window, "pointerup", release, { capture: true });
    on(window, "pointercancel", release, { capture: true });
    on(window, "blur", release);
    on(ui.reset, "click", () => {
      this.setEps(this.data.default_eps ?? this.data.eps);
      ui.slider.focus();
    });
  }

  // The field with the exact ε.
  listenToNumber(on) {
    const { ui } = this;
    on(ui.exact, "input", () => (this.typing = true));
    on(ui.exact, "focus", () => ui.exact.select());
    on(ui.exact, "change", () => this.typed());
    on(ui.exact, "keydown", (event) => {
      if (event.key === "Enter") {
        this.typed();
        ui.exact.select();
      } else if (event.key === "Escape") {
        this.typing = false;
        this.shownLabel = null;
        this.schedule();
        event.stopPropagation();
      } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        const step = this.where(this.eps) * this.steps;
        const next = event.key === "ArrowUp" ? Math.floor(step + 1e-6) + 1 : Math.ceil(step - 1e-6) - 1;
        this.typing = false;
        this.setEps(this.stepEps(clamp(next, 0, this.steps)));
        event.preventDefault();
      }
    });
  }

  // The words below the slider, each over its range of ε.
  listenToLane(on) {
    const { ui } = this;
    on(ui.lane, "click", (event) => {
      const k = this.segments.findIndex((s) => s.button === event.target.closest("button"));
      if (k >= 0) this.setEps(this.segments[k].jump);
    });
    on(ui.lane, "keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
      const here = this.segments.findIndex((s) => s.button === event.target);
      if (!move || here < 0) return;
      event.preventDefault();
      this.segments[clamp(here + move, 0, this.segments.length - 1)].button.focus();
    });
  }

  // The words of the text.
  listenToText(on) {
    const { ui } = this;
    on(ui.text, "click", (event) => {
      const i = this.indexOf(event.target);
      if (i === null) return;
      // On a narrow first screen, the chosen word's panel is out of sight until requested.
      const away = this.data.stage && getComputedStyle(ui.inspector).display === "none";
      if (this.pinned && this.active === i && !away) this.choose(i, { pin: false, tell: true });
      else this.choose(i, { pin: true, tell: true });
    });
    on(ui.text, "pointermove", (event) => {
      // Words reflow under a resting mouse, so only a real move counts.
      const still = event.clientX === this.mouseX && event.clientY === this.mouseY;
      if (event.pointerType !== "mouse" || event.buttons || still) return;
      [this.mouseX, this.mouseY] = [event.clientX, event.clientY];
      const i = this.indexOf(event.target);
      if (i !== null && !this.pinned && i !== this.active) this.choose(i, { pin: false, tell: null });
    });
    on(ui.text, "focusin", (event) => {
      const i = this.indexOf(event.target);
      if (i === null) return;
      this.setStop(i);
      if (this.pinned || (i === this.told && i === this.active) || !event.target.matches(":focus-visible")) return;
      this.choose(i, { pin: false, tell: true });
    });
    on(ui.text, "keydown", (event) => this.walk(event));
  }

  // The list of identifiers, and Escape for the topmost element.
  listenToList(on) {
    const { ui } = this;
    on(this.el, "keydown", (event) => {
      if (event.key !== "Escape") return;
      const tip = event.target.closest?.(".tip");
      // The topmost element closes first.
      if (ui.standing.classList.contains("open")) {
        this.listStanding(false);
        ui.whichStand.focus();
      } else if (tip) tip.blur();
      else if (this.active !== null) this.choose(null, { pin: false, tell: false });
    });
    on(ui.whichStand, "click", () => this.listStanding(!ui.standing.classList.contains("open")));
    on(ui.shutStanding, "click", () => {
      this.listStanding(false);
      ui.whichStand.focus();
    });
  }

  // The sheet of a narrow screen, and the pin.
  listenToSheet(on) {
    const { ui } = this;
    on(document, "pointerdown", (event) => {
      const inside = event.composedPath();
      if (!inside.includes(ui.standing) && !inside.includes(ui.whichStand)) this.listStanding(false);
      // The sheet of a narrow screen covers the end of the page, so it closes when the user leaves the words.
      if (this.pinned && !inside.includes(ui.body)) this.unpinSheet();
    });
    document.addEventListener("scroll", ({ target: { scrollTop, clientHeight, scrollHeight } }) => {
      const own = this.moved; // it made room for itself
      this.moved = false;
      if (own || !this.pinned) return;
      if (scrollTop > 0 && scrollTop + clientHeight > scrollHeight - 4) this.unpinSheet();
    }, { capture: true, passive: true, signal: this.off.signal });
    on(ui.pin, "click", () => {
      const node = this.tokens[this.active]?.node;
      this.choose(this.active, { pin: false, tell: true });
      node?.focus({ preventScroll: true });
    });
  }

  // The menu, copies, and messages from the page.
  listenToMenu(on) {
    const { ui } = this;
    on(ui.originals, "change", () => {
      this.el.classList.toggle("no-originals", !ui.originals.checked);
      this.reserve();
      if (this.memo) this.memo.originals = ui.originals.checked;
    });
    on(ui.tint, "change", () => {
      this.tintBy(ui.tint.value);
      if (this.memo) this.memo.tint = ui.tint.value;
      this.schedule();
      if (this.data.attack) this.queue(0);
    });
    on(ui.copy, "click", () => this.copy());
    on(ui.attack, "click", () => this.toggleAttack());
    on(document, "copy", (event) => this.copiedByHand(event));
    on(document, "dptext-here", () => {
      this.hear();
      this.schedule();
    });
  }
}
