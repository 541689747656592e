// Curves behind the slider: the share of changed words, and the chosen word over ε.

class StripCurves {
  drawShare() {
    // One pass over all changes gives the number of kept words at every step of the slider.
    const delta = new Float64Array(this.steps + 2);
    for (const t of this.tokens) {
      if (!t.counts) continue;
      if (!t.drawn) {
        delta[0] += t.a === "keep";
        continue;
      }
      for (let k = 0; k < t.from.length; k += 1) {
        if (!t.kept[t.to[k]]) continue;
        const start = k === 0 ? 0 : Math.ceil(this.steps * this.where(t.from[k]) - 1e-9);
        const end = k + 1 < t.from.length ? Math.ceil(this.steps * this.where(t.from[k + 1]) - 1e-9) : this.steps + 1;
        delta[start] += 1;
        delta[end] -= 1;
      }
    }
    let kept = 0;
    let path = "";
    for (let i = 0; i <= this.steps; i += 1) {
      kept += delta[i];
      path += `L${((1000 * i) / this.steps).toFixed(1)},${(100 - (100 * kept) / Math.max(1, this.total)).toFixed(2)}`;
    }
    this.ui.share.setAttribute("d", `M0,100${path}L1000,100Z`);
    this.ui.edge.setAttribute("d", `M${path.slice(1)}`);
    this.ui.shareTag.hidden = !this.data.live || !this.total;
  }

  drawLine(t) {
    const { ui } = this;
    const drawn = t?.a === "replace" && this.data.live;
    ui.dot.hidden = !drawn;
    ui.lineTag.hidden = !drawn;
    if (!drawn) {
      ui.line.removeAttribute("d");
      return;
    }
    let path = "";
    let left = 0;
    for (let i = 0; i <= this.steps; i += 1) {
      const eps = this.lo * Math.exp((this.span * i) / this.steps);
      const p = chance(t, t.src, eps, i / this.steps);
      if (i < 0.4 * this.steps) left = Math.max(left, p);
      path += `${i ? "L" : "M"}${((1000 * i) / this.steps).toFixed(1)},${(100 - 100 * p).toFixed(2)}`;
    }
    ui.line.setAttribute("d", path);
    ui.lineTag.textContent = `probability that “${t.o}” is unchanged`;
    ui.lineTag.classList.toggle("low", left > 0.62);
  }

  drawLane(t) {
    const { ui } = this;
    this.segments = [];
    if (!t?.drawn || !this.data.live) {
      const text = !t ? "Choose a word in the text" : t.drawn ? "another ε needs a new rewrite" : t.a === "delete" ? "deleted at every ε" : "kept at every ε";
      ui.lane.replaceChildren(make("span", "lane-note", text));
      return;
    }
    t.from.forEach((from, k) => {
      const a = k === 0 ? this.lo : from;
      const b = k + 1 < t.from.length ? t.from[k + 1] : this.hi;
      const start = this.where(a);
      const end = this.where(b);
      const button = make("button", t.kept[t.to[k]] ? "segment same" : "segment", t.shown[t.to[k]]);
      button.type = "button";
      button.dir = "auto";
      button.style.left = `${100 * start}%`;
      button.style.width = `${100 * Math.max(0, end - start)}%`;
      const [from3, to3] = [a, b].map((x) => plain(Number(x.toPrecision(3))));
      button.title = `${t.shown[t.to[k]]}: ε ${from3} to ${to3}`;
      button.setAttribute("aria-label", button.title);
      const middle = this.lo * Math.exp((this.span * (start + end)) / 2);
      const round = Number(middle.toPrecision(3));
      button.tabIndex = -1;
      this.segments.push({ button, jump: round > a && round < b ? round : middle });
    });
    ui.lane.replaceChildren(...this.segments.map((s) => s.button));
    this.segment = -1;
  }
}
