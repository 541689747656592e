// @ts-check
// The page of the game: a round, the reader's answer, and at the end the ceiling with the player's dots.

import { json } from "./files.js";
import { limit, number, percent } from "./guarantee.js";
import { ReaderGame, ceiling, readerGuess, scoreOf, total } from "./reader_game.js";
import { Language } from "./text.js";

/** @typedef {import("./reader_game.js").Round} Round */
/** @typedef {import("./reader_game.js").Score} Score */

const SVG = "http://www.w3.org/2000/svg";
const [WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM] = [640, 280, 58, 12, 12, 32]; // of the figure
const POINTS = 41; // of a curve

const get = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
/** @type {{game: ReaderGame, rounds: Round[], guesses: number[], past: [number, Score][]}} */
let play;

function element(/** @type {string} */ tag, /** @type {string} */ text, name = "") {
  const node = document.createElement(tag);
  node.textContent = text;
  if (name) node.className = name;
  return node;
}

const paragraphs = (/** @type {any} */ into, /** @type {string[]} */ sentences) =>
  into.replaceChildren(...sentences.map((s) => element("p", s)));

/** ε and score of each round that was played in this game. */
const played = () =>
  play.guesses.map((guess, i) => /** @type {[number, Score]} */ ([play.rounds[i].epsilon, scoreOf(play.rounds[i], guess)]));

function head(/** @type {number} */ at) {
  const { rounds } = play;
  document.querySelector(".g-head")?.removeAttribute("hidden");
  get("round").textContent = `Round ${at + 1} of ${rounds.length} · ε = ${number(rounds[at].epsilon)}`;
  get("rounds").value = at / rounds.length;
  const score = total(played().map(([, s]) => s));
  const points = `You ${number(score.players)} · Optimal reader ${score.reader} · Guessing ${number(score.chance)}`;
  get("points").textContent = score.rounds ? points : "";
}

function ask() {
  const at = play.guesses.length;
  const { lineUp, release } = play.rounds[at];
  head(at);
  get("rules").hidden = at > 0 || play.past.length > 0;
  get("play").hidden = false;
  get("end").hidden = get("answer").hidden = true;
  get("which").textContent = `One of ${lineUp.facts.length} texts was rewritten`;
  get("template").textContent = `${lineUp.before}_____${lineUp.after}`;
  get("release").replaceChildren(...release.map(([text, mark]) => element(mark ? "mark" : "span", text, mark)));
  get("question").textContent = lineUp.question;
  get("choices").replaceChildren(...lineUp.facts.map((fact, i) => {
    const button = element("button", fact);
    button.setAttribute("type", "button");
    button.title = `Key ${i + 1}`;
    button.addEventListener("click", () => guess(i));
    return button;
  }));
}

function guess(/** @type {number} */ chosen) {
  play.guesses.push(chosen);
  const at = play.guesses.length - 1;
  const round = play.rounds[at];
  const { lineUp: { facts }, posterior, secret, epsilon } = round;
  head(at);
  [...get("choices").children].forEach((button, i) => {
    button.disabled = true;
    button.setAttribute("aria-pressed", String(i === chosen));
  });
  get("verdict").textContent = chosen === secret ? `Right: it was ${facts[secret]}.` : `Your answer: ${facts[chosen]}. It was ${facts[secret]}.`;
  get("verdict").className = chosen === secret ? "g-right" : "g-wrong";
  get("believes").textContent = `What the optimal reader believes at ε = ${number(epsilon)}`;
  get("bars").replaceChildren(...facts.map((fact, i) =>
    bar(i === secret ? `${fact} (the original)` : fact, posterior[i], i === secret ? "g-original" : "")));
  paragraphs(get("why"), reasons(round));
  get("next").textContent = at + 1 === play.rounds.length ? "See the result" : "Next round";
  get("answer").hidden = false;
  get("next").focus({ preventScroll: true });
}

function bar(/** @type {string} */ label, /** @type {number} */ share, /** @type {string} */ name) {
  const row = element("li", "", name);
  const all = element("i", "");
  all.appendChild(document.createElement("b")).style.width = `${100 * share}%`;
  row.append(element("span", label), all, element("span", percent(share)));
  return row;
}

/** What the optimal reader says, and why. */
function reasons(/** @type {Round} */ round) {
  const { lineUp: { facts }, posterior, secret, epsilon, word } = round;
  const first = readerGuess(round);
  const order = [...posterior.keys()].sort((a, b) => posterior[b] - posterior[a]);
  const second = order.find((i) => i !== first) ?? first;
  const says = first === secret ? "is right" : "is wrong this time";
  return [
    `The optimal reader says “${facts[first]}”, is ${percent(posterior[first])} sure, and ${says}.`,
    `Why: the mechanism writes “${word}” for “${facts[first]}” ${number(posterior[first] / posterior[second])} times as ` +
      `often as for “${facts[second]}”. All ${facts.length} texts were equally likely at first. The other words are sampled separately ` +
      "and say nothing about this one.",
    `The guarantee at ε = ${number(epsilon)} allows no reader to be more than ${limit(ceiling(epsilon, facts.length))} sure.`,
  ];
}

