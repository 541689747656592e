// @ts-check
// The course: a list of lessons, or one lesson, whose figures and answers were computed when the site was built.

import { packedJson } from "./files.js";

/** @typedef {{value: string, shown: string, question: string, answers: string[], reveal: number}} State */
/** @typedef {{right: number, found: string[], because: string[], figures: string, replies: string[]}} Reveal */
/**
 * @typedef {object} Lesson
 * @property {string} name
 * @property {string} title
 * @property {string} goal
 * @property {number} minutes
 * @property {string[]} said
 * @property {string} task
 * @property {string} take_home
 * @property {string} control its label
 * @property {number} start
 * @property {State[]} states one for each value of the control
 * @property {Reveal[]} reveals
 * @property {string} mechanism that it leads to, "" for none
 * @property {boolean} game whether it has a separate page
 */

const get = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const LETTERS = "ABCDEFGH";

function element(/** @type {string} */ tag, /** @type {string} */ text) {
  const node = document.createElement(tag);
  node.textContent = text;
  return node;
}

function link(/** @type {string} */ to, /** @type {string} */ text) {
  const node = element("a", text);
  node.setAttribute("href", to);
  return node;
}

function button(/** @type {string} */ text, /** @type {() => void} */ press) {
  const node = element("button", text);
  node.setAttribute("type", "button");
  node.addEventListener("click", press);
  return node;
}

const paragraphs = (/** @type {string} */ id, /** @type {string[]} */ sentences) =>
  get(id).replaceChildren(...sentences.map((s) => element("p", s)));
const mark = (/** @type {string} */ id, /** @type {number | null} */ at) =>
  [...get(id).children].forEach((node, k) => node.setAttribute("aria-pressed", String(k === at)));

function list(/** @type {{title: string, lessons: Lesson[]}[]} */ parts) {
  get("course").replaceChildren(...parts.flatMap(({ title, lessons }) => {
    const all = document.createElement("ul");
    all.append(...lessons.map((lesson) => {
      const item = element("li", "");
      item.append(link(`?lesson=${lesson.name}`, lesson.title), ` ${lesson.goal} ${lesson.minutes}\u00a0min`);
      return item;
    }));
    return [element("h2", title), all];
  }));
  get("course").hidden = false;
}

function open(/** @type {Lesson} */ lesson, /** @type {Lesson | undefined} */ next) {
  document.title = /** @type {HTMLElement} */ (document.querySelector("h1")).textContent = lesson.title;
  get("up").replaceChildren(link("lessons.html", "All lessons"));
  paragraphs("said", lesson.said);
  get("task").textContent = lesson.task;
  get("control").hidden = lesson.states.length < 2;
  get("label").textContent = lesson.control;
  get("values").replaceChildren(...lesson.states.map(({ value }, k) => button(value, () => move(lesson, k))));
  get("take_home").textContent = lesson.take_home;
  const doors = [
    lesson.game && link("game.html", "Play the game"),
    lesson.mechanism && link(`index.html?mechanism=${lesson.mechanism}`, "Try it with your own text"),
    next && link(`?lesson=${next.name}`, `Next: ${next.title}`),
  ];
  get("doors").replaceChildren(...doors.filter((door) => door).flatMap((door, k) => (k ? [" · ", door] : [door])));
  get("lesson").hidden = false;
  move(lesson, lesson.start);
}

/** @type {{lesson: Lesson, at: number, chosen: number | null}} */
let shown;

// A given answer is kept as long as the question is the same.
function move(/** @type {Lesson} */ lesson, /** @type {number} */ at) {
  const { shown: html, question, answers } = lesson.states[at];
  const same = shown && JSON.stringify([shown.lesson.states[shown.at].question, shown.lesson.states[shown.at].answers]) ===
    JSON.stringify([question, answers]);
  shown = { lesson, at, chosen: same ? shown.chosen : null };
  mark("values", at);
  get("shown").innerHTML = html; // made and escaped when the site was built
  get("question").textContent = question;
  if (!same) {
    get("answers").replaceChildren(...answers.map((text, k) => button(`${LETTERS[k]}. ${text}`, () => choose(k))));
  }
  if (shown.chosen === null) get("reveal").hidden = true;
  else choose(shown.chosen);
}

function choose(/** @type {number} */ chosen) {
  shown.chosen = chosen;
  const { lesson, at } = shown;
  const { answers, reveal } = lesson.states[at];
  const { right, found, because, figures, replies } = lesson.reveals[reveal];
  mark("answers", chosen);
  const answer = `${LETTERS[right]}. ${answers[right]}`;
  get("verdict").textContent = chosen === right ? `Right: ${answer}` : `${replies[chosen] ?? ""} The answer is ${answer}`.trim();
  paragraphs("found", found);
  get("figures").innerHTML = figures;
  paragraphs("because", because);
  get("reveal").hidden = false;
}

if (window.top !== window) document.documentElement.dataset.embedded = "";

async function begin() {
  const parts = await packedJson("lessons.json.gz");
  const lessons = parts.flatMap((/** @type {any} */ part) => part.lessons);
  const name = new URLSearchParams(location.search).get("lesson");
  const at = lessons.findIndex((/** @type {Lesson} */ one) => one.name === name);
  if (at >= 0) open(lessons[at], lessons[at + 1]);
  else list(parts);
  get("status").textContent = name && at < 0 ? `There is no lesson “${name}”. Choose one of these.` : "";
  if ("serviceWorker" in navigator) navigator.serviceWorker.register("sw.js").catch(() => {});
}

begin().catch((problem) => {
  get("status").textContent = `This page could not start. ${problem?.message ?? problem}`;
  get("status").classList.add("wrong");
});
