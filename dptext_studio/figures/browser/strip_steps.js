// The steps in which the chosen word was replaced: its scores, their range and the noise.

class StripSteps {
  // The steps that replaced the chosen word. Parts that do not depend on ε are drawn here, once for each word.
  openHow(t) {
    const { ui, data } = this;
    const steps = t?.drawn && !t.why && data.stage ? (data.how?.steps ?? []) : [];
    ui.how.hidden = !steps.length;
    this.noiseBars = this.noiseSaid = null;
    if (!steps.length) {
      ui.how.replaceChildren();
      return;
    }
    const how = data.how;
    const mine = how.scored?.[this.active];
    const numbers = {
      n: integer.format(t.total), low: how.low?.toFixed(1).replace("-", "−"), high: how.high?.toFixed(1).replace("-", "−"),
      tied: mine ? integer.format(mine.tied) : "…",
    };
    ui.how.replaceChildren(...steps.map((text) => {
      const step = make("li", "");
      const said = step.appendChild(make("span", "said"));
      for (const part of text.split(/(\{\w+\})/)) {
        const name = /^\{(\w+)\}$/.exec(part)?.[1];
        if (!name) said.append(part);
        else if (name === "noise") this.noiseSaid = said.appendChild(make("b", "", ""));
        else said.append(make("b", "", numbers[name] ?? "…"));
      }
      if (mine && text.includes("{n}") && !data.belief) step.append(this.drawScores(mine.bars, null));
      if (mine && text.includes("{low}")) step.append(this.drawScores(mine.bars, [how.low, how.high]));
      if (text.includes("{noise}")) step.append(this.drawNoise(t));
      return step;
    }));
    this.shownNoise = null;
  }

  // All scores of a word, as bars on a logarithmic axis; in range: the part that the mechanism distinguishes.
  drawScores(bars, range) {
    const [a, b] = this.data.how.axis;
    const top = Math.log1p(Math.max(...bars));
    const space = this.ui.share.namespaceURI; // that of the pictures in the markup
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", "0 0 400 30");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const draw = (tag, attributes) => {
      const node = document.createElementNS(space, tag);
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      svg.append(node);
    };
    const x = (score) => (400 * (score - a)) / (b - a);
    if (range) draw("rect", { class: "range", x: x(range[0]), y: 0, width: x(range[1]) - x(range[0]), height: 30 });
    const wide = 400 / bars.length;
    const path = bars.map((n, k) => {
      const high = (28 * Math.log1p(n)) / top;
      return n ? `M${(k * wide + 0.5).toFixed(1)},30v${(-high).toFixed(1)}h${(wide - 1).toFixed(1)}V30Z` : "";
    });
    draw("path", { class: "bars", d: path.join("") });
    return svg;
  }

  // The best words on the axis of their scores, each with a bar as long as the noise. Without scores: one bar in the
  // range of all scores or, if that is unknown, one as long as the rest of the ε axis.
  drawNoise(t) {
    const box = make("span", "noise");
    box.setAttribute("aria-hidden", "true");
    this.noiseBars = [];
    const shown = t.s ? t.order.filter((k) => t.s[k] > IMPOSSIBLE).slice(0, 6) : [];
    const { how } = this.data;
    // The same scale as the figure of all scores, if there is one.
    const [worst, best] = how.unit
      ? how.axis.map((score) => (score - how.high) / how.unit)
      : [Math.min(...shown.map((k) => t.s[k])), Math.max(...shown.map((k) => t.s[k]))];
    if (shown.length > 1 && best > worst && this.data.live) {
      for (const k of shown) {
        const at = (t.s[k] - worst) / (best - worst);
        const bar = box.appendChild(make("i", k === t.src ? "own" : ""));
        bar.style.left = `${100 * at}%`;
        bar.style.top = `${3 + 4 * this.noiseBars.length}px`;
        this.noiseBars.push({ bar, scale: 1 / (best - worst) });
      }
    } else if (how.range) {
      const [low, high] = how.range;
      box.classList.add("ranged");
      this.noiseBars.push({ bar: box.appendChild(make("i", "ranged-bar")), scale: 1 / (high - low) });
      box.append(make("small", "", `score ${low}`), make("small", "", `${high}`));
    } else {
      this.noiseBars.push({ bar: box.appendChild(make("i", "whole")), scale: null });
    }
    return box;
  }

  paintHow(eps) {
    if (!this.noiseBars || this.shownNoise === eps) return;
    this.shownNoise = eps;
    const noise = 1 / eps;
    const { scale = 1 } = this.data.how;
    if (this.noiseSaid) this.noiseSaid.textContent = Number((noise * scale).toPrecision(2)).toString();
    for (const { bar, scale: along } of this.noiseBars) {
      const share = along === null ? 1 - this.where(eps) : Math.min(2, 2 * noise * along);
      bar.style.transform = `${along === null ? "" : "translateX(-50%) "}scaleX(${Math.max(0.004, share).toFixed(4)})`;
    }
  }
}