function end() {
  const scores = played();
  const score = total(scores.map(([, s]) => s));
  get("play").hidden = true;
  get("end").hidden = false;
  document.querySelector(".g-head")?.setAttribute("hidden", "");
  get("scored").textContent = `Right guesses in ${score.rounds} ${score.rounds === 1 ? "round" : "rounds"}`;
  /** @type {[string, number, string][]} */
  const board = [["You", score.players, "g-you"], ["Optimal reader", score.reader, ""], ["Blind guessing", score.chance, ""]];
  board.sort((a, b) => b[1] - a[1]);
  get("scoreboard").replaceChildren(...board.map(([who, points, name]) => bar(who, points / score.rounds, name)));
  paragraphs(get("result"), [
    score.players === score.reader ? "You and the optimal reader scored the same."
      : score.players > score.reader ? "You beat the optimal reader this time, by luck: compare the hollow dots."
        : "The optimal reader beat you, as it does in the long run.",
    `Each guess had a known probability of being right: on average ${percent(score.deserved / score.rounds)} for you, and ` +
      `${percent(score.certainty / score.rounds)} for the optimal reader.`,
    "The filled dots can lie above the ceiling by luck. The hollow dots cannot: that limit is what ε means.",
  ]);
  const { game, past } = play;
  const { epsilons, line_ups: lineUps, take_home: takeHome } = game.data;
  const k = lineUps[0].facts.length;
  const levels = [...epsilons].sort((a, b) => a - b).map((epsilon) => {
    const own = total([...past, ...scores].filter(([e]) => e === epsilon).map(([, s]) => s));
    const each = lineUps.map((/** @type {any} */ x) => game.expected(x, epsilon));
    return {
      epsilon, ceiling: ceiling(epsilon, k), reader: each.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0) / each.length,
      players: own.players / own.rounds, deserved: own.deserved / own.rounds,
    };
  });
  get("levels").replaceChildren(...levels.map((level) => {
    const row = document.createElement("tr");
    row.append(element("th", number(level.epsilon)));
    for (const p of [level.ceiling, level.reader, level.players, level.deserved]) row.append(element("td", percent(p)));
    return row;
  }));
  get("curve").replaceChildren(curve(levels, k), legend());
  get("take_home").textContent = takeHome;
  get("replay").focus({ preventScroll: true });
}

/** @typedef {{epsilon: number, ceiling: number, reader: number, players: number, deserved: number}} Level */

function curve(/** @type {Level[]} */ levels, /** @type {number} */ k) {
  const [low, high] = [levels[0].epsilon / 2, levels[levels.length - 1].epsilon];
  const x = (/** @type {number} */ e) => LEFT + ((WIDE - LEFT - RIGHT) * Math.log(e / low)) / Math.log(high / low);
  const y = (/** @type {number} */ p) => TOP + (HIGH - TOP - BOTTOM) * (1 - p);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "Share of right guesses by ε. The table below has the numbers.");
  const add = (/** @type {string} */ tag, /** @type {Record<string, string | number>} */ attributes, text = "") => {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
    node.textContent = text;
    svg.append(node);
  };
  for (const p of [0, 0.25, 0.5, 0.75, 1]) {
    add("line", { class: "v-axis", x1: LEFT, x2: WIDE - RIGHT, y1: y(p), y2: y(p) });
    add("text", { x: LEFT - 6, y: y(p) + 4, "text-anchor": "end" }, percent(p));
  }
  for (const { epsilon } of levels) add("text", { x: x(epsilon), y: HIGH - 12, "text-anchor": "middle" }, number(epsilon));
  add("text", { x: LEFT - 6, y: HIGH - 12, "text-anchor": "end" }, "ε");
  const line = (/** @type {string} */ name, /** @type {[number, number][]} */ points) =>
    add("polyline", { class: name, points: points.map(([e, p]) => `${x(e)},${y(p)}`).join(" ") });
  line("g-chance", [[low, 1 / k], [high, 1 / k]]);
  line("v-curve", Array.from({ length: POINTS }, (_, i) => {
    const e = low * (high / low) ** (i / (POINTS - 1));
    return /** @type {[number, number]} */ ([e, ceiling(e, k)]);
  }));
  line("g-reader", levels.map(({ epsilon, reader }) => /** @type {[number, number]} */ ([epsilon, reader])));
  for (const { epsilon, players, deserved } of levels.filter((l) => l.players >= 0)) {
    add("circle", { class: "g-lucky", cx: x(epsilon), cy: y(players), r: 6 });
    add("circle", { class: "g-deserved", cx: x(epsilon), cy: y(deserved), r: 6 });
  }
  return svg;
}

function legend() {
  const list = element("ul", "", "g-legend");
  for (const [name, said] of [
    ["v-curve", "Ceiling of the guarantee, e^ε / (e^ε + k − 1)"], ["g-reader", "Optimal reader, on average"],
    ["g-chance", "Blind guessing"], ["g-lucky", "Your guesses: how often right"], ["g-deserved", "Your guesses: mean probability of being right"],
  ]) list.append(element("li", said, name));
  return list;
}

function begin(/** @type {[number, Score][]} */ past) {
  play = { game: play.game, rounds: play.game.rounds(), guesses: [], past };
  ask();
}

async function start() {
  const [data, core] = await Promise.all([json("game.json"), json("core.json")]);
  play = { game: new ReaderGame(data, new Language(core.language, core.visible)), rounds: [], guesses: [], past: [] };
  paragraphs(get("rules"), data.rules);
  get("status").hidden = true;
  get("next").addEventListener("click", () => (play.guesses.length < play.rounds.length ? ask() : end()));
  get("replay").addEventListener("click", () => begin([...play.past, ...played()]));
  addEventListener("keydown", (event) => {
    const choice = get("choices").children[Number(event.key) - 1];
    if (choice && !event.ctrlKey && !event.metaKey && !event.altKey && !get("play").hidden) choice.click();
  });
  begin([]);
  if ("serviceWorker" in navigator) navigator.serviceWorker.register("sw.js").catch(() => {});
}

Object.assign(window, { readerGame: start().then(() => play.game) });
/** @type {any} */ (window).readerGame.catch((/** @type {any} */ problem) => {
  get("status").textContent = `This page could not start. ${problem?.message ?? problem}`;
});
