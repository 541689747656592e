// @ts-check
// A model in a worker that the page calls asynchronously.

import { AGAIN } from "./files.js";

/** A loaded model. */
export class Model {
  constructor() {
    this.worker = new Worker("model_worker.js", { type: "module" });
    /** @type {Map<number, {done: (x: any) => void, failed: (x: any) => void}>} */
    this.waiting = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data }) => {
      const one = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error) one?.failed(new Error(data.error));
      else one?.done(data);
    };
    this.worker.onerror = (event) => {
      for (const one of this.waiting.values()) one.failed(new Error(event.message || `A script of the model could not be loaded. ${AGAIN}`));
      this.waiting.clear();
    };
  }

  /** Load a graph and its weights. The graph refers to the weights by the name of their file. @returns {Promise<any>} */
  load(
    /** @type {ArrayBuffer} */ runtime, /** @type {ArrayBuffer} */ graph, /** @type {ArrayBuffer} */ weights,
    /** @type {string} */ path,
  ) {
    const name = path.replace(/^.*\//, "").replace(/\.gz$/, "");
    return this.ask({ load: { runtime, graph, weights, name } }, [runtime, graph, weights]);
  }

  /** @returns {Promise<any>} */
  ask(/** @type {object} */ what, /** @type {Transferable[]} */ transfer = []) {
    this.next += 1;
    const id = this.next;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      this.worker.postMessage({ id, ...what }, transfer);
    });
  }
}
